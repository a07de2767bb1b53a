"""Records in JSON: one per line, or the elements of an array. Bad ones are skipped and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citewell.corpus.errors import library_error
from citewell.model import Work
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import CitedWork, ImportReport, PaperCitations

R = TypeVar("R")
Object = dict[str, Any]
_BAD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def in_lines(path: Path, kind: type[R], report: ImportReport) -> Iterator[tuple[int, R]]:
    """The record in each line, decoded as `kind` (`Object`: any), with its number."""
    decoder = msgspec.json.Decoder(kind)
    for number, line in files.lines(path, report):
        try:
            record = decoder.decode(line)
        except _BAD as error:
            report.bad_record(path, number, f"The line is not a record: {error}.")
        else:
            yield number, record


def in_array(path: Path, name: str, report: ImportReport) -> Iterator[tuple[int, Object]]:
    """Each object, with its line, of the document's array, or of the array under `name`.

    Raises `LibraryError` if the file is not JSON.
    """
    data = files.whole(path, report)
    array: msgspec.Raw | bytes = data
    if data.lstrip()[:1] == b"{":
        frame = _decoded(path, data, dict[str, msgspec.Raw])
        array = frame.get(name, msgspec.Raw(b"[]"))
    yield from _objects(path, _numbered(data, _decoded(path, array, list[msgspec.Raw])), report)


def in_document(
    path: Path, arrays: Sequence[str], field: str, report: ImportReport
) -> Iterator[tuple[int, Object]]:
    """Each object, with its line, for any structure of the file.

    It may be an array, an array under one of the names, a single object (with `field`), an object
    with records as values, or an object on each line. Raises `LibraryError` if the file is not
    JSON.
    """
    data = files.text(path, report).removeprefix("\ufeff").encode()
    if data.lstrip()[:1] != b"{":
        raws = _decoded(path, data, list[msgspec.Raw])
        yield from _objects(path, _numbered(data, raws), report)
        return
    try:
        whole = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except _BAD:
        rows = ((n, row) for n, row in enumerate(data.split(b"\n"), 1) if row.strip())
        yield from _objects(path, rows, report)
        return
    name = next((name for name in arrays if name in whole), "")
    if name:
        raws = _decoded(path, whole[name], list[msgspec.Raw])
    else:
        raws = [msgspec.Raw(data.strip())] if field in whole else list(whole.values())
    yield from _objects(path, _numbered(data, raws), report)


def works(
    records: Iterable[tuple[int, R]],
    work_of: Callable[[R], Work | str],
    path: Path,
    report: ImportReport,
    cited_in: Callable[[R], tuple[CitedWork, ...]] | None = None,
) -> Iterator[Work]:
    """The works of numbered records; for a bad record, `work_of` returns the reason.

    `cited_in` reads the citations of a record.
    """
    for number, record in records:
        work = work_of(record)
        if isinstance(work, str):
            report.bad_record(path, number, work)
            continue
        report.records += 1
        if cited_in is not None and (cited := cited_in(record)):
            report.cites(PaperCitations(work.title, cited, work.abstract))
        yield work


def first_object(path: Path) -> Object:
    """The object in the first line; empty if there is none."""
    line = files.first_line(path)
    if not line.startswith(b"{"):
        return {}
    try:
        return msgspec.json.decode(line, type=Object)
    except _BAD:
        return {}


def _decoded(path: Path, data: bytes | msgspec.Raw, kind: type[R]) -> R:
    """The frame of a document, with raw records. Raises `LibraryError` for any other."""
    try:
        return msgspec.json.decode(data, type=kind)
    except _BAD as error:
        message = f"The file is not valid JSON: {error}."
        raise library_error("source-unreadable", message, path) from None


def _numbered(data: bytes, raws: Iterable[msgspec.Raw]) -> Iterator[tuple[int, bytes]]:
    """Line and raw text of each element, in the order of the file."""
    line, at = 1, 0
    for raw in raws:
        # The elements are in file order, so each search starts where the last one ended.
        start = data.find(bytes(raw), at)
        if start >= 0:
            line += data.count(b"\n", at, start)
            at = start
        yield line, bytes(raw)


def _objects(
    path: Path, raws: Iterable[tuple[int, bytes]], report: ImportReport
) -> Iterator[tuple[int, Object]]:
    for line, raw in raws:
        try:
            item = msgspec.json.decode(raw, type=Object)
        except _BAD as error:
            report.bad_record(path, line, f"The item is not an object: {error}.")
        else:
            yield line, item
