"""A server below a path of its reverse proxy, which may pass the path on or take it away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class BasePath:
    """Takes the base path from the path of each request."""

    def __init__(self, app: ASGIApp, base: str) -> None:
        self._app = app
        self._base = base

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path == self._base and scope.get("method") == "GET":
            # The addresses in the page are relative to the folder that a slash ends.
            query = scope.get("query_string", b"")
            to = f"{self._base}/".encode() + (b"?" + query if query else b"")
            headers = [(b"location", to), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 308, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        if path == self._base or path.startswith(f"{self._base}/"):
            raw = scope.get("raw_path") or b""
            scope = {
                **scope,
                "path": path[len(self._base) :] or "/",
                "raw_path": raw.removeprefix(self._base.encode()) or b"/",
            }
        await self._app(scope, receive, send)
