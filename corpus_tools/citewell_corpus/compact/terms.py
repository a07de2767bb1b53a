"""Writes the BM25 index of a compact segment: whole titles, and distinctive words of abstracts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.codec import encode_rows, save_table
from citewell.model import Work
from citewell.retrieval.arrays import save_array
from citewell.retrieval.bm25_build import (
    Parameters,
    Terms,
    fact_terms,
    in_chunks,
    lucene_idf,
)
from citewell.retrieval.bm25_segment import (
    FREQUENCIES,
    LENGTH_STEP,
    META,
    TITLE_FROM,
    TermsMeta,
    kind_of,
    term_hash,
)

TELLING = 12
"""Number of words kept of an abstract, those with the highest scores."""
_FACT = 255
"""Marks a posting of a fact among the codes."""


def write_terms(folder: Path, works: Iterable[Work], telling: int = TELLING) -> None:
    """Write the index of the works, in order."""
    parameters = Parameters()
    state = _PostingCounts(parameters)
    for chunk in in_chunks(works):
        state.add(chunk)
    names = state.terms.names()
    frequency = state.frequency(len(names))
    idf = lucene_idf(frequency, state.count)
    parts = [_telling(part, idf, frequency, telling) for part in state.parts]
    term = np.concatenate([part[0] for part in parts] or [np.zeros(0, np.int32)])
    row = np.concatenate([part[1] for part in parts] or [np.zeros(0, np.int32)])
    code = np.concatenate([part[2] for part in parts] or [np.zeros(0, np.uint8)])
    number, kept = _numbers(names, frequency, np.bincount(term, minlength=len(names)))
    own = number[term]
    use = own >= 0
    own, row, code = own[use], row[use], code[use]
    order = np.lexsort((row, own))
    own, row, code = own[order], row[order].astype(np.int64), code[order]
    counts = np.bincount(own, minlength=len(kept))
    save_array(folder / "rows.npy", encode_rows(row, counts, state.count))
    save_table(folder / "counts.zst", counts.astype(np.int32))
    word_codes = code[code != _FACT]
    pairs = np.zeros(len(word_codes) + len(word_codes) % 2, np.uint8)
    pairs[: len(word_codes)] = word_codes
    save_array(folder / "codes.npy", pairs[::2] | pairs[1::2] << 4)
    save_array(folder / "terms.npy", np.array([term_hash(names[at]) for at in kept], np.uint32))
    save_table(folder / "kinds.zst", np.array([kind_of(names[at]) for at in kept], np.uint8))
    save_table(folder / "frequency.zst", frequency[kept].astype(np.int32))
    save_table(folder / "lengths.zst", np.concatenate([np.zeros(0, np.uint8), *state.lengths]))
    meta = TermsMeta(count=state.count, k1=parameters.k1, b=parameters.b, pivot=parameters.pivot)
    (folder / META).write_bytes(msgspec.json.format(msgspec.json.encode(meta), indent=1))


_Part = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8], NDArray[np.float32]]
"""Term, row, code and saturated frequency of each posting; a fact has the code `_FACT`."""


class _PostingCounts:
    """The postings of all works, chunk by chunk."""

    def __init__(self, parameters: Parameters) -> None:
        self.terms = Terms()
        self.count = 0
        self.parts: list[_Part] = []
        self.lengths: list[NDArray[np.uint8]] = []
        self._parameters = parameters

    def add(self, works: list[Work]) -> None:
        p = self._parameters
        title, title_of = self.terms.of_texts([work.title for work in works])
        text, text_of = self.terms.of_texts([work.abstract for work in works])
        key = np.concatenate(
            [title.astype(np.int64) << 32 | title_of, text.astype(np.int64) << 32 | text_of]
        )
        distinct, place = np.unique(key, return_inverse=True)
        in_title = np.bincount(place[: len(title)], minlength=len(distinct)) > 0
        weight = np.concatenate([np.full(len(title), p.title_weight), np.ones(len(text))])
        often = np.bincount(place, weight, len(distinct)).astype(np.float64)
        length = p.title_weight * np.bincount(title_of, minlength=len(works))
        length += np.bincount(text_of, minlength=len(works))
        damp = p.k1 * (1 - p.b + p.b * length / p.pivot)
        row = (distinct & 0xFFFFFFFF).astype(np.int32)
        score = (often / (often + damp[row])).astype(np.float32)
        term = (distinct >> 32).astype(np.int32)
        facts, fact_of, _ = fact_terms(works, self.terms)
        own = np.unique(facts.astype(np.int64) << 32 | fact_of)
        self.parts.append(
            (
                np.concatenate([term, (own >> 32).astype(np.int32)]),
                np.concatenate([row, (own & 0xFFFFFFFF).astype(np.int32)]) + np.int32(self.count),
                np.concatenate([_codes(often, in_title), np.full(len(own), _FACT, np.uint8)]),
                np.concatenate([score, np.zeros(len(own), np.float32)]),
            )
        )
        steps = np.rint(np.log(length + 1) / np.log(LENGTH_STEP))
        self.lengths.append(np.clip(steps, 0, 255).astype(np.uint8))
        self.count += len(works)

    def frequency(self, terms: int) -> NDArray[np.int64]:
        """Number of works with each term."""
        total = np.zeros(terms, np.int64)
        for term, _, _, _ in self.parts:
            total += np.bincount(term, minlength=terms)
        return total


def _codes(often: NDArray[np.float64], in_title: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Code of each frequency: the nearest in its half of the table."""
    out = np.zeros(len(often), np.uint8)
    for begin, end, which in ((0, TITLE_FROM, ~in_title), (TITLE_FROM, 16, in_title)):
        levels = FREQUENCIES[begin:end]
        between = (levels[1:] + levels[:-1]) / 2
        out[which] = begin + np.searchsorted(between, often[which])
    return out


def _telling(
    part: _Part, idf: NDArray[np.float32], frequency: NDArray[np.int64], telling: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """Drop terms that occur only in an abstract and are not among its highest-weighted ones."""
    term, row, code, score = part
    abstract = np.flatnonzero(code < TITLE_FROM)
    # A word in a single paper is more often a typo than a name.
    abstract = abstract[frequency[term[abstract]] > 1]
    gain = score[abstract] * idf[term[abstract]]
    order = np.lexsort((term[abstract], -gain, row[abstract]))
    ranked = row[abstract][order]
    begin = np.flatnonzero(np.diff(ranked, prepend=-1))
    rank = np.arange(len(ranked)) - np.repeat(begin, np.diff(np.append(begin, len(ranked))))
    keep = code >= TITLE_FROM
    keep[abstract[order[rank < telling]]] = True
    return term[keep], row[keep], code[keep]


def _numbers(
    names: list[bytes], frequency: NDArray[np.int64], kept: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The column of each term, -1 if left out, and the terms in the order of the columns.

    Columns ascend with the hash; of two terms with the same hash, the more frequent one is kept.
    """
    used = np.flatnonzero(kept)
    order = sorted(
        used.tolist(), key=lambda at: (term_hash(names[at]), -int(frequency[at]), names[at])
    )
    hashes = np.array([term_hash(names[at]) for at in order], np.uint32)
    first = np.flatnonzero(np.diff(hashes.astype(np.int64), prepend=-1))
    stay = np.array(order, np.int64)[first]
    number = np.full(len(names), -1, np.int64)
    number[stay] = np.arange(len(stay))
    return number, stay
