"""Counts of this process: how each request to a source was answered, for the metrics of a server.

The other caches of a search process hold what one search computes several times. No setting sizes
them, and what they miss is read from mapped files: nothing that an operator could act upon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Outcome = Literal["hit", "revalidated", "miss", "uncached", "failed"]
"""`hit`: from the cache on disk. `revalidated`: from there, after the source confirmed that nothing
has changed. `miss`: from the source. `uncached`: from the source, without a look at the cache.
`failed`: there was no answer, or it was no longer waited for."""
Listener = Callable[[str, Outcome], None]

_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Call `listener` with the source's name and the outcome of each request from now on, on the
    thread that asks the sources."""
    _listeners.append(listener)


def count(source: str, outcome: Outcome) -> None:
    """Count one request to a source, tries that were repeated included."""
    for listener in _listeners:
        listener(source, outcome)
