"""What in a .bib or a document leads elsewhere: DOIs, addresses, preprints, attached and named
files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath

import msgspec

from citewell.documents.project.paper_project import Project
from citewell.model.bib import BibEntry, BibField, BibFile
from citewell.model.document import Span
from citewell.model.fields import with_trait
from citewell.model.identifiers import arxiv_id, normalise_doi

_ADDRESS = re.compile(r"https?://[^\s{}\"<>|\\^`]+(?:\\[_%&#~][^\s{}\"<>|\\^`]*)*")
_UNESCAPE = re.compile(r"\\([_%&#~])")
_LINKED = with_trait("link")
_PIECE = re.compile(r"(?:\\.|[^;\\])+")
_PART = re.compile(r"((?:\\.|[^:\\])*)(?::|$)")
_ESCAPED = re.compile(r"\\([:;\\_{}&%#])")
_DRIVE = re.compile(r"[A-Za-z]")


class Link(msgspec.Struct, frozen=True):
    """A range that leads to an address, or to the first of some files that is there."""

    span: Span
    url: str = ""
    files: tuple[str, ...] = ()


def bib_links(bib: BibFile) -> Iterator[Link]:
    """The links of the entries of a .bib."""
    folder = Path(bib.path).parent
    for entry in bib.entries:
        for field in entry.fields_of(_LINKED):
            yield from _of_field(entry, field, folder)


def document_links(projects: Iterable[Project], path: Path) -> Iterator[Link]:
    """The files that a document names: bibliographies and included sources."""
    seen: set[Span] = set()
    for project in projects:
        for span, target in project.named_files(path):
            if span not in seen:
                seen.add(span)
                yield Link(span, files=(str(target),))


def _of_field(entry: BibEntry, field: BibField, folder: Path) -> Iterator[Link]:
    inner = _inner(field)
    link = _LINKED[field.name].link
    if link == "doi":
        if doi := normalise_doi(field.value):
            yield Link(inner, f"https://doi.org/{doi}")
    elif link == "arxiv":
        kind = (entry.get("archiveprefix") or entry.get("eprinttype")).lower()
        if kind in ("", "arxiv") and (number := arxiv_id(field.value)):
            yield Link(inner, f"https://arxiv.org/abs/{number}")
    elif link.startswith("https:"):
        digits = field.value.strip().upper().removeprefix("PMC")
        if digits.isascii() and digits.isdigit():
            yield Link(inner, f"{link}{digits}/")
    elif link == "file" and "://" not in field.raw:
        yield from _attached(field, inner, folder)
    else:
        for found in _ADDRESS.finditer(field.raw):
            address = found[0].rstrip(".,;")
            start = field.value_span.start + found.start()
            yield Link(Span(start, start + len(address)), _UNESCAPE.sub(r"\1", address))


def _inner(field: BibField) -> Span:
    """The value without its delimiters."""
    raw = field.raw
    wrapped = len(raw) > 1 and raw[0] in '{"' and raw[-1] in '}"'
    span = field.value_span
    return Span(span.start + 1, span.end - 1) if wrapped else span


def _attached(field: BibField, inner: Span, folder: Path) -> Iterator[Link]:
    """`path`, `description:path:type` and several of them with `;` between, as reference managers
    write them."""
    offset = inner.start - field.value_span.start
    text = field.raw[offset : offset + inner.end - inner.start]
    for piece in _PIECE.finditer(text):
        path = _attached_path(piece[0].strip())
        if path:
            start = inner.start + piece.start() + len(piece[0]) - len(piece[0].lstrip())
            span = Span(start, start + len(piece[0].strip()))
            yield Link(span, files=tuple(_places(path, folder)))


def _attached_path(piece: str) -> str:
    parts = [found[1] for found in _PART.finditer(piece) if found[0]]
    parts = [_ESCAPED.sub(r"\1", part) for part in parts]
    if len(parts) == 1:
        return parts[0]
    if len(parts) >= 3:
        # A drive's colon is escaped by some programs and not by others.
        middle = parts[1:-1]
        return ":".join(middle) if len(middle) == 2 and _DRIVE.fullmatch(middle[0]) else middle[0]
    return ":".join(parts) if _DRIVE.fullmatch(parts[0]) else parts[1]


def _places(path: str, folder: Path) -> Iterator[str]:
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute():
        yield path
        return
    yield str(folder / path)
    # Some write the path from the root of the disk, or from home, without its slash.
    yield "/" + path
    yield str(Path.home() / path)
