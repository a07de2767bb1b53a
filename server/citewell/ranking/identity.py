"""The probability that a candidate is the paper that typed words mean, bounded by the kind of
match.

The calibration of `typed` weighs how well words and record fit. Alone, it takes a record that
merely contains the words for the one that they name, and a name that two papers once used for a
name of its own. Therefore the kind of match bounds it, from the surest: a nickname, the whole
title, the head of a title (up to its colon), initials, words from within a title. Identifiers are
looked up before a search (`engine.identified`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import SHORT, Aliases
from citewell.corpus.arrays import distinct
from citewell.corpus.columns import Columns, word_hash
from citewell.documents.context import long_forms
from citewell.model import Query, Work
from citewell.model.languages import STOPWORDS
from citewell.model.query import MARK, OTHER
from citewell.model.titles import fold_name, normalise_title
from citewell.ranking.typed_features import NAMES

UNDECIDED = 0.6
"""Maximum probability of a match that is not decisive alone: the paper is shown, and never written
unattended."""
CLEAR = 0.85
"""Minimum probability of the paper that a name most likely means by far."""
IDENTIFIED = 0.99
"""Probability of the paper with the identifier, or with the exact key of its source."""
CERTAIN, HALF = 0.95, 0.5
"""Probability of a paper with the key's author, year and title words, if its words support the
paper rather than contradict it."""
DECIDED, LIKELIER = 15.0, 5.0
"""Added to the score of a paper determined by a name, and of those with the words of an expanded
acronym: certain papers come first."""
SETTLED = 20
"""Number of citing papers that use the name for one work, above which it is settled."""
KNOWN, WELL_KNOWN = float(np.log1p(10)), float(np.log1p(30))
"""Minimum popularity of a paper identified by the short head of its title, and by a part of its
title or by its initials."""
FAR_MORE = float(np.log(8))
"""Factor in citations over any other match, for a paper identified by a part of its title."""
WHOLE = 0.9
"""Share of a title, weighted by rarity, above which words are more than a part of it."""
_ALL = 0.99
_FUNCTION_WORDS = frozenset(word_hash(word.decode()) for word in STOPWORDS)
MOST_READ = 50
"""Maximum number of titles read for the spelling of one name."""
_WORD = re.compile(r"[^\W_]+")
_ACRONYM = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Za-z][A-Za-z0-9-]{1,8}")


class Bounds(msgspec.Struct, frozen=True):
    """Minimum and maximum probability of each of n candidates, and the addition to its score,
    shapes (n,)."""

    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    bonus: NDArray[np.float32]

    def take(self, places: NDArray[np.int64]) -> Bounds:
        """The bounds of some candidates."""
        return Bounds(self.lowest[places], self.highest[places], self.bonus[places])


def unbounded(count: int) -> Bounds:
    """No bounds for any candidate."""
    return Bounds(np.zeros(count), np.ones(count), np.zeros(count, np.float32))


def bounds(
    query: Query,
    columns: Columns,
    aliases: Aliases,
    table: NDArray[np.float32],
    titles: Callable[[NDArray[np.int64]], Sequence[str]],
) -> Bounds:
    """The bounds for each candidate of a typed query. `table` holds their typed features; `titles`
    returns those of the candidates at some places as written."""

    def column(name: str) -> NDArray[np.float64]:
        return table[:, NAMES.index(name)].astype(np.float64)

    name = " ".join(query.text.split())
    is_short = len(fold_name(name)) <= SHORT
    cited = np.maximum(column("popularity"), 0)
    exact, head = column("exact") > 0, column("opening_whole") > 0
    if is_short and " " not in name:
        # "UCB" is also a title, of a paper that hardly anybody means.
        head, exact = head | exact, np.zeros(len(table), np.bool_)
    holds = column("typed_in_title") >= _ALL
    by_name, lowest = _called(name, columns, aliases)
    if is_short and by_name.any() and _is_of_two(name, titles(np.flatnonzero(holds)[:MOST_READ])):
        by_name, lowest = np.minimum(by_name, UNDECIDED), np.zeros(len(table))
    by_head = np.where(head, _share(cited, columns.key, head), 0)
    if is_short:
        by_head[cited < KNOWN] = 0
    in_a_row = holds & (column("in_order") >= _ALL)
    by_part = np.where(in_a_row & _leads(cited, columns.key, holds), CLEAR, 0)
    initials = (column("initials") > 0) & (" " not in name)
    is_clear = initials & _leads(cited, columns.key, initials | head) & (not by_name.any())
    lowest = np.where(is_clear, CLEAR, lowest)
    # Independent kinds of evidence: a noisy or.
    named = 1 - (1 - by_name) * (1 - by_head) * (1 - by_part) * (1 - lowest)
    is_part = holds & (column("title_covered") < WHOLE) & (by_part == 0)
    is_part &= (column("any_author") <= 0) & (column("year") <= 0)
    is_part &= ~_begins_alone(name, columns, holds)
    doubtful = (column("called_whole") > 0) | head | initials | is_part
    highest = np.where(doubtful & ~exact, np.maximum(named, UNDECIDED), 1)
    written = _written_out(name, query, columns)
    if written is not None:
        is_clear = _leads(cited, columns.key, written, KNOWN)
        lowest = np.where(written, np.maximum(lowest, CLEAR * is_clear), 0)
        highest = np.where(written, 1, np.minimum(highest, UNDECIDED))
    lowest = np.minimum(lowest, highest)
    bonus = np.where(lowest > 0, DECIDED, 0.0 if written is None else LIKELIER * written)
    return Bounds(lowest, highest, bonus.astype(np.float32))


def highest_of(text: str, work: Work) -> float:
    """The maximum probability that a text means a record without further data, by the rule of
    `bounds`: if it is only a part of the title, the paper is shown and no more."""
    words, title = normalise_title(text).split(), normalise_title(work.title).split()
    is_short = len(fold_name(text)) <= SHORT
    head, colon, _ = work.title.partition(":")
    if words == title or (colon and words == normalise_title(head).split()):
        return UNDECIDED if is_short and len(words) == 1 else 1.0
    telling = {word for word in title if word.encode() not in STOPWORDS}
    is_part = set(words) <= set(title) and len(telling & set(words)) < WHOLE * len(telling)
    return UNDECIDED if is_part else 1.0


def of_key(
    sure: float,
    *,
    is_identified: bool,
    is_name: bool,
    is_authors: bool,
    title: float,
    has_title: bool,
) -> float:
    """The probability that a key means a paper supported by its words with the probability `sure`.

    `is_name`: it has neither year nor words of a title; `is_authors`: it begins with the first
    author, and no year contradicts it; `title`: how well its words match those that keys take from
    the title. Measured by `tests/bench/undefined_bench.py`.
    """
    if is_identified:
        return IDENTIFIED
    if is_authors and title >= WHOLE:
        return max(sure, CERTAIN) if sure >= HALF else min(sure, UNDECIDED)
    # A word from within a title is only a part of it, here as elsewhere.
    is_decided = is_name or (is_authors and not has_title)
    return sure if is_decided else min(sure, UNDECIDED)


def _called(
    name: str, columns: Columns, aliases: Aliases
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The probability of each candidate for a name, from others' use of it, and the minimum if the
    name is settled."""
    share, lowest = np.zeros(len(columns)), np.zeros(len(columns))
    for place, (one, probability) in enumerate(aliases.shares(name)):
        rows = columns.key == np.uint64(one.key)
        share[rows] = probability
        if not place and one.papers >= SETTLED:
            lowest[rows] = min(probability, CLEAR)
    return share, lowest


def _is_of_two(name: str, titles: Sequence[str]) -> bool:
    """Whether titles write the name both in capitals and in its mixed case: "FiD" and "FID"."""
    if name.isupper() or not _ACRONYM.fullmatch(name.removesuffix("s")):
        return False
    words = [word for title in titles for word in _WORD.findall(title)]
    same, capitals = words.count(name), words.count(name.upper())
    return capitals * 3 >= capitals + same > 0


def _share(
    cited: NDArray[np.float64], keys: NDArray[np.uint64], among: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The share of each candidate in the citations of those `among`; records with one title are one
    work."""
    counts = np.exp(cited)
    own = distinct(keys[among])
    most = np.zeros(len(own))
    np.maximum.at(most, np.searchsorted(own, keys[among]), counts[among])
    return np.asarray(counts / max(most.sum(), 1.0))


def _leads(
    cited: NDArray[np.float64],
    keys: NDArray[np.uint64],
    among: NDArray[np.bool_],
    least: float = WELL_KNOWN,
) -> NDArray[np.bool_]:
    """Mask of the candidate, if any, that is well known and far more cited than all others
    `among`."""
    out = np.zeros(len(cited), np.bool_)
    if among.any():
        best = int(np.argmax(np.where(among, cited, -1)))
        others = among & (keys != keys[best])
        second = float(cited[others].max(initial=0))
        if cited[best] >= max(least, second + FAR_MORE):
            out = among & (keys == keys[best])
    return out


def _begins_alone(name: str, columns: Columns, holds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the title that alone `holds` the words and begins with the first distinctive one."""
    out = np.zeros(len(columns), np.bool_)
    words = [word for word in normalise_title(name).split() if word.encode() not in STOPWORDS]
    if words and len(distinct(columns.key[holds])) == 1:
        begins = {word_hash(words[0]), word_hash("".join(words[:2]))}
        for at in np.flatnonzero(holds):
            title = columns.word[columns.word_starts[at] : columns.word_starts[at + 1]].tolist()
            out[at] = next((one for one in title if one not in _FUNCTION_WORDS), 0) in begins
    return out


def _written_out(name: str, query: Query, columns: Columns) -> NDArray[np.bool_] | None:
    """Mask of the titles with the consecutive words that an acronym stands for in the document or
    the sentence; None if there is no such title or expansion."""
    if not _ACRONYM.fullmatch(name):
        return None
    sentence = query.sentence.replace(MARK, " ").replace(OTHER, " ")
    forms = [long for short, long in query.acronyms if short == name]
    owner = np.repeat(np.arange(len(columns)), np.diff(columns.word_starts))
    found = np.zeros(len(columns), np.bool_)
    for form in forms or long_forms(sentence, name):
        words = [word for word in normalise_title(form).split() if word.encode() not in STOPWORDS]
        if len(words) < 2:
            continue
        at = np.flatnonzero(columns.word == np.uint32(word_hash(words[0])))
        for word in words[1:]:
            # A short word may be between them: "Amazon's Mechanical Turk".
            near = np.concatenate([at + 1, at + 2])
            near = near[
                (near < len(owner))
                & (owner[np.minimum(near, len(owner) - 1)] == np.tile(owner[at], 2))
            ]
            at = near[columns.word[near] == np.uint32(word_hash(word))]
        found[owner[at]] = True
    return found if found.any() else None
