"""The process that reads PDFs: `python -m citewell.documents.pdf.child MEMORY_MB MAX_PAGES`.

Input are paths as lines of JSON; output are papers and problems in frames: four bytes of length,
and MessagePack. The process ends with its input, and with `OUT_OF_MEMORY` when it has grown too
large.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import struct
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO

import msgspec

from citewell.documents.pdf.read import broken, read_pdf
from citewell.model import CitewellError
from citewell.model.pdf import PdfPaper
from citewell.model.problem import Problem

LENGTH = struct.Struct("<I")
OUT_OF_MEMORY = 86
"""Exit code."""
_LOOK_SECONDS = 0.02


class Reply(msgspec.Struct, frozen=True):
    """The paper or the problem of one file."""

    paper: PdfPaper | None = None
    problem: Problem | None = None


def main() -> None:
    """Serve until standard input ends."""
    memory_mb, max_pages = int(sys.argv[1]), int(sys.argv[2])
    sink = os.fdopen(os.dup(1), "wb")
    # A stray print in a library must not reach the frames.
    os.dup2(2, 1)
    _limit(memory_mb)
    encoder = msgspec.msgpack.Encoder()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(lines,), daemon=True).start()
    with sink:
        while True:
            line = lines.get()
            _send(sink, encoder.encode(_reply(Path(json.loads(line)), max_pages)))


def _receive(lines: queue.SimpleQueue[bytes]) -> None:
    """Pass paths on. The process can end while a file is being read."""
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)


def _reply(path: Path, max_pages: int) -> Reply:
    try:
        return Reply(read_pdf(path, max_pages))
    except CitewellError as error:
        return Reply(problem=error.problem)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except Exception as error:
        # A failure costs only the file that causes it.
        return Reply(problem=broken(path, f"{type(error).__name__}: {error}"))


def _send(sink: BinaryIO, body: bytes) -> None:
    sink.write(LENGTH.pack(len(body)) + body)
    sink.flush()


def _limit(memory_mb: int) -> None:
    """End the process when it uses more than `memory_mb`. If the system supports a limit, a single
    allocation of about twice as much fails at once."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        most = 2 * memory_mb * 1_000_000 + 500_000_000
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        # A crash on a hostile file leaves no core file behind.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_watch, args=(memory_mb,), daemon=True).start()


def _watch(memory_mb: int) -> None:
    # pdfium releases the interpreter lock, so that this thread runs beside it.
    while True:
        if _resident_mb() > memory_mb:
            os._exit(OUT_OF_MEMORY)
        time.sleep(_LOOK_SECONDS)


def _resident_mb() -> float:
    """Memory used by the process in MB; 0 on Windows, where it is not limited."""
    try:
        import resource
    except ImportError:
        return 0.0
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * resource.getpagesize() / 1e6
    except (OSError, IndexError):
        # macOS: peak usage, in bytes.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


if __name__ == "__main__":
    main()
