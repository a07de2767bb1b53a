"""The works that a paper cites, from its entries, in the form that a search takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from citewell.documents.project.declared_bibs import is_collection
from citewell.model.bib import BibEntry, BibFile
from citewell.model.document import Document
from citewell.model.query import Reference

MOST_UNCITED = 300
"""Entries that a paper does not cite; with more, the .bib is a collection for all papers."""


def cited_works(
    keys: Sequence[str], documents: Iterable[Document], entries: Iterable[BibEntry]
) -> tuple[Reference, ...]:
    """The works of `keys` that an entry describes, each with how often the documents cite it."""
    by_key: dict[str, BibEntry] = {}
    for entry in entries:
        by_key.setdefault(entry.key, entry)
    times = Counter(
        use.key
        for document in documents
        for citation in document.citations
        if not citation.command.startswith("nocite")
        for use in citation.keys
    )
    found = ((by_key.get(key), times[key]) for key in keys)
    return tuple(reference_of(entry, often) for entry, often in found if entry is not None)


def uncited_titles(bibs: Mapping[Path, BibFile], cited: Collection[str]) -> tuple[str, ...]:
    """Titles of the entries whose key is not in `cited`; none where they are too many to have been
    collected for the paper."""
    found: dict[str, None] = {}
    for path, bib in bibs.items():
        if not is_collection(path, bib):
            entries = (one for one in bib.entries if one.key not in cited)
            found.update((title, None) for one in entries if (title := one.body.get("title")))
    return tuple(found) if len(found) <= MOST_UNCITED else ()


def reference_of(entry: BibEntry, times: int = 0) -> Reference:
    """The reference of an entry for a search, with the number of times the paper cites it."""
    body = entry.body
    return Reference(
        title=body.get("title"),
        authors=tuple(author.family for author in body.authors),
        year=body.year,
        doi=body.doi,
        arxiv=body.arxiv,
        key=entry.key,
        times=times,
    )
