"""Text searches that the methods are compared with: TF-IDF and BM25 over titles or over documents,
both together with boosts, and a random order. They search the words as they were typed: nothing of
a query is understood.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from random import Random
from typing import Any, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from citewell.corpus.library import Library
from citewell.engine.contract import Tier
from citewell.engine.local import LocalEngine
from citewell.engine.which_library import open_library
from citewell.model import Hit, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.llm import Picked, Usage
from citewell.model.titles import normalise_title
from citewell.options import Options
from citewell_lab.evaluation.results import problem

RANDOM = "random"
PREDECESSOR = "predecessor"
BASELINES = {
    RANDOM: "Papers in random order",
    "tfidf-titles": "TF-IDF over titles",
    "tfidf-documents": "TF-IDF over title, authors, venue, year and abstract",
    "bm25-titles": "BM25 over titles",
    "bm25-documents": "BM25 over title, authors, venue, year and abstract",
    PREDECESSOR: "TF-IDF of titles (.85) and documents (.15); author, keyword and year boosted",
}
"""Name and description of each."""
TITLES, DOCUMENTS = 0.85, 0.15
"""Weights of both cosines in `PREDECESSOR`."""
BOOSTS = {"author": 100.0, "keyword": 40.0, "year": 20.0}
"""Added to the cosines of a paper if the words hold a surname, a whole keyword or the year of it:
such papers come before all others."""


LONGEST = 5
"""Maximum number of words of a surname or a keyword."""


class StemmedTexts(Struct, frozen=True):
    """Texts as numbers of their stemmed words, without stop words."""

    words: list[list[int]]
    """Per text."""
    vocabulary: dict[str, int]


class Scores(Protocol):
    """Scores every text for the words of a query."""

    def of(self, words: Sequence[int]) -> NDArray[np.float32]:
        """Shape (texts,), 0 for a text without any of the words."""
        ...


class Bm25:
    """bm25s with its defaults: Lucene's form, k1 1.5, b 0.75."""

    def __init__(self, texts: StemmedTexts) -> None:
        bm25s = _bm25s()
        self._index: Any = bm25s.BM25()
        self._index.index((texts.words, texts.vocabulary), show_progress=False)

    def of(self, words: Sequence[int]) -> NDArray[np.float32]:
        """The sum over the words, each as often as the query has it."""
        return np.asarray(self._index.get_scores_from_ids(list(words)), np.float32)


class TfIdf:
    """Cosine of TF-IDF vectors: count times ln((1 + n) / (1 + df)) + 1, at length 1, as
    scikit-learn weighs by default."""

    def __init__(self, texts: StemmedTexts) -> None:
        count, size = len(texts.words), max(1, len(texts.vocabulary))
        lengths = np.fromiter(map(len, texts.words), np.int64, count)
        flat = np.fromiter((word for text in texts.words for word in text), np.int64)
        owner = np.repeat(np.arange(count), lengths)
        # By word, then by text: the texts of a word lie side by side.
        pairs, counts = np.unique(flat * count + owner, return_counts=True)
        word, self._text = np.divmod(pairs, max(1, count))
        self._begins = np.searchsorted(word, np.arange(size + 1))
        frequency = np.diff(self._begins)
        self._idf = np.log((1 + count) / (1 + frequency)) + 1
        weight = counts * self._idf[word]
        norm = np.sqrt(np.bincount(self._text, weight**2, minlength=count))
        self._weight = weight / norm[self._text]
        self._count = count

    def of(self, words: Sequence[int]) -> NDArray[np.float32]:
        """The cosine with each text."""
        out = np.zeros(self._count)
        numbers, counts = np.unique(np.array(words, np.int64), return_counts=True)
        weights = counts * self._idf[numbers]
        norm = float(np.linalg.norm(weights)) or 1.0
        for number, weight in zip(numbers, weights / norm, strict=True):
            part = slice(self._begins[number], self._begins[number + 1])
            out[self._text[part]] += weight * self._weight[part]
        return out.astype(np.float32)


class TextIndex(Struct, frozen=True):
    """Scores of texts for words as typed."""

    texts: StemmedTexts
    scores: Scores

    def of(self, text: str) -> NDArray[np.float32]:
        """Shape (texts,)."""
        own = tokenized([text])
        names = {number: word for word, number in own.vocabulary.items()}
        words = [names[number] for number in own.words[0]]
        known = [self.texts.vocabulary[word] for word in words if word in self.texts.vocabulary]
        return self.scores.of(known)


class BoostedIndex:
    """The index of `PREDECESSOR`."""

    def __init__(self, titles: TextIndex, documents: TextIndex, works: Sequence[Work]) -> None:
        self._titles, self._documents = titles, documents
        self._texts: dict[tuple[str, str], list[int]] = {}
        for at, work in enumerate(works):
            held = {("author", normalise_title(author.family)) for author in work.authors}
            held |= {("keyword", normalise_title(keyword)) for keyword in work.keywords}
            for key in held | {("year", str(work.year))}:
                self._texts.setdefault(key, []).append(at)

    def of(self, text: str) -> NDArray[np.float32]:
        """Shape (texts,)."""
        scores = TITLES * self._titles.of(text) + DOCUMENTS * self._documents.of(text)
        words = normalise_title(text).split()
        parts = {
            " ".join(words[start:end])
            for start in range(len(words))
            for end in range(start + 1, min(len(words), start + LONGEST) + 1)
        }
        for name, boost in BOOSTS.items():
            every = [self._texts.get((name, part), ()) for part in parts if part]
            held = np.array(list(chain.from_iterable(every)), np.int64)
            scores[np.unique(held)] += np.float32(boost)
        return scores


class TextLibrary:
    """The texts of a library's papers; each part is read and indexed when it is first needed."""

    def __init__(self, options: Options) -> None:
        self._library, _ = open_library(options)

    @cached_property
    def _rows(self) -> NDArray[np.int64]:
        """Rows of the papers that a search can find."""
        live = [
            view.base + (np.arange(view.count) if view.dead is None else np.flatnonzero(~view.dead))
            for view in self._library.segments
        ]
        return np.concatenate([np.zeros(0, np.int64), *live])

    def engine(self, name: str, base: LocalEngine, seed: int) -> TextBaseline:
        """The baseline of this name. Raises `EvaluationError` without the package that it needs."""
        index: TextIndex | BoostedIndex | None = None
        if name == PREDECESSOR:
            titles, documents = (
                TextIndex(one, TfIdf(one)) for one in (self._titles, self._documents)
            )
            index = BoostedIndex(titles, documents, self._library.works(self._rows))
        elif name != RANDOM:
            texts = self._titles if name.endswith("-titles") else self._documents
            index = TextIndex(texts, TfIdf(texts) if name.startswith("tfidf") else Bm25(texts))
        return TextBaseline(base, self._library, self._rows, index, seed)

    @cached_property
    def _titles(self) -> StemmedTexts:
        return tokenized([work.title for work in self._library.works(self._rows)])

    @cached_property
    def _documents(self) -> StemmedTexts:
        return tokenized([document(work) for work in self._library.works(self._rows)])

    def close(self) -> None:
        """Close the library's files."""
        self._library.close()


class TextBaseline:
    """Answers as an engine does. A paper without any word of the query is not found."""

    def __init__(
        self,
        base: LocalEngine,
        library: Library,
        rows: NDArray[np.int64],
        index: TextIndex | BoostedIndex | None,
        seed: int,
    ) -> None:
        """`rows` are those of the texts of the index; without an index the order is random."""
        self.works = base.works
        self._library = library
        self._rows = rows
        self._index = index
        self._seed = seed

    def find(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", cancel: Cancel | None = None
    ) -> SearchResult:
        """The best `k` papers, ties in the order of the library."""
        text = f"{query.text} {query.sentence}".strip()
        if self._index is None:
            places = Random(f"{self._seed}:{text}").sample(
                range(len(self._rows)), min(k, len(self._rows))
            )
            scores = np.zeros(len(self._rows), np.float32)
        else:
            scores = self._index.of(text)
            best = np.argsort(-scores, kind="stable")[:k]
            places = best[scores[best] > 0].tolist()
        works = self._library.works(self._rows[places])
        hits = (Hit(work, float(scores[at])) for at, work in zip(places, works, strict=True))
        return SearchResult(hits=tuple(hits), variant="baseline")

    def find_batch(
        self,
        queries: Sequence[Query],
        k: int = 20,
        *,
        tier: Tier = "fast",
        cancel: Cancel | None = None,
        explained: int | None = None,
    ) -> list[SearchResult]:
        """`find` for each query."""
        return [self.find(query, k) for query in queries]

    def pick(self, query: Query, works: Sequence[Work], *, cancel: Cancel | None = None) -> Picked:
        """The first paper: there is no language model."""
        return Picked(work=works[0].id if works else "")

    def spent(self) -> Usage:
        """Nothing."""
        return Usage()

    def close(self) -> None:
        """Nothing: the library of the texts is closed with them."""


def document(work: Work) -> str:
    """All words by which a paper could be asked for."""
    names = ", ".join(author.display for author in work.authors)
    venue = work.venue or work.booktitle or work.journal
    return f"{work.title}. {names}. {venue} {work.year or ''}. {work.abstract}"


def tokenized(texts: Sequence[str]) -> StemmedTexts:
    """The texts in bm25s's words: lower case, English stop words removed, stemmed (Snowball)."""
    import Stemmer

    found = _bm25s().tokenize(
        list(texts), stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False
    )
    return StemmedTexts(found.ids, found.vocab)


def _bm25s() -> Any:
    try:
        import bm25s
    except ImportError as error:
        raise problem(
            "baseline-missing",
            "The text baselines need the package bm25s.",
            "Run `pip install bm25s`, or name other methods with --method.",
        ) from error
    # It asks for its debug messages when it is imported.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    return bm25s
