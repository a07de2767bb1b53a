"""Addresses of back ends, as `library.url` has them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.retrieval.backend.contract import Backend, State, WriteTarget
from citewell.retrieval.backend.server_address import malformed_address, server_address

if TYPE_CHECKING:
    from citewell.retrieval.backend.edge import EdgeBackend

EDGE = "edge:"
_SECONDS = 10.0


def open_backend(text: str, seconds: float = _SECONDS) -> Backend:
    """The back end at an address; `seconds` limits each request to a server.

    Raises `CitewellError` with a code backend-*.
    """
    server = server_address(text)
    if server is not None:
        from citewell.retrieval.backend.qdrant import QdrantBackend, connect

        return QdrantBackend(server, connect(server, seconds), seconds)
    return _edge(text)


def open_target(text: str, wanted: State, *, fresh: bool = False) -> WriteTarget:
    """Where a library is written. `fresh`: on a server, into a new collection.

    A folder that holds a library of another format, or with other weights or vectors, is emptied.
    Raises `CitewellError` with a code backend-*.
    """
    server = server_address(text)
    if server is not None:
        from citewell.retrieval.backend import qdrant

        return qdrant.open_target(server, wanted, fresh=fresh)
    edge = _edge(text)
    state = edge.state()
    if state is not None and not state.fits(wanted):
        edge.clear()
    return WriteTarget(edge, lambda: None)


def restore(text: str, snapshot: Path) -> Backend:
    """The back end at an address, which now holds what a snapshot does.

    A server has it under a new collection, and searches see no gap; a folder must be free. Raises
    `CitewellError` with a code backend-*, or `OSError`.
    """
    server = server_address(text)
    if server is not None:
        from citewell.retrieval.backend import qdrant

        return qdrant.restore(server, snapshot)
    from citewell.retrieval.backend.edge import occupied, snapshot_at

    folder = _folder(text)
    if folder.exists():
        raise occupied(folder)
    shutil.copytree(snapshot_at(snapshot), folder)
    return _edge(text)


def _edge(text: str) -> EdgeBackend:
    from citewell.retrieval.backend.edge import open_edge

    return open_edge(_folder(text))


def _folder(text: str) -> Path:
    folder = text.removeprefix(EDGE).strip()
    if not text.startswith(EDGE) or not folder:
        raise malformed_address(text)
    return Path(folder).expanduser()
