"""The fields of an entry with inherited ones, and the work that they describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citewell.model.bib import BibEntry, BibFile
from citewell.model.fields import BIB_FIELDS, RECORDED, value_of
from citewell.model.titles import plain_title
from citewell.model.work import Provenance, Work

_DEPTH = 5
_NOT_INHERITED = frozenset(n for n, one in BIB_FIELDS.items() if one.inherited == "never")
_FROM_PARENT = {"booktitle": "title", "booksubtitle": "subtitle"}
_OF_ARTICLE = {"journal": "title", "issuetitle": "subtitle"}
_OF_VOLUME = frozenset(n for n, one in BIB_FIELDS.items() if one.inherited == "always")
_KINDS = {
    "conference": "inproceedings", "online": "misc", "electronic": "misc", "www": "misc",
    "thesis": "phdthesis", "report": "techreport", "periodical": "misc", "inbook": "incollection",
    "suppbook": "incollection", "collection": "book", "mvbook": "book", "unpublished": "misc",
    "preprint": "misc", "dataset": "misc", "software": "misc",
}  # fmt: skip


def inherited(by_key: Mapping[str, BibEntry], entry: BibEntry) -> dict[str, str]:
    """All plain fields of an entry, those of its `xdata` and `crossref` parents included.

    Own fields win, then xdata, then crossref; a paper's `booktitle` (an article's `journal`) is its
    volume's `title`. A chain that leads back to itself, or to no entry, ends there.
    """
    return _inherited(by_key, entry, _DEPTH)


def author_source(by_key: Mapping[str, BibEntry], entry: BibEntry) -> BibEntry:
    """The entry that names the authors: itself, or the first of its `xdata` parents that does."""
    return _author_source(by_key, entry, _DEPTH) or entry


def _author_source(by_key: Mapping[str, BibEntry], entry: BibEntry, depth: int) -> BibEntry | None:
    if "author" in entry.names:
        return entry
    keys = entry.get("xdata").split(",") if depth else ()
    parents = (by_key.get(key.strip()) for key in keys)
    sources = (_author_source(by_key, one, depth - 1) for one in parents if one is not None)
    return next((source for source in sources if source is not None), None)


def _inherited(by_key: Mapping[str, BibEntry], entry: BibEntry, depth: int) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name in entry.names:
        if name not in fields:
            fields[name] = entry.get(name)
    if depth == 0:
        return fields
    for key in fields.get("xdata", "").split(","):
        source = by_key.get(key.strip())
        if source is not None and source is not entry:
            for name, value in _inherited(by_key, source, depth - 1).items():
                if name not in _NOT_INHERITED:
                    fields.setdefault(name, value)
    parent = by_key.get(fields.get("crossref", "").strip())
    if parent is not None and parent is not entry:
        volume = _inherited(by_key, parent, depth - 1)
        containers = _OF_ARTICLE if entry.type == "article" else _FROM_PARENT
        for name, source_name in containers.items():
            if source_name in volume and not ("journal" in volume and name == "journal"):
                fields.setdefault(name, volume[source_name])
        for name, value in volume.items():
            if name in _OF_VOLUME or name not in BIB_FIELDS:
                fields.setdefault(name, value)
    return fields


def entry_year(entry: BibEntry, fields: Mapping[str, str]) -> int | None:
    """The year of an entry, or of its parents; `fields` are its own and the inherited ones."""
    if (year := entry.body.year) is not None:
        return year
    digits = value_of(fields, "year").strip()[:4]
    return int(digits) if len(digits) == 4 and digits.isdecimal() else None


def entry_work(bib: BibFile, entry: BibEntry) -> Work:
    """The work that an entry describes, with the file and the key as provenance."""
    fields = inherited(bib.by_key, entry)
    body = entry.body
    title = plain_title(fields.get("title", ""))
    if subtitle := fields.get("subtitle", ""):
        title = f"{title}: {subtitle}"
    record: dict[str, Any] = {one.record: value_of(fields, one.name) for one in RECORDED}
    record |= {"pages": BIB_FIELDS["pages"].form(record["pages"]), "doi": body.doi}
    return Work(
        **record,
        id=f"bib:{entry.key}",
        title=title,
        authors=author_source(bib.by_key, entry).body.authors,
        year=entry_year(entry, fields),
        kind=_KINDS.get(entry.type, entry.type),
        arxiv=body.arxiv,
        bibkey=entry.key,
        provenance=(Provenance(source=f"bibtex:{bib.path}", source_id=entry.key),),
    )
