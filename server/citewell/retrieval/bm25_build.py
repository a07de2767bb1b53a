"""Builds the BM25 index of a segment: the score of every word in every paper, ready to be summed.

Title and abstract are one weighted text: a word of the title counts as `title_weight` words, in
the frequency and in the length. Lengths are set against a fixed pivot, not against the segment's
average, so that a paper scores the same in whichever segment it stands.

Surnames, venues, years and the names that titles open with are terms of their own kind: "a:long"
is an author, "long" a word. The files are those of bm25s, which opens the folder
(`bm25s.BM25.load(folder, mmap=True)`), and a few more.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import Work
from citewell.model.languages import STOPWORDS
from citewell.model.titles import normalise_title
from citewell.retrieval.arrays import flush, new_array, save_array
from citewell.retrieval.understand import title_name
from citewell.retrieval.words import Words

FORMAT = 2
CHUNK = 8192
"""Works per chunk: bounds the memory of a build for any size of segment."""
TITLE, ABSTRACT, AUTHORS, VENUE, YEAR, NAME, KEYWORDS = 1, 2, 4, 8, 16, 32, 64
"""Bits of `fields.npy`: the fields of the paper with the term."""
FIELD_NAMES = {TITLE: "title", ABSTRACT: "abstract", AUTHORS: "authors", VENUE: "venue",
               YEAR: "year", NAME: "title", KEYWORDS: "keywords"}  # fmt: skip


KEYWORD = b"k:"
"""Prefix of the term of a whole keyword; no query scores it, and filters look it up."""


class Parameters(msgspec.Struct, frozen=True):
    """The parameters of the score, chosen on training papers (`tests/bench`)."""

    k1: float = 2.0
    b: float = 0.9
    title_weight: float = 4.0
    pivot: float = 116.0
    """Weighted length of a typical paper, without stop words."""


def lucene_idf(frequency: NDArray[np.int64], papers: int) -> NDArray[np.float32]:
    """Inverse document frequency as Lucene and bm25s compute it; never negative."""
    return np.log1p((papers - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)


def lucene_idf_of(frequency: int, papers: int) -> float:
    """Inverse document frequency of one term as Lucene computes it; never negative."""
    return math.log1p((papers - frequency + 0.5) / (frequency + 0.5))


class Bm25Builder:
    """Writes one segment's index. Memory is bounded by one chunk and the vocabulary."""

    name = "bm25"

    def __init__(self, parameters: Parameters | None = None) -> None:
        self.parameters = parameters or Parameters()

    def fingerprint(self) -> Mapping[str, Any]:
        """Format, stemmer and parameters."""
        return {"format": FORMAT, "stemmer": "english", **msgspec.to_builtins(self.parameters)}

    def build(
        self,
        works: Callable[[], Iterable[Work]],
        count: int,
        into: Path,
        progress: Callable[[int], None],
    ) -> None:
        """Write the index; an interrupted build starts over, because a pass takes only seconds."""
        spill = into / "spill"
        shutil.rmtree(spill, ignore_errors=True)
        spill.mkdir(parents=True)
        terms = Terms()
        frequency = np.zeros(0, np.int64)
        chunks = 0
        row = 0
        for chunk in in_chunks(works()):
            term, paper, score, field = self.postings(chunk, terms)
            found = np.bincount(term, minlength=len(terms))
            frequency = np.pad(frequency, (0, len(found) - len(frequency))) + found
            for name, values in (("term", term), ("paper", paper + np.int32(row)),
                                 ("score", score), ("field", field)):  # fmt: skip
                save_array(spill / f"{chunks}.{name}.npy", values)
            chunks += 1
            row += len(chunk)
            progress(len(chunk))
        if row != count:
            raise ValueError(f"{count} works were announced and {row} came")
        self._merge(spill, chunks, frequency, count, into)
        _write_vocabulary(terms.names(), into)
        self._write_parameters(into, count)
        shutil.rmtree(spill, ignore_errors=True)

    def postings(
        self, works: list[Work], terms: Terms
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.uint8]]:
        """Term, paper (within the chunk), saturated frequency and field bits, by term and paper."""
        p = self.parameters
        title, title_of = terms.of_texts([work.title for work in works])
        text, text_of = terms.of_texts([work.abstract for work in works])
        title_key = title.astype(np.int64) << 32 | title_of
        text_key = text.astype(np.int64) << 32 | text_of
        distinct, place = np.unique(np.concatenate([title_key, text_key]), return_inverse=True)
        count = np.concatenate([np.full(len(title), p.title_weight), np.ones(len(text))])
        frequency = np.bincount(place, count, len(distinct))
        length = p.title_weight * np.bincount(title_of, minlength=len(works))
        length += np.bincount(text_of, minlength=len(works))
        damp = p.k1 * (1 - p.b + p.b * length / p.pivot)
        score = (frequency / (frequency + damp[distinct & 0xFFFFFFFF])).astype(np.float32)
        field = np.zeros(len(distinct), np.uint8)
        field[place[: len(title)]] |= TITLE
        field[place[len(title) :]] |= ABSTRACT
        facts, fact_of, kinds = fact_terms(works, terms)
        if len(facts):
            own = facts.astype(np.int64) << 32 | fact_of
            own, first = np.unique(own, return_index=True)
            distinct = np.concatenate([distinct, own])
            score = np.concatenate([score, np.full(len(own), 1 / (1 + p.k1), np.float32)])
            field = np.concatenate([field, kinds[first]])
            order = np.argsort(distinct, kind="stable")
            distinct, score, field = distinct[order], score[order], field[order]
        return (
            (distinct >> 32).astype(np.int32),
            (distinct & 0xFFFFFFFF).astype(np.int32),
            score,
            field,
        )

    def _merge(
        self, spill: Path, chunks: int, frequency: NDArray[np.int64], count: int, into: Path
    ) -> None:
        """Merge the chunks' postings into one matrix, by term, then by paper."""
        pointer = np.zeros(len(frequency) + 1, np.int64)
        np.cumsum(frequency, out=pointer[1:])
        total = int(pointer[-1])
        idf = lucene_idf(frequency, count)
        data = new_array(into / "data.csc.index.npy", np.float32, (total,))
        indices = new_array(into / "indices.csc.index.npy", np.int32, (total,))
        fields = new_array(into / "fields.npy", np.uint8, (total,))
        head = pointer[:-1].copy()
        for chunk in range(chunks):
            term, paper, score, field = (
                np.load(spill / f"{chunk}.{name}.npy", allow_pickle=False)
                for name in ("term", "paper", "score", "field")
            )
            found = np.bincount(term, minlength=len(frequency))
            begin = np.cumsum(found) - found
            place = head[term] + np.arange(len(term)) - begin[term]
            data[place] = score * idf[term]
            indices[place] = paper
            fields[place] = field
            head += found
        for array in (data, indices, fields):
            flush(array)
        save_array(into / "indptr.csc.index.npy", pointer)

    def _write_parameters(self, into: Path, count: int) -> None:
        parameters = {
            "k1": self.parameters.k1,
            "b": self.parameters.b,
            "delta": 0.5,
            "method": "lucene",
            "idf_method": "lucene",
            "dtype": "float32",
            "int_dtype": "int32",
            "num_docs": count,
            "backend": "numpy",
        }
        text = json.dumps(parameters, indent=1)
        (into / "params.index.json").write_text(text, encoding="utf-8")


class Terms:
    """Numbers of terms: stems of words, and other terms verbatim ("a:vaswani")."""

    def __init__(self) -> None:
        import Stemmer

        self._stem = Stemmer.Stemmer("english").stemWords
        self._numbers: dict[bytes, int] = {}
        self._kinds: dict[bytes, tuple[Words, NDArray[np.int32]]] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def names(self) -> list[bytes]:
        """The terms in the order of their numbers."""
        return list(self._numbers)

    def number(self, term: bytes) -> int:
        """The term's number, assigned if it is new."""
        return self._numbers.setdefault(term, len(self._numbers))

    def of_texts(
        self, texts: list[str], kind: bytes = b""
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The term numbers of all texts in sequence without stop words, and the text of each."""
        words, number_of_word = self._kinds.setdefault(kind, (Words(), np.zeros(0, np.int32)))
        flat, starts = words.encode(texts)
        new = words.since(len(number_of_word))
        if new:
            forms = new if kind else self._stems(new)
            numbers = [
                -1 if len(word) < 2 or word in STOPWORDS else self.number(kind + form)
                for word, form in zip(new, forms, strict=True)
            ]
            number_of_word = np.concatenate([number_of_word, np.array(numbers, np.int32)])
            self._kinds[kind] = words, number_of_word
        term = number_of_word[flat]
        text = np.repeat(np.arange(len(texts), dtype=np.int32), np.diff(starts))
        known = term >= 0
        return term[known], text[known]

    def _stems(self, words: list[bytes]) -> list[bytes]:
        stems = self._stem([word.decode("utf-8", "ignore") for word in words])
        return [stem.encode() for stem in stems]


def fact_terms(
    works: list[Work], terms: Terms
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
    """The terms of the works other than words of their text: term, paper and field bit of each."""
    names = [" ".join([author.family for author in work.authors]) for work in works]
    author, author_of = terms.of_texts(names, b"a:")
    venue, venue_of = terms.of_texts([work.venue for work in works], b"v:")
    year_of = [at for at, work in enumerate(works) if work.year is not None]
    year = [terms.number(b"y:%d" % (works[at].year or 0)) for at in year_of]
    opening = [(at, title_name(work.title)) for at, work in enumerate(works) if ":" in work.title]
    name = [(at, terms.number(b"n:" + found.encode())) for at, found in opening if found]
    keyword = [
        (at, terms.number(KEYWORD + plain.encode()))
        for at, work in enumerate(works)
        for one in work.keywords
        if (plain := normalise_title(one))
    ]
    parts = (
        (author, author_of, AUTHORS),
        (venue, venue_of, VENUE),
        (np.array(year, np.int32), np.array(year_of, np.int32), YEAR),
        *(
            (np.array([n for _, n in own], np.int32), np.array([a for a, _ in own], np.int32), bit)
            for own, bit in ((name, NAME), (keyword, KEYWORDS))
        ),
    )
    return (
        np.concatenate([term for term, _, _ in parts]),
        np.concatenate([paper for _, paper, _ in parts]),
        np.concatenate([np.full(len(term), bit, np.uint8) for term, _, bit in parts]),
    )


def in_chunks(works: Iterable[Work]) -> Iterator[list[Work]]:
    iterator = iter(works)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def _write_vocabulary(terms: list[bytes], into: Path) -> None:
    """Write the vocabulary in the form of bm25s, and sorted for a binary search over mapped
    files."""
    vocabulary = {term.decode("utf-8", "replace"): number for number, term in enumerate(terms)}
    (into / "vocab.index.json").write_bytes(msgspec.json.encode(vocabulary))
    order = sorted(range(len(terms)), key=terms.__getitem__)
    ends = np.cumsum([len(terms[number]) for number in order], dtype=np.int64)
    (into / "terms.bin").write_bytes(b"".join(terms[number] for number in order))
    save_array(into / "terms.ends.npy", ends)
    save_array(into / "terms.order.npy", np.array(order, np.int32))
