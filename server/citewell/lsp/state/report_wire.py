"""Diagnostics in the protocol's types, encoded on the background thread: the library's own encoder
takes 50 us for each, on the event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pygls.uris import from_fs_path

from citewell.lsp.protocol.open_document import LineIndex
from citewell.lsp.protocol.wire import Location, Range
from citewell.model.document import Diagnostic, Level, RelatedLocation

if TYPE_CHECKING:
    from citewell.documents.project.paper_project import Project
    from citewell.model.bib import BibFile
    from citewell.model.document import Document

SOURCE = "citewell"
SEVERITY = {Level.ERROR: 1, Level.WARNING: 2, Level.INFORMATION: 3, Level.HINT: 4}
_UNNECESSARY = (1,)
_PACKAGE = Path(__file__).resolve().parents[2]

IndexOf = Callable[[Path], LineIndex | None]
"""Positions of another file; None when it cannot be read."""


class Report(msgspec.Struct, frozen=True, eq=False):
    """The diagnostics of one version of one file, encoded."""

    items: bytes
    """The diagnostics as a JSON array."""
    result_id: str
    projects: tuple[Project, ...]
    source: Document | BibFile

    @property
    def is_empty(self) -> bool:
        """True without any diagnostics."""
        return self.items == b"[]"


class _Link(msgspec.Struct, frozen=True, gc=False):
    href: str


class _Related(msgspec.Struct, frozen=True, gc=False):
    location: Location
    message: str


class _Wire(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, gc=False):
    range: Range
    severity: int
    code: str
    source: str
    message: str
    code_description: _Link | None = None
    tags: tuple[int, ...] = ()
    related_information: tuple[_Related, ...] = ()
    data: Any = None


def encoded(
    found: Iterable[Diagnostic],
    path: Path,
    index_of: IndexOf,
    *,
    tags: bool = True,
    related: bool = True,
) -> bytes:
    """Encode the diagnostics of a file as a JSON array. `tags` and `related` are capabilities of
    the client."""
    items: list[_Wire] = []
    for one in found:
        index = index_of(path)
        assert index is not None
        items.append(
            _Wire(
                range=index.wire_range(one.span),
                severity=SEVERITY[one.level],
                code=one.code,
                source=SOURCE,
                message=one.message,
                code_description=_link(one.code),
                tags=_UNNECESSARY if one.unnecessary and tags else (),
                related_information=tuple(_related(one.related, index_of)) if related else (),
                data=one.data or None,
            )
        )
    return msgspec.json.encode(items)


def _related(related: Iterable[RelatedLocation], index_of: IndexOf) -> Iterable[_Related]:
    for one in related:
        index = index_of(one.path)
        uri = from_fs_path(str(one.path))
        if index is not None and uri:
            yield _Related(Location(uri, index.wire_range(one.span)), one.message)


@cache
def _link(code: str) -> _Link | None:
    """The section of docs/diagnostics.md or docs/review.md, beside the package or, when installed,
    in it."""
    from citewell.features.checking.codes import OWN

    name, section = ("review.md", "codes") if code in OWN else ("diagnostics.md", code)
    for folder in (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs"):
        if (folder / name).is_file():
            return _Link(f"{from_fs_path(str(folder / name))}#{section}")
    return None


def result_id(*parts: bytes) -> str:
    """An id of a report: equal for the same bytes, in any session."""
    from hashlib import blake2b  # not before the first report

    digest = blake2b(digest_size=12)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def answer(report: Report, previous: str | None) -> bytes:
    """The answer about one file to a client that has the result `previous`."""
    if previous == report.result_id:
        return b'{"kind":"unchanged","resultId":%s}' % as_json(report.result_id)
    return b'{"kind":"full","resultId":%s,"items":%s}' % (as_json(report.result_id), report.items)


def item(report: Report, uri: str, version: int | None, previous: str) -> bytes:
    """The answer about one file within a report on several, as JSON."""
    place = b'"uri":%s,"version":%s' % (as_json(uri), as_json(version))
    return b"{%s,%s" % (place, answer(report, previous)[1:])


def unchanged(uri: str, value: str) -> bytes:
    """The answer about a file with unchanged diagnostics, as JSON."""
    return b'{"kind":"unchanged","uri":%s,"version":null,"resultId":%s}' % (
        as_json(uri),
        as_json(value),
    )


def as_json(value: str | int | None) -> bytes:
    """One value as JSON."""
    return msgspec.json.encode(value)


def gone(uri: str) -> bytes:
    """The answer about a file that no longer exists: no diagnostics, as JSON."""
    return b'{"kind":"full","uri":%s,"version":null,"items":[]}' % as_json(uri)
