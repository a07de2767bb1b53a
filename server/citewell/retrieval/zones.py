"""The zone of each word in a query, for which a weight is learned.

A word next to the placeholder is more informative than one at the end of the sentence; the citing
title and the preceding sentence carry yet other information. Each position belongs to a numbered
zone; the static encoder's weights include one factor per zone.
"""

from __future__ import annotations

from bisect import bisect_right

from citewell.model import Query
from citewell.model.query import MARK, OTHER
from citewell.retrieval.tokens import Vocabulary, words

TEXT, SENTENCE, LEFT, RIGHT, BEFORE, AFTER, SECTION, TITLE, ABSTRACT = (
    0,
    1,
    2,
    11,
    20,
    23,
    24,
    25,
    26,
)
COUNT = 27
"""LEFT and RIGHT are nine zones each by the distance to the placeholder, BEFORE three by age."""
_EDGES = (2, 3, 4, 5, 7, 10, 15, 25)
_LONGEST = 200
"""Words taken from one sentence, nearest first; 120 of an abstract."""


def query_tokens(vocabulary: Vocabulary, query: Query) -> tuple[list[int], list[int]]:
    """Token numbers of a query and the zone of each, both of one length."""
    tokens: list[int] = []
    zones: list[int] = []

    def put(parts: list[str], zone: int) -> None:
        found = vocabulary.encode_words(parts)
        tokens.extend(found)
        zones.extend([zone] * len(found))

    def put_side(parts: list[str], first_zone: int) -> None:
        # One word at a time, so that each token knows its distance; parts[0] is the nearest.
        for at in range(min(len(parts), _LONGEST)):
            zone = first_zone + bisect_right(_EDGES, at + 1)
            pair = parts[at : at + 2]
            if first_zone == LEFT:
                pair = pair[::-1]
            found = vocabulary.word(parts[at])
            if len(pair) == 2 and (joined := vocabulary.phrase(pair[0], pair[1])) is not None:
                found = (*found, joined)
            tokens.extend(found)
            zones.extend([zone] * len(found))

    put(words(query.text), TEXT)
    sentence = query.sentence.replace(OTHER, " ")
    left, mark, right = sentence.partition(MARK)
    if mark:
        put_side(words(left)[::-1], LEFT)
        put_side(words(right.replace(MARK, " ")), RIGHT)
    else:
        put(words(sentence)[:_LONGEST], SENTENCE)
    for age, previous in enumerate(reversed(query.before[-6:])):
        put(words(previous.replace(OTHER, " "))[-_LONGEST:], BEFORE + min(age, 2))
    for following in query.after[:1]:
        put(words(following.replace(OTHER, " "))[:60], AFTER)
    put(words(query.section)[:20], SECTION)
    put(words(query.paper.title)[:40], TITLE)
    put(words(query.paper.abstract)[:120], ABSTRACT)
    return tokens, zones
