"""Searches for an identifier: the work that it names, or the problem that there is none.

A DOI, an arXiv id, an Anthology id or an address is looked up in the library and, if allowed, at
the sources. Its words are never searched for: they would find other papers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from citewell.model import Evidence, Hit, Problem, Query, SearchResult, Work
from citewell.model.identifiers import Identifier, acl_id, address_key, identifier_of
from citewell.retrieval.arxiv_titles import arxiv_year, title_of_arxiv

if TYPE_CHECKING:
    from citewell.engine.online_search import OnlineSearch

NAME = "identifier"
"""The retriever in the evidence."""


PUBLISHED_WITHIN = (-1, 6)
"""Years from a paper's submission to arXiv to its publication."""


class WorkLookup(Protocol):
    """Finds records by identifier: an engine, or its look-up."""

    def works(self, ids: Sequence[str]) -> list[Work | None]: ...

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]: ...


def work_identified(records: WorkLookup, identifier: Identifier) -> Work | None:
    """The record with this identifier, the published one before a preprint; None without one."""
    found: list[Work] = []
    anthology = identifier.value if identifier.kind == "acl" else acl_id(identifier.doi)
    ids = []
    if identifier.arxiv:
        found = records.lookup(arxiv=identifier.arxiv)
        ids = [f"arxiv:{identifier.arxiv}"]
    elif identifier.kind == "openreview":
        ids = [f"openreview:{identifier.value}"]
    elif identifier.kind == "url":
        ids = [address_key(identifier.value)]
    if not found and identifier.doi:
        found = records.lookup(doi=identifier.doi)
    if not found and anthology:
        ids = [f"acl:{anthology}"]
    if not found:
        found = [work for work in records.works(ids) if work is not None]
    if not found and identifier.kind == "acl":
        found = records.lookup(doi=f"10.18653/v1/{anthology}")
    if not found and identifier.arxiv:
        found = _by_title(records, identifier.arxiv)
    return min(found, key=_is_preprint, default=None)


def _by_title(records: WorkLookup, arxiv: str) -> list[Work]:
    """The one record with the title of a well-known arXiv paper, of about the same years."""
    title = title_of_arxiv(arxiv)
    return published(records.lookup(title=title), arxiv) if title else []


def published(found: list[Work], arxiv: str) -> list[Work]:
    """The one record with a preprint's title, if it is of about the same years."""
    year = arxiv_year(arxiv)
    if len(found) != 1 or year is None or found[0].year is None:
        return []
    early, late = PUBLISHED_WITHIN
    return found if early <= found[0].year - year <= late else []


def _is_preprint(work: Work) -> bool:
    venue = f"{work.venue} {work.booktitle} {work.journal}".lower()
    return not venue.strip() or "arxiv" in venue or "corr" in venue.split()


class Identified:
    """Answers searches for an identifier. Thread-safe."""

    def __init__(
        self,
        records: WorkLookup,
        online: OnlineSearch | None,
        problems: Sequence[Problem],
        held: Callable[[Work], Work | None],
    ) -> None:
        """`problems` give the reason for a missing library; `held` returns its own record of a
        work."""
        self._records = records
        self._online = online
        self._problems = tuple(problems)
        self._held = held

    def answer(self, query: Query) -> SearchResult | None:
        """The one work, or the problem that there is none; None for any other query."""
        identifier = identifier_of(query.text)
        if identifier is None:
            return None
        work = work_identified(self._records, identifier)
        if work is not None:
            return _found(work, identifier) if work.id not in query.exclude else SearchResult()
        if self._online is None:
            return SearchResult(problems=self._problems or (_not_held(identifier),))
        late = self._online.offer(query.text)
        for merged in late.works:
            if identifier.names(merged.work):
                own = self._held(merged.work) or merged.work
                return _found(own, identifier, merged.work)
        return SearchResult(
            problems=self._problems or (_not_held(identifier, self._online.names),),
            dropped=late.problems,
        )


def _found(work: Work, identifier: Identifier, origin: Work | None = None) -> SearchResult:
    sources = [] if origin is None else [one.source for one in origin.provenance]
    evidence = [Evidence(NAME, 1, 1.0, (identifier.kind,), (identifier.value,))]
    evidence += [Evidence(source, 1, 1.0) for source in dict.fromkeys(sources)]
    return SearchResult(hits=(Hit(work=work, score=1.0, evidence=tuple(evidence), confidence=1.0),))


def _not_held(identifier: Identifier, sources: Sequence[str] = ()) -> Problem:
    if sources:
        return Problem(
            "identifier-unknown",
            f"The library has no work with {identifier.description}, "
            "and no source has answered yet.",
            "Try again in a moment, or search by title.",
        )
    return Problem(
        "identifier-unknown",
        f"The library has no work with {identifier.description}.",
        "Search by title, or ask the sources that you allow: `citewell find --online`.",
    )
