"""Whether a record is the work that an identifier or a title names."""

from __future__ import annotations

from citewell.corpus import keys
from citewell.model import Work
from citewell.model.identifiers import arxiv_ids, dois_of
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.titles import title_key


def has_source_id(work: Work, identifier: str) -> bool:
    """True if a source of the record gave the work this id."""
    return any(origin.source_id == identifier for origin in work.provenance)


def answers_to(work: Work, identifier: str) -> bool:
    """True if the identifier names the work: that of a source, or one of its own."""
    if has_source_id(work, identifier):
        return True
    return keys.id_number(identifier) in keys.identity_numbers(work)


def same_doi(work: Work, doi: str) -> bool:
    """True if the DOI is one of the work."""
    return normalise_doi(doi) in dois_of(work)


def same_arxiv(work: Work, arxiv: str) -> bool:
    """True if the arXiv id is one of the work."""
    return arxiv_id(arxiv) in arxiv_ids(work)


def same_title(work: Work, title: str) -> bool:
    """True if the normalised titles are equal."""
    return title_key(work.title) == title_key(title)
