"""Which paper does a key mean that no .bib defines? Found in the library, with a probability.

The key is taken apart (`key_meaning`). The library is asked for its author and year, and for its
words as if an author had typed them, with the sentence around the citation; each answer is compared
with the key. How far the first one is trusted is decided by `ranking.identity`, as for typed words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from citewell.engine.contract import Engine
from citewell.engine.identified import work_identified
from citewell.features.citing.key_meaning import KeyFit, KeyMeaning, fit
from citewell.model import Hit, Query, Work
from citewell.model.identifiers import identifier_of
from citewell.model.query import CitingPaper
from citewell.model.titles import title_key
from citewell.ranking.identity import of_key

NARROW = 40
"""Papers of the author and the year that are looked at."""
WIDE = 12
"""Papers that the words of the key mean."""
OFFERED = 3
"""Papers that are offered where it is not sure which one is meant."""
SURE = 0.9
"""Probability from which "add all missing entries" adds the paper. It is higher than that for typed
words, whose paper stands where the author reads it."""
_RIVAL = 0.85
"""A paper that fits so much as well as the best one makes it doubtful."""
_CONFIDENCE, _NAMED = 0.6, 1.5
"""What the confidence of the search adds to how well a paper fits the key, and one that may be a
nickname."""
_SIGNS = re.compile(r"[\W_]+")
_IDENTIFIED = 5.0
"""The score of a paper that the key identifies: above all others."""


class KeyCandidate(msgspec.Struct, frozen=True):
    """A paper that the key may mean."""

    work: Work
    fit: KeyFit
    confidence: float = 0.0
    """How probably the words of the key mean it."""
    score: float = 0.0
    """How well it fits the key; orders the candidates."""


class Meaning(msgspec.Struct, frozen=True):
    """What an undefined key most likely means."""

    key: str
    works: tuple[Work, ...] = ()
    """The papers that fit best, `OFFERED` at most."""
    probability: float = 0.0
    """That the first one is meant."""
    has_rival: bool = False
    """Another one fits as well."""

    @property
    def is_sure(self) -> bool:
        """True when nothing else fits and the probability is high."""
        return bool(self.works) and self.probability >= SURE and not self.has_rival

    @property
    def offered(self) -> tuple[Work, ...]:
        """The paper that is surely meant, or those among which an author chooses."""
        return self.works[:1] if self.is_sure else self.works


def questions(meaning: KeyMeaning, context: Query) -> list[tuple[Query, int]]:
    """The queries with their number of papers each; empty for a key without meaning."""
    queries: list[tuple[Query, int]] = []
    change = msgspec.structs.replace
    bare = change(context, paper=CitingPaper(title=context.paper.title))
    if meaning.surname and len(meaning.surname) > 1:
        narrow = change(bare, text=meaning.words, author=meaning.surname, guessed=True)
        if meaning.year is not None:
            narrow = change(narrow, year_from=meaning.year - 1, year_to=meaning.year + 1)
        queries.append((narrow, NARROW))
    if text := _typed(meaning):
        queries.append((change(bare, text=text), WIDE))
    return queries


def _typed(meaning: KeyMeaning) -> str:
    """The words of a key as an author would type them; empty where there are none."""
    if not (meaning.heads or meaning.words):
        return ""
    if _is_name(meaning):
        return _SIGNS.sub(" ", meaning.key).strip()
    year = "" if meaning.year is None else str(meaning.year)
    return " ".join(filter(None, (*meaning.heads, year, meaning.words)))


def _is_name(meaning: KeyMeaning) -> bool:
    """Whether a key gives neither a year nor words of a title: "gpt3", "papineni"."""
    return meaning.year is None and not meaning.words


def identified(engine: Engine, meaning: KeyMeaning) -> list[Work]:
    """The works whose identifier the key is, or to which a source gives this very key."""
    found = list(engine.lookup(bibkey=meaning.key)) if meaning.key else []
    for name in (meaning.doi, meaning.arxiv, meaning.anthology):
        identifier = identifier_of(name)
        work = None if identifier is None else work_identified(engine, identifier)
        found += [] if work is None else [work]
    return found


def decide(
    meaning: KeyMeaning, known: Iterable[Work], answers: Iterable[tuple[Query, Sequence[Hit]]]
) -> Meaning:
    """The papers that the key may mean, and how probably it means the first.

    `known` are the works that the key identifies, `answers` what was found for `questions`.
    """
    best = ranked(meaning, known, answers)
    if not best:
        return Meaning(meaning.key)
    first = best[0]
    return Meaning(
        meaning.key,
        tuple(one.work for one in best[:OFFERED]),
        _probability(meaning, first),
        any(one.score >= _RIVAL * first.score for one in best[1:]),
    )


def ranked(
    meaning: KeyMeaning, known: Iterable[Work], answers: Iterable[tuple[Query, Sequence[Hit]]]
) -> list[KeyCandidate]:
    """The candidates, those that fit the key best first; of records with one title the best."""
    found = {work.id: KeyCandidate(work, fit(meaning, work), 1.0, _IDENTIFIED) for work in known}
    weight = _NAMED if _is_name(meaning) else _CONFIDENCE
    for query, hits in answers:
        for rank, hit in enumerate(hits, 1):
            # The confidence of the others is that of the sentence, whatever the key says.
            confidence = (hit.confidence or 0.0) if query.typed else 0.0
            old = found.get(hit.work.id)
            fits = fit(meaning, hit.work) if old is None else old.fit
            confidence = max(confidence, 0.0 if old is None else old.confidence)
            score = _IDENTIFIED if fits.identifier else _score(fits, rank)
            score += weight * confidence
            score = score if old is None else max(score, old.score)
            found[hit.work.id] = KeyCandidate(hit.work, fits, confidence, score)
    titles: dict[str, KeyCandidate] = {}
    for one in sorted(found.values(), key=lambda one: -one.score):
        titles.setdefault(title_key(one.work.title) or one.work.id, one)
    return list(titles.values())


def _score(fits: KeyFit, rank: int) -> float:
    return (
        0.40 * fits.surname
        + 0.18 * fits.year
        + 0.40 * fits.title * fits.title_detail
        + 0.12 * fits.authors
        - 0.35 * fits.contradicts
        + 0.12 / (1 + math.log(rank))
    )


def _probability(meaning: KeyMeaning, first: KeyCandidate) -> float:
    fits = first.fit
    return of_key(
        first.confidence,
        is_identified=first.score >= _IDENTIFIED,
        is_name=_is_name(meaning),
        is_authors=fits.surname >= 0.9 and fits.year >= 0.3 and fits.contradicts < 0.3,
        title=fits.title if fits.title_detail >= 0.5 else 0.0,
        has_title=fits.title_detail > 0,
    )
