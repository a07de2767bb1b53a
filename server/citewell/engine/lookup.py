"""Records by id, DOI or title, their citations, and groups of alike papers.

A source has records of its own; for a work in the library, the library's record is returned.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.citing import CitationGraph, GraphNeighbours
from citewell.corpus.columns import LibraryColumns, title_key
from citewell.corpus.library import Library
from citewell.engine.contract import LibraryGraph, RelatedWorks
from citewell.engine.retrievers import Opened
from citewell.model import CitewellError, Query, Work
from citewell.model.query import Direction
from citewell.model.titles import title_key as plain_title
from citewell.retrieval.citation_context import shipped_priors
from citewell.retrieval.dense import DenseRetriever
from citewell.retrieval.opening import live_rows

if TYPE_CHECKING:
    from citewell.engine.online_search import OnlineSearch

# A paper's neighbours in the citation graph, as records.

LEAST_CITING, MOST_GAPS = 2, 20
"""Minimum number of works that cite a gap, and number of gaps."""
TELLING_TITLE = 13
"""Minimum letters of a title that identifies a paper: "Regression" or "Draft" does not."""

DIRECTIONS: dict[str, Direction] = {"cites": "cited_by", "cited_by": "cites", "like": "cocited"}
"""Papers that should cite a work are found among those that cite it."""


class Relations:
    """Reads the graph at the first query. Thread-safe."""

    def __init__(self, library: Library, columns: LibraryColumns | None) -> None:
        self._library = library
        self._columns = columns
        self._graph: CitationGraph | None = None
        self._lock = threading.Lock()

    def related(self, identifier: str, direction: Direction, k: int, offset: int) -> RelatedWorks:
        """A page of the neighbours of a paper."""
        row, title = self._row_and_title(identifier)
        if not title:
            return RelatedWorks()
        try:
            found = self._neighbours(title, direction)
        except CitewellError as error:
            return RelatedWorks(problems=(error.problem,))
        others = found.rows != row
        rows, together = found.rows[others], found.together[others]
        return RelatedWorks(
            works=tuple(self._library.works(rows[offset : offset + k], whole=True)),
            together=tuple(together[offset : offset + k].tolist()),
            total=len(rows),
            elsewhere=found.elsewhere,
            known=found.known,
        )

    def rows(self, identifier: str, relation: str) -> NDArray[np.int64]:
        """Rows of the papers that cite one, that it cites, or that are cited with it: `relation` is
        "cites", "cited_by" or "like". Empty if it is not in the graph."""
        nothing = np.zeros(0, np.int64)
        row, title = self._row_and_title(identifier)
        if not title:
            return nothing
        try:
            found = self._neighbours(title, DIRECTIONS[relation])
        except CitewellError:
            return nothing
        return np.asarray(found.rows[found.rows != row], np.int64)

    def of_library(self, most: int) -> LibraryGraph:
        """The works and citations of the library, without those below it unless it is empty."""
        library = self._library
        own = live_rows(library)
        count = sum(segment.count for segment in library.own_segments)
        if own[:count].any():
            own[count:] = False
        rows = np.flatnonzero(own)
        citing = cited = np.zeros(0, np.int64)
        try:
            if self._columns is not None:
                citing, cited = self._open_graph().citations()
        except CitewellError as error:
            return LibraryGraph(problems=(error.problem,))
        ours = own[citing] & (cited >= 0) & (citing != cited)
        citing, cited = citing[ours], cited[ours]
        often = np.bincount(cited, minlength=library.rows)
        best = np.lexsort((rows, -library.columns().citations[rows], -often[rows]))[:most]
        chosen = np.sort(rows[best])
        place = np.full(library.rows, -1, np.int64)
        place[chosen] = np.arange(len(chosen))
        among = (place[citing] >= 0) & (place[cited] >= 0)
        pairs = np.stack([place[citing[among]], place[cited[among]]], axis=1)
        lacking = np.flatnonzero((often >= LEAST_CITING) & ~own)
        lacking = lacking[np.lexsort((lacking, -often[lacking]))][:MOST_GAPS]
        return LibraryGraph(
            works=tuple(library.works(chosen)),
            total=len(rows),
            cited=tuple(often[chosen].tolist()),
            cites=tuple(map(tuple, pairs.tolist())),
            gaps=tuple(zip(library.works(lacking), often[lacking].tolist(), strict=True)),
        )

    def _row_and_title(self, identifier: str) -> tuple[int, str]:
        """The paper's row, and the title by which the graph knows it, or ""."""
        row = int(self._library.rows_of([identifier])[0])
        if row < 0 or self._columns is None:
            return row, ""
        title = self._library.works([row])[0].title
        return row, title if len(plain_title(title)) >= TELLING_TITLE else ""

    def _neighbours(self, title: str, direction: Direction) -> GraphNeighbours:
        return self._open_graph().neighbours(title_key(title), direction)

    def _open_graph(self) -> CitationGraph:
        with self._lock:
            if self._graph is None:
                assert self._columns is not None
                self._graph = open_graph(self._library, self._columns)
            return self._graph


def open_graph(library: Library, columns: LibraryColumns) -> CitationGraph:
    """The graph of all known citations, whatever the encoder of the vectors. Raises `CitewellError`
    if it cannot be read."""
    parts = [*shipped_priors(), *(one.priors() for one in library.citing)]
    return CitationGraph(parts, columns, live_rows(library))


_MOST_KNOWN = 5_000
"""Number of sources' records with a cached counterpart in the library."""


class LookUp:
    """Finds records of one library, or none, and of sources. Thread-safe."""

    def __init__(self, library: Library | None, online: OnlineSearch | None) -> None:
        self._library = library
        self._online = online
        self._known: dict[str, Work | None] = {}

    def works(self, ids: Sequence[str]) -> list[Work | None]:
        """Records by id, in order, from the library or from a source's earlier answer; else
        None."""
        online = self._online
        offered = [None if online is None else online.work(identifier) for identifier in ids]
        if self._library is None:
            return offered
        rows = self._library.rows_of(ids)
        known = [int(row) for row in rows if row >= 0]
        works = dict(zip(known, self._library.works(known, whole=True), strict=True))
        return [works.get(int(row), other) for row, other in zip(rows, offered, strict=True)]

    def lookup(
        self, *, doi: str = "", arxiv: str = "", title: str = "", bibkey: str = ""
    ) -> list[Work]:
        """Works with this DOI, arXiv id, normalised title or source key."""
        if self._library is None:
            return []
        return self._library.lookup(doi=doi, arxiv=arxiv, title=title, bibkey=bibkey)

    def held(self, work: Work) -> Work | None:
        """The library's own record of a work; cached, since a list is made at each letter."""
        if work.id not in self._known:
            if len(self._known) > _MOST_KNOWN:
                self._known = {}
            self._known[work.id] = self._look_for(work)
        return self._known[work.id]

    def _look_for(self, work: Work) -> Work | None:
        found = self.lookup(doi=work.doi) if work.doi else []
        if not found and work.arxiv:
            found = self.lookup(arxiv=work.arxiv)
        if found:
            return found[0]
        same = self.lookup(title=work.title) if len(work.title) >= TELLING_TITLE else []
        families = {author.family for author in work.authors}
        return next((w for w in same if families & {a.family for a in w.authors}), None)


# Groups of similar papers of a list, by their dense vectors.

# Clustering of vectors: spherical k-means from a fixed start.

ITERATIONS = 25
LEAST = 3
"""Minimum number of papers in a group; those of a smaller one join the nearest groups."""


def clusters(vectors: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """The group of each row of `vectors` (n, d), from 0; -1 for a row of zeros.

    At most `most` groups. The same vectors always give the same groups: the first centre is the
    first row, and each next one the row that is farthest from all others.
    """
    out = np.full(len(vectors), -1, np.int64)
    known = np.flatnonzero(np.linalg.norm(vectors, axis=1) > 0)
    if not len(known):
        return out
    rows = vectors[known].astype(np.float64)
    # Papers on one topic share most of their direction; the rest separates them.
    rows -= rows.mean(axis=0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 1e-9)
    count = max(1, min(most, len(rows) // LEAST))
    groups = _merged(rows, _groups(rows, count))
    out[known] = np.unique(groups, return_inverse=True)[1]
    return out


def _groups(rows: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    centres = rows[_spread(rows, count)]
    groups = np.full(len(rows), -1, np.int64)
    for _ in range(ITERATIONS):
        found = np.argmax(rows @ centres.T, axis=1)
        if (found == groups).all():
            break
        groups = found
        for number in range(count):
            own = rows[groups == number]
            if len(own):
                centre = own.sum(axis=0)
                centres[number] = centre / max(float(np.linalg.norm(centre)), 1e-9)
    return groups


def _spread(rows: NDArray[np.float64], count: int) -> list[int]:
    """Numbers of rows far from each other, beginning with the first row."""
    chosen = [0]
    nearest = rows @ rows[0]
    while len(chosen) < count:
        nearest[chosen] = np.inf
        chosen.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, rows @ rows[chosen[-1]])
    return chosen


def _merged(rows: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """The groups with rows of those below `LEAST` moved to the nearest others."""
    sizes = np.bincount(groups)
    large = np.flatnonzero(sizes >= LEAST)
    if not len(large):
        return np.zeros(len(rows), np.int64)
    centres = np.stack([rows[groups == number].mean(axis=0) for number in large])
    small = sizes[groups] < LEAST
    groups = groups.copy()
    groups[small] = large[np.argmax(rows[small] @ centres.T, axis=1)]
    return groups


class PaperGroups:
    """Groups papers of one library, or none. Thread-safe."""

    def __init__(self, library: Library | None, opened: Opened, lookup: LookUp) -> None:
        self._library, self._opened, self._lookup = library, opened, lookup

    def of(self, ids: Sequence[str], most: int) -> list[int]:
        """The group of each paper, from 0; -1 without a vector."""
        dense = self._opened.of(DenseRetriever)
        if dense is None or not ids:
            return [-1] * len(ids)
        found: list[int] = clusters(self._vectors(dense, ids), most).tolist()
        return found

    def likeness(self, query: Query, ids: Sequence[str]) -> list[float]:
        """The cosine of each paper with a query; 0 without a vector."""
        dense = self._opened.of(DenseRetriever)
        if dense is None or not ids:
            return [0.0] * len(ids)
        vectors = self._vectors(dense, ids)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
        found: list[float] = (vectors @ dense.encoder.encode_queries([query])[0] / lengths).tolist()
        return found

    def _vectors(self, dense: DenseRetriever, ids: Sequence[str]) -> NDArray[np.float32]:
        """The vector of each paper, or a row of zeros."""
        rows = np.full(len(ids), -1, np.int64)
        if self._library is not None:
            rows = np.asarray(self._library.rows_of(ids), np.int64)
        vectors = np.zeros((len(ids), dense.encoder.dim), np.float32)
        held = rows >= 0
        vectors[held] = dense.vectors(rows[held])
        # Records of sources, and of a library below with another encoder, are encoded here.
        missing = np.flatnonzero(np.linalg.norm(vectors, axis=1) == 0)
        works = self._lookup.works([ids[int(at)] for at in missing]) if len(missing) else []
        texts = [("", "") if work is None else (work.title, work.abstract) for work in works]
        if texts:
            vectors[missing] = dense.encoder.encode_papers(texts)
        return vectors
