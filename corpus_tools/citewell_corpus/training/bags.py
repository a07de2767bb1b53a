"""Bags of tokens: texts as flat arrays that a training step slices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitingPaper, Query
from citewell.retrieval.tokens import Vocabulary
from citewell.retrieval.zones import query_tokens
from citewell_corpus.training.data import Context, Paper


class Bags(msgspec.Struct, frozen=True):
    """Texts end to end: tokens and zones of text i are [starts[i], starts[i + 1])."""

    tokens: NDArray[np.int32]
    zones: NDArray[np.int8]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(
        self, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Tokens, zones and offsets of the named texts, end to end."""
        begin, count = self.starts[rows], self.starts[rows + 1] - self.starts[rows]
        ends = np.cumsum(count)
        inside = np.arange(int(ends[-1])) - np.repeat(ends - count, count)
        place = np.repeat(begin, count) + inside
        return (
            self.tokens[place].astype(np.int64),
            self.zones[place].astype(np.int64),
            ends - count,
        )


def pack(parts: Iterable[tuple[Sequence[int], Sequence[int] | int]]) -> Bags:
    """Bags of (tokens, zones) pairs; one number stands for the same zone throughout."""
    tokens: list[NDArray[np.int32]] = []
    zones: list[NDArray[np.int8]] = []
    lengths = [0]
    for numbers, zone in parts:
        tokens.append(np.asarray(numbers, np.int32))
        zones.append(
            np.full(len(numbers), zone, np.int8)
            if isinstance(zone, int)
            else np.asarray(zone, np.int8)
        )
        lengths.append(len(numbers))
    return Bags(
        np.concatenate(tokens) if tokens else np.zeros(0, np.int32),
        np.concatenate(zones) if zones else np.zeros(0, np.int8),
        np.cumsum(lengths),
    )


def paper_bags(papers: Iterable[Paper], vocabulary: Vocabulary, longest: int = 400) -> Bags:
    """Title (zone 0) and abstract (zone 1) of each paper."""

    def parts() -> Iterable[tuple[list[int], list[int]]]:
        for paper in papers:
            title = vocabulary.encode(paper.title)
            abstract = vocabulary.encode(paper.abstract)[:longest]
            yield title + abstract, [0] * len(title) + [1] * len(abstract)

    return pack(parts())


def as_query(context: Context) -> Query:
    """The question that a context asks."""
    return Query(
        sentence=context.sentence,
        before=context.before[-3:],
        after=(context.after,) if context.after else (),
        paper=CitingPaper(title=context.title),
    )


def query_bags(queries: Iterable[Query], vocabulary: Vocabulary) -> Bags:
    """Tokens of queries with their zones."""
    return pack(query_tokens(vocabulary, query) for query in queries)
