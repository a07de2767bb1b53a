"""Queries for methods, applications and limitations, in the best papers' own words, by rules."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from citewell.documents.sentences import split_sentences
from citewell.model import Work
from citewell.retrieval.stopwords import STOPWORDS
from citewell.retrieval.words import split

Aspect = Literal["methods", "applications", "limitations"]
MAX_ABSTRACT = 4_000
"""Characters of an abstract that are read."""
MAX_QUERY = 400
"""Characters of a query."""
LEAST_WORDS = 6
LEAST_PAPERS = 2
"""Best papers that hold a telling word."""
SAME = 0.6
"""Share of its words in an earlier query from which a query is a repetition."""
_CUES: dict[Aspect, re.Pattern[str]] = {
    "methods": re.compile(
        r"\b(?:we (?:propose|introduce|present|develop|design|train|describe)|our (?:method|"
        r"approach|model|algorithm|framework|system)|this (?:paper|work) (?:proposes|introduces|"
        r"presents)|by (?:using|combining|means of)|based on|consists? of|algorithm)\b",
        re.IGNORECASE,
    ),
    "applications": re.compile(
        r"\b(?:appl(?:y|ied|ies|ication|ications|icable)|in practice|real[- ]world|used (?:in|for)|"
        r"(?:tasks?|domains?|settings?) (?:such as|like|including)|such as|benchmarks?|"
        r"downstream|evaluat\w+ on|experiments? on)\b",
        re.IGNORECASE,
    ),
    "limitations": re.compile(
        r"\b(?:however|limit(?:s|ed|ation|ations)|challeng\w+|difficult\w*|fails?|failure|lacks?|"
        r"remains?|suffers?|expensive|costly|cannot|although|despite|unfortunately|bottleneck|"
        r"drawback|still|open (?:problem|question)s?)\b",
        re.IGNORECASE,
    ),
}


class AspectQuery(msgspec.Struct, frozen=True):
    """Words to search for, and which side of the best papers they come from."""

    aspect: str
    text: str


def aspect_queries(
    topic: str, best: Sequence[Work], others: Sequence[Work], queried: Sequence[str]
) -> list[AspectQuery]:
    """For each aspect the sentence of a best paper's abstract that holds most of what is telling;
    one whose words were mostly `queried` before is left out.

    A word is telling as far as the best papers hold it and the others do not; the topic's own words
    count in full.
    """
    about = set(_words(topic))
    rest = Counter(word for work in others for word in set(_words(_text(work))))
    inside = Counter(word for work in best for word in set(_words(_text(work))))
    weights = {
        word: (count if word in about else min(count, LEAST_PAPERS + 1))
        * math.log((2 + len(others)) / (1 + rest[word]))
        for word, count in inside.items()
        if count >= LEAST_PAPERS
    }
    known = [set(_words(text)) for text in queried]
    found: list[AspectQuery] = []
    for aspect, cues in _CUES.items():
        scored: list[tuple[float, str]] = []
        for work in best:
            for sentence in split_sentences(work.abstract[:MAX_ABSTRACT]):
                text = " ".join(sentence.split())[:MAX_QUERY]
                own = set(_words(text))
                if len(own) < LEAST_WORDS or not cues.search(text):
                    continue
                score = sum(weights.get(word, 0.0) for word in own) / math.sqrt(8 + len(own))
                scored.append((-score, text))
        for _, text in sorted(scored):
            own = set(_words(text))
            if not any(len(own & one) > SAME * len(own) for one in known):
                known.append(own)
                found.append(AspectQuery(aspect, text))
                break
    return found


def new_queries(queries: Sequence[tuple[str, str]], queried: Sequence[str]) -> list[AspectQuery]:
    """The queries, each an aspect and words, whose words were not mostly `queried` before."""
    known = [set(_words(text)) for text in queried]
    found: list[AspectQuery] = []
    for aspect, text in queries:
        own = set(_words(text))
        if own and not any(len(own & one) > SAME * len(own) for one in known):
            known.append(own)
            found.append(AspectQuery(aspect, text))
    return found


def _text(work: Work) -> str:
    return f"{work.title} {work.abstract[:MAX_ABSTRACT]}"


def _words(text: str) -> list[str]:
    words = (word for word in split(text) if word not in STOPWORDS and len(word) > 2)
    return [word.decode() for word in dict.fromkeys(words) if not word.isdigit()]
