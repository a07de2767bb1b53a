"""Which new records continue the rows of the library whose sources are read again.

A row that only such sources had given joins no records: two records of the new reading would meet
in it, one by its key and another by its title, although they are two works. Once the new records
are clustered, each row goes to the one cluster that continues it, whose work then keeps its id.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import msgspec

_NEAR = 20
"""Maximum new records to compare a row with, for one key."""


class Earlier(msgspec.Struct):
    """Records of the library, the first of the table, whose sources are read again."""

    first_new: int = 0
    """The number of the first record that is not of the library."""
    sole: dict[int, int] = msgspec.field(default_factory=dict)
    """Records that only such sources had given, with the number of their id."""
    remnants: set[int] = msgspec.field(default_factory=set)
    """What remains of records that another source had given, too. Their DOI may be of a source
    that is read again."""
    bridging: set[int] = msgspec.field(default_factory=set)
    """Those of `sole` whose ids may have been joined by a file that is not read again."""


class ContinuedRows:
    """Collects the new records that share a key with the rows `earlier.sole`."""

    def __init__(self, earlier: Earlier, is_only_ids: Callable[[int], bool]) -> None:
        self._earlier = earlier
        self._is_only_ids = is_only_ids
        self._named: dict[int, list[int]] = {}
        """Records with an id of the row."""
        self._known: dict[int, list[int]] = {}
        """Records with another identifier of the row."""
        self._titled: dict[int, list[int]] = {}

    def named(self, bucket: list[int]) -> list[int]:
        """The bucket of an id without the rows."""
        return self._without_rows(bucket, self._named)

    def known(self, bucket: list[int]) -> list[int]:
        """The bucket of an identifier without the rows."""
        return self._without_rows(bucket, self._known)

    def titled(self, bucket: list[int]) -> list[int]:
        """The bucket of a title without the rows."""
        return self._without_rows(bucket, self._titled)

    def without_rows(self, bucket: list[int]) -> list[int]:
        """The bucket without the rows, of which nothing is noted."""
        return self._without_rows(bucket, {})

    def _without_rows(self, bucket: list[int], found: dict[int, list[int]]) -> list[int]:
        sole = self._earlier.sole
        rows = [record for record in bucket if record in sole] if sole else []
        if not rows:
            return bucket
        rest = [record for record in bucket if record not in sole]
        new = [record for record in rest if record >= self._earlier.first_new]
        near = [record for record in new[:_NEAR] if not self._is_only_ids(record)]
        for row in rows:
            found.setdefault(row, []).extend(near)
        return rest

    def bridged(self) -> list[tuple[int, int]]:
        """Pairs of new records whose ids a file that is not read again may have joined."""
        rows = sorted(self._earlier.bridging & self._named.keys())
        return [pair for row in rows for pair in combinations(self._named[row], 2)]

    def successors(
        self,
        find: Callable[[int], int],
        has_id: Callable[[int, int], bool],
        is_same: Callable[[int, int], bool],
        matches_title: Callable[[int, int], int],
    ) -> list[tuple[int, int]]:
        """Each row with a record of the cluster that continues it.

        The record with the row's id decides, else one with a former id; only without any does the
        only cluster with an identifier or the title of the row, if no other row goes there.
        """
        found: list[tuple[int, int]] = []
        for row, number in sorted(self._earlier.sole.items()):
            named = self._named.get(row, [])
            chosen = [record for record in named if has_id(record, number)] or named
            if len({find(record) for record in chosen}) == 1:
                found.append((row, chosen[0]))
        taken = {find(record) for _, record in found}
        for row in sorted(self._earlier.sole.keys() - self._named.keys()):
            near = [record for record in self._known.get(row, ()) if is_same(record, row)]
            near += [record for record in self._titled.get(row, ()) if matches_title(record, row)]
            roots = {find(record) for record in near}
            if len(roots) == 1 and taken.isdisjoint(roots):
                taken |= roots
                found.append((row, near[0]))
        return found
