"""Long background loops that pause while a request is pending.

Threads of one process take turns at the interpreter, so that a walk over twenty thousand entries
would slow every answer meanwhile. Such a walk iterates over `cooperative(entries)`: on a thread
that was set up with `give_way_on_this_thread` it pauses between two entries for as long as that
function asks; on every other thread it is the plain iteration, at no cost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class _Thread(threading.local):
    pause: Callable[[], None] | None = None


_thread = _Thread()


def give_way_on_this_thread(pause: Callable[[], None]) -> None:
    """Call `pause` between the steps of long walks on this thread; it returns when they may go
    on."""
    _thread.pause = pause


def cooperative(items: Iterable[T]) -> Iterator[T]:
    """The items; on a thread that gives way, with a pause after each for as long as is asked."""
    pause = _thread.pause
    return iter(items) if pause is None else _with_pauses(items, pause)


def _with_pauses(items: Iterable[T], pause: Callable[[], None]) -> Iterator[T]:
    for item in items:
        yield item
        pause()
