"""A literature search that asks sources: those of its field, all at once, each in its own form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.model.work import Work
from citewell.options.merge import load
from citewell.usecases.explore.contract import Exploration, ExploreQuery, exported
from citewell.usecases.library import open_library

BERT = "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_CONFIG", env["CITEWELL_CONFIG"])
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def sources(fake_sources: Any) -> Iterator[Any]:
    fake_sources.log.clear()
    yield fake_sources
    fake_sources.faults.clear()


def explored(env: dict[str, str], sources: Any, allow: list[str], **request: Any) -> Exploration:
    settings = {
        "library.path": env["CITEWELL_LIBRARY_PATH"],
        "sources.allow": allow,
        "sources.base_url": sources.url,
        "sources.keep": False,
    }
    with open_library(online=True, settings=settings) as library:
        *_, last = library.explore(ExploreQuery(**request))
    return last


def of_sources(found: Exploration, step: str = "sources") -> list[Work]:
    return [one.work for one in found.papers if any(reason.step == step for reason in one.reasons)]


def test_a_source_that_hangs_costs_only_its_own_part(
    env: dict[str, str], sources: Any, fakes: Any
) -> None:
    sources.fail("semantic-scholar", fakes.Fault(kind="hang"))
    found = explored(
        env, sources, ["openreview", "semantic-scholar"], text="the patience of kettles"
    )
    assert found.ending
    assert any("Patience of Kettles" in work.title for work in of_sources(found))
    assert {one.code for one in found.problems} == {"source-unanswered"}
    assert all("Semantic Scholar" in one.message for one in found.problems)


def test_only_sources_of_the_field_receive_the_question_each_in_its_own_form(
    env: dict[str, str], sources: Any
) -> None:
    text = "Could you list papers on bidirectional transformers for language understanding tasks?"
    found = explored(env, sources, ["arxiv", "pubmed", "crossref"], text=text)
    record = next(one for one in found.passes if one.name == "sources")
    queries = dict(query.split(": ", 1) for query in record.queries)
    assert set(queries) == {"arxiv", "crossref"}
    assert queries["crossref"] == text
    assert 0 < len(queries["arxiv"].split()) <= 4
    assert sources.of("pubmed") == []
    searches = [one for one in sources.of("crossref") if "query.bibliographic" in dict(one.params)]
    assert len(searches) == 1, "the question is sent once"


def test_every_source_is_asked_where_the_best_papers_do_not_match_the_question(
    env: dict[str, str], sources: Any
) -> None:
    text = "social inequality in school education"
    found = explored(env, sources, ["arxiv", "pubmed", "dblp", "crossref"], text=text)
    record = next(one for one in found.passes if one.name == "sources")
    names = {query.partition(":")[0] for query in record.queries}
    assert found.field == "unclear" and names == {"arxiv", "pubmed", "dblp", "crossref"}


def test_references_and_citers_come_from_a_source_that_lists_them(
    env: dict[str, str], sources: Any
) -> None:
    found = explored(env, sources, ["openalex"], text=BERT)
    names = [one.name for one in found.passes]
    assert names[-2:] == ["sources", "chains"]
    requests = [one for one in sources.of("openalex") if "filter" in dict(one.params)]
    kinds = {dict(one.params)["filter"].split(":")[0] for one in requests}
    assert {"cites", "cited_by"} <= kinds
    assert len(requests) <= 40


def test_an_export_keeps_papers_of_sources_with_their_provenance(
    env: dict[str, str], sources: Any
) -> None:
    found = explored(env, sources, ["openreview"], text="the patience of kettles")
    own = [one for one in found.papers if "Patience of Kettles" in one.work.title]
    options = load(None).options
    for form, mark in (("ris", "DB  - openreview"), ("csl", '"source": "openreview"'),
                       ("csv", "openreview"), ("jsonl", '"openreview"')):  # fmt: skip
        assert mark in exported(own, form, options).decode(), form  # type: ignore[arg-type]
    assert "Patience of Kettles" in exported(own, "bibtex", options).decode()


def test_papers_of_sources_can_be_kept_and_rejected(env: dict[str, str], sources: Any) -> None:
    settings = {
        "library.path": env["CITEWELL_LIBRARY_PATH"],
        "sources.allow": ["openreview"],
        "sources.base_url": sources.url,
        "sources.keep": False,
    }
    text = "the patience of kettles"
    with open_library(online=True, settings=settings) as library:
        *_, first = library.explore(ExploreQuery(text=text))
        (paper, *_) = of_sources(first)
        *_, kept = library.explore(ExploreQuery(text=text, kept=(paper.id,)))
        *_, rejected = library.explore(ExploreQuery(text=text, rejected=(paper.id,)))
    assert kept.papers[0].work.id == paper.id
    assert paper.id not in [one.work.id for one in rejected.papers]


def test_conditions_are_the_sources_own_filters_and_no_words(
    env: dict[str, str], sources: Any
) -> None:
    text = "language understanding by Devlin since 2018"
    found = explored(env, sources, ["arxiv", "crossref", "semantic-scholar"], text=text)
    (crossref,) = [one for one in sources.of("crossref") if "query.author" in dict(one.params)]
    sent = dict(crossref.params)
    assert sent["query.bibliographic"] == "language understanding"
    assert sent["query.author"] == "Devlin"
    assert sent["filter"] == "from-pub-date:2018,until-pub-date:2100"
    (arxiv,) = sources.of("arxiv")
    assert dict(arxiv.params)["search_query"] == (
        'all:language AND all:understanding AND au:"Devlin" AND '
        "submittedDate:[201801010000 TO 210012312359]"
    )
    (scholar, *_) = [one for one in sources.of("semantic-scholar") if "/search" in one.path]
    assert dict(scholar.params)["query"] == "language understanding Devlin"
    assert dict(scholar.params)["year"] == "2018-2100"
    (record,) = [one for one in found.passes if one.name == "sources"]
    assert "crossref: language understanding by Devlin from 2018 to 2100" in record.queries


def test_papers_of_sources_are_judged_by_title_and_abstract_like_the_rest(
    env: dict[str, str], sources: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    title = "Attention for neural machine translation of rare words"
    others = [
        f"Attention, gardeners: kettle {n} has a neural translation for its washing machine"
        for n in range(15)
    ]
    records = [
        {"id": f"2501.{n:05}", "title": one, "authors": ["Ada Example"],
         "published": "2025-01-01T00:00:00Z", "summary": ""}
        for n, one in enumerate([*others, title])
    ]  # fmt: skip
    monkeypatch.setitem(sources.records, "arxiv", records)
    text = "attention for neural machine translation"
    found = explored(env, sources, ["arxiv"], text=text)
    places = {one.work.title: place for place, one in enumerate(found.papers)}
    assert len(of_sources(found)) == 16
    assert all(places[title] < places[one] for one in others)
    relevance = {one.work.title: one.relevance for one in found.papers}
    assert relevance[title] is not None and relevance[title] > (relevance[others[-1]] or 0.0)
    assert not [one.title for one in of_sources(found) if relevance[one.title] is None]
