"""Which records are the same paper.

In order of strength: DOI, arXiv id and source id; then the normalised title with a shared surname
and years at most one apart. Records with different (non-preprint) DOIs stay apart whatever their
titles: the journal version of a conference paper is another work, and so is next year's tutorial
of the same name. An identifier is believed only if title or a surname agree, since records with
somebody else's DOI are common.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell_corpus.staging import (
    CURATED_FLAG,
    GENERIC_FLAG,
    LONG_TITLE,
    PREPRINT,
    KeyTable,
)

_BUCKET = 400
"""Records of one title that are compared pair by pair; beyond, only the first so many are."""


class Clusters(msgspec.Struct):
    """The partition of the records, and what was refused on the way."""

    root: NDArray[np.int64]
    """Per record the smallest record number of its cluster."""
    by_identifier: int = 0
    """Merges by DOI, arXiv id or source id."""
    by_title: int = 0
    refused_identifier: int = 0
    """Pairs with an identifier in common that agree in neither title nor a surname."""
    refused_title: int = 0
    """Pairs with the same title that are different works."""

    def groups(self) -> Iterator[NDArray[np.int64]]:
        """Record numbers of each cluster, in the order of their first records."""
        order = np.argsort(self.root, kind="stable")
        cuts = np.flatnonzero(np.diff(self.root[order])) + 1
        yield from np.split(order, cuts) if len(order) else ()


def cluster(table: KeyTable) -> Clusters:
    """Partition the records. Deterministic in the order of the records."""
    return _Clustering(table).run()


class _Clustering:
    def __init__(self, table: KeyTable) -> None:
        self.table = table
        self.parent = list(range(len(table)))
        self.members: dict[int, list[int]] = {}
        self.result = Clusters(root=np.empty(0, np.int64))
        self.doi = table.doi.tolist()
        self.title = table.title.tolist()
        self.year = table.year.tolist()
        self.kind = table.kind.tolist()
        self.pages = table.pages.tolist()
        self.venue = table.venue.tolist()
        self.source = table.source.tolist()
        self.flags = table.flags.tolist()
        self._names: dict[int, frozenset[int]] = {}

    def run(self) -> Clusters:
        everyone = np.arange(len(self.table))
        owners = np.repeat(everyone, np.diff(self.table.id_end, prepend=0))
        for numbers, records in (
            (self.table.ids, owners),
            (self.table.doi, everyone),
            (self.table.arxiv, everyone),
        ):
            for bucket in _runs(numbers, records):
                self._join_by_identifier(bucket)
        for bucket in _runs(self.table.title, everyone):
            self._join_by_title(bucket[:_BUCKET])
        self.result.root = np.fromiter(map(self.find, range(len(self.table))), np.int64)
        return self.result

    def find(self, record: int) -> int:
        parent = self.parent
        while parent[record] != record:
            parent[record] = parent[parent[record]]
            record = parent[record]
        return record

    def cluster_of(self, root: int) -> list[int]:
        return self.members.get(root, [root])

    def union(self, one: int, other: int) -> None:
        low, high = sorted((self.find(one), self.find(other)))
        self.parent[high] = low
        self.members[low] = self.cluster_of(low) + self.members.pop(high, [high])

    def names(self, record: int) -> frozenset[int]:
        found = self._names.get(record)
        if found is None:
            begin = int(self.table.name_end[record - 1]) if record else 0
            end = int(self.table.name_end[record])
            found = self._names[record] = frozenset(self.table.names[begin:end].tolist())
        return found

    def _join_by_identifier(self, bucket: list[int]) -> None:
        for position, record in enumerate(bucket[1:], start=1):
            # Compared with the nearest that came before: a chain of agreeing records is one work.
            for other in reversed(bucket[max(0, position - 20) : position]):
                if self.find(record) == self.find(other):
                    break
                if self.title[record] == self.title[other] or self._shares_name(record, other):
                    self.union(record, other)
                    self.result.by_identifier += 1
                    break
            else:
                self.result.refused_identifier += 1

    def _join_by_title(self, bucket: list[int]) -> None:
        pairs = []
        for one, other in combinations(bucket, 2):
            if self.find(one) == self.find(other):
                continue
            score = self._title_match(one, other)
            if score:
                pairs.append((-score, one, other))
            else:
                self.result.refused_title += 1
        for _, one, other in sorted(pairs):
            roots = self.find(one), self.find(other)
            if roots[0] == roots[1]:
                continue
            left, right = (self.cluster_of(root) for root in roots)
            if all(self._compatible(a, b) for a in left for b in right):
                self.union(one, other)
                self.result.by_title += 1
            else:
                self.result.refused_title += 1

    def _shares_name(self, one: int, other: int) -> bool:
        return not self.names(one).isdisjoint(self.names(other))

    def _title_match(self, one: int, other: int) -> int:
        """0 for different works, else how well the records agree, to join the best pairs first."""
        if not self._compatible(one, other) or not self._shares_name(one, other):
            return 0
        same_year = self.year[one] == self.year[other] != 0
        same_venue = self.venue[one] == self.venue[other] != 0
        same_pages = self.pages[one] == self.pages[other] != 0
        if self.flags[one] & GENERIC_FLAG:
            same_names = self.names(one) == self.names(other)
            other_pages = self.pages[one] and self.pages[other] and not same_pages
            if not (same_year and same_names and (same_venue or same_pages)) or other_pages:
                return 0
        if not (self.year[one] and self.year[other]) and not self.flags[one] & LONG_TITLE:
            return 0
        same_kind = self.kind[one] == self.kind[other]
        return int(1 + 8 * same_pages + 4 * same_year + 2 * same_venue + same_kind)

    def _compatible(self, one: int, other: int) -> bool:
        """False when the records cannot be one publication, whatever their titles."""
        if self.title[one] != self.title[other]:
            # Joined by an identifier to something of another title: that identifier decides.
            return not (self.doi[one] and self.doi[other] and self.doi[one] != self.doi[other])
        years = self.year[one], self.year[other]
        if all(years) and abs(years[0] - years[1]) > 1:
            return False
        if self.doi[one] and self.doi[other] and self.doi[one] != self.doi[other]:
            return False
        both = self.flags[one] & self.flags[other]
        either = self.flags[one] | self.flags[other]
        if both & CURATED_FLAG and not either & PREPRINT:
            kinds = {self.kind[one], self.kind[other]}
            if kinds == {1, 2}:
                return False
            pages = self.pages[one], self.pages[other]
            if self.source[one] == self.source[other] and all(pages) and pages[0] != pages[1]:
                return False
        return True


def _runs(numbers: NDArray[np.int64], records: NDArray[np.int64]) -> Iterator[list[int]]:
    """Records that have a number in common (not 0), in rising order, two or more at a time."""
    used = numbers != 0
    numbers, records = numbers[used], records[used]
    order = np.lexsort((records, numbers))
    numbers, records = numbers[order], records[order]
    cuts = np.flatnonzero(np.diff(numbers)) + 1
    begin = np.concatenate(([0], cuts)) if len(numbers) else np.empty(0, np.int64)
    end = np.concatenate((cuts, [len(numbers)])) if len(numbers) else np.empty(0, np.int64)
    for first, last in zip(
        begin[end - begin > 1].tolist(), end[end - begin > 1].tolist(), strict=True
    ):
        yield list(dict.fromkeys(records[first:last].tolist()))
