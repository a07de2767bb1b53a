"""Papers that hold a quoted phrase: its words adjacent and in order, in the title or the abstract.

The index knows which papers hold all of the words; the records of those that fit best are read.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.model import Query, Work
from citewell.model.cancel import Cancel
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.words import split

MOST_READ = 1_000
"""Records that are read for one phrase; of more papers with all of its words those with the best
BM25 scores."""


class _Texts(msgspec.Struct, frozen=True):
    """What is read of a record."""

    title: str = ""
    abstract: str = ""


def rows_with_phrase(
    library: Library, terms: Bm25Retriever, phrase: str, count: int
) -> NDArray[np.bool_]:
    """Which of the library's `count` rows hold the phrase, shape (count,). A single word is matched
    by its stem, as in any search."""
    found = terms.holding_all(phrase, count)
    wanted = split(phrase)
    if len(wanted) < 2:
        return found
    rows = np.flatnonzero(found)
    if len(rows) > MOST_READ:
        scores = np.zeros(count, np.float32)
        own = terms.scores(Query(text=phrase), Cancel())
        if own is not None:
            scores[: len(own)] = own
        rows = rows[np.argsort(-scores[rows], kind="stable")[:MOST_READ]]
    out = np.zeros(count, np.bool_)
    texts = library.records(rows.tolist(), _Texts)
    out[rows] = [_holds(one, wanted) for one in texts] if len(rows) else False
    return out


def holds_phrase(work: Work, phrase: str) -> bool:
    """Whether the title or the abstract of a record holds the phrase."""
    return _holds(work, split(phrase))


def _holds(work: Work | _Texts, wanted: list[bytes]) -> bool:
    phrase = b" " + b" ".join(wanted) + b" "
    return any(
        phrase in b" " + b" ".join(split(text)) + b" " for text in (work.title, work.abstract)
    )
