"""What a running Zotero holds, fetched from Better BibTeX's pull export on this machine.

Better BibTeX answers on the port of Zotero itself: `/better-bibtex/export/library?/1/library.json`
gives a whole library, `/better-bibtex/export/collection?/1/NAME.json` a collection; versions before
6 answer without `export/` (its documentation, "Pull export"). Only the loopback is ever asked, and
no redirection is followed.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

from citewell.corpus.errors import LibraryError
from citewell.model import Problem
from citewell_corpus.segment_writer import write_whole

PREFIX = "zotero:"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
SECONDS = 120.0
"""Zotero writes some hundred items in a second, the first time."""
MAX_BYTES = 1 << 30
_TEST_SECONDS = 5.0


def fetch(text: str, base: str, folder: Path) -> Path:
    """Fetch what "zotero:", "zotero:COLLECTION" or "zotero:GROUP/COLLECTION" names into a file of
    `folder`, which is replaced in one step; its path.

    A group is given by its number in Zotero. Raises `LibraryError`: zotero-away when nothing
    answers, zotero-refused when Zotero has no Better BibTeX or no such collection.
    """
    host = urlsplit(base).hostname
    if host not in LOOPBACK:
        raise _error("zotero-refused", f"{base} is not on this machine.", "Set `zotero.url` right.")
    wanted = text.removeprefix(PREFIX).strip("/")
    group, _, collection = wanted.rpartition("/") if re.match(r"\d+/", wanted) else ("", "", wanted)
    _greet(base)
    library = group or "1"
    if collection:
        query = f"collection?/{library}/{quote(collection)}.json"
    else:
        query = f"library?/{library}/library.json"
    data = _export(base, query, wanted)
    try:
        found = json.loads(data)
        items = len(found["items"])
    except (ValueError, KeyError, TypeError, RecursionError):
        message = "What Better BibTeX sent is not its JSON export."
        raise _error("zotero-refused", message, "Update Better BibTeX.") from None
    if not items:
        message = f"Zotero has no items in {wanted or 'your library'}."
        raise _error("zotero-refused", message, "Check the name of the collection.")
    name = re.sub(r"[^\w.-]+", "-", wanted) or "library"
    path = folder / f"{name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return path


def _greet(base: str) -> None:
    """Make sure that it is Zotero with Better BibTeX that answers."""
    body = json.dumps({"jsonrpc": "2.0", "method": "api.ready", "params": [], "id": 1}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(f"{base}/better-bibtex/json-rpc", body, headers)
    try:
        with _open(request, _TEST_SECONDS) as answer:
            found = json.loads(answer.read(1 << 16))
    except urllib.error.HTTPError as error:
        message = f"Zotero answers on {base}, but Better BibTeX does not ({error.code})."
        cure = "Install Better BibTeX in Zotero (https://retorque.re/zotero-better-bibtex)."
        raise _error("zotero-refused", message, cure) from None
    except (OSError, ValueError) as error:
        raise _away(base, error) from None
    # A version that has no `api.ready` says so: it is Better BibTeX all the same.
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise _away(base, ValueError("something else answers"))


def _export(base: str, query: str, wanted: str) -> bytes:
    problem = ""
    for place in ("export/", ""):
        request = urllib.request.Request(f"{base}/better-bibtex/{place}{query}")
        try:
            with _open(request, SECONDS) as answer:
                data = answer.read(MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            problem = _words(error) or problem
            continue
        except OSError as error:
            raise _away(base, error) from None
        if len(data) > MAX_BYTES:
            raise _error("zotero-refused", "The export is too large.", "Name a collection.")
        return bytes(data)
    what = f"the collection {wanted!r}" if wanted else "its library"
    message = f"Better BibTeX does not export {what}: {problem or 'it gave no reason'}."
    raise _error("zotero-refused", message, "Check the name; a group is named by its number.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: Any, **_options: Any) -> None:
        """Zotero has no reason to send anybody elsewhere."""


def _open(request: urllib.request.Request, seconds: float) -> IO[bytes]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    found: IO[bytes] = opener.open(request, timeout=seconds)
    return found


def _words(error: urllib.error.HTTPError) -> str:
    try:
        text = error.read(300).decode("utf-8", "replace")
    except OSError:
        text = ""
    return " ".join(text.split())[:200].rstrip(".")


def _away(base: str, error: Exception) -> LibraryError:
    reason = getattr(error, "reason", error)
    return _error(
        "zotero-away",
        f"Zotero does not answer on {base} ({reason}).",
        "Start Zotero, and install Better BibTeX in it; then run the command again.",
    )


def _error(code: str, message: str, cure: str) -> LibraryError:
    return LibraryError(Problem(code, message, cure))
