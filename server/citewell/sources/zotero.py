"""The wire of a Zotero that runs on this machine with Better BibTeX: pull export and JSON-RPC.

Better BibTeX answers on the port of Zotero itself. `/better-bibtex/export/library?/1/library.json`
gives a whole library, `/better-bibtex/export/collection?/1/NAME.json` a collection, in the format
that the suffix names; versions before 6 answer without `export/`. `/better-bibtex/json-rpc` takes
`api.ready`, `item.search` and `item.export` (its documentation, "Pull export" and "JSON-RPC"). Only
the loopback is ever asked, no redirection is followed, and every answer has bounds.
"""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import IO, Any
from urllib.parse import quote, urlsplit

from citewell.model import Problem

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
TRANSLATORS = {"bibtex": "Better BibTeX", "biblatex": "Better BibLaTeX"}
"""What the JSON-RPC calls a format that the pull export knows by its suffix."""
_RPC_BYTES = 8 << 20
_CHUNK = 1 << 18
GREET_SECONDS = 5.0


def greet(base: str) -> Problem | None:
    """Make sure that it is Zotero with Better BibTeX that answers."""
    found = _answer(base, "api.ready", [], GREET_SECONDS)
    # A version that has no `api.ready` says so: it is Better BibTeX all the same.
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
    """The export of what "", "COLLECTION" or "GROUP/COLLECTION" names, in the format `suffix`.

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
    """The citation keys of the items that Zotero finds for words, or parts of keys, in any of its
    libraries (`item.search`)."""
    found = call(base, "item.search", [words], seconds=seconds)
    if isinstance(found, Problem):
        return found
    items = found if isinstance(found, list) else []
    keys = [item.get("citekey") or item.get("citation-key") for item in items if type(item) is dict]
    return [key for key in keys if isinstance(key, str) and key]


def export(base: str, key: str, suffix: str, *, seconds: float) -> str | Problem:
    """The entry of an item of one's own library, as Better BibTeX writes it now (`item.export`)."""
    arguments: list[Any] = [[key], TRANSLATORS[suffix]]
    found = call(base, "item.export", arguments, seconds=seconds)
    if isinstance(found, Problem) and "library" in found.message.lower():
        # Some versions want the number of the library, which others refuse.
        found = call(base, "item.export", [*arguments, 1], seconds=seconds)
    if isinstance(found, list) and len(found) == 3:
        # Older versions send what they would answer over HTTP: status, type, text.
        found = found[2]
    if isinstance(found, Problem):
        return found
    if not isinstance(found, str):
        return _refused("Better BibTeX did not send an entry.", "Update Better BibTeX.")
    return found


def call(base: str, method: str, params: list[Any], *, seconds: float) -> Any:
    """The result of a method of the JSON-RPC, as Python data; a Problem when there is none."""
    found = _answer(base, method, params, seconds)
    if isinstance(found, Problem) or "error" not in found:
        return found if isinstance(found, Problem) else found.get("result")
    error = found["error"] if isinstance(found["error"], dict) else {}
    words = " ".join(str(error.get("message", "no reason given")).split())[:200].rstrip(".")
    return _refused(f"Better BibTeX rejects `{method}`: {words}.", "Update Better BibTeX.")


def _answer(base: str, method: str, params: list[Any], seconds: float) -> dict[str, Any] | Problem:
    """The whole answer of the JSON-RPC, which may hold an error."""
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
        """A local service has no reason to send anybody elsewhere."""


def _open(request: urllib.request.Request, seconds: float) -> IO[bytes]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
    found: IO[bytes] = opener.open(request, timeout=seconds)
    return found


def _read(
    answer: IO[bytes], max_bytes: int, limit: float, is_cancelled: Callable[[], bool]
) -> bytes | Problem:
    pieces: list[bytes] = []
    size = 0
    # What has arrived is taken at once: a slow sender must not outlast the limit.
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
