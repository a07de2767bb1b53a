"""Streams records from JSON Lines, JSON and CSV files: plain, gzip or zstd, bounded in size.

Also parses what the records hold as text: sentences, years and BibTeX source.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from citewell.documents.context import split_sentences
from citewell.model.query import MARK
from citewell_lab.datasets.contract import DataSetReading, Peek, refuse

MAX_LINE = 64 * 1024 * 1024
"""Maximum bytes of a record. A full paper with its references needs less than one megabyte."""
MAX_DOCUMENT = 8 * 1024**3
"""Maximum bytes of a file that is one JSON value, which is read whole."""
MAX_FIELD = 4 * 1024 * 1024
"""Maximum characters of a field of a table."""

T = TypeVar("T")


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """The file's decompressed bytes; the compression is detected from the content, not the name."""
    with path.open("rb") as raw:
        head = raw.read(4)
        raw.seek(0)
        if head.startswith(b"\x1f\x8b"):
            with gzip.open(raw, "rb") as unzipped:
                yield unzipped  # type: ignore[misc]
        elif head == b"\x28\xb5\x2f\xfd":
            import zstandard

            with zstandard.ZstdDecompressor(max_window_size=2**31).stream_reader(
                raw, read_across_frames=True
            ) as reader:
                yield io.BufferedReader(reader, 1 << 20)
        else:
            yield raw


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Non-empty lines with their numbers from 1. Raises `DataSetError` on an over-long line."""
    with open_bytes(path) as stream:
        number = 0
        while line := stream.readline(MAX_LINE):
            number += 1
            if len(line) == MAX_LINE:
                raise refuse(
                    "data-set-too-large",
                    f"Line {number} is longer than {MAX_LINE // 2**20} MB.",
                    "Give a file with one record per line.",
                    path,
                )
            line = line.strip().removeprefix(b"\xef\xbb\xbf")
            if line:
                yield number, line


def records(path: Path, kind: type[T], reading: DataSetReading) -> Iterator[tuple[int, T]]:
    """The records of a JSON Lines file with their line; unreadable ones are counted."""
    decoder = msgspec.json.Decoder(kind, strict=False)
    for number, line in lines(path):
        reading.count("records")
        try:
            yield number, decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            reading.bad(f"The record cannot be read: {error}.", number, path)


def whole(path: Path, kind: type[T]) -> T:
    """The value of a file that is one JSON value. Raises `DataSetError` if it is too large or
    invalid."""
    with open_bytes(path) as stream:
        data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise refuse(
            "data-set-too-large",
            f"The file is larger than {MAX_DOCUMENT // 2**30} GB.",
            "Give a smaller file, or split it.",
            path,
        )
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=kind, strict=False)
    except msgspec.DecodeError as error:
        raise refuse(
            "data-set-syntax", f"The file does not match its schema: {error}.", "", path
        ) from error


def table(path: Path, reading: DataSetReading) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV or TSV file by column name, with the line on which each ends."""
    csv.field_size_limit(MAX_FIELD)
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
        head = text.readline()
        delimiter = "\t" if head.count("\t") > head.count(",") else ","
        columns = next(csv.reader([head], delimiter=delimiter), [])
        rows = csv.reader(text, delimiter=delimiter)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                reading.count("records")
                reading.bad(f"The row cannot be read: {error}.", rows.line_num + 1)
                continue
            if not row:
                continue
            reading.count("records")
            if len(row) < len(columns):
                reading.bad(f"The row has {len(row)} of {len(columns)} columns.", rows.line_num + 1)
                continue
            yield rows.line_num + 1, dict(zip(columns, row, strict=False))


def beside(path: Path, pattern: str) -> Path | None:
    """The first other file in the file's folder that matches the pattern, if any."""
    return min((other for other in path.parent.glob(pattern) if other != path), default=None)


def peek(path: Path) -> Peek:
    """Facts about the file or folder. Raises `DataSetError` if it cannot be read."""
    if path.is_dir():
        return Peek(path, "folder", names=tuple(sorted(p.name for p in path.iterdir())))
    if not path.is_file():
        raise refuse(
            "data-set-missing",
            f"File or folder not found: {path}.",
            "Check the path, or name a data set that `citewell eval --list` shows.",
            path,
        )
    try:
        with open_bytes(path) as stream:
            refuse_parquet(path, stream)
            return _peek_stream(path, stream)
    except (OSError, EOFError) as error:
        raise refuse(
            "data-set-unreadable", f"The file cannot be read: {error}.", "Check it.", path
        ) from error


def refuse_parquet(path: Path, stream: BinaryIO | None = None) -> None:
    """Raise `DataSetError` with the way to convert it for a Parquet file."""
    is_parquet = path.suffix == ".parquet"
    if stream is not None and stream.seekable():
        is_parquet = stream.read(4) == b"PAR1"
        stream.seek(0)
    if is_parquet:
        raise refuse(
            "data-set-parquet",
            f"{path.name} is a Parquet file, which Citewell does not read.",
            "Write it as JSON Lines, for example with `datasets`: "
            f"load_dataset(...).to_json({path.name.split('.')[0] + '.jsonl'!r}).",
            path,
        )


def _peek_stream(path: Path, stream: BinaryIO) -> Peek:
    line = b""
    while not line.strip() and (chunk := stream.readline(MAX_LINE)):
        line = chunk.removeprefix(b"\xef\xbb\xbf")
    start = line.lstrip()
    if start.startswith(b"["):
        return Peek(path, "array", first=_first_of_array(line + stream.read(MAX_LINE)))
    if start.startswith(b"{"):
        try:
            record = msgspec.json.decode(start)
        except msgspec.DecodeError:
            return Peek(path, "mapping", first=_first_of_mapping(line + stream.read(MAX_LINE)))
        values = list(record.values())
        nested = bool(values) and all(isinstance(value, dict) for value in values)
        if nested and "sentence" not in record:
            return Peek(path, "mapping", first=values[0])
        return Peek(path, "lines", first=record)
    text = line.decode("utf-8", "replace").strip()
    delimiter = "\t" if text.count("\t") > text.count(",") else ","
    columns = next(csv.reader([text], delimiter=delimiter), [])
    return Peek(path, "table", first=dict.fromkeys(columns, ""))


def _first_of_array(data: bytes) -> dict[str, Any]:
    return _decode_prefix(data, data.find(b"{"))


def _first_of_mapping(data: bytes) -> dict[str, Any]:
    """The value of the first key, or the outer object if that value is not an object."""
    return _decode_prefix(data, data.find(b"{", data.find(b"{") + 1))


def _decode_prefix(data: bytes, start: int) -> dict[str, Any]:
    """The JSON object that begins at `start`, ignoring text after it; {} if there is none."""
    import json

    if start < 0:
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(data[start:].decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


_YEAR = re.compile(r"\b(1[6-9]\d\d|20\d\d)\b")
_DOI = re.compile(r"\bdoi\s*=\s*[{\"]+\s*(?:https?://(?:dx\.)?doi\.org/)?(10\.[^\s}\"]+)", re.I)
_ARXIV = re.compile(
    r"(?:eprint\s*=\s*[{\"]+|arxiv[.:/ ]*(?:abs/|pdf/|preprint arxiv:)?|volume\s*=\s*[{\"]+abs/)"
    r"\s*(?:arxiv:)?(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})",
    re.I,
)


def letters_only(title: str) -> str:
    """The letters of a text in lower case, by which PaSa and SPAR compare titles."""
    return "".join(char for char in title.lower() if char.isalpha())


def year_in(text: object) -> int | None:
    """The first year in the text ("2009 [Online]"), or None."""
    match = _YEAR.search(str(text)) if text is not None else None
    return int(match.group()) if match else None


def identifiers(entry: str) -> tuple[str, str]:
    """DOI and arXiv identifier in the source of a BibTeX entry; empty if missing."""
    doi, arxiv = _DOI.search(entry), _ARXIV.search(entry)
    return (doi.group(1).lower().rstrip(".,;") if doi else "", arxiv.group(1) if arxiv else "")


def around_mark(text: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Sentences before, the sentence with `[CITATION]`, and sentences after it."""
    parts = split_sentences(" ".join(text.split()))
    for i, part in enumerate(parts):
        if MARK in part:
            # A mark at the start of a sentence belongs to the previous sentence.
            if part.startswith(MARK) and len(part.split()) == 1 and i:
                return tuple(parts[: i - 1]), f"{parts[i - 1]} {part}", tuple(parts[i + 1 :])
            return tuple(parts[:i]), part, tuple(parts[i + 1 :])
    return (), " ".join(parts), ()
