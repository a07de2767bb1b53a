"""A server on the loopback interface that answers as a Zotero with Better BibTeX.

The pull export (`/better-bibtex/export/library?/1/library.bibtex`, `collection?/1/NAME.json`) and
the JSON-RPC (`api.ready`, `item.search`, `item.export`), as they are documented and as the
published source answers: the JSON-RPC sends 200 with an `error` for what it refuses.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

ITEMS = [
    {
        "itemType": "journalArticle", "itemKey": "AAAA1111", "title": "A Study of Bees",
        "creators": [{"creatorType": "author", "lastName": "Ōe", "firstName": "Ken"}],
        "date": "2019-05-01", "publicationTitle": "Insects", "DOI": "10.1000/bees",
        "citationKey": "oe2019",
    },
    {"itemType": "attachment", "itemKey": "BBBB2222", "title": "PDF"},
]  # fmt: skip
METHOD_NOT_FOUND, INVALID_PARAMETERS = -32601, -32602


class Zotero:
    """One that runs: what it holds may change at any time, and so may its manners."""

    def __init__(
        self,
        entries: dict[str, str] | None = None,
        *,
        plain_zotero: bool = False,
        old: bool = False,
        listed_answer: bool = False,
        scope: str = "library",
        seconds: float = 0.0,
        flood: bool = False,
        raw: bytes | None = None,
        port: int = 0,
    ) -> None:
        self.entries = dict(entries or {})
        """By citation key: the entry as Better BibTeX writes it."""
        self.plain_zotero = plain_zotero
        self.old = old
        self.listed_answer = listed_answer
        """`item.export` answers [200, "text/plain", text], as versions before 6.7 do."""
        self.scope = scope
        """Of keys: "library", or "global", which refuses a library's number."""
        self.seconds = seconds
        """How long an export takes."""
        self.flood = flood
        """An export never ends."""
        self.raw = raw
        """An export is exactly this."""
        self.requests: list[tuple[float, str]] = []
        """What was asked when: "pull bibtex", "item.search" ..."""
        handler = type("Handler", (_Handler,), {"zotero": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def count(self, what: str) -> int:
        """How often that was asked."""
        return sum(name.startswith(what) for _, name in self.requests)

    def quit(self) -> None:
        """As the author ends it."""
        self._server.shutdown()
        self._server.server_close()

    def text(self) -> str:
        """The whole export, as bytes on the wire begin: entries in the order of their keys."""
        return "\n".join("\n" + self.entries[key] for key in sorted(self.entries))

    def search(self, words: str) -> list[dict[str, Any]]:
        found = [
            key
            for key, entry in self.entries.items()
            if all(word.lower() in entry.lower() for word in words.split())
        ]
        return [{"citekey": key, "library": "My Library", "type": "article"} for key in found]

    def export(self, keys: list[str], translator: str, library: int | None = None) -> Any:
        if self.scope == "global" and library is not None:
            raise ValueError("keyscope is global, do not provide a library ID")
        if self.scope == "strict" and library is None:
            raise ValueError("must have required property 'libraryID'")
        if translator not in ("Better BibTeX", "Better BibLaTeX"):
            raise ValueError(f"getTranslatorId: {translator} not found")
        lost = [key for key in keys if key not in self.entries]
        if lost:
            raise ValueError(f"{', '.join(lost)} not found")
        text = "\n".join(self.entries[key] for key in keys)
        return [200, "text/plain", text] if self.listed_answer else text


class _Handler(BaseHTTPRequestHandler):
    zotero: Zotero

    def do_POST(self) -> None:
        zotero = self.zotero
        if zotero.plain_zotero or self.path != "/better-bibtex/json-rpc":
            return self._answer(404, b"No endpoint found\n")
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        zotero.requests.append((time.monotonic(), call["method"]))
        methods: dict[str, Callable[..., Any]] = {
            "api.ready": lambda: {"zotero": "7.0", "betterbibtex": "7.0"},
            "item.search": zotero.search,
            "item.export": zotero.export,
        }
        method = methods.get(call["method"]) if not zotero.old else None
        try:
            if method is None:
                message = f"Method not found: {call['method']}"
                body = {"error": {"code": METHOD_NOT_FOUND, "message": message}, "id": None}
            else:
                body = {"result": method(*call["params"]), "id": call["id"]}
        except ValueError as error:
            body = {"error": {"code": INVALID_PARAMETERS, "message": str(error)}, "id": None}
        return self._answer(200, json.dumps({"jsonrpc": "2.0"} | body).encode())

    def do_GET(self) -> None:
        zotero = self.zotero
        path, _, query = self.path.partition("?")
        base = "/better-bibtex/" if zotero.old else "/better-bibtex/export/"
        name, _, suffix = unquote(query).rpartition(".")
        known = {base + "library": ["/1/library"], base + "collection": ["/1/My bees", "/7/Bees"]}
        if path == base + "collection" and name == "/1/Elsewhere":
            self.send_response(302)
            self.send_header("Location", "http://192.0.2.1/")
            self.end_headers()
            return None
        if name not in known.get(path, ()):
            return self._answer(404, b"Could not export bibliography: path not found")
        zotero.requests.append((time.monotonic(), f"pull {suffix}"))
        time.sleep(zotero.seconds)
        if zotero.flood:
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"@book{a, title = {A}}\n" * 50_000)
        if zotero.raw is not None:
            return self._answer(200, zotero.raw)
        if suffix == "json":
            return self._answer(200, json.dumps({"config": {}, "items": ITEMS}).encode())
        return self._answer(200, zotero.text().encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):  # the other end had enough
            super().handle()

    def log_message(self, *arguments: Any) -> None:
        pass


_KEY = re.compile(r"@\w+\{([^,]+),")


def by_key(*entries: str) -> dict[str, str]:
    """Entries by the key that they carry."""
    return {match[1]: entry for entry in entries if (match := _KEY.match(entry))}


def running() -> Iterator[Callable[..., Zotero]]:
    """Starts any number of them, and ends them."""
    started: list[Zotero] = []

    def start(*entries: str, **traits: Any) -> Zotero:
        started.append(Zotero(by_key(*entries), **traits))
        return started[-1]

    yield start
    for zotero in started:
        zotero.quit()
