"""Whether a request is pending: background threads check this, and pause while one is."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from lsprotocol import types

from citewell.model.cooperative import give_way_on_this_thread

LONGEST = 0.05
"""Seconds after the last message for which background threads pause at most: the answer may itself
be waiting for papers, or for the network."""
CALM = 0.004
"""Seconds after an answer or a message in which another request is likely to arrive."""
PATIENCE, SLICE = 0.25, 0.005
"""Seconds of uninterrupted waiting after which a thread may work anyway, and for how long."""
NAP = 0.002
PATIENT = frozenset({types.TEXT_DOCUMENT_DIAGNOSTIC, types.WORKSPACE_DIAGNOSTIC})
"""Requests that are answered by the background threads themselves."""


class RequestPriority:
    """Knows the requests that are being answered. `arrived` and `give_way` are for any thread, the
    others for the event loop."""

    def __init__(self) -> None:
        self._open: set[str | int] = set()
        self._calm = self._until = self._free = 0.0

    def arrived(self) -> None:
        """Something came from the editor."""
        now = time.monotonic()
        self._calm, self._until = now + CALM, now + LONGEST

    def begin(self, number: str | int, method: str) -> None:
        """A request is about to be answered."""
        if method not in PATIENT:
            self._open.add(number)

    def end(self, number: str | int) -> None:
        """Note that the request has been answered."""
        if number in self._open:
            self._open.remove(number)
            self._calm = time.monotonic() + CALM

    def give_way(self) -> None:
        """Wait while an answer is due, or another request is likely to come."""
        now = time.monotonic()
        if self._is_calm(now) or now < self._free:
            return
        limit = now + PATIENCE
        # Sleep rather than wait for a lock: its release would wake this thread, which would then
        # compete for the interpreter in the middle of the next answer.
        while not self._is_calm(now):
            if now >= limit:
                self._free = now + SLICE
                return
            time.sleep(NAP)
            now = time.monotonic()

    def _is_calm(self, now: float) -> bool:
        return now >= (self._until if self._open else self._calm)

    def background(self, name: str) -> ThreadPoolExecutor:
        """A thread for work that gives way."""
        return ThreadPoolExecutor(
            1,
            thread_name_prefix=name,
            initializer=give_way_on_this_thread,
            initargs=(self.give_way,),
        )
