"""Completion lists that the client may still ask about, by number."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from citewell.features.citing.completion import Completion
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.model import Work

MAX_LISTS = 16
"""Completion lists that are remembered for resolution."""


class Shown(Struct, frozen=True, eq=False):
    """A completion list that the client may ask about."""

    snapshot: Snapshot
    completion: Completion


class ShownLists:
    """The last lists. For the event loop."""

    def __init__(self) -> None:
        self._lists: OrderedDict[int, Shown] = OrderedDict()
        self._numbers = itertools.count(1)

    def remember(self, snapshot: Snapshot, completion: Completion) -> int:
        """Keep a list for resolution; its number."""
        number = next(self._numbers)
        self._lists[number] = Shown(snapshot, completion)
        while len(self._lists) > MAX_LISTS:
            self._lists.popitem(last=False)
        return number

    def recall(self, number: object) -> Shown | None:
        """The list of that number, unless it is too old."""
        return self._lists.get(number) if isinstance(number, int) else None

    def work(self, work_id: str) -> Work | None:
        """A paper of a list that is remembered."""
        for shown in reversed(self._lists.values()):
            for candidate in shown.completion.candidates:
                if candidate.work is not None and candidate.work.id == work_id:
                    return candidate.work
        return None
