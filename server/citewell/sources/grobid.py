"""A GROBID server that the user names: it reads a PDF and answers with TEI.

`POST URL/api/processFulltextDocument` takes the file as the form field `input`; 503 means that all
of its threads are busy, and that the client should try again ("GROBID service", its documentation).
The whole file is sent, to that address alone; no redirection is followed, and every answer has
bounds.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from citewell.model import Problem
from citewell.model.installing import install_command
from citewell.model.pdf import PdfPaper
from citewell.sources.contract import NonsenseError
from citewell.sources.tei import paper_of_tei

TRIES = 4
BUSY_SECONDS = 5.0
"""Wait after a first 503, as the documentation of GROBID advises; it doubles."""
MAX_BYTES = 64 << 20
_PATH = "/api/processFulltextDocument"
_BUSY = 503
_NO_CONTENT = 204
_CHUNK = 1 << 18
_FIELDS = (
    ("consolidateHeader", "0"),
    # GROBID would ask other services, which the user has not allowed.
    ("consolidateCitations", "0"),
    ("includeRawCitations", "1"),
    ("segmentSentences", "1"),
    ("teiCoordinates", "s"),
    ("teiCoordinates", "biblStruct"),
)


def read_with_grobid(
    base: str,
    path: Path,
    *,
    seconds: float,
    busy_seconds: float = BUSY_SECONDS,
) -> PdfPaper | Problem:
    """The paper as the server at `base` reads it, within `seconds`; a Problem (grobid-busy,
    grobid-away, grobid-refused, grobid-answer) where it does not."""
    if find_spec("defusedxml") is None:
        return Problem(
            "grobid-not-installed",
            "Reading the answers of GROBID needs the package defusedxml, which is not installed.",
            f"Run `{install_command('online')}`.",
        )
    limit = time.monotonic() + seconds
    for attempt in range(TRIES):
        try:
            body = _ask(base, path, limit)
            return paper_of_tei(body, path) if isinstance(body, bytes) else body
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != _BUSY:
                return _refused(base, path, f"status {error.code}")
        except NonsenseError as error:
            return _nonsense(base, path, str(error))
        except (OSError, HTTPException, ValueError) as error:
            return _away(base, str(getattr(error, "reason", "") or type(error).__name__))
        wait = busy_seconds * 2**attempt
        if attempt + 1 == TRIES or time.monotonic() + wait > limit:
            break
        time.sleep(wait)
    return Problem(
        "grobid-busy",
        f"GROBID on {base} is busy; {path.name} was read without it.",
        "Try again later, or give the server more threads.",
        str(path),
    )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any, **_options: Any) -> None:
        """The file goes to the address that the user named, and to no other."""


def _ask(base: str, path: Path, limit: float) -> bytes | Problem:
    boundary = uuid4().hex
    request = urllib.request.Request(
        base.rstrip("/") + _PATH,
        _form(path.read_bytes(), boundary),
        {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Accept": "application/xml",
        },
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    with opener.open(request, timeout=max(0.1, limit - time.monotonic())) as answer:
        if answer.status == _NO_CONTENT:
            return _nonsense(base, path, "it found no text")
        return _read(answer, limit)


def _form(data: bytes, boundary: str) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in _FIELDS
    ]
    # The file's name is not sent: it may reveal what the file itself does not.
    head = 'Content-Disposition: form-data; name="input"; filename="paper.pdf"'
    parts.append(f"--{boundary}\r\n{head}\r\nContent-Type: application/pdf\r\n\r\n".encode())
    return b"".join([*parts, data, f"\r\n--{boundary}--\r\n".encode()])


def _read(answer: IO[bytes], limit: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    # What has arrived is taken at once: a slow sender must not outlast the limit.
    read = getattr(answer, "read1", answer.read)
    while piece := read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise NonsenseError("the answer is too large")
        if time.monotonic() > limit:
            raise TimeoutError("it took too long")
    return b"".join(pieces)


def _away(base: str, reason: str) -> Problem:
    return Problem(
        "grobid-away",
        f"GROBID does not answer on {base} ({reason}).",
        "Start it, correct `--grobid` or `pdf.grobid`, or raise `pdf.timeout_s`.",
    )


def _refused(base: str, path: Path, reason: str) -> Problem:
    return Problem(
        "grobid-refused",
        f"GROBID on {base} cannot read {path.name} ({reason}); it was read without it.",
        "Look into the server's log.",
        str(path),
    )


def _nonsense(base: str, path: Path, reason: str) -> Problem:
    return Problem(
        "grobid-answer",
        f"The answer of GROBID on {base} cannot be used ({reason}); "
        f"{path.name} was read without it.",
        "Check that GROBID answers there, version 0.8 or newer.",
        str(path),
    )
