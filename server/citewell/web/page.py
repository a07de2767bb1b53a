"""The files of the page, their addresses and their headers."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response

from citewell.serving.problem_json import PAGE_HEADERS

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HEADERS = {
    **PAGE_HEADERS,
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
ASSETS = "/assets/"
# The system's table is not used: on Windows a program may have changed the type of `.js`.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_FOR_A_YEAR = "public, max-age=31536000, immutable"


class PageApp:
    """Serves the page at `/` and its files, and passes every other request to an application, also
    one for `/` that asks for JSON.

    The address of a file contains a hash of all files, so that a browser may keep it and
    never mixes two versions.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        found = {**static_files(), "words.js": words_module()}
        shell = found.pop("index.html")
        digest = hashlib.sha256()
        for name, content in sorted(found.items()):
            digest.update(name.encode() + b"\0" + content + b"\0")
        version = digest.hexdigest()[:12]
        self._shell = _StaticFile(shell.replace(b"{assets}", f"assets/{version}".encode()))
        self._assets = {f"{ASSETS}{version}/{name}": _StaticFile(found[name]) for name in found}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._response(scope) if scope["type"] == "http" else None
        await (response or self._app)(scope, receive, send)

    def _response(self, scope: Scope) -> Response | None:
        """The page or one of its files; None for everything else."""
        if scope["method"] not in ("GET", "HEAD"):
            return None
        path = scope["path"]
        if path == "/" and "application/json" not in Headers(scope=scope).get("accept", ""):
            return self._shell.response(scope, "text/html; charset=utf-8", "no-cache")
        asset = self._assets.get(path)
        if asset is None:
            return None
        return asset.response(scope, TYPES["." + path.rpartition(".")[2]], _FOR_A_YEAR)


class _StaticFile:
    """The content of a file, uncompressed and compressed."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._compressed = gzip.compress(content, mtime=0)

    def response(self, scope: Scope, media_type: str, cache_control: str) -> Response:
        """The file, compressed for a client that accepts it."""
        headers = HEADERS | {"cache-control": cache_control, "vary": "accept, accept-encoding"}
        content = self._content
        if "gzip" in dict(scope["headers"]).get(b"accept-encoding", b"").decode("latin-1"):
            content = self._compressed
            headers["content-encoding"] = "gzip"
        return Response(content, media_type=media_type, headers=headers)


def words_module() -> bytes:
    """The module with the words of the page, and the suffixes of a paper's files."""
    from citewell.model.document import CSL_SUFFIXES, FLAVOURS, PAPER_SUFFIXES
    from citewell.model.words import PARTS, VERDICTS

    tables = {
        "VERDICTS": {verdict.value: words for verdict, words in VERDICTS.items()},
        "PARTS": PARTS,
        "PAPER_SUFFIXES": PAPER_SUFFIXES,
        "SUFFIXES": [*(end for one in FLAVOURS for end in one.suffixes), ".bbl", *CSL_SUFFIXES],
    }
    return b"".join(
        b"export const %s = %s;\n" % (name.encode(), msgspec.json.encode(table))
        for name, table in tables.items()
    )


def static_files() -> dict[str, bytes]:
    """The page's files by their path below `static`, with slashes."""
    found: dict[str, bytes] = {}

    def read(folder: Traversable, before: str) -> None:
        for one in folder.iterdir():
            if one.is_dir():
                read(one, f"{before}{one.name}/")
            elif one.name.endswith((".html", *TYPES)):
                found[before + one.name] = one.read_bytes()

    read(files("citewell.web") / "static", "")
    return found
