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
