"""The page on /docs and /redoc: the OpenAPI document for readers, with a form to try each request;
and the addresses of the server as JSON on /.

The files of the page contain no data and need no token; it reads its content from /openapi.json.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from citewell import __version__
from citewell.serving.problem_json import PAGE_HEADERS

_FILES: Final = {
    "/docs": ("index.html", "text/html; charset=utf-8"),
    "/redoc": ("index.html", "text/html; charset=utf-8"),
    "/docs/docs.css": ("docs.css", "text/css; charset=utf-8"),
    "/docs/docs.js": ("docs.js", "text/javascript; charset=utf-8"),
}
_ADDRESSES: Final = {
    "name": "Citewell",
    "version": __version__,
    "openapi": "openapi.json",
    "docs": "docs",
    "health": "health",
}
"""Relative to the address of the server."""
PATHS: Final = frozenset(_FILES)
"""Paths served without a token."""


def docs_routes() -> list[BaseRoute]:
    """The routes of the addresses, the page and its files."""
    return [Route("/", _addresses), *(Route(path, _file) for path in _FILES)]


async def _addresses(request: Request) -> Response:
    return JSONResponse(_ADDRESSES, headers=PAGE_HEADERS)


async def _file(request: Request) -> Response:
    found = _FILES.get(request.scope["path"])
    if found is None:
        raise HTTPException(404)
    name, kind = found
    headers = {**PAGE_HEADERS, "cache-control": "no-cache"}
    return Response((files(__package__) / name).read_bytes(), media_type=kind, headers=headers)
