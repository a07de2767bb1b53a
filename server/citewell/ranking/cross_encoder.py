"""The cross-encoder stage: a model reads the passage together with each paper at the head of the
list.

Slower by far than everything before it (some 10 to 100 ms a paper on a laptop's processor), so it
reads only the best papers of an explicit search, within a time limit. When the limit is reached,
its scores are discarded and the order stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import Query, Work
from citewell.model.cancel import Cancel
from citewell.model.query import MARK, OTHER
from citewell.ranking.contract import Ordering

NAME = "cross-encoder"
"""Its name in the evidence and in the timings."""
BATCH = 8
"""Pairs between two checks of the time limit."""
ABSTRACT_CHARACTERS = 2000
"""Maximum characters of an abstract: more than a model's 192 tokens."""
QUERY_CHARACTERS = 1000
_FEW_WORDS = 8
"""A citing sentence with fewer words is read together with the previous one."""
_SPACE = re.compile(r"\s+")


class PairModel(Protocol):
    """A loaded cross-encoder. Thread-safe."""

    def scores(self, query: str, papers: Sequence[str]) -> NDArray[np.float32]:
        """Relevance of each paper to the query, shape (n,): greater is better."""
        ...


class Moved(msgspec.Struct, frozen=True):
    """The effect of the stage on one paper."""

    rank: int
    """1-based, after the stage."""
    score: float
    before: int
    """1-based rank that the paper had."""


def rerank(
    query: Query, ordering: Ordering, head: Sequence[Work], model: PairModel, cancel: Cancel
) -> tuple[Ordering, list[Moved]]:
    """The ordering with its first `len(head)` places in the model's order, and the moves.

    The rest keeps its order below them. Equal scores keep their order. The scores stay falling:
    the head has the model's, the rest its own, shifted below. Raises `Cancelled`.
    """
    text = query_text(query)
    count = len(head)
    scores = np.zeros(count, np.float32)
    for start in range(0, count, BATCH):
        cancel.check()
        papers = [paper_text(work) for work in head[start : start + BATCH]]
        scores[start : start + BATCH] = model.scores(text, papers)
    cancel.check()
    # An overflow in the model must not rank garbage first.
    scores = np.nan_to_num(scores, nan=-1e9, neginf=-1e9, posinf=1e9).astype(np.float32)
    places = np.lexsort((np.arange(count), -scores))
    rest = np.arange(count, len(ordering.order))
    order = np.concatenate([places, rest])
    below = ordering.scores[rest]
    if count and len(rest):
        below = below - below.max() + scores.min() - 1
    confidence = None if ordering.confidence is None else ordering.confidence[order]
    moved = [
        Moved(rank, float(scores[place]), int(place) + 1) for rank, place in enumerate(places, 1)
    ]
    return (
        Ordering(
            ordering.order[order],
            np.concatenate([scores[places], below]).astype(np.float32),
            confidence,
        ),
        moved,
    )


def query_text(query: Query) -> str:
    """The text of the query: the typed words, then the citing sentence; a short one with its
    predecessor."""
    sentence = query.sentence
    if len(sentence.split()) < _FEW_WORDS and query.before:
        sentence = f"{query.before[-1]} {sentence}"
    sentence = sentence.replace(MARK, " ").replace(OTHER, " ")
    text = _SPACE.sub(" ", f"{query.text} {sentence}").strip()
    if not text:
        text = query.paper.title
    return _clean(text, QUERY_CHARACTERS)


def paper_text(work: Work) -> str:
    """Title and abstract as one text."""
    abstract = _clean(work.abstract, ABSTRACT_CHARACTERS)
    return f"{work.title}. {abstract}" if abstract else work.title


def _clean(text: str, most: int) -> str:
    """The start of the text, without lone surrogates, which tokenizers reject."""
    return text[:most].encode("utf-8", "replace").decode("utf-8").strip()
