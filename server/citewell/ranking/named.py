"""The names in a citing sentence at the place of a citation, and at other citations.

In "we train BERT [CITATION] with Adam [OTHER]" BERT belongs to the place, and Adam to its
neighbour. A candidate named only at another citation is seldom the one cited here.
"""

from __future__ import annotations

import re
import zlib

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import Aliases
from citewell.corpus.columns import Columns, name_hash, word_hash
from citewell.model.languages import STOPWORDS
from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.query import MARK, OTHER
from citewell.model.titles import normalise_title
from citewell.ranking.lexical import matches

NAMES = (
    "name_at", "name_beside", "alias_at", "alias_beside", "alias_rival", "author_at",
    "author_beside", "title_at", "title_beside", "phrase_at", "stranger_at", "stranger_author",
)  # fmt: skip
"""For each candidate: the name or the initials of its title, a name that others use for it, its
authors and title words, each at this place and at neighbouring places. "Rival" is the strongest
name of another work at this place; "stranger" a name, or an author, right at the place that is not
the candidate's."""
REACH = 12
"""Number of words before a mark, and `AFTER` words after it, that belong to it."""
AFTER = 4
LONGEST_NAME = 3
FADE = 0.75
"""Factor of a name's weight for each word between it and the mark."""

_WORD = re.compile(r"[^\W_]+(?:[-'’.+/][^\W_]+)*")
_MARKS = lazy_pattern(re.escape(MARK) + "|" + re.escape(OTHER))
_SHAPED = lazy_pattern(r"(?=(?:.*[A-Z]){2}|.*[A-Za-z].*\d|[a-z]+.*[A-Z])[\w.+/'’-]{2,30}")
"""A name by its form: two capitals, letters with a digit, or an inner capital."""
_SURNAME = r"([^\W\d_][^\W\d_]+(?:[-'’][^\W\d_]+)*)"
_AUTHORS = lazy_pattern(
    rf"{_SURNAME}(?:\s+(?:and|&)\s+{_SURNAME}|,?\s+et\s+al\.?)(?:'s|’s)?[\s~(]*$"
)
"""Certain names only: a single capitalised word may be anything."""


class MarkWords(msgspec.Struct, frozen=True):
    """The words around one citation mark."""

    words: tuple[tuple[str, float], ...]
    """Words with their weight: 1 next to the mark, less with distance."""
    joined: dict[str, float]
    """Runs of up to `LONGEST_NAME` words joined, for look-ups of names."""
    shaped: tuple[str, ...]
    """Names by form among the three words before the mark."""
    authors: tuple[str, ...]
    """Surnames right before the mark: "Devlin et al. [CITATION]"."""


def places(sentence: str) -> tuple[MarkWords | None, list[MarkWords]]:
    """The place of the target mark, or None, and those of the other marks."""
    marks = list(_MARKS.finditer(sentence))
    own, others = None, []
    for number, mark in enumerate(marks):
        begin = marks[number - 1].end() if number else 0
        end = marks[number + 1].start() if number + 1 < len(marks) else len(sentence)
        place = _place(sentence[begin : mark.start()], sentence[mark.end() : end])
        if mark[0] == MARK and own is None:
            own = place
        else:
            others.append(place)
    return own, others


def _place(before: str, after: str) -> MarkWords:
    left = _WORD.findall(before)[-REACH:][::-1]
    # Following words belong to the next mark, unless they are in the same clause.
    right = _WORD.findall(re.split(r"[.;:,]", after, maxsplit=1)[0])[:AFTER]
    words = [(word, FADE**at) for at, word in enumerate(left)]
    words += [(word, FADE ** (at + 2)) for at, word in enumerate(right)]
    joined: dict[str, float] = {}
    for side, offset in ((left[::-1], 0), (right, 2)):
        telling = [any(c.isupper() or c.isdigit() for c in word) for word in side]
        may_end = [len(word) > 1 and word.lower().encode() not in STOPWORDS for word in side]
        for size in range(1, LONGEST_NAME + 1):
            for at in range(len(side) - size + 1):
                # A name begins and ends with a word of its own, one of them with a capital or a
                # digit.
                if not (may_end[at] and may_end[at + size - 1] and any(telling[at : at + size])):
                    continue
                gap = len(side) - at - size if offset == 0 else at + offset
                name = "".join(side[at : at + size]).removesuffix("'s").removesuffix("’s")
                joined[name] = max(joined.get(name, 0.0), FADE**gap)
    shaped = tuple(word for word in left[:3] if _SHAPED.fullmatch(word))
    match = _AUTHORS.search(before[-80:])
    found = tuple(name for name in match.groups() if name) if match else ()
    if not all(name[0].isupper() for name in found):
        found = ()
    return MarkWords(tuple(words), joined, shaped, found)


def named(sentence: str, columns: Columns, aliases: Aliases) -> NDArray[np.float32]:
    """Shape (n, len(NAMES)), one row a candidate; zeros for a sentence without a mark."""
    out = np.zeros((len(columns), len(NAMES)), np.float32)
    own, others = places(sentence)
    if own is None or not len(columns):
        return out
    owners = _owners(columns.word_starts), _owners(columns.surname_starts)
    at = _of(own, columns, aliases, *owners)
    beside = [_of(one, columns, aliases, *owners) for one in others]
    for column, field in ((0, "name"), (2, "alias"), (5, "author"), (7, "title")):
        out[:, column] = at[field]
        for one in beside:
            out[:, column + 1] = np.maximum(out[:, column + 1], one[field])
    # Columns 3 and 4 are the neighbours' and the rivals': the aliases' own order.
    out[:, 4] = np.maximum(at["best"] - at["alias"], 0)
    out[:, 9] = at["phrase"]
    known = np.maximum(np.maximum(at["name"], at["alias"]), at["shaped"])
    out[:, 10] = bool(own.shaped) * (known <= 0)
    out[:, 11] = bool(own.authors) * (at["author"] <= 0)
    return out


def _owners(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The candidate that each value of the runs belongs to."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _of(
    place: MarkWords,
    columns: Columns,
    aliases: Aliases,
    word_owner: NDArray[np.int64],
    surname_owner: NDArray[np.int64],
) -> dict[str, NDArray[np.float32]]:
    """Strength with which a place names each candidate, by kind of name, each of shape (n,)."""
    count = len(columns)
    name, alias = np.zeros(count, np.float32), np.zeros(count, np.float32)
    best = 0.0
    has_opening, has_initials = columns.opening != 0, columns.initials != 0
    for run, weight in place.joined.items():
        rows = has_opening & (columns.opening == np.uint32(name_hash(run)))
        plain = "".join(c for c in run.lower() if c.isalnum())
        if 2 < len(plain) <= 8 and sum(c.isupper() for c in run) > 1:
            for form in {plain, plain.removesuffix("s")}:
                rows |= has_initials & (columns.initials == np.uint32(zlib.crc32(form.encode())))
        name[rows] = np.maximum(name[rows], weight)
        for one in aliases.of(run):
            value = weight * one.strength
            best = max(best, value)
            rows = columns.key == np.uint64(one.key)
            alias[rows] = np.maximum(alias[rows], value)
    author = np.zeros(count, np.float32)
    for surname in place.authors:
        author[surname_owner[columns.surname == np.uint32(name_hash(surname))]] = 1
    title, phrase = _titles(place, columns, word_owner)
    shaped = np.zeros(count, np.float32)
    for word in place.shaped:
        for part in normalise_title(word).split():
            shaped[word_owner[columns.word == np.uint32(word_hash(part))]] = 1
    return {
        "name": name, "alias": alias, "author": author, "title": title, "phrase": phrase,
        "shaped": shaped, "best": np.full(count, best, np.float32),
    }  # fmt: skip


def _titles(
    place: MarkWords, columns: Columns, owner: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The share of each title's words that occur at the place, and the longest run of them."""
    spelled = [
        part
        for word, _ in place.words
        for part in normalise_title(word).split()
        if part.encode() not in STOPWORDS
    ]
    hashes = np.array(sorted({word_hash(word) for word in spelled}), np.uint32)
    count = len(columns)
    length = np.maximum(np.diff(columns.word_starts), 1)
    at, _ = matches(columns.word, hashes)
    title = (np.bincount(owner[at], minlength=count) / length).astype(np.float32)
    # A run of hits ends at another word, and at the end of its title.
    phrase = np.zeros(count, np.float32)
    if len(at):
        breaks = (np.diff(at) != 1) | (np.diff(owner[at]) != 0)
        begin = np.flatnonzero(np.concatenate(([True], breaks)))
        runs = np.diff(np.append(begin, len(at)))
        np.maximum.at(phrase, owner[at[begin]], runs.astype(np.float32))
    return title, phrase
