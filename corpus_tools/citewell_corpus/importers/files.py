"""Files as bounded streams: plain, gzip or Zstandard, detected by their first bytes.

`FileImporter` is the base of the importers of single files.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import zstandard

from citewell.corpus.errors import LibraryError, MissingPackageError, library_error
from citewell.documents.textfile import decode
from citewell.model import Problem, Work
from citewell_corpus.importers.contract import ImportReport

MAX_LINE = 8 << 20
"""Maximum bytes of a line; a longer one is a bad record."""
MAX_FILE = 1 << 30
"""Maximum bytes of a file that is read whole."""

_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 18
_BITE = 1 << 10


class _CountedStream(io.RawIOBase):
    """Reports how many bytes of the compressed file were read."""

    def __init__(self, stream: BinaryIO, report: ImportReport | None) -> None:
        self._stream = stream
        self._report = report

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._stream.read(len(view))
        view[: len(data)] = data
        if self._report is not None:
            self._report.read_bytes(len(data))
        return len(data)


class _Zstandard(io.RawIOBase):
    """Decompresses frame after frame; a file that ends inside a frame is an error.

    The library's reader accepts such a file. Small input chunks limit the expansion of a hostile
    file.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        self._frame = self._decompressor.decompressobj()
        self._begun = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._ready:
            bite = self._frame.unused_data or self._stream.read(_BITE)
            if not bite:
                if self._begun and not self._frame.eof:
                    raise EOFError("the last frame is not whole")
                return 0
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            self._begun = True
            self._ready = self._frame.decompress(bite)
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


@contextmanager
def opened(path: Path, report: ImportReport | None = None) -> Iterator[BinaryIO]:
    """The file's content, decompressed. Raises `LibraryError` if it cannot be opened or is cut."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
            stream.seek(0)
            counted = io.BufferedReader(_CountedStream(stream, report), _CHUNK)
            if head.startswith(_ZSTD):
                yield io.BufferedReader(_Zstandard(counted), _CHUNK)
            elif head.startswith(_GZIP):
                yield gzip.GzipFile(fileobj=counted)  # type: ignore[misc]
            else:
                yield counted
    except (zstandard.ZstdError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        message = f"The compressed file is damaged or truncated: {error}."
        raise library_error("source-unreadable", message, path) from None
    except FileNotFoundError:
        raise library_error("source-missing", "File not found.", path) from None
    except (PermissionError, IsADirectoryError) as error:
        message = f"The file cannot be read: {error.strerror}."
        raise library_error("source-unreadable", message, path) from None


def lines(path: Path, report: ImportReport) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and content of each non-blank line; over-long lines are reported."""
    with opened(path, report) as stream:
        number = 0
        while True:
            line = stream.readline(MAX_LINE + 1)
            if not line:
                return
            number += 1
            if len(line) > MAX_LINE:
                while line and not line.endswith(b"\n"):
                    line = stream.readline(MAX_LINE)
                report.bad_record(path, number, f"The line is longer than {MAX_LINE} bytes.")
                continue
            if number == 1:
                line = line.removeprefix(_BOM)
            line = line.strip()
            if line:
                yield number, line


def whole(path: Path, report: ImportReport | None = None) -> bytes:
    """The whole content, up to `MAX_FILE` bytes decompressed."""
    with opened(path, report) as stream:
        data = stream.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        message = f"The file is larger than {MAX_FILE} bytes."
        raise library_error("source-unreadable", message, path)
    return data.removeprefix(_BOM)


def text(path: Path, report: ImportReport) -> str:
    """The whole content as text with line feeds; an encoding that had to be guessed is reported."""
    data = whole(path, report)
    content, encoding, mark = decode(data)
    if encoding != "utf-8" and not mark:
        report.note(guessed_encoding(path, encoding))
    return content.replace("\r\n", "\n").replace("\r", "\n")


def guessed_encoding(path: Path, encoding: str) -> Problem:
    """The note on a file that states no encoding and is not in UTF-8."""
    name = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}.get(encoding, encoding.upper())
    return Problem(
        code="encoding-guessed",
        message=f"{path.name} states no encoding and is not UTF-8; it was read as {name}.",
        hint="If accents are wrong in its records, export the file as UTF-8 and add it again.",
        path=str(path),
    )


def text_head(path: Path, size: int = 4096) -> str:
    """The first characters of the content; empty for a file that cannot be read."""
    data = _start(path, size)
    content = decode(data[: len(data) - len(data) % 2])[0].lstrip("\ufeff \t\r\n")
    return content.replace("\r\n", "\n").replace("\r", "\n")


def head(path: Path, size: int = 4096) -> bytes:
    """The first bytes of the content; empty for a file that cannot be read."""
    return _start(path, size).removeprefix(_BOM).lstrip()


def _start(path: Path, size: int) -> bytes:
    try:
        with opened(path) as stream:
            return stream.read(size)
    except Exception:
        # Used only to detect formats: an unreadable file has none.
        return b""


def first_line(path: Path, size: int = 1 << 20) -> bytes:
    """The first non-blank line, or its first `size` bytes."""
    return head(path, size).split(b"\n", 1)[0].strip()


def bare_suffix(path: Path) -> str:
    """The file's suffix in lower case, without a compression suffix: ".jsonl"."""
    name = path.name.lower()
    for suffix in (".zst", ".gz", ".zstd"):
        name = name.removesuffix(suffix)
    return Path(name).suffix


_LOOKED_AT = 5
_MAX_FILES = 100_000
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", ".venv"})


class FileImporter:
    """Base class of importers of files: a folder consists of its files of the format."""

    name = ""
    about = ""
    version = 1
    suffixes: tuple[str, ...] = ()
    """Suffixes of the format's files, without a compression suffix."""

    def recognise(self, path: Path) -> bool:
        """True if the file, or one of the first files of the folder, looks like the format."""
        if path.is_dir():
            return any(self.recognise_file(file) for file in self.files(path)[:_LOOKED_AT])
        return path.is_file() and self.recognise_file(path)

    def recognise_file(self, path: Path) -> bool:
        """True if the file looks like the format."""
        return bare_suffix(path) in self.suffixes

    def files(self, folder: Path) -> list[Path]:
        """Every file with one of the suffixes in the folder and below, sorted."""
        found = []
        for place, folders, names in os.walk(folder):
            folders[:] = sorted(set(folders) - _PASSED_OVER)
            found += [Path(place) / n for n in names if bare_suffix(Path(n)) in self.suffixes]
            if len(found) > _MAX_FILES:
                break
        return sorted(found)[:_MAX_FILES]

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """The works of the file, or of every file in the folder."""
        if not path.is_dir():
            yield from self.read_file(path, report)
            return
        for file in self.files(path):
            if not self.recognise_file(file):
                report.skip("other files")
                continue
            try:
                yield from self.read_file(file, report)
            except MissingPackageError:
                raise
            except LibraryError as error:
                # In a folder, only the records of a broken file are lost.
                report.bad_file(error.problem)

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """The works of one file."""
        raise NotImplementedError


def place(path: Path) -> str:
    """A short unique name for a file: "refs.3f2a9c1b"."""
    data = path.absolute().as_posix().encode("utf-8", "surrogatepass")
    return f"{path.stem}.{hashlib.blake2b(data, digest_size=4).hexdigest()}"


def retrieved(path: Path) -> str:
    """Date of the last change of the file at `path`; empty if unknown."""
    try:
        seconds = path.stat().st_mtime
    except OSError:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date().isoformat()
