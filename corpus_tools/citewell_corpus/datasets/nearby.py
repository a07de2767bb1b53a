"""The citations near each citation of a paper, collected from one record per citation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

_MARKS = re.compile(r"\[(?:CITATION|OTHER)\]")
_NO_LETTER = re.compile(r"[^a-z0-9]")
BEFORE = 3
"""Number of preceding sentences whose citations count as near."""


class Place(msgspec.Struct, frozen=True):
    """One citation: its sentence, the preceding sentences, and the cited work."""

    sentence: str
    before: Sequence[str]
    cited: str
    """Name of the cited work within the paper; empty if it must not be named."""
    beside: frozenset[str] = frozenset()
    """Names of the works that the same command cites, which never count as near."""


def by_sentence(places: Iterable[Place]) -> dict[str, list[str]]:
    """Names of the works cited by each sentence of a paper, keyed by the sentence's letters."""
    found: dict[str, list[str]] = defaultdict(list)
    for place in places:
        if place.cited:
            found[_letters(place.sentence)].append(place.cited)
    return dict(found)


def neighbours(place: Place, sentences: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of the works cited in the same sentence, then in preceding ones, nearest first.

    Sentences are compared by their letters, because citation marks differ between records.
    """
    found: list[str] = []
    for text in (place.sentence, *reversed(place.before[-BEFORE:])):
        found += sentences.get(_letters(text), ())
    return tuple(name for name in dict.fromkeys(found) if name not in place.beside)


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", _MARKS.sub("", text).lower())
