"""The corpora in memory, asked as the engine asks a library: what the head is trained over."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import ColumnsBuilder, LibraryColumns, title_key
from citewell.corpus.layout import SegmentView
from citewell.corpus.priors import Priors
from citewell.model import Query, Work
from citewell.model.cancel import Cancel
from citewell.model.names import parse_author
from citewell.model.query import near_part
from citewell.ranking.features import (
    UNKNOWN,
    FeatureInputs,
    Nearby,
    company_of,
    features,
    memory_rows,
)
from citewell.ranking.lexical import TitleWords
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.bm25_build import Bm25Builder
from citewell.retrieval.citation_priors import CitationPriors, QueryVectors
from citewell.retrieval.encoders.citation import CitationEncoder
from citewell.retrieval.passages import PassageWords, Profiles
from citewell_lab.training.data import TrainingPaper
from citewell_lab.training.works import Works

DEPTH = 400
"""Candidates that each retriever gives."""


class World:
    """BM25, vectors, columns and citation priors over the papers, rows in their order."""

    def __init__(
        self,
        works: Works,
        vectors: NDArray[np.float32],
        encoder: CitationEncoder,
        priors: Priors,
        passages: PassageWords,
        work: Path,
    ) -> None:
        self.profiles = Profiles(passages)
        papers = works.papers
        self.papers, self.row, self.encoder, self.priors = papers, works.row, encoder, priors
        view = SegmentView(work / "segment", 0, len(papers))
        _build(papers, view.path)
        self.bm25 = Bm25Retriever([view])
        self.all_columns = LibraryColumns([view])
        words, counts = self.all_columns.word_counts()
        self.words = TitleWords(words, counts, len(papers))
        self.vectors = vectors
        self.keys = self.all_columns.keys()
        self.number = priors.find(self.keys)
        self.row_of_number = np.full(len(priors), -1, np.int64)
        has = np.flatnonzero(self.number >= 0)
        for wanted in (False, True):
            rows = has[self.all_columns.abstracts()[has] == wanted][::-1]
            self.row_of_number[self.number[rows]] = rows
        known = self.row_of_number >= 0
        vectors = np.zeros((len(priors), encoder.dim), np.float32)
        vectors[known] = self.vectors[self.row_of_number[known]]
        self.citation_priors = CitationPriors(priors, vectors, known)

    def candidates(
        self,
        query: Query,
        references: NDArray[np.int64],
        own: int,
        nearby: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows and features of a question's candidates; `references` and `nearby` are rows.

        `own` is the key of the citing paper: its list and passages are no evidence, and it is no
        candidate.
        """
        full = self.encoder.encode_queries([query])[0]
        topic = self.encoder.encode_topics([query])[0]
        numbers = np.unique(self.number[references])
        signals = self.citation_priors.signals(
            QueryVectors(full, topic if topic.any() else full, numbers[numbers >= 0], own)
        )
        bm25 = self.bm25.scores(query, Cancel())
        if bm25 is None:
            bm25 = np.zeros(len(self.papers), np.float32)
        by_words = _best(bm25)
        blend = CitationPriors.blend(signals)
        by_memory = _best(blend)
        found = [
            by_words[bm25[by_words] > 0],
            _best(self.vectors @ full),
            self.row_of_number[by_memory[np.isfinite(blend[by_memory])]],
        ]
        rows = np.unique(np.concatenate(found))
        rows = rows[rows >= 0]
        rows = rows[self.keys[rows] != np.uint64(own)] if own else rows
        near_bm25 = self.bm25.score_rows(near_part(query), rows)
        company = None
        if len(references):
            company = company_of(
                references, self.vectors[references], self.all_columns.take(references)
            )
        known = FeatureInputs(
            rows,
            self.all_columns.take(rows),
            bm25[rows],
            self.vectors[rows],
            full,
            topic,
            memory_rows(signals, self.number[rows]),
            company,
            near_bm25,
            self.profiles.signals(query, own, self.keys[rows]),
            self._nearby(rows, nearby, own),
        )
        return rows, features(query, known, self.words)

    def _nearby(
        self, rows: NDArray[np.int64], nearby: NDArray[np.int64] | None, own: int
    ) -> Nearby | None:
        if nearby is None or not len(nearby):
            return None
        cocited = np.full((len(rows), 2), UNKNOWN, np.float32)
        numbers = np.unique(self.number[nearby])
        has = self.number[rows] >= 0
        if (numbers >= 0).any():
            counts = self.citation_priors.cocited(numbers[numbers >= 0], own)
            cocited[has] = counts[self.number[rows][has]]
        return Nearby(nearby, self.vectors[nearby], cocited)


def _best(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.argpartition(-scores, DEPTH)[:DEPTH]


def _build(papers: Sequence[TrainingPaper], folder: Path) -> None:
    """BM25 and columns of the papers, unless a finished build of as many is there."""
    done = folder / "done"
    if done.exists() and done.read_text(encoding="utf-8") == str(len(papers)):
        return
    shutil.rmtree(folder, ignore_errors=True)
    for builder in (Bm25Builder(), ColumnsBuilder()):
        into = folder / builder.name
        into.mkdir(parents=True)
        builder.build(lambda: map(as_work, papers), len(papers), into, lambda _: None)
    done.write_text(str(len(papers)), encoding="utf-8")


def as_work(paper: TrainingPaper) -> Work:
    """The record of a paper as a library holds it."""
    return Work(
        id=paper.id,
        title=paper.title,
        authors=tuple(map(parse_author, paper.authors)),
        year=paper.year,
        venue=paper.venue,
        abstract=paper.abstract,
    )


__all__ = ["DEPTH", "World", "as_work", "title_key"]
