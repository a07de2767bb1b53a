"""Which paper does a key mean that no .bib defines? Found in the library, with a probability.

The key is taken apart (`key_meaning`), the library is asked for the author and the year, with the
sentence around the citation as the question, and each answer is compared with the key. What is
offered is decided by a calibrated probability: an author must be able to accept without a look.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from citewell.features.citing.key_meaning import KeyFit, KeyMeaning, fit
from citewell.model import Hit, Query, Work
from citewell.model.query import CitingPaper

NARROW = 40
"""Papers of the author and the year that are looked at."""
WIDE = 12
"""Papers for the words of the key, whoever wrote them."""
SURE = 0.95
"""Probability from which the paper is offered as what the author means."""
LIKELY = 0.5
"""Probability from which it is offered at all."""
_IDENTIFIED = 0.99
"""The key is an identifier of the paper, or the very key that its source gives it."""
_SAME_NAME = 0.5
"""From this fit of the surname on, the key may name the paper's author."""
_OTHER_NAME = 0.9
"""Highest probability of a paper whose author the key does not name."""
_RIVAL = 0.85
"""A paper that fits so much as well as the best one makes it doubtful."""


class Candidate(msgspec.Struct, frozen=True):
    """A paper that the key may mean."""

    work: Work
    fit: KeyFit
    rank: int
    """1-based place in the list that found it; 0 for one found by an identifier."""
    score: float = 0.0
    """How well it fits the key, about [0, 1]; orders the candidates."""
    confidence: float = 0.0
    """How probable the ranker finds it for the sentence, whatever the key says."""


class Meaning(msgspec.Struct, frozen=True):
    """What an undefined key most likely means."""

    key: str
    work: Work | None = None
    probability: float = 0.0
    rivals: tuple[Work, ...] = ()
    """Others that fit, best first."""

    @property
    def is_sure(self) -> bool:
        """True when nothing else fits and the probability is high."""
        return self.is_likely and self.probability >= SURE and not self.rivals

    @property
    def is_likely(self) -> bool:
        return self.work is not None and self.probability >= LIKELY


def questions(meaning: KeyMeaning, context: Query) -> list[tuple[Query, int]]:
    """The queries with their number of papers each; empty for a key without meaning."""
    queries: list[tuple[Query, int]] = []
    change = msgspec.structs.replace
    bare = change(context, paper=CitingPaper(title=context.paper.title), guessed=True)
    if meaning.surname and len(meaning.surname) > 1:
        narrow = change(bare, text=meaning.words, author=meaning.surname)
        if meaning.year is not None:
            narrow = change(narrow, year_from=meaning.year - 1, year_to=meaning.year + 1)
        queries.append((narrow, NARROW))
    words = " ".join((*meaning.heads, meaning.words)).strip()
    if words:
        wide = change(bare, text=words)
        if meaning.year is not None:
            wide = change(wide, year_from=meaning.year - 1, year_to=meaning.year + 1)
        queries.append((wide, WIDE))
    return queries


def decide(meaning: KeyMeaning, known: Iterable[Work], lists: Sequence[Sequence[Hit]]) -> Meaning:
    """The paper that the key means, if any, and how probable that is.

    `known` are the works found by the key as an identifier, `lists` the answers to `questions`.
    """
    candidates = ranked(meaning, known, lists)
    if not candidates:
        return Meaning(meaning.key)
    best = candidates[0]
    others = [c for c in candidates[1:] if not _same(c.work, best.work)]
    near = (c for c in others if c.score >= _RIVAL * best.score and not best.fit.identifier)
    rivals = tuple(candidate.work for candidate in near)
    return Meaning(meaning.key, best.work, probability(features(meaning, best, others)), rivals[:5])


def ranked(
    meaning: KeyMeaning, known: Iterable[Work], lists: Sequence[Sequence[Hit]]
) -> list[Candidate]:
    """The candidates, those that fit the key best first."""
    found: dict[str, Candidate] = {}
    for work in known:
        fits = fit(meaning, work)
        found[work.id] = Candidate(work, fits, 0, 2.0 if fits.identifier else _score(fits, 1))
    for hits in lists:
        for rank, hit in enumerate(hits, 1):
            if hit.work.id not in found:
                fits = fit(meaning, hit.work)
                found[hit.work.id] = Candidate(
                    hit.work, fits, rank, _score(fits, rank), hit.confidence or 0.0
                )
    return sorted(found.values(), key=lambda c: (-c.score, c.rank))


def _score(fits: KeyFit, rank: int) -> float:
    if fits.identifier:
        return 2.0
    title_evidence = fits.title * fits.title_detail
    return (
        0.40 * fits.surname
        + 0.18 * fits.year
        + 0.40 * title_evidence
        + 0.12 * fits.authors
        - 0.35 * fits.contradicts
        + 0.12 / (1 + math.log(max(1, rank)))
    )


FEATURES = (
    "surname", "year", "title", "title_detail", "title_evidence", "authors", "contradicts", "top",
    "gap", "rivals", "whole", "identifier", "confidence", "alone", "head",
)  # fmt: skip


def features(
    meaning: KeyMeaning, best: Candidate, others: Sequence[Candidate]
) -> tuple[float, ...]:
    """What the probability is computed from, in the order of `FEATURES`."""
    fits = best.fit
    second = max((c.score for c in others), default=0.0)
    close = sum(c.score >= best.score - 0.1 for c in others)
    title_evidence = fits.title * fits.title_detail
    return (
        fits.surname,
        fits.year,
        fits.title,
        fits.title_detail,
        title_evidence,
        fits.authors,
        fits.contradicts,
        1.0 / max(1, best.rank),
        min(0.5, best.score - second),
        min(1.0, close / 4),
        float(fits.surname >= 0.9 and fits.year == 1.0 and title_evidence >= 0.9),
        fits.identifier,
        best.confidence,
        float(not others or second < 0.5 * best.score),
        min(1.0, len(meaning.head) / 10),
    )


_CURVE = (
    -8.09, 1.85, 2.79, 3.77, -2.37, -1.63, 0.97, -0.18, 1.64, 3.78, 0.34, 2.06, 0.0, 10.32, -0.48,
    -0.28,
)  # fmt: skip
"""Intercept, then a weight for each of `FEATURES`, from `training.undefined_keys`. They depend on
the confidence of the ranker: with new weights of it they are fitted again."""


def probability(values: Sequence[float]) -> float:
    """How likely the key means the best candidate. `tests/bench/undefined_bench.py` measures it."""
    if values[FEATURES.index("identifier")]:
        return _IDENTIFIED
    exponent = _CURVE[0] + sum(w * v for w, v in zip(_CURVE[1:], values, strict=True))
    chance = 1 / (1 + math.exp(-exponent))
    # However well the sentence fits: a key with another name is not surely this paper's.
    return chance if values[0] >= _SAME_NAME else min(chance, _OTHER_NAME)


def _same(one: Work, other: Work) -> bool:
    from citewell.model.titles import title_key

    return one.id == other.id or title_key(one.title) == title_key(other.title)
