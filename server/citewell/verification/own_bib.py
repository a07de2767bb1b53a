"""A reference is no evidence for itself.

A `.bib` may be a part of the library (`citewell library add refs.bib`). When it is checked, the
records that it alone gave are its own entries: they would verify every invention, and hide what
other records say.
"""

from __future__ import annotations

import os
from functools import lru_cache

from citewell.model import Work
from citewell.model.check import Claim
from citewell.verification.records import Candidates

_BIB = "bibtex:"
"""Before the path of a `.bib`, in the name of a source."""


def is_from_own_bib(claim: Claim, work: Work) -> bool:
    """True for a record that comes from nothing but the `.bib` that is checked."""
    if not claim.path or not work.provenance:
        return False
    return all(
        origin.source.startswith(_BIB)
        and _real(origin.source.removeprefix(_BIB)) == _real(claim.path)
        for origin in work.provenance
    )


def without_own_bib(claim: Claim, found: Candidates) -> Candidates:
    """The candidates of a claim without the records that its own `.bib` gave."""

    def others(works: tuple[Work, ...]) -> tuple[Work, ...]:
        return tuple(work for work in works if not is_from_own_bib(claim, work))

    return Candidates(
        by_doi=others(found.by_doi),
        by_arxiv=others(found.by_arxiv),
        by_title=others(found.by_title),
    )


@lru_cache(maxsize=256)
def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))
