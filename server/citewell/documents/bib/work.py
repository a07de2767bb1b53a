"""The fields of an entry with inherited ones, and the work that they describe."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from citewell.model.bib import BibEntry, BibFile, TextEdit
from citewell.model.bib_body import BibBody
from citewell.model.check import Mark
from citewell.model.document import Span
from citewell.model.fields import BIB_FIELDS, RECORDED, value_of
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.names import family_key
from citewell.model.titles import plain_title, title_key
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


# Is a work already in a .bib file? By DOI, then arXiv identifier, then title, surname and year.

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


# Marks of entries as checked: a comment above the entry that silences what the check reports.

_LINE = re.compile(
    r"[ \t]*%+[ \t]*citewell:[ \t]*ignore (?P<codes>[a-z0-9, -]+): checked "
    r"(?P<day>\d{4}-\d\d-\d\d)(?: against (?P<record>\S+))?[ \t\r]*"
)
_COMMENT = re.compile(r"[ \t]*%[^\n]*")


def mark_of(bib: BibFile, entry: BibEntry) -> Mark | None:
    """The mark among the comment lines directly above an entry."""
    found = _marked_line(bib.text, entry.start)
    if found is None:
        return None
    return Mark(
        tuple(found["codes"].replace(",", " ").split()), found["day"], found["record"] or ""
    )


def mark_edit(
    bib: BibFile,
    entry: BibEntry,
    codes: Sequence[str],
    record: str = "",
    day: datetime.date | None = None,
) -> TextEdit:
    """The edit that marks an entry as checked, or renews its mark. `day` is by default today."""
    day = day or datetime.datetime.now(datetime.UTC).date()
    against = f" against {record}" if record else ""
    # An @ outside of an entry would begin one.
    reason = f"checked {day.isoformat()}{against}".replace("@", "%40")
    comment = f"% citewell: ignore {', '.join(codes)}: {reason}"
    ending = "\r\n" if "\r\n" in bib.text else "\n"
    old = _marked_line(bib.text, entry.start)
    if old is not None:
        end = old.end() - old[0].endswith("\r")
        return TextEdit(Span(old.start(), end), comment)
    before = bib.text[bib.text.rfind("\n", 0, entry.start) + 1 : entry.start]
    return TextEdit(
        Span(entry.start, entry.start), f"{ending if before.strip() else ''}{comment}{ending}"
    )


def _marked_line(text: str, start: int) -> re.Match[str] | None:
    end = text.rfind("\n", 0, start)
    while end > 0:
        begin = text.rfind("\n", 0, end) + 1
        if (found := _LINE.fullmatch(text, begin, end)) is not None:
            return found
        if _COMMENT.fullmatch(text, begin, end) is None:
            return None
        end = begin - 1
    return None
