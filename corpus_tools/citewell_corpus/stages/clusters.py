"""Clustering of records that are the same paper.

In order of strength: DOI, arXiv id and source id; then the normalised title with a shared surname
and years at most one apart. Records with equal titles are kept apart by: two different DOIs
(preprints' aside), a journal article and a conference paper of careful sources, different pages or
years in one careful source (next year's tutorial of the same name), and titles such as
"Introduction" unless venue, year and authors all agree.

The same id of the same source is the same record, even if its fields changed. Any other identifier
counts only if the titles are similar, because records with the DOI of another work, or of their
whole volume, are common. A DOI that different works claim is doubtful: it is removed from records
that lack evidence for it, since a missing DOI does less harm than a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from citewell.model.titles import normalise_title
from citewell_corpus.stages.record_pool import ContinuedRows, Earlier
from citewell_corpus.stages.staging import (
    CURATED_FLAG,
    GENERIC_FLAG,
    LONG_TITLE,
    ONLY_IDS,
    OWN_DOI,
    PREPRINT,
    WORKSHOP,
    RecordKeyTable,
)

_BUCKET = 400
"""Maximum records of one title to compare pairwise; only the first ones are."""
_NEAR = 20
"""Maximum earlier records with the same identifier to compare a record with."""
_MANY_TITLES = 40
"""An identifier with more different titles than this names a volume, not a paper."""
_BAND = 1 << 22
"""Numbers sorted at once."""
_ALIKE = 80.0
"""Minimum token-set ratio of titles of one work (rapidfuzz, 0-100)."""


class Clusters(msgspec.Struct):
    """The partition of the records, and counts of rejected merges."""

    root: NDArray[np.int64]
    """For each record, the smallest record number of its cluster."""
    by_identifier: int = 0
    """Merges by DOI, arXiv id or source id."""
    by_title: int = 0
    refused_identifier: int = 0
    """Pairs with a common identifier that agree in neither title nor a surname."""
    refused_title: int = 0
    """Pairs with the same title that are different works."""
    doubtful_doi: frozenset[int] = frozenset()
    """Records with a probably wrong DOI."""

    def groups(self) -> Iterator[NDArray[np.int64]]:
        """Record numbers of each cluster, in the order of their first records."""
        order = np.argsort(self.root, kind="stable")
        cuts = np.flatnonzero(np.diff(self.root[order])) + 1
        yield from np.split(order, cuts) if len(order) else ()


def cluster(
    table: RecordKeyTable, title_of: Callable[[int], str], earlier: Earlier | None = None
) -> Clusters:
    """Partition the records; deterministic for a given order.

    `title_of(record)` is called only for records that share an identifier but not a title.
    `earlier` are the records of the library whose sources are read again.
    """
    return _Clustering(table, title_of, earlier or Earlier()).run()


class _Clustering:
    def __init__(
        self, table: RecordKeyTable, title_of: Callable[[int], str], earlier: Earlier
    ) -> None:
        self.table = table
        self.earlier = earlier
        self._title_of = title_of
        self._titles: dict[int, str] = {}
        # Views of mapped columns: a list would take forty bytes for each of their numbers.
        self.parent = np.arange(len(table)).data
        self.members: dict[int, list[int]] = {}
        self.result = Clusters(root=np.empty(0, np.int64))
        self.doi = np.array(table.doi).data
        self.title = table.title.data
        self.year = table.year.data
        self.kind = table.kind.data
        self.pages = table.pages.data
        self.venue = table.venue.data
        self.source = table.source.data
        self.flags = table.flags.data
        self.trust = table.trust.data
        self._names: dict[int, frozenset[int]] = {}
        self._rows = ContinuedRows(earlier, lambda record: bool(self.flags[record] & ONLY_IDS))
        self._met: set[int] = set()
        """Remnants joined with a new record."""

    def run(self) -> Clusters:
        everyone = np.arange(len(self.table))
        table = self.table
        owners = np.repeat(everyone, np.diff(table.own_end, prepend=0))
        for bucket in _runs(table.own, owners):
            # The ids of a work's remnant may be those of a source that is read again.
            rest = [one for one in self._rows.named(bucket) if one not in self.earlier.remnants]
            for record in rest[1:]:
                if self.find(record) != self.find(rest[0]):
                    self.result.by_identifier += self.union(record, rest[0])
        for one, other in self._rows.bridged():
            if self.find(one) != self.find(other) and self._same_by_identifier(one, other):
                self.result.by_identifier += self.union(one, other)
        # Joined with the ids, because another record may refer to a record's own id.
        pointed = np.repeat(everyone, np.diff(table.id_end, prepend=0))
        every_id = np.concatenate([table.own, table.ids]), np.concatenate([owners, pointed])
        for numbers, records in (every_id, (table.arxiv, everyone)):
            for bucket in _runs(numbers, records):
                self._join_by_identifier(self._rows.known(bucket))
        self._doubt_dois(map(self._rows.without_rows, _runs(self.table.doi, everyone)))
        for bucket in _runs(self.table.title, everyone):
            self._join_by_title(self._rows.titled(bucket)[:_BUCKET])
        for row, record in self._rows.successors(
            self.find, self._has_id, self._same_by_identifier, self._title_match
        ):
            # Not counted: reading a source again merges nothing.
            self.union(row, record)
        self.result.root = self._roots()
        return self.result

    def _roots(self) -> NDArray[np.int64]:
        root = np.arange(len(self.table))
        for lowest, members in self.members.items():
            root[members] = lowest
        return root

    def find(self, record: int) -> int:
        parent = self.parent
        while parent[record] != record:
            parent[record] = parent[parent[record]]
            record = parent[record]
        return record

    def cluster_of(self, root: int) -> list[int]:
        return self.members.get(root, [root])

    def union(self, one: int, other: int) -> bool:
        """Join two clusters; return False if this only repeats a source read again."""
        low, high = sorted((self.find(one), self.find(other)))
        self.parent[high] = low
        members = self.cluster_of(low) + self.members.pop(high, [high])
        self.members[low] = members
        left = self.earlier.remnants.intersection(members) - self._met
        if not left or max(members) < self.earlier.first_new:
            return True
        self._met |= left
        return False

    def _has_id(self, record: int, number: int) -> bool:
        begin = int(self.table.own_end[record - 1]) if record else 0
        return number in self.table.own[begin : int(self.table.own_end[record])]

    def names(self, record: int) -> frozenset[int]:
        found = self._names.get(record)
        if found is None:
            begin = int(self.table.name_end[record - 1]) if record else 0
            end = int(self.table.name_end[record])
            found = self._names[record] = frozenset(self.table.names[begin:end].tolist())
        return found

    def _join_by_identifier(self, bucket: list[int]) -> None:
        strict = len({self.title[record] for record in bucket}) > _MANY_TITLES
        for position, record in enumerate(bucket[1:], start=1):
            near = bucket[max(0, position - _NEAR) : position]
            if strict:
                near = [other for other in near if self.title[other] == self.title[record]]
            for other in reversed(near):
                if self.find(record) == self.find(other):
                    break
                if self._same_by_identifier(record, other):
                    self.result.by_identifier += self.union(record, other)
                    break
            else:
                self.result.refused_identifier += 1

    def _same_by_identifier(self, one: int, other: int) -> bool:
        names = self.names(one), self.names(other)
        if self.title[one] == self.title[other]:
            return not all(names) or bool(names[0] & names[1]) or self.year[one] == self.year[other]
        if all(names) and not names[0] & names[1]:
            return False
        return fuzz.token_set_ratio(self._title(one), self._title(other)) >= _ALIKE

    def _title(self, record: int) -> str:
        found = self._titles.get(record)
        if found is None:
            found = self._titles[record] = normalise_title(self._title_of(record))
        return found

    def _doubt_dois(self, buckets: Iterator[list[int]]) -> None:
        """Drop DOIs claimed by several works; titles then decide."""
        doubtful: set[int] = set()
        for bucket in buckets:
            claims: dict[int, list[int]] = {}
            for record in bucket:
                claims.setdefault(self.find(record), []).append(record)
            # A work's remnant may have the DOI from the source that is read again.
            weak = [
                root
                for root, records in claims.items()
                if self.earlier.remnants.issuperset(records)
            ]
            for root in weak if len(weak) < len(claims) else ():
                doubtful.update(claims.pop(root))
            if len(claims) <= 1:
                continue
            shown = {
                root
                for root, records in claims.items()
                if any(self.flags[record] & OWN_DOI for record in records)
            }
            if not shown:
                trust = {root: max(self.trust[r] for r in rs) for root, rs in claims.items()}
                best = max(trust.values())
                shown = {root for root in claims if trust[root] == best}
            # Two equally reliable works cannot both be right, and neither is preferred.
            keeps = shown if len(shown) == 1 else set()
            for root, records in claims.items():
                if root not in keeps:
                    doubtful.update(records)
        for record in doubtful:
            self.doi[record] = 0
        self.result.doubtful_doi = frozenset(doubtful)

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
                self.result.by_title += self.union(one, other)
            else:
                self.result.refused_title += 1

    def _shares_name(self, one: int, other: int) -> bool:
        return not self.names(one).isdisjoint(self.names(other))

    def _title_match(self, one: int, other: int) -> int:
        """0 for different works, else the quality of the match, to join the best pairs first."""
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
        """False when the records cannot be one publication, regardless of titles."""
        if self.doi[one] and self.doi[other] and self.doi[one] != self.doi[other]:
            return False
        if self.title[one] != self.title[other]:
            # Joined by an identifier to a record with another title: that identifier decides.
            return True
        years = self.year[one], self.year[other]
        if all(years) and abs(years[0] - years[1]) > 1:
            return False
        careful = self.flags[one] & self.flags[other] & CURATED_FLAG
        preprint = (self.flags[one] | self.flags[other]) & PREPRINT
        return not careful or bool(preprint) or not self._are_distinct(one, other)

    def _are_distinct(self, one: int, other: int) -> bool:
        """True if reliable sources list two publications."""
        if {self.kind[one], self.kind[other]} == {1, 2}:
            return True
        if self.source[one] != self.source[other]:
            return False
        pages = self.pages[one], self.pages[other]
        workshop = (self.flags[one] | self.flags[other]) & WORKSHOP
        other_year = self.year[one] != self.year[other]
        return (all(pages) and pages[0] != pages[1]) or (other_year and not workshop)


def _runs(numbers: NDArray[np.int64], records: NDArray[np.int64]) -> Iterator[list[int]]:
    """Records with a common number (not 0), ascending, at least two at a time.

    The numbers are hashes, sorted one range of values after the other, so that memory is bounded.
    """
    bits = (len(numbers) // _BAND).bit_length()
    if not bits:
        yield from _runs_of(numbers, records)
        return
    band = (numbers >> (64 - bits)).astype(np.int16)
    for one in range(-(1 << bits - 1), 1 << bits - 1):
        inside = np.flatnonzero(band == one)
        yield from _runs_of(numbers[inside], records[inside])


def _runs_of(numbers: NDArray[np.int64], records: NDArray[np.int64]) -> Iterator[list[int]]:
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
