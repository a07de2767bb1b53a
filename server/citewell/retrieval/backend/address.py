"""Addresses of back ends, as `library.url` has them."""

from __future__ import annotations

from pathlib import Path

from citewell.retrieval.backend.contract import Backend, backend_error

EDGE = "edge:"


def open_backend(text: str) -> Backend:
    """The back end at an address. Raises `CitewellError` with a code backend-*."""
    folder = text.removeprefix(EDGE).strip()
    if not text.startswith(EDGE) or not folder:
        raise backend_error("backend-address", f"{text!r} is no address of a back end.")
    from citewell.retrieval.backend.edge import open_edge

    return open_edge(Path(folder))
