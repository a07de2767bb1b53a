"""Choosing the static encoder's words and phrases from the corpora."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from citewell.retrieval.tokens import LONGEST_WORD, words

_FUNCTION_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "for",
        "to",
        "from",
        "by",
        "with",
        "and",
        "or",
        "but",
        "not",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "this",
        "that",
        "these",
        "those",
        "it",
        "its",
        "we",
        "our",
        "they",
        "their",
        "he",
        "she",
        "as",
        "which",
        "who",
        "whom",
        "what",
        "how",
        "when",
        "where",
        "than",
        "then",
        "can",
        "could",
        "may",
        "might",
        "will",
        "would",
        "should",
        "also",
        "such",
        "more",
        "most",
        "other",
        "some",
        "any",
        "all",
        "each",
        "both",
        "between",
        "into",
        "over",
        "under",
        "through",
        "using",
        "used",
        "use",
        "uses",
        "based",
        "show",
        "shows",
        "via",
        "i",
        "you",
        "your",
        "while",
        "however",
        "there",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "no",
        "only",
        "very",
        "well",
        "new",
        "one",
        "two",
        "per",
        "out",
        "if",
        "so",
        "about",
        "them",
        "many",
        "much",
        "several",
        "same",
        "novel",
        "paper",
        "propose",
        "proposed",
        "approach",
    ]
)


def choose(texts: Iterable[str], size: int, fewest: int = 8, phrases: int = 30_000) -> list[str]:
    """The vocabulary: words seen `fewest` times and more, then the most frequent phrases.

    A phrase is a pair of adjacent vocabulary words, neither a function word, seen at least five
    times as often as chance would have it.
    """
    count: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for number, text in enumerate(texts):
        parts = words(text)
        count.update(parts)
        content = [p if p not in _FUNCTION_WORDS and not p.isdigit() else "" for p in parts]
        pairs.update(p for p in pairwise(content) if p[0] and p[1])
        if number % 50_000 == 49_999:
            # Pairs seen once so far are most of the memory and almost none of the vocabulary.
            pairs = Counter({p: n for p, n in pairs.items() if n > 1})
    kept = sorted(
        (w for w, n in count.items() if n >= fewest and len(w) <= LONGEST_WORD),
        key=lambda w: (-count[w], w),
    )[: size - phrases]
    known = set(kept)
    total = sum(count.values())
    common = sorted(
        (
            p
            for p, n in pairs.items()
            if p[0] in known and p[1] in known and n * total > 5 * count[p[0]] * count[p[1]]
        ),
        key=lambda p: (-pairs[p], p),
    )[: size - len(kept)]
    return kept + [" ".join(p) for p in common]
