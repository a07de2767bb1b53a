"""What a paper cites around each of its citations, put together from one record a citation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

_MARKS = re.compile(r"\[(?:CITATION|OTHER)\]")
_NO_LETTER = re.compile(r"[^a-z0-9]")
BEFORE = 3
"""Sentences before the citing one whose citations are its neighbours."""


class Place(msgspec.Struct, frozen=True):
    """One citation: its sentence, the sentences before it in order, and what it cites."""

    sentence: str
    before: Sequence[str]
    cited: str
    """A name of the cited work within the paper; empty for one that nobody may name."""
    beside: frozenset[str] = frozenset()
    """Names of what the same command cites, which are never its neighbours, and of the work."""


def by_sentence(places: Iterable[Place]) -> dict[str, list[str]]:
    """Names of the works that each sentence of one paper cites, sentences by their letters."""
    found: dict[str, list[str]] = defaultdict(list)
    for place in places:
        if place.cited:
            found[_letters(place.sentence)].append(place.cited)
    return dict(found)


def neighbours(place: Place, sentences: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of the works cited in the same sentence, then in those before it, the nearest first.

    A sentence is recognised by its letters: where the records mark citations they stand in one
    record and are left out in another.
    """
    found: list[str] = []
    for text in (place.sentence, *reversed(place.before[-BEFORE:])):
        found += sentences.get(_letters(text), ())
    return tuple(name for name in dict.fromkeys(found) if name not in place.beside)


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", _MARKS.sub("", text).lower())
