"""Local services: a Zotero with Better BibTeX (pull export and JSON-RPC), and GROBID.

Better BibTeX answers on the port of Zotero itself. `/better-bibtex/export/library?/1/library.json`
gives a whole library, `/better-bibtex/export/collection?/1/NAME.json` a collection, in the format
that the suffix names; versions before 6 answer without `export/`. `/better-bibtex/json-rpc` takes
`api.ready`, `item.search` and `item.export` (its documentation, "Pull export" and "JSON-RPC"). Only
the loopback address is contacted, no redirect is followed, and every answer is bounded.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

from citewell.model import Problem
from citewell.model.check import Claim
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.installing import install_command
from citewell.model.pdf import CitingSentence, PdfPage, PdfPaper
from citewell.model.query import MARK, OTHER
from citewell.model.titles import plain_title
from citewell.model.work import Author
from citewell.sources.contract import NonsenseError, parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
TRANSLATORS = {"bibtex": "Better BibTeX", "biblatex": "Better BibLaTeX"}
"""Name in the JSON-RPC of a format that the pull export knows by its suffix."""
_RPC_BYTES = 8 << 20
_CHUNK = 1 << 18
GREET_SECONDS = 5.0


def greet(base: str) -> Problem | None:
    """Check that Zotero with Better BibTeX is answering."""
    found = _answer(base, "api.ready", [], GREET_SECONDS)
    # A version without `api.ready` reports that: it is Better BibTeX, too.
    return found if isinstance(found, Problem) else None


def pull(
    base: str,
    wanted: str,
    suffix: str,
    *,
    seconds: float,
    max_bytes: int,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> bytes | Problem:
    """The export of "", "COLLECTION" or "GROUP/COLLECTION" in the format `suffix`.

    A group is given by its number in Zotero. A Problem (zotero-away, zotero-refused) when nothing
    answers within `seconds`, when there is no such collection, or when the export is larger than
    `max_bytes`; `is_cancelled` is asked between pieces.
    """
    if (problem := _not_here(base)) is not None:
        return problem
    group, _, collection = wanted.rpartition("/") if re.match(r"\d+/", wanted) else ("", "", wanted)
    library = group or "1"
    if collection:
        query = f"collection?/{library}/{quote(collection)}.{suffix}"
    else:
        query = f"library?/{library}/library.{suffix}"
    reason = ""
    limit = time.monotonic() + seconds
    for place in ("export/", ""):
        request = urllib.request.Request(f"{base}/better-bibtex/{place}{query}")
        try:
            with _open(request, seconds) as answer:
                return _read(answer, max_bytes, limit, is_cancelled)
        except urllib.error.HTTPError as error:
            reason = _words(error) or reason
        except (OSError, HTTPException) as error:
            return _away(base, error)
    what = f"the collection {wanted!r}" if wanted else "its library"
    message = f"Better BibTeX does not export {what}: {reason or 'no reason given'}."
    return _refused(message, "Check the name; give a group by its number.")


def search(base: str, words: str, *, seconds: float) -> list[str] | Problem:
    """The citation keys of the items that Zotero finds for words, or parts of keys, in all its
    libraries (`item.search`)."""
    found = call(base, "item.search", [words], seconds=seconds)
    if isinstance(found, Problem):
        return found
    items = found if isinstance(found, list) else []
    keys = [item.get("citekey") or item.get("citation-key") for item in items if type(item) is dict]
    return [key for key in keys if isinstance(key, str) and key]


def export(base: str, key: str, suffix: str, *, seconds: float) -> str | Problem:
    """The entry of an item of the user's library, as exported by Better BibTeX (`item.export`)."""
    arguments: list[Any] = [[key], TRANSLATORS[suffix]]
    found = call(base, "item.export", arguments, seconds=seconds)
    if isinstance(found, Problem) and "library" in found.message.lower():
        # Some versions require the number of the library, which others refuse.
        found = call(base, "item.export", [*arguments, 1], seconds=seconds)
    if isinstance(found, list) and len(found) == 3:
        # Older versions return an HTTP response: status, type, text.
        found = found[2]
    if isinstance(found, Problem):
        return found
    if not isinstance(found, str):
        return _refused("Better BibTeX did not send an entry.", "Update Better BibTeX.")
    return found


def call(base: str, method: str, params: list[Any], *, seconds: float) -> Any:
    """The result of a JSON-RPC method as Python data, or a Problem."""
    found = _answer(base, method, params, seconds)
    if isinstance(found, Problem) or "error" not in found:
        return found if isinstance(found, Problem) else found.get("result")
    error = found["error"] if isinstance(found["error"], dict) else {}
    words = " ".join(str(error.get("message", "no reason given")).split())[:200].rstrip(".")
    return _refused(f"Better BibTeX rejects `{method}`: {words}.", "Update Better BibTeX.")


def _answer(base: str, method: str, params: list[Any], seconds: float) -> dict[str, Any] | Problem:
    """The whole answer of the JSON-RPC, which may contain an error."""
    if (problem := _not_here(base)) is not None:
        return problem
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(f"{base}/better-bibtex/json-rpc", body, headers)
    try:
        with _open(request, seconds) as answer:
            data = _read(answer, _RPC_BYTES, time.monotonic() + seconds, lambda: False)
        found = json.loads(data) if isinstance(data, bytes) else data
    except urllib.error.HTTPError as error:
        message = f"Zotero answers on {base}, but Better BibTeX does not ({error.code})."
        hint = "Install Better BibTeX in Zotero (https://retorque.re/zotero-better-bibtex)."
        return _refused(message, hint)
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        return _away(base, error)
    if isinstance(found, dict) and found.get("jsonrpc") == "2.0":
        return found
    return found if isinstance(found, Problem) else _away(base, ValueError("unexpected response"))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any, **_options: Any) -> None:
        """Follow no redirect: a local service has no reason for one."""


def _open(request: urllib.request.Request, seconds: float) -> IO[bytes]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
    found: IO[bytes] = opener.open(request, timeout=seconds)
    return found


def _read(
    answer: IO[bytes], max_bytes: int, limit: float, is_cancelled: Callable[[], bool]
) -> bytes | Problem:
    pieces: list[bytes] = []
    size = 0
    # Read whatever has arrived: a slow sender must not exceed the time limit.
    read = getattr(answer, "read1", answer.read)
    while piece := read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            return _refused("The export is too large.", "Give a collection.")
        if is_cancelled() or time.monotonic() > limit:
            raise TimeoutError("it took too long")
    return b"".join(pieces)


def _words(error: urllib.error.HTTPError) -> str:
    try:
        text = error.read(300).decode("utf-8", "replace")
    except (OSError, HTTPException):
        text = ""
    return " ".join(text.split())[:200].rstrip(".")


def _not_here(base: str) -> Problem | None:
    try:
        host = urlsplit(base).hostname
    except ValueError:
        host = None
    if host in LOOPBACK:
        return None
    return _refused(f"{base} is not on this machine.", "Correct `zotero.url`.")


def _away(base: str, error: Exception) -> Problem:
    reason = getattr(error, "reason", error)
    return Problem(
        "zotero-away",
        f"Zotero does not answer on {base} ({reason}).",
        "Start Zotero, and install Better BibTeX in it; then try again.",
    )


def _refused(message: str, hint: str) -> Problem:
    return Problem("zotero-refused", message, hint)


# A GROBID server that the user names: it reads a PDF and answers with TEI.
#
# `POST URL/api/processFulltextDocument` takes the file as the form field `input`; 503 means that
# all of its threads are busy, and that the client should try again ("GROBID service", its
# documentation). The whole file is sent, to that address alone; no redirection is followed, and
# every answer has bounds.

# A paper from the TEI of GROBID: header, text by page, parsed references, citing sentences.

_TEI = "{http://www.tei-c.org/ns/1.0}"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
MAX_REFERENCES = 10_000
MAX_SENTENCES = 2_000
_MAX_TEXT = 4_000
_HELD = re.compile("\ue000(\\d+)\ue001")


def paper_of_tei(body: bytes, path: Path) -> PdfPaper:
    """Parse the paper. Raises `NonsenseError` for anything but TEI, or declared entities."""
    root = parse_xml(body)
    if root.tag != f"{_TEI}TEI":
        raise NonsenseError("the answer is no TEI")
    header = root.find(f"{_TEI}teiHeader")
    titles, dois, arxivs, abstract = ([], [], [], "") if header is None else _header(header)
    items = list(root.iterfind(f".//{_TEI}listBibl/{_TEI}biblStruct"))[:MAX_REFERENCES]
    number_of = {f"#{item.get(_ID)}": at for at, item in enumerate(items) if item.get(_ID)}
    pages: dict[int, list[str]] = defaultdict(list)
    sentences: list[CitingSentence] = []
    page = 1
    for element in _sentences(root):
        page = _page(element) or page
        text, cited = _marked(element, number_of)
        pages[page].append(_written(text, cited))
        if cited and len(sentences) < MAX_SENTENCES:
            sentences += _citing(text, cited)
    return PdfPaper(
        path=str(path),
        page_count=max(pages, default=0),
        titles=tuple(titles),
        dois=tuple(dois),
        arxivs=tuple(arxivs),
        abstract=abstract,
        body=tuple(PdfPage(number, "\n".join(pages[number])) for number in sorted(pages)),
        claims=tuple(_claim(item, at, str(path)) for at, item in enumerate(items)),
        sentences=tuple(sentences),
    )


def _header(header: Element) -> tuple[list[str], list[str], list[str], str]:
    """Titles, DOIs, arXiv ids and the abstract."""
    titles = [_text(one) for one in header.iterfind(f".//{_TEI}titleStmt/{_TEI}title")]
    source = header.find(f".//{_TEI}sourceDesc/{_TEI}biblStruct")
    dois, arxivs = ([], []) if source is None else _identifiers(source)
    abstract = header.find(f".//{_TEI}abstract")
    text = "" if abstract is None else _text(abstract)[:_MAX_TEXT]
    return [one for one in titles if one], dois, arxivs, text


def _identifiers(item: Element) -> tuple[list[str], list[str]]:
    found = [_text(one) for one in item.iter(f"{_TEI}idno")]
    dois = [doi for one in found if (doi := normalise_doi(one))]
    return dois, [number for one in found if (number := arxiv_id(one))]


def _claim(item: Element, at: int, path: str) -> Claim:
    analytic, monograph = item.find(f"{_TEI}analytic"), item.find(f"{_TEI}monogr")
    part = item if analytic is None else analytic
    own = "" if analytic is None else _first(analytic, "title")
    host = "" if monograph is None else _first(monograph, "title")
    dois, arxivs = _identifiers(item)
    date = item.find(f".//{_TEI}imprint/{_TEI}date")
    when = _YEAR.search("" if date is None else date.get("when", "") or _text(date))
    raw = next((_text(n) for n in item.iter(f"{_TEI}note") if n.get("type") == "raw_reference"), "")
    names = [_author(one) for one in part.iter(f"{_TEI}author")]
    return Claim(
        key=str(at + 1),
        title=plain_title(own or host),
        authors=tuple(name for name in names if name is not None),
        year=int(when[0]) if when else None,
        venue=host if own else "",
        doi=dois[0] if dois else "",
        arxiv=arxivs[0] if arxivs else "",
        raw=raw[:_MAX_TEXT] or own or host,
        path=path,
        page=_page(item) or 1,
    )


def _author(element: Element) -> Author | None:
    family = " ".join(_text(one) for one in element.iter(f"{_TEI}surname"))
    given = " ".join(_text(one) for one in element.iter(f"{_TEI}forename"))
    return Author(family=family, given=given) if family else None


def _sentences(root: Element) -> Iterator[Element]:
    """The sentences of the body, or its paragraphs if they are not split."""
    body = root.find(f"{_TEI}text/{_TEI}body")
    for paragraph in () if body is None else body.iter(f"{_TEI}p"):
        cut = list(paragraph.iter(f"{_TEI}s"))
        yield from cut or [paragraph]


def _marked(element: Element, number_of: dict[str, int]) -> tuple[str, list[tuple[int, str]]]:
    """The text with its marks as numbers, and the reference and text of each mark."""
    cited: list[tuple[int, str]] = []
    parts = [element.text or ""]
    for child in element.iter():
        if child is element:
            continue
        target = child.get("target", "")
        if child.tag == f"{_TEI}ref" and target in number_of:
            cited.append((number_of[target], _text(child)))
            parts.append(f"\ue000{len(cited) - 1}\ue001")
        else:
            parts.append(child.text or "")
        parts.append(child.tail or "")
    return " ".join("".join(parts).split()), cited


def _written(text: str, cited: list[tuple[int, str]]) -> str:
    """The text with its marks as in the paper."""
    return _HELD.sub(lambda found: cited[int(found[1])][1], text)


def _citing(text: str, cited: list[tuple[int, str]]) -> Iterator[CitingSentence]:
    if len(text) <= _MAX_TEXT:
        for at, (reference, _) in enumerate(cited):
            yield CitingSentence(reference, _shown(text, at))


def _shown(text: str, own: int) -> str:
    """The text with one mark as the citation, and all others as other citations."""
    return _HELD.sub(lambda found: MARK if int(found[1]) == own else OTHER, text)


def _page(element: Element) -> int | None:
    """The page in the element's first coordinates, "page,x,y,w,h;..."."""
    first = (element.get("coords") or "").partition(",")[0]
    return int(first) if first.isdecimal() and len(first) < 6 else None


def _first(element: Element, name: str) -> str:
    found = element.find(f"{_TEI}{name}")
    return "" if found is None else _text(found)


def _text(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


TRIES = 4
BUSY_SECONDS = 5.0
"""Wait after a first 503, as the documentation of GROBID advises; it doubles."""
MAX_BYTES = 64 << 20
_PATH = "/api/processFulltextDocument"
_BUSY = 503
_NO_CONTENT = 204
_FIELDS = (
    ("consolidateHeader", "0"),
    # GROBID would query other services, which the user has not allowed.
    ("consolidateCitations", "0"),
    ("includeRawCitations", "1"),
    ("segmentSentences", "1"),
    ("teiCoordinates", "s"),
    ("teiCoordinates", "biblStruct"),
)


def read_with_grobid(
    base: str, path: Path, *, seconds: float, busy_seconds: float = BUSY_SECONDS
) -> PdfPaper | Problem:
    """The paper as parsed by the server at `base`, within `seconds`; otherwise a Problem
    (grobid-busy, grobid-away, grobid-refused, grobid-answer)."""
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
                return _file_refused(base, path, f"status {error.code}")
        except NonsenseError as error:
            return _nonsense(base, path, str(error))
        except (OSError, HTTPException, ValueError) as error:
            return _server_away(base, str(getattr(error, "reason", "") or type(error).__name__))
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


def _ask(base: str, path: Path, limit: float) -> bytes | Problem:
    boundary = uuid4().hex
    request = urllib.request.Request(
        base.rstrip("/") + _PATH,
        _form(path.read_bytes(), boundary),
        {"Content-Type": f"multipart/form-data; boundary={boundary}", "Accept": "application/xml"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
    with opener.open(request, timeout=max(0.1, limit - time.monotonic())) as answer:
        if answer.status == _NO_CONTENT:
            return _nonsense(base, path, "it found no text")
        return _read_bounded(answer, limit)


def _form(data: bytes, boundary: str) -> bytes:
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in _FIELDS
    ]
    # The file's name is not sent: it may reveal more than the file itself.
    head = 'Content-Disposition: form-data; name="input"; filename="paper.pdf"'
    parts.append(f"--{boundary}\r\n{head}\r\nContent-Type: application/pdf\r\n\r\n".encode())
    return b"".join([*parts, data, f"\r\n--{boundary}--\r\n".encode()])


def _read_bounded(answer: IO[bytes], limit: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    # Read whatever has arrived: a slow sender must not exceed the time limit.
    read = getattr(answer, "read1", answer.read)
    while piece := read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise NonsenseError("the answer is too large")
        if time.monotonic() > limit:
            raise TimeoutError("it took too long")
    return b"".join(pieces)


def _server_away(base: str, reason: str) -> Problem:
    return Problem(
        "grobid-away",
        f"GROBID does not answer on {base} ({reason}).",
        "Start it, correct `--grobid` or `pdf.grobid`, or raise `pdf.timeout_s`.",
    )


def _file_refused(base: str, path: Path, reason: str) -> Problem:
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
