"""The rule for papers that others cite often: "classic papers on X", "seminal X", "X most cited".

Before a word such as "papers" the adjective is enough. Before a topic it may as well be a word of
it, as in "influential nodes" and "classic control": there the library decides.
"""

from __future__ import annotations

from citewell.retrieval.query_grammar.cursor import Cursor, Part
from citewell.retrieval.query_grammar.words import (
    INFLUENTIAL,
    INFLUENTIAL_THEMSELVES,
    INFLUENTIAL_TOPICS,
    NO_NAME,
    PAPERS,
    REQUEST_ONLY,
    SUPERLATIVES,
    VENUE_STOPS,
)

LONGEST_TOPIC = 8
"""Words of a topic that are looked up."""
LEAST_WORDS = 2
"""Words of a topic behind an adjective that is no superlative."""
LEAST_PAPERS = 5
"""Papers that hold all words of the topic, without the adjective."""
LEAST_TITLES = 3
"""Titles with the adjective right before the next word, from which both are the topic."""
_CONTINUE = frozenset("of for in on with using and or via".split())
"""Words inside a topic that end the name of a venue."""


def influential(cursor: Cursor, at: int) -> Part | None:
    """ "classic papers", "seminal work", "influential graph neural networks", "the most cited"."""
    end = cursor.after_any(at, INFLUENTIAL)
    if not end:
        return None
    is_found = (
        cursor.low(end) in PAPERS
        or _is_before_topic(cursor, at, end)
        or _is_behind_papers(cursor, at, end)
    )
    return Part("citations", end, "influential", {"influential": True}) if is_found else None


def _is_before_topic(cursor: Cursor, at: int, end: int) -> bool:
    """Whether the adjective begins the text, and what follows is a topic without it."""
    if any(cursor.low(n) not in REQUEST_ONLY for n in range(at)):
        return False
    words = _topic(cursor, end)
    content = [word for word in words if word not in NO_NAME]
    if not content or words[0] in NO_NAME:
        return False
    is_superlative = cursor.after_any(at, SUPERLATIVES) == end
    if words[-1] not in PAPERS and not is_superlative:
        is_usual = cursor.after_any(at, INFLUENTIAL_TOPICS) == end
        if not is_usual or len(content) < LEAST_WORDS:
            return False
    adjective, names = cursor.low(end - 1), cursor.names
    return (
        _head(words) not in INFLUENTIAL_THEMSELVES.get(adjective, ())
        and names.titles_with(f"{adjective} {words[0]}") < LEAST_TITLES
        and names.papers_on(" ".join(content)) >= LEAST_PAPERS
    )


def _topic(cursor: Cursor, begin: int) -> list[str]:
    """The words up to a mark, a number or a word that begins another part, in lower case."""
    words: list[str] = []
    for n in range(begin, min(len(cursor.tokens), begin + LONGEST_TOPIC)):
        word = cursor.low(n)
        if not cursor.is_word(n) or (word in VENUE_STOPS and word not in _CONTINUE):
            break
        words.append(word)
    return words


def _head(words: list[str]) -> str:
    """The noun that the adjective belongs to: the last word before "in", "of" and the like."""
    ends = (n for n, word in enumerate(words) if word in NO_NAME)
    return words[next(ends, len(words)) - 1]


def _is_behind_papers(cursor: Cursor, at: int, end: int) -> bool:
    """ "which works are the most influential in parsing", "papers on parsing, most cited"."""
    if cursor.after_any(at, SUPERLATIVES) != end:
        return False
    if not any(cursor.low(n) in PAPERS for n in range(at)):
        return False
    return not cursor.is_word(end) or cursor.low(end) in ("in", "on", "for", "about")
