"""The features of a candidate for the learned head: one row of numbers, identical in training and
use."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import Columns
from citewell.model import Query
from citewell.model.query import MARK, OTHER
from citewell.ranking.lexical import NAMES as LEXICAL
from citewell.ranking.lexical import TitleWords, lexical, read_passage

UNKNOWN = -99.0
"""Value of a missing fact: the trees learn the meaning of its absence."""
FEWEST_YEARS = 3
"""Number of references from which a paper's own year can be estimated from theirs."""


class Company(msgspec.Struct, frozen=True):
    """The author's existing references, as input of the ranker."""

    vectors: NDArray[np.float32]
    """Shape (r, d)."""
    rows: NDArray[np.int64]
    surnames: NDArray[np.uint32]
    """Distinct surname hashes, sorted."""
    surname_counts: NDArray[np.int64]
    """Number of references by each author."""
    years: NDArray[np.int16]


class Nearby(msgspec.Struct, frozen=True):
    """The works cited around the place."""

    rows: NDArray[np.int64]
    vectors: NDArray[np.float32]
    """Shape (r, d)."""
    cocited: NDArray[np.float32]
    """Shape (n, 2): how often others cite each candidate with these works, and as a share of its
    citations; UNKNOWN rows for papers without priors."""


class FeatureInputs(msgspec.Struct, frozen=True):
    """The known data of n candidates, the input of `features`."""

    rows: NDArray[np.int64]
    columns: Columns
    bm25: NDArray[np.float32]
    vectors: NDArray[np.float32]
    """Shape (n, d)."""
    full: NDArray[np.float32]
    topic: NDArray[np.float32]
    """Query vectors, shape (d,), zero if the query lacks that part."""
    prior_signals: NDArray[np.float32]
    """Shape (n, len(memory_names)); UNKNOWN rows for papers without priors."""
    company: Company | None = None
    bm25_near: NDArray[np.float32] | None = None
    """BM25 of the sentence and the typed words alone, shape (n,)."""
    profile: NDArray[np.float32] | None = None
    """Shape (n, 3): `retrieval.passages.SIGNALS`."""
    nearby: Nearby | None = None


def feature_names(prior_signals: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the columns of `features`, in order."""
    return (
        "bm25", "bm25_share", "bm25_rank", "full", "full_gap", "full_rank", "topic", "topic_rank",
        *prior_signals, "memory_rank", "popularity_rank",
        *LEXICAL,
        "year", "year_gap", "has_abstract", "title_words", "authors",
        "company_mean", "company_best", "company_authors", "company_size",
        "sentence_words", "typed_words", "has_title", "mark_place", "others", "before",
        "bm25_near", "bm25_near_share", "bm25_near_rank",
        "profile_best", "profile_sum", "profile_share",
        "nearby_best", "nearby_mean", "nearby_cocited", "nearby_cocited_share",
        "year_newest", "year_median",
    )  # fmt: skip


def features(query: Query, known: FeatureInputs, words: TitleWords) -> NDArray[np.float32]:
    """Shape (n, features), float32."""
    columns, count = known.columns, len(known.rows)
    parts: list[NDArray[np.float32]] = []
    best = max(float(known.bm25.max(initial=0)), 1e-6)
    parts += [known.bm25, known.bm25 / best, places(known.bm25)]
    full = known.vectors @ known.full
    topic = np.full(count, UNKNOWN, np.float32)
    if known.topic.any():
        topic = (known.vectors @ known.topic).astype(np.float32)
    parts += [full, full - full.max(initial=-1), places(full)]
    parts += [topic, places(topic)]
    parts += list(known.prior_signals.T)
    blend = (full * 20 + 0.75 * np.maximum(known.prior_signals[:, 1], 0)).astype(np.float32)
    parts += [places(blend), places(known.prior_signals[:, 1])]
    parts += list(lexical(read_passage(query), columns, words).T)
    year = columns.year.astype(np.float32)
    now = query.paper.year or 0
    if not now and known.company is not None and len(known.company.years):
        now = int(known.company.years.max())
    gap = np.where((year > 0) & (now > 0), now - year, UNKNOWN)
    parts += [
        np.where(year > 0, year, UNKNOWN), gap, columns.abstract.astype(np.float32),
        np.diff(columns.word_starts).astype(np.float32),
        np.diff(columns.surname_starts).astype(np.float32),
    ]  # fmt: skip
    parts += _company(known)
    parts += [np.full(count, value, np.float32) for value in _query_facts(query)]
    parts += _near_words(known)
    parts += _nearby(known)
    parts += _years(known)
    table: NDArray[np.float32] = np.stack([np.asarray(p, np.float32) for p in parts], axis=1)
    return table


def places(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """log2(1 + rank) of each candidate by these scores; equal scores share the best rank."""
    order = np.sort(-scores)
    return np.asarray(np.log2(2.0 + np.searchsorted(order, -scores)), np.float32)


def _company(known: FeatureInputs) -> list[NDArray[np.float32]]:
    count, company = len(known.rows), known.company
    if company is None or not len(company.rows):
        unknown = np.full(count, UNKNOWN, np.float32)
        return [unknown, unknown, unknown, np.zeros(count, np.float32)]
    likeness = known.vectors @ company.vectors.T
    # A candidate that is itself a reference is no evidence for itself.
    same = known.rows[:, None] == company.rows[None, :]
    likeness[same] = 0
    others = np.maximum(len(company.rows) - same.sum(axis=1), 1)
    mean = likeness.sum(axis=1) / others
    top = likeness.max(axis=1)
    shared = np.zeros(count, np.float32)
    columns = known.columns
    if len(company.surnames) and len(columns.surname):
        at = np.minimum(
            np.searchsorted(company.surnames, columns.surname), len(company.surnames) - 1
        )
        counts = np.where(company.surnames[at] == columns.surname, company.surname_counts[at], 0)
        owner = np.repeat(np.arange(count), np.diff(columns.surname_starts))
        # If it is a reference, its own authors are among the references' authors.
        np.add.at(shared, owner, np.maximum(counts - same.any(axis=1)[owner], 0))
    return [mean, top, np.log1p(shared), np.full(count, np.log1p(len(company.rows)), np.float32)]


def _near_words(known: FeatureInputs) -> list[NDArray[np.float32]]:
    count = len(known.rows)
    bm25 = np.zeros(count, np.float32) if known.bm25_near is None else known.bm25_near
    parts = [bm25, bm25 / max(float(bm25.max(initial=0)), 1e-6), places(bm25)]
    profile = np.full((count, 3), UNKNOWN, np.float32) if known.profile is None else known.profile
    # If the priors know only the paper's own list, its passages are no evidence either.
    profile = np.where(known.prior_signals[:, 1:2] > UNKNOWN, profile, UNKNOWN)
    return [*parts, *profile.T]


def _nearby(known: FeatureInputs) -> list[NDArray[np.float32]]:
    unknown = np.full(len(known.rows), UNKNOWN, np.float32)
    nearby = known.nearby
    if nearby is None or not len(nearby.rows):
        return [unknown] * 4
    likeness = known.vectors @ nearby.vectors.T
    likeness[known.rows[:, None] == nearby.rows[None, :]] = 0
    return [likeness.max(axis=1), likeness.mean(axis=1), *nearby.cocited.T]


def _years(known: FeatureInputs) -> list[NDArray[np.float32]]:
    """Age of a candidate relative to the references: to the newest tenth, and to the median.

    The newest reference itself may be a later edition in the records.
    """
    unknown = np.full(len(known.rows), UNKNOWN, np.float32)
    company = known.company
    if company is None or len(company.rows) < FEWEST_YEARS:
        return [unknown, unknown]
    years = company.years[company.years > 0]
    if not len(years):
        return [unknown, unknown]
    own = known.columns.year.astype(np.float32)
    marks = (np.percentile(years, 90), np.median(years))
    return [np.where(own > 0, np.float32(mark) - own, UNKNOWN) for mark in marks]


def _query_facts(query: Query) -> tuple[float, ...]:
    left, mark, right = query.sentence.partition(MARK)
    before, after = len(left.split()), len(right.split())
    return (
        float(before + after),
        float(len(query.text.split())),
        float(bool(query.paper.title)),
        before / max(before + after, 1) if mark else -1.0,
        float(query.sentence.count(OTHER)),
        float(min(len(query.before), 3)),
    )


def memory_rows(signals: NDArray[np.float32], numbers: NDArray[np.int64]) -> NDArray[np.float32]:
    """Signals of the citation priors for candidates, by each one's paper number (-1: none)."""
    out = np.full((len(numbers), signals.shape[1]), UNKNOWN, np.float32)
    has = numbers >= 0
    out[has] = signals[numbers[has]]
    return out


def company_of(rows: NDArray[np.int64], vectors: NDArray[np.float32], columns: Columns) -> Company:
    """The input from the references, from their rows."""
    surnames, counts = np.unique(columns.surname, return_counts=True)
    return Company(vectors, rows, surnames, counts, columns.year)


__all__ = [
    "UNKNOWN", "Company", "FeatureInputs", "Nearby", "company_of", "feature_names", "features",
    "memory_rows", "places",
]  # fmt: skip
