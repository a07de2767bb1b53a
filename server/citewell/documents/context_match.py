"""Which of the author's own entries does a placeholder mean? Often none: then nothing is said.

A lexical matcher in two steps. Arrays find the entries that share rare words with the query; each
of those is then weighed by a few features (share of its title that was said, names, years,
acronyms, how many others fit as well), whose logistic weights were fitted on real citations with
the cited entry present and removed. The score is thus roughly the probability that it is meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.documents.key_segment import AUTHOR, YEAR, KeySegment
from citewell.documents.title_stems import english_stemmer
from citewell.model.bib import BibBody
from citewell.model.names import family_key
from citewell.model.query import MARK, OTHER, Query
from citewell.model.titles import fold

_NEAR = 12
"""Words before the mark that speak of the citation."""
_BESIDE = 8
"""Words on both sides of the mark among which a name is that of the cited author."""
_CANDIDATES = 40
_WORD = re.compile(r"[^\W_]+")
_ACRONYM = re.compile(r"[A-Za-z0-9-]*[A-Z][A-Za-z0-9-]*[A-Z0-9][A-Za-z0-9-]*")
STOP_WORDS = frozenset(
    {
        "a", "an", "the", "on", "in", "of", "for", "and", "or", "to", "with", "by", "from", "at",
        "as", "is", "are", "be", "been", "being", "it", "its", "this", "that", "these", "those",
        "we", "our", "their", "they", "them", "he", "she", "his", "her", "you", "your", "can",
        "could", "may", "might", "will", "would", "should", "must", "do", "does", "did", "done",
        "has", "have", "had", "having", "not", "no", "nor", "but", "if", "then", "than", "so",
        "such", "also", "both", "each", "other", "others", "some", "any", "all", "most", "more",
        "many", "much", "few", "several", "very", "only", "just", "into", "onto", "over", "under",
        "between", "among", "through", "during", "before", "after", "about", "against", "within",
        "without", "per", "via", "using", "use", "used", "uses", "based", "new", "novel", "paper",
        "papers", "work", "works", "approach", "approaches", "method", "methods", "propose",
        "proposed", "show", "shown", "shows", "figure", "table", "section", "et", "al", "eg", "ie",
        "etc", "however", "while", "when", "where", "which", "who", "whom", "whose", "what", "why",
        "how", "here", "there", "thus", "hence", "therefore", "because", "since", "although",
        "though", "recent", "recently", "previous", "previously", "first", "second", "third",
        "one", "two", "three", "well", "known", "different", "various", "example", "examples",
        "see", "citation", "result", "results", "study", "studies", "find", "cite", "ref",
    }
)  # fmt: skip

_TEXT_WEIGHTS = (4.2, 0.5, 4.7, 0.5, 0.5, -4.4)
_CONTEXT_WEIGHTS = (2.5, 0.3, 0.8, 0.65, 2.6, 1.5, -3.9)


class ContextMatch(msgspec.Struct, frozen=True):
    """One own entry that a placeholder may mean."""

    segment: int
    row: int
    score: float
    """In [0, 1]: about the probability that this entry is meant."""
    terms: tuple[str, ...]
    """The query's words that matched, rarest first."""


class ContextMatcher:
    """Matches queries against the entries of an index's segments."""

    def __init__(self, segments: Sequence[KeySegment], alive: Sequence[NDArray[np.bool_]]) -> None:
        self._segments = segments
        self._alive = alive
        self._size = sum(len(segment) for segment in segments)
        self._weights: dict[str, float] = {}

    def match(self, query: Query, limit: int, floor: float) -> list[ContextMatch]:
        """The entries that score at least `floor`, best first; often none."""
        asked = _Asked(query)
        asked.rivals = sum(map(partial(_rivals, asked), self._segments, self._alive))
        found: list[tuple[float, int, int, tuple[str, ...]]] = []
        for number, (segment, alive) in enumerate(zip(self._segments, self._alive, strict=True)):
            for row in self._candidates(segment, asked, alive):
                logit, terms = self._weigh(segment.entries[row].body, asked)
                score = 1.0 / (1.0 + math.exp(-logit))
                if score >= floor:
                    found.append((-score, number, row, terms))
        found.sort()
        return [
            ContextMatch(number, row, -score, terms) for score, number, row, terms in found[:limit]
        ]

    def _idf(self, stem: str) -> float:
        weight = self._weights.get(stem)
        if weight is None:
            count = sum(len(segment.title_stems.rows(stem)) for segment in self._segments)
            weight = math.log(1.0 + (self._size - count + 0.5) / (count + 0.5))
            self._weights[stem] = weight
        return weight

    def _candidates(
        self, segment: KeySegment, asked: _Asked, alive: NDArray[np.bool_]
    ) -> list[int]:
        """The rows that share most of the query's rare words, by field."""
        mass = np.zeros(len(segment))
        for stem in asked.stems:
            weight = 3.0 if stem in asked.text else 1.0
            mass[segment.title_stems.rows(stem)] += self._idf(stem) * weight
        top = self._idf("")
        for word in {*asked.text_words, *asked.names}:
            mass[segment.rows_with(word, AUTHOR)] += top
        for word in asked.text_words:
            if word.isdecimal():
                mass[segment.rows_with(word, YEAR)] += top
        mass[~alive] = 0.0
        hits = np.flatnonzero(mass > 0)
        return [int(row) for row in hits[np.argsort(-mass[hits], kind="stable")[:_CANDIDATES]]]

    def _weigh(self, body: BibBody, asked: _Asked) -> tuple[float, tuple[str, ...]]:
        """The log odds that the entry is meant, and the words that say so."""
        facts = _Facts(body)
        total = sum(map(self._idf, facts.title)) or 1.0
        matched = {stem for stem in facts.title if stem in asked.stems}
        named = bool(facts.surnames & asked.names)
        dated = named and facts.year in asked.words
        context = (
            sum(map(self._idf, facts.title & asked.near)) / total,
            sum(map(self._idf, facts.title & asked.sentence)) / total,
            sum(map(self._idf, matched & asked.sentence)) / self._idf(""),
            float(bool(facts.acronyms & asked.acronyms)),
            float(named),
            float(dated),
        )
        terms = sorted(matched, key=self._idf, reverse=True)
        logit = _dot(_CONTEXT_WEIGHTS, context)
        if asked.text:
            said = [
                stem in facts.title or word in facts.surnames or word == facts.year
                for word, stem in zip(asked.text_words, asked.text, strict=True)
            ]
            everything = all(said)
            text = (
                sum(map(self._idf, facts.title.intersection(asked.text))) / total,
                float(everything),
                float(everything) / max(1, asked.rivals),
                float(bool(facts.surnames.intersection(asked.text_words))),
                float(bool(facts.surnames.intersection(asked.text_words)))
                * float(facts.year in asked.text_words),
            )
            # What was typed decides; the context breaks ties.
            logit = _dot(_TEXT_WEIGHTS, text) + 0.3 * (logit - _CONTEXT_WEIGHTS[-1])
            if not any(said):
                logit = -math.inf if logit < 0 else -20.0
        names = [word for word in asked.spelt if fold(word) in facts.surnames]
        names += [word for word in asked.text_words if word in facts.surnames or word == facts.year]
        shown = [asked.spelling.get(stem, stem) for stem in terms]
        return max(logit, -50.0), tuple(dict.fromkeys((*names, *shown)))


class _Asked:
    """A query taken apart into what can be compared."""

    def __init__(self, query: Query) -> None:
        stem = english_stemmer()
        pre, _, post = query.sentence.replace(OTHER, " ").partition(MARK)
        before, after = pre.split(), post.split()
        beside = " ".join((*before[-_BESIDE:], *after[:_BESIDE]))
        self.text_words = _content(f"{query.text} {query.author}")
        self.text = stem(self.text_words)
        sentence_words = _content(f"{pre} {post}")
        self.sentence = frozenset(stem(sentence_words))
        self.near = frozenset(stem(_content(" ".join(before[-_NEAR:]))))
        self.stems = self.sentence.union(self.text)
        self.words = frozenset(sentence_words).union(self.text_words)
        self.spelt = [word for word in _WORD.findall(beside) if word[0].isupper()]
        self.names = frozenset(fold(word) for word in self.spelt if len(word) > 2)
        self.acronyms = frozenset(_ACRONYM.findall(f"{query.text} {pre} {post}"))
        words = (*self.text_words, *sentence_words)
        self.spelling = dict(zip(stem(words), words, strict=True))
        self.rivals = 0
        """How many entries hold every word that was typed."""


class _Facts:
    """What an entry offers for comparison."""

    def __init__(self, body: BibBody) -> None:
        title = body.get("title")
        self.title = frozenset(english_stemmer()(_content(title)))
        self.acronyms = frozenset(_ACRONYM.findall(title))
        families = [fold(author.family) for author in body.authors[:3]]
        parts = (word for family in families for word in _WORD.findall(family) if len(word) > 2)
        self.surnames = frozenset((*map(family_key, families), *parts)) - {""}
        self.year = str(body.year)


def _rivals(asked: _Asked, segment: KeySegment, alive: NDArray[np.bool_]) -> int:
    """How many rows hold every word that was typed."""
    if not asked.text_words:
        return 0
    fits = alive.copy()
    for word, stem in zip(asked.text_words, asked.text, strict=True):
        has = np.zeros(len(fits), np.bool_)
        has[segment.title_stems.rows(stem)] = True
        for field in (AUTHOR, YEAR):
            has[segment.rows_with(word, field)] = True
        fits &= has
    return int(fits.sum())


def _content(text: str) -> list[str]:
    """Folded words that carry meaning, in order."""
    words: Iterable[str] = _WORD.findall(fold(text))
    return [word for word in words if len(word) > 1 and word not in STOP_WORDS]


def _dot(weights: Sequence[float], features: Sequence[float]) -> float:
    """Weights times features, plus the last weight."""
    return sum(w * f for w, f in zip(weights, features, strict=False)) + weights[-1]
