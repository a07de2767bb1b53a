"""Real answers of the sources, recorded by others, are read; what is none is named as such.

The recordings lie beside the checkout (`../shared/data/api`); without them these tests skip.
"""

from __future__ import annotations

import base64
import collections
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.model import Work
from citewell.sources import values
from citewell.sources.adapters import arxiv, crossref, dblp, doi, openreview, semantic_scholar
from citewell.sources.contract import NonsenseError
from citewell.sources.values import work_of_openalex

DAY = values.today()


@pytest.fixture(scope="module")
def api(shared_data: Path) -> Path:
    folder = shared_data / "api"
    if not folder.is_dir():
        pytest.skip("the recorded answers ../shared/data/api are not there")
    return folder


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def note_of(record: dict[str, Any]) -> dict[str, Any]:
    """OpenReview's records were flattened when they were recorded: a note as the source sends it."""
    names = ("title", "authors", "venue", "venueid", "abstract")
    content = {name: {"value": record[name]} for name in names if record.get(name)}
    return {"id": record["id"], "forum": record["id"], "content": content}


RECORDS: dict[str, tuple[int, int, Callable[[dict[str, Any]], Work | str]]] = {
    "crossref": (2001, 2, lambda record: crossref.work_of_crossref(record, DAY)),
    "openalex": (1741, 5, lambda record: work_of_openalex(record, DAY)),
    "dblp": (543, 0, lambda record: dblp.work_of_hit(record, DAY)),
    "semantic_scholar": (536, 0, lambda record: semantic_scholar.work_of_paper(record, DAY)),
    "openreview": (28, 0, lambda record: openreview.work_of_note(note_of(record), DAY)),
}
"""File -> records, records without a title, what makes works of them."""


@pytest.mark.parametrize("name", RECORDS)
def test_every_recorded_record_becomes_a_work_or_says_why_not(name: str, api: Path) -> None:
    count, untitled, work_of = RECORDS[name]
    path = api / f"{name}_records.jsonl.gz"
    records = list(lines(path))
    made = [work_of(record) for record in records]
    reasons = collections.Counter(one for one in made if isinstance(one, str))
    assert len(records) == count
    assert reasons == ({"The record has no title.": untitled} if untitled else {})
    works = [one for one in made if isinstance(one, Work)]
    for work in works:
        assert work.title and work.id and len(work.provenance) == 1
        assert not set(work.title) & set("\\{}<>") or "<" in work.title, work.title
    with_authors = sum(bool(work.authors) for work in works)
    with_year = sum(work.year is not None for work in works)
    assert with_authors >= 0.9 * len(works)
    assert with_year >= 0.96 * len(works)


def test_dblp_s_marks_are_taken_off_names_and_titles(api: Path) -> None:
    for record in lines(api / "dblp_records.jsonl.gz"):
        work = dblp.work_of_hit(record, DAY)
        assert isinstance(work, Work)
        assert not work.title.endswith(".") or work.title.endswith("..")
        assert not any(author.family.isdigit() for author in work.authors)


def cassette(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """(address, status, body) of each exchange in a recording."""
    yaml = pytest.importorskip("yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for one in yaml.load(path.read_text(encoding="utf-8"), loader)["interactions"]:
        answer = one["response"]
        body = answer["content"] if "content" in answer else answer["body"].get("string", "")
        status = answer["status_code"] if "status_code" in answer else answer["status"]["code"]
        data = body if isinstance(body, bytes) else body.encode()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        yield one["request"]["uri"], status, data


def crossref_decoder(address: str) -> Callable[[bytes], list[Work]]:
    if "csl+json" in address:
        return lambda body: doi.decode_csl(body, "10.1126/science.169.3946.635")
    return crossref.decode_list if "/works?" in address else crossref.decode_work


def test_every_recorded_exchange_with_crossref_is_read(api: Path) -> None:
    read = 0
    for path in sorted((api / "cassettes" / "crossref").glob("*.yaml")):
        for address, status, body in cassette(path):
            if status != 200 or "api.crossref.org" not in address:
                continue
            if "/transform" in address and "csl+json" not in address:
                with pytest.raises(NonsenseError):  # BibTeX and prose, which are not asked for
                    crossref_decoder(address)(body)
                continue
            works = crossref_decoder(address)(body)
            assert works, (path.name, address)
            read += 1
    assert read >= 10


def test_every_recorded_exchange_with_semantic_scholar_is_read(api: Path) -> None:
    read = 0
    for path in sorted((api / "cassettes" / "semantic_scholar").glob("*.yaml")):
        for address, status, body in cassette(path):
            assert status == 200
            if "/batch" in address:
                # Asked for authors alone: papers without a title are none, but stand in their place.
                count = len(json.loads(body))
                assert semantic_scholar.decode_batch(body, count) == [None] * count
            elif "/citations" in address:
                assert semantic_scholar.decode_linked(body, "citingPaper"), address
            elif "/references" in address:
                named = body.count(b'"paperId": "')
                assert len(semantic_scholar.decode_linked(body, "citedPaper")) == named
            elif "/search" in address:
                assert semantic_scholar.decode_list(body), address
            else:
                assert semantic_scholar.decode_paper(body), address
            read += 1
    assert read == 25


def test_every_recorded_feed_of_arxiv_is_read(api: Path) -> None:
    entries = feeds = 0
    for path in sorted((api / "cassettes" / "arxiv").glob("*.json")):
        exchange = json.loads(path.read_text(encoding="utf-8"))
        works = arxiv.decode_feed(exchange["body"].encode())
        feeds += 1
        entries += len(works)
        listed = exchange["body"].count("<entry>")
        errors = exchange["body"].count("/api/errors#")
        assert len(works) == listed - bool(errors), path.name
        for work in works:
            assert work.arxiv and work.authors and work.year
            assert "\n" not in work.title
    assert feeds == 20
    assert entries == 221


def test_an_answer_in_another_encoding_or_of_another_kind_is_nonsense() -> None:
    for body in (b"", b"\xff\xfe", b"[]", b"null", b"<html></html>", base64.b64encode(b"no")):
        for decode in (
            crossref.decode_work, crossref.decode_list, dblp.decode_hits, openreview.decode_notes,
            semantic_scholar.decode_paper, semantic_scholar.decode_list, arxiv.decode_feed,
        ):  # fmt: skip
            with pytest.raises(NonsenseError):
                decode(body)


def test_entities_of_strangers_are_not_expanded() -> None:
    bomb = (
        b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
        b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>&b;</id></entry></feed>'
    )
    with pytest.raises(NonsenseError):
        arxiv.decode_feed(bomb)
