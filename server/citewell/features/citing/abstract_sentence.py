"""The sentence of an abstract that speaks most of what a place is about."""

from __future__ import annotations

import math
from functools import lru_cache

from citewell.documents.sentences import split_sentences
from citewell.model import Query
from citewell.model.display_text import shorten
from citewell.model.languages import STOPWORDS
from citewell.model.query import MARK, OTHER
from citewell.retrieval.words import split

MAX_LETTERS = 400
LEAST_SHARED = 2
"""Stems that a sentence must share with the place, so that one common word is no fit."""


def fitting_sentence(query: Query, abstract: str) -> str:
    """The abstract's own words, cut at `MAX_LETTERS`; empty where no sentence fits.

    Sentences are compared by the stems that they share with the typed words, which count twice,
    and with the citing sentence; long words count more.
    """
    typed = _stems(query.text)
    around = _stems(query.sentence.replace(MARK, " ").replace(OTHER, " "))
    wanted = typed | around
    best, most = "", 0.0
    for sentence in split_sentences(abstract):
        own = _stems(sentence)
        shared = wanted & own
        if len(shared) < min(LEAST_SHARED, len(wanted)) or not shared:
            continue
        weight = sum(math.sqrt(len(stem)) * (2 if stem in typed else 1) for stem in shared)
        score = weight / math.sqrt(8 + len(own))
        if score > most:
            best, most = " ".join(sentence.split()), score
    return shorten(best, MAX_LETTERS)


@lru_cache(maxsize=512)
def _stems(text: str) -> frozenset[str]:
    from Stemmer import Stemmer

    words = [word.decode() for word in split(text) if word not in STOPWORDS and len(word) > 1]
    # A stemmer of one's own: it costs microseconds, and one must not be shared by threads.
    return frozenset(Stemmer("english").stemWords(words))
