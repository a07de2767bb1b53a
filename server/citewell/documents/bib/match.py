"""Is a work already in a .bib file? By DOI, then arXiv identifier, then title, surname and year."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.model.bib import BibEntry, BibFile
from citewell.model.bib_body import BibBody
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.names import family_key
from citewell.model.titles import title_key
from citewell.model.work import Work

_LONG_TITLE = 30
"""Letters from which a title alone, with the same year, is proof enough for a nameless entry."""


def find_work(bib: BibFile, work: Work) -> BibEntry | None:
    """The entry of `bib` that is `work`, or None.

    A shared DOI is the strongest proof, then a shared arXiv identifier, then an equal normalised
    title with a shared surname and years that differ by one at most (a preprint and its paper).
    """
    return next(_matches(bib, work), None)


def same_work(entry: BibEntry, work: Work) -> bool:
    """True when an entry and a record are the same work, by the rules of `find_work`."""
    body = entry.body
    doi, arxiv = normalise_doi(work.doi), _arxiv(work)
    if (doi and body.doi == doi) or (arxiv and body.arxiv == arxiv):
        return True
    key = title_key(work.title)
    return bool(key) and body.title_key == key and _agree(body, work)


def with_doi(bib: BibFile, doi: str) -> Iterator[BibEntry]:
    """The entries with a normalised DOI."""
    number = hash(doi)
    for entry in bib.entries:
        if entry.body.identity.doi == number and entry.body.doi == doi:
            yield entry


def with_arxiv(bib: BibFile, arxiv: str) -> Iterator[BibEntry]:
    """The entries with an arXiv identifier."""
    number = hash(arxiv)
    for entry in bib.entries:
        if entry.body.identity.arxiv == number and entry.body.arxiv == arxiv:
            yield entry


def _matches(bib: BibFile, work: Work) -> Iterator[BibEntry]:
    if doi := normalise_doi(work.doi):
        yield from with_doi(bib, doi)
    if arxiv := _arxiv(work):
        yield from with_arxiv(bib, arxiv)
    if key := title_key(work.title):
        number = hash(key)
        for entry in bib.entries:
            body = entry.body
            if body.identity.title == number and body.title_key == key and _agree(body, work):
                yield entry


def _arxiv(work: Work) -> str:
    return work.arxiv or arxiv_id(work.doi) or arxiv_id(work.url)


def _agree(body: BibBody, work: Work) -> bool:
    """True when authors and years do not speak against equal titles."""
    if body.year is not None and work.year is not None and abs(body.year - work.year) > 1:
        return False
    ours = {family_key(author) for author in body.authors}
    theirs = {family_key(author) for author in work.authors}
    if ours and theirs:
        return not ours.isdisjoint(theirs)
    same_link = bool(work.url) and body.get("url") == work.url
    return body.year == work.year and (same_link or len(body.title_key) >= _LONG_TITLE)
