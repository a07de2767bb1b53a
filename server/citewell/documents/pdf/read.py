"""Reads PDFs: the process `python -m citewell.documents.pdf.read MEMORY_MB MAX_PAGES`.

pdfium may hang and crash, so that no other process calls it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from citewell.documents.pdf import layout
from citewell.documents.pdf.layout import Line, page_lines
from citewell.model import CitewellError
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.pdf import PdfPaper
from citewell.model.problem import Problem

# Problems with a PDF or with a word processor's document, each with its remedy.


PROBLEMS = {
    one.code: one
    for one in (
        Problem(
            "pdf-not-installed",
            "Reading PDF files needs the package pypdfium2, which is not installed.",
            "Run `{command}`.",
        ),
        Problem(
            "pdf-encrypted",
            "{name} is protected by a password.",
            "Save a copy without the password, and give that.",
        ),
        Problem(
            "pdf-broken",
            "{name} cannot be read as a PDF{because}.",
            "Open it in a viewer; if that fails too, get the file again.",
        ),
        Problem(
            "pdf-scanned",
            "{name} has no text: its pages are pictures.",
            "Recognise the text first, for example with `ocrmypdf`.",
        ),
        Problem(
            "pdf-long",
            "{name} has {count:,} pages; pages {first:,} to {last:,} are not read.",
            "Split the file.",
        ),
        Problem(
            "pdf-pages",
            "Pages of {name} cannot be read: {shown}.",
            "Open the file in a viewer and save a new copy.",
        ),
        Problem(
            "pdf-slow",
            "{name} was not read within {seconds:g} s.",
            "Raise `pdf.timeout_s`, or save a new copy from a viewer.",
        ),
        Problem(
            "pdf-memory",
            "Reading {name} takes more than {megabytes:,} MB of memory.",
            "Save a new copy from a viewer.",
        ),
        Problem(
            "pdf-crash",
            "The process that reads PDFs ended on {name}.",
            "Save a new copy from a viewer.",
        ),
        Problem("file-too-large", "{name} is larger than {megabytes:,} MB.", "Split the file."),
        Problem(
            "office-missing",
            "{name} cannot be read without the extra `office`.",
            "Run `{command}`.",
        ),
        Problem(
            "office-large",
            "{name} holds {megabytes} MB of text and pictures; the limit is {most} MB.",
            "Save its references as a document of their own.",
        ),
        Problem(
            "office-broken",
            "{name} is no sound document ({reason}).",
            "Open it in its program and save it again.",
        ),
    )
}
"""By code, with places for the facts of a file."""


def problem_of(path: Path, code: str, **facts: Any) -> Problem:
    """The problem of a file."""
    text = PROBLEMS[code]
    facts["name"] = path.name
    return Problem(code, text.message.format(**facts), text.hint.format(**facts), str(path))


def broken(path: Path, reason: str) -> Problem:
    """The problem of a file that is damaged or no PDF."""
    because = f" ({reason.rstrip('.')})" if reason else ""
    return problem_of(path, "pdf-broken", because=because)


_DOI = re.compile(r"10\.\d{4,9}/[^\s\"{}|\\^<>]+")
_ARXIV = re.compile(r"arXiv\s*:\s*\S+", re.I)
_FEWEST_LETTERS = 20
"""Average number of letters a page below which a file consists of pictures of text."""
_MAX_CHARACTERS = 30_000_000
"""Characters of one file: 4,000 dense pages."""
_PASSWORD = 4
"""pdfium's error code for a file that needs a password."""


def read_pdf(path: Path, max_pages: int) -> PdfPaper:
    """Read the paper in a file. If it has more than `max_pages`, the first and last half of that
    many are read. Raises `CitewellError`: pdf-encrypted, pdf-broken, pdf-scanned."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None)
        problem = (
            problem_of(path, "pdf-encrypted") if code == _PASSWORD else broken(path, str(error))
        )
        raise CitewellError(problem) from None
    try:
        return _read(document, path, max_pages)
    finally:
        document.close()


def _read(document: Any, path: Path, max_pages: int) -> PdfPaper:
    import pypdfium2

    count = len(document)
    if not count:
        raise CitewellError(broken(path, "it has no pages"))
    problems: list[Problem] = []
    wanted = list(range(count))
    if count > max_pages:
        head = (max_pages + 1) // 2
        left = count - max_pages
        problems.append(problem_of(path, "pdf-long", count=count, first=head + 1, last=head + left))
        wanted = [*wanted[:head], *wanted[head + left :]]
    lines: list[Line] = []
    failed: list[int] = []
    characters = 0
    for index in wanted:
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            failed.append(index + 1)
            continue
        try:
            found = page_lines(page, index + 1)
        except pypdfium2.PdfiumError:
            failed.append(index + 1)
            continue
        finally:
            page.close()
        characters += sum(len(line.text) for line in found)
        if characters > _MAX_CHARACTERS:
            problems.append(problem_of(path, "pdf-long", count=count, first=index + 1, last=count))
            break
        lines += found
    if failed:
        shown = ", ".join(map(str, failed[:10])) + (" ..." if len(failed) > 10 else "")
        problems.append(problem_of(path, "pdf-pages", shown=shown))
    if sum(sum(map(str.isalpha, line.text)) for line in lines) < _FEWEST_LETTERS * len(wanted):
        scanned = problem_of(path, "pdf-scanned")
        raise CitewellError(scanned if len(failed) < len(wanted) else broken(path, ""))
    return _paper(lines, document.get_metadata_dict(), path, count, problems)


def _paper(
    lines: list[Line], metadata: dict[str, str], path: Path, count: int, problems: list[Problem]
) -> PdfPaper:
    title = layout.title_of(lines)
    kept = layout.without_heads(lines)
    body, references = layout.parted(kept)
    pages, parted = layout.reference_pages(references)
    first = "\n".join(line.text for line in lines if line.page == 1)
    metadata_text = "\n".join(str(value) for value in metadata.values())
    titles = (title, " ".join(metadata.get("Title", "").split()))
    return PdfPaper(
        path=str(path),
        page_count=count,
        titles=tuple(dict.fromkeys(one[:500] for one in titles if len(one) > 4)),
        dois=_found(_DOI, normalise_doi, metadata_text, first),
        arxivs=_found(_ARXIV, arxiv_id, metadata_text, first),
        abstract=layout.abstract_of(body),
        body=tuple(layout.body_pages(body)),
        references=tuple(pages),
        parted=parted,
        problems=tuple(problems),
    )


def _found(pattern: re.Pattern[str], read: Any, *texts: str) -> tuple[str, ...]:
    """The identifiers in the texts, each once, in order."""
    ids = (read(found.group()) for text in texts for found in pattern.finditer(text))
    return tuple(dict.fromkeys(one for one in ids if one))[:8]


# The process that reads PDFs: `python -m citewell.documents.pdf.read MEMORY_MB MAX_PAGES`.

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
