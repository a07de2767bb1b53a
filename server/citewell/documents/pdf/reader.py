"""Reads PDFs in a separate process, which may hang, grow or crash on a file without harm.

The process starts with the first file, reads one after the other, and is replaced when it ends or
is killed. No content of a file is interpreted in this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

import msgspec

from citewell.documents.pdf.read import LENGTH, OUT_OF_MEMORY, Reply, broken, problem_of
from citewell.documents.textfile import file_error
from citewell.model.installing import install_command
from citewell.model.pdf import PdfPaper
from citewell.model.problem import Problem
from citewell.model.system.child_process import start_child
from citewell.model.system.files import Closing
from citewell.options.tree import PdfOptions

MAX_FILE_MB = 1_000
MEMORY_MB = 1_000
"""Memory limit of the reading process (Linux and macOS)."""
MAX_PAGES = 1_000
"""Pages read of a file; of a longer one, the first and the last."""
_MAX_FRAME = 500_000_000
_MOST_FILES = 200
"""Files after which the process is replaced, to release memory that pdfium keeps."""
_STARTING_SECONDS = 30.0
"""Added to a file's time limit while the process starts."""
_HEAD = 1024
"""Bytes at the start of a file in which "%PDF-" must occur."""


def is_pdf(path: Path) -> bool:
    """True for a file with the suffix or the signature of a PDF."""
    if path.suffix.lower() == ".pdf":
        return True
    try:
        with path.open("rb") as stream:
            return stream.read(5) == b"%PDF-"
    except OSError:
        return False


class PdfReader(Closing):
    """Manages one reading process. Not thread-safe; to be closed, or used in a `with`."""

    def __init__(self, options: PdfOptions | None = None) -> None:
        """Set the options; the process starts with the first file."""
        self._options = options or PdfOptions()
        self._process: subprocess.Popen[bytes] | None = None
        self._replies: queue.Queue[bytes | None] = queue.Queue()
        self._files = 0

    def read(self, path: Path) -> PdfPaper | Problem:
        """Read the paper in a file; return the problem if it cannot be read."""
        if (problem := _refused(path)) is not None:
            return problem
        seconds = self._options.timeout_s
        try:
            process, fresh = self._running()
            assert process.stdin is not None
            process.stdin.write(json.dumps(str(path.absolute())).encode() + b"\n")
            process.stdin.flush()
            body = self._replies.get(timeout=seconds + (_STARTING_SECONDS if fresh else 0.0))
        except queue.Empty:
            self._end()
            return problem_of(path, "pdf-slow", seconds=seconds)
        except OSError:
            body = None
        if body is None:
            code = self._end()
            if code == OUT_OF_MEMORY:
                return problem_of(path, "pdf-memory", megabytes=MEMORY_MB)
            return problem_of(path, "pdf-crash")
        try:
            reply = msgspec.msgpack.decode(body, type=Reply)
        except msgspec.DecodeError:
            self._end()
            return problem_of(path, "pdf-crash")
        return reply.paper or reply.problem or problem_of(path, "pdf-crash")

    def close(self) -> None:
        """End the process."""
        self._end()

    def _running(self) -> tuple[subprocess.Popen[bytes], bool]:
        """The process, and whether it was started for this file."""
        if self._process is not None and self._files >= _MOST_FILES:
            self._end()
        self._files += 1
        if self._process is not None:
            return self._process, False
        limits = (str(MEMORY_MB), str(MAX_PAGES))
        process = start_child(
            (sys.executable, "-P", "-m", "citewell.documents.pdf.read", *limits),
            environment={**os.environ, "PYTHONUTF8": "1"},
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        self._process, self._files, self._replies = process, 1, queue.Queue()
        threading.Thread(target=_receive, args=(process.stdout, self._replies), daemon=True).start()
        return process, True

    def _end(self) -> int | None:
        """End the process; return its exit code if it had ended by itself."""
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            # One that closed its output is about to end.
            code = process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        return code


def _receive(pipe: BinaryIO, replies: queue.Queue[bytes | None]) -> None:
    """Pass frames on until the process ends, then None."""
    with pipe:
        while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
            (length,) = LENGTH.unpack(head)
            if length > _MAX_FRAME or len(body := pipe.read(length)) < length:
                break
            replies.put(body)
    replies.put(None)


def _refused(path: Path) -> Problem | None:
    """The reason not to open a file, or None."""
    if find_spec("pypdfium2") is None:
        return problem_of(path, "pdf-not-installed", command=install_command("pdf"))
    try:
        size = path.stat().st_size
        if not path.is_file():
            return Problem(
                "file-not-regular", f"{path.name} is not a regular file.", path=str(path)
            )
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except OSError as error:
        return file_error(error, path, "read").problem
    if size > MAX_FILE_MB * 1_000_000:
        return problem_of(path, "file-too-large", megabytes=MAX_FILE_MB)
    return None if b"%PDF-" in head else broken(path, "it does not begin as one")
