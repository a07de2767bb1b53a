"""The number of a typed query's conditions that each paper meets: authors, venues, years, topic.

Conditions typed without a flag are strong evidence, not filters: papers that meet all of them come
first, those that meet fewer follow. The retriever finds papers that the words alone would miss;
`engine.criteria_order` sorts by the same numbers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import NO_ALIASES, Aliases
from citewell.corpus.library import Library
from citewell.model import Evidence, Query, Work
from citewell.model.cancel import Cancel
from citewell.model.query import TypedQuery
from citewell.retrieval.attributes import wishes
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.contract import NOTHING, Ranking, Retriever
from citewell.retrieval.filters import Filters
from citewell.retrieval.opening import Opening
from citewell.retrieval.select import top
from citewell.retrieval.words import split

# Papers with a quoted phrase: its words adjacent and in order, in the title or the abstract.
#
# The index finds the papers with all of the words; the records of the best ones are read.

MOST_READ = 1_000
"""Maximum number of records read for one phrase: those with the best BM25 scores."""


class _Texts(msgspec.Struct, frozen=True):
    """The needed fields of a record."""

    title: str = ""
    abstract: str = ""


def rows_with_phrase(
    library: Library, terms: Bm25Retriever, phrase: str, count: int
) -> NDArray[np.bool_]:
    """Mask of the library's `count` rows with the phrase, shape (count,). A single word is matched
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
    """Whether the title or the abstract of a record contains the phrase."""
    return _holds(work, split(phrase))


def _holds(work: Work | _Texts, wanted: list[bytes]) -> bool:
    phrase = b" " + b" ".join(wanted) + b" "
    return any(
        phrase in b" " + b" ".join(split(text)) + b" " for text in (work.title, work.abstract)
    )


NAME = "criteria"
TOPIC, PHRASE, RELATED = 3.0, 2.0, 4.0
"""Points of a paper for meeting each condition, beside those of `attributes`."""
STEPS = 4
"""Number of steps of the share of the topic's words: finer differences are left to the ranker."""
TOPIC_WORDS = 0.1
"""Maximum points for words of the topic: they decide between papers that meet the same
conditions."""
MOST_WORDS, MOST_NAMED = 6, 3
"""Maximum number of words of a topic in which a paper's name is looked up, and of words of a
name."""
NAMED_BY = 0.1
"""Minimum share of the users of a name that must mean a paper by it."""
_REMEMBERED = 8

Rows = NDArray[np.bool_]
Related = Callable[[str, str], NDArray[np.int64]]
"""Returns the rows related to a work in the citation graph: by its id, and "cites", "cited_by" or
"like"."""


class Criteria(Retriever):
    """The retriever of conditions. Thread-safe."""

    name = NAME

    def __init__(
        self,
        filters: Filters,
        terms: Bm25Retriever,
        library: Library,
        live: Rows,
        *,
        aliases: Aliases = NO_ALIASES,
        keys: NDArray[np.uint64] | None = None,
    ) -> None:
        """`live` is the mask of live rows; `aliases` are names that others use for papers; `keys`
        are the title keys of the rows, if known."""
        self._aliases, self._keys = aliases, keys
        self._filters, self._terms, self._library, self._live = filters, terms, library, live
        self._years = library.columns().year
        self.related: Related | None = None
        """Set by the engine, which has the citation graph."""
        self._known: OrderedDict[TypedQuery, NDArray[np.float32]] = OrderedDict()
        self._phrases: OrderedDict[str, NDArray[np.int64]] = OrderedDict()
        self._lock = threading.Lock()

    def points(self, query: Query) -> NDArray[np.float32] | None:
        """The points of each row, shape (rows,); None for a query without conditions."""
        typed = query.typed_query
        if not has_criteria(typed):
            return None
        with self._lock:
            if typed in self._known:
                self._known.move_to_end(typed)
                return self._known[typed]
        points = self._points(typed)
        with self._lock:
            self._known[typed] = points
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return points

    def _points(self, typed: TypedQuery) -> NDArray[np.float32]:
        count = len(self._years)
        points = np.zeros(count, np.float32)
        for wish in wishes(typed):
            points[np.flatnonzero(self._filters.meeting(wish.requirements))] += wish.points
        for phrase in typed.phrases:
            points[self._holding(phrase)] += PHRASE / len(typed.phrases)
        for direction, works in relations(typed):
            for work in works if self.related is not None else ():
                assert self.related is not None
                rows = self.related(work, direction)
                points[rows] += np.float32(RELATED)
        covered = self._terms.coverage(typed.topic, count) if typed.topic else None
        for rows, share in self._called(typed.topic):
            covered = np.zeros(count, np.float32) if covered is None else covered
            covered[rows] = np.minimum(covered[rows] + np.float32(share), 1)
        if covered is not None:
            rows = np.flatnonzero(covered > 0)
            points[rows] += np.float32(TOPIC) * (np.floor(covered[rows] * STEPS + 1e-3) / STEPS)
        return points

    def _called(self, topic: str) -> Iterator[tuple[NDArray[np.int64], float]]:
        """The rows of the papers with words of a topic as their name, such as "resnet", and the
        share of its words."""
        words = topic.split()[:MOST_WORDS] if self._keys is not None else []
        for count in range(1, MOST_NAMED + 1):
            for at in range(len(words) - count + 1):
                for alias in self._aliases.of("".join(words[at : at + count])):
                    if alias.strength >= NAMED_BY:
                        rows = np.flatnonzero(self._keys == np.uint64(alias.key))
                        yield rows, count / len(words)

    def _holding(self, phrase: str) -> NDArray[np.int64]:
        """The rows with a phrase. Those of the last phrases are cached, since up to a thousand
        records are read for them."""
        with self._lock:
            known = self._phrases.get(phrase)
        if known is not None:
            return known
        mask = rows_with_phrase(self._library, self._terms, phrase, len(self._years))
        rows = np.flatnonzero(mask)
        with self._lock:
            self._phrases[phrase] = rows
            while len(self._phrases) > _REMEMBERED:
                self._phrases.popitem(last=False)
        return rows

    def search(self, query: Query, k: int, cancel: Cancel) -> Ranking:
        """The `k` rows with most points; ties by the fit of their words with the topic, then in row
        order."""
        points = self.points(query)
        if points is None:
            return NOTHING
        cancel.check()
        mask = self._filters(query)
        rows = np.flatnonzero(points > 0)
        allowed = self._live[rows] if mask is None else self._live[rows] & mask[rows]
        rows = rows[allowed]
        scores = points[rows]
        topic = Query(text=query.typed_query.topic)
        words = self._terms.scores(topic, cancel) if topic.text else None
        if words is not None:
            most = float(words.max(initial=0)) or 1.0
            indexed = rows < len(words)
            scores[indexed] += np.float32(TOPIC_WORDS / most) * words[rows[indexed]]
        best = top(scores, k)
        return Ranking(rows[best], scores[best])

    def explain(self, query: Query, row: int, rank: int, score: float) -> Evidence:
        """The conditions that the paper meets."""
        met = [
            wish
            for wish in wishes(query.typed_query)
            if wish.field and self._filters.meeting(wish.requirements)[row]
        ]
        fields = dict.fromkeys(wish.field for wish in met)
        words = (wish.text or str(self._years[row]) for wish in met)
        return Evidence(self.name, rank, score, tuple(fields), tuple(words))


def has_criteria(typed: TypedQuery) -> bool:
    """Whether a typed query has conditions that find papers of their own."""
    return bool(
        wishes(typed) or typed.phrases or any(works for _, works in relations(typed))
    )  # fmt: skip


def relations(typed: TypedQuery) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Works that papers should cite, be cited by, or be cited with."""
    return (("cites", typed.cites), ("cited_by", typed.cited_by), ("like", typed.like))


def open_criteria(opening: Opening) -> Criteria | None:
    """None for a library without a readable BM25 index."""
    terms = opening.known_terms
    if terms is None:
        return None
    keys = None if opening.columns is None else opening.columns.keys()
    return Criteria(
        opening.mask, terms, opening.library, opening.live, aliases=opening.aliases, keys=keys
    )
