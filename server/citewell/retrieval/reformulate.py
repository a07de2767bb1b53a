"""Other queries for the same place, by rules: telling words alone, and acronyms written out.

How telling a word is, is a matter of degree: by the share of the library's titles that hold it, a
word is specific to a degree between 0 (in one title of a hundred, or more) and 1 (in one of ten
thousand, or fewer), linear in the logarithm between. The keyword query keeps the words that are
specific to some degree, and says the most specific ones twice: retrievers weigh what is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from citewell.documents.acronyms import acronyms_in, written_out
from citewell.model import Query
from citewell.retrieval.stopwords import STOPWORDS
from citewell.retrieval.understand import plain
from citewell.retrieval.words import split

VAGUE = 1e-2
"""Share of titles from which on a word is not specific at all."""
SPECIFIC = 1e-4
"""Share of titles up to which a word is fully specific."""
KEYWORDS = 12
TWICE = 0.75
"""Specificity from which on a keyword is repeated in the query."""

Shares = Callable[[Sequence[str]], Sequence[float]]
"""Of each word, the share of the library's titles that hold it."""


def specificity(share: float) -> float:
    """Degree in [0, 1] to which a word of this share of titles is specific."""
    if share <= SPECIFIC:
        return 1.0
    if share >= VAGUE:
        return 0.0
    return math.log(VAGUE / share) / math.log(VAGUE / SPECIFIC)


def variants(query: Query, shares: Shares) -> list[Query]:
    """The other queries; none where they would ask the same."""
    found = [one for one in (_written_out(query), _keywords(query, shares)) if one is not None]
    return [one for one in found if one != query]


def _written_out(query: Query) -> Query | None:
    """The passage with the long forms of its acronyms behind them."""
    text, sentence = query.text, query.sentence
    known = query.acronyms
    if not known and (names := acronyms_in(f"{text} {sentence}")):
        known = written_out(" ".join((query.paper.abstract, *query.before, sentence)), names)
    for short, long in known:
        text = _expanded(text, short, long)
        sentence = _expanded(sentence, short, long)
    if (text, sentence) == (query.text, query.sentence):
        return None
    return msgspec.structs.replace(query, text=text, sentence=sentence)


def _expanded(text: str, short: str, long: str) -> str:
    if long.lower() in text.lower():
        return text
    words = text.split(" ")
    for place, word in enumerate(words):
        if word.strip("()[],.;:") == short:
            words[place] = f"{word} {long}"
            return " ".join(words)
    return text


def _keywords(query: Query, shares: Shares) -> Query | None:
    """The specific words of the citing sentence and the one before it."""
    prose = plain(" ".join((*query.before[-1:], query.sentence)))
    words = [
        word.decode()
        for word in dict.fromkeys(split(prose))
        if len(word) > 2 and word not in STOPWORDS and not word.isdigit()
    ]
    if len(words) < 4:
        return None
    degrees = [specificity(share) for share in shares(words)]
    ranked = sorted(range(len(words)), key=lambda place: -degrees[place])[:KEYWORDS]
    kept = sorted(place for place in ranked if degrees[place] > 0)
    if not kept:
        return None
    repeated = [words[place] for place in kept]
    repeated += [words[place] for place in kept if degrees[place] >= TWICE]
    return msgspec.structs.replace(
        query, sentence=" ".join(repeated), before=(), after=(), section=""
    )
