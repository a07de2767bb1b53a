"""Records in JSON: one per line, or the elements of an array. Bad ones are skipped and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from citewell.corpus.errors import library_error
from citewell.model import Work
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import Cited, Citing, ImportReport

R = TypeVar("R")
Object = dict[str, Any]
_BAD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def in_lines(path: Path, kind: type[R], report: ImportReport) -> Iterator[tuple[int, R]]:
    """The record of a `kind` (`Object`: any) that each line holds, with its number."""
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
    for line, raw in _elements(path, name, report):
        try:
            item = msgspec.json.decode(raw, type=Object)
        except _BAD as error:
            report.bad_record(path, line, f"The item is not an object: {error}.")
        else:
            yield line, item


def works(
    records: Iterable[tuple[int, R]],
    work_of: Callable[[R], Work | str],
    path: Path,
    report: ImportReport,
    cited_in: Callable[[R], tuple[Cited, ...]] | None = None,
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
            report.cites(Citing(work.title, cited, work.abstract))
        yield work


def first_object(path: Path) -> Object:
    """The object in the first line; empty where there is none."""
    line = files.first_line(path)
    if not line.startswith(b"{"):
        return {}
    try:
        return msgspec.json.decode(line, type=Object)
    except _BAD:
        return {}


def _elements(path: Path, name: str, report: ImportReport) -> Iterator[tuple[int, msgspec.Raw]]:
    """Line and raw text of each element; only the frame is parsed here."""
    data = files.whole(path, report)
    try:
        if data.lstrip()[:1] == b"{":
            frame = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
            array = msgspec.json.decode(frame.get(name, msgspec.Raw(b"[]")), type=list[msgspec.Raw])
        else:
            array = msgspec.json.decode(data, type=list[msgspec.Raw])
    except _BAD as error:
        message = f"The file is not valid JSON: {error}."
        raise library_error("source-unreadable", message, path) from None
    line, at = 1, 0
    for raw in array:
        # The elements are in file order, so each search starts where the last one ended.
        start = data.find(bytes(raw), at)
        if start >= 0:
            line += data.count(b"\n", at, start)
            at = start
        yield line, raw
