"""Which entry of the project is this paper? `find_work`, for many papers and large .bib files."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.documents.bib.match import same_work
from citewell.model import Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.cooperative import cooperative
from citewell.model.identifiers import Identifier, address_key, identifier_of
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.titles import title_key

_Place = tuple[str, BibEntry]
"""An entry with the path of its .bib."""


def entries_identified(
    bibs: Iterable[BibFile], identifier: Identifier
) -> list[tuple[str, BibEntry]]:
    """The entries with this identifier, each with the path of its .bib."""
    return [
        (bib.path, entry)
        for bib in bibs
        for entry in cooperative(bib.entries)
        if entry.key and _is_named(entry, identifier)
    ]


def _is_named(entry: BibEntry, identifier: Identifier) -> bool:
    body = entry.body
    if identifier.kind == "arxiv":
        return body.arxiv == identifier.arxiv
    if body.doi and body.doi == identifier.doi:
        return True
    if identifier.kind == "doi":
        return False
    return any(
        (named := identifier_of(entry.get(field))) is not None
        and (named == identifier or address_key(named.value) == address_key(identifier.value) != "")
        for field in ("url", "doi", "eprint")
    )


class KnownWorks:
    """The entries of some .bib files by DOI, arXiv identifier and title. Immutable.

    What it asks of an entry is remembered by the entry's body, so that building it again after an
    edit costs a walk over the entries and no parsing.
    """

    def __init__(self, bibs: Iterable[BibFile]) -> None:
        self._by_identifier: dict[str, _Place] = {}
        self._by_title: dict[str, _Place | list[_Place]] = {}
        """A list only where entries share a title."""
        for bib in bibs:
            for entry in cooperative(bib.entries):
                if entry.key:
                    self._add(bib.path, entry)

    def _add(self, path: str, entry: BibEntry) -> None:
        body, place = entry.body, (path, entry)
        for identifier in (body.doi, body.arxiv):
            if identifier:
                self._by_identifier.setdefault(identifier, place)
        if body.title_key:
            first = self._by_title.setdefault(body.title_key, place)
            if isinstance(first, list):
                first.append(place)
            elif first is not place:
                self._by_title[body.title_key] = [first, place]

    def find(self, work: Work) -> tuple[str, BibEntry] | None:
        """The entry that describes the work, with the path of its .bib: by DOI, then by arXiv
        identifier, then by title where authors and years agree."""
        arxiv = work.arxiv or arxiv_id(work.doi) or arxiv_id(work.url)
        for identifier in (normalise_doi(work.doi), arxiv):
            if identifier and (found := self._by_identifier.get(identifier)) is not None:
                return found
        titled = self._by_title.get(title_key(work.title), []) if work.title else []
        places = titled if isinstance(titled, list) else [titled]
        return next((found for found in places if same_work(found[1], work)), None)
