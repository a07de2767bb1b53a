"""Whether keys that differ in case only are one key, as for BibTeX, not for biblatex and Pandoc."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from citewell.model.document import Document, Format


def reads_biblatex(documents: Iterable[Document]) -> bool:
    """True when biblatex, not BibTeX, reads the bibliographies of these documents."""
    return any(
        "biblatex" in d.packages or any(b.command == "addbibresource" for b in d.bibliographies)
        for d in documents
    )


def folds_case(documents: Collection[Document]) -> bool:
    """True when keys of these documents that differ in case only are one key."""
    return not reads_biblatex(documents) and all(d.format is Format.LATEX for d in documents)


def by_lower_case(keys: Iterable[str]) -> dict[str, list[str]]:
    """The different keys by their lower case."""
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        found.setdefault(key.lower(), []).append(key)
    return found
