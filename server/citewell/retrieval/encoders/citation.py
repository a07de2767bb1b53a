"""The default encoder: a transformer reads passages, and a table of token vectors reads works.

Both were learned from citations. The transformer (`transformer.py`) takes 19 ms of one core for a
passage, which is read once for its place. A library may have a quarter of a million works, which
the table reads in seconds: it is fitted to the transformer's vectors of works. The vectors of the
starter library come from the transformer itself.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, mapped_arrays
from citewell.model import CitewellError, CitingPaper, Problem, Query, Work
from citewell.model.query import MARK, OTHER
from citewell.retrieval.encoders.contract import Paper
from citewell.retrieval.encoders.transformer import Transformer
from citewell.retrieval.encoders.wordpiece import CLS, MASK, SEP, WordPiece
from citewell.retrieval.tokens import MappedVocabulary, Vocabulary, vocabulary_arrays, words
from citewell.retrieval.words import Words

WEIGHTS = Path(__file__).parent.parent / "weights"
VOCABULARY, TABLE, TRANSFORMER = "vocab.txt", "table.npz", "encoder.npz"
LEFT, RIGHT, TITLE, BEFORE = 48, 24, 20, 32
"""Maximum tokens of a passage before and after the place, of the citing title, and of the two
previous sentences."""
WORK_TITLE, WORK_AUTHORS, WORK = 36, 12, 112
"""Maximum tokens of a work's title, of its authors and year, and of the whole."""
WORK_CHARACTERS = 900
"""Maximum characters of an abstract."""
QUESTION = 48
"""Maximum tokens of a request for papers."""
_CHUNK = 4096
_REMEMBERED = 64
"""Number of texts with cached vectors, half a kilobyte each: the places of a paragraph."""
_MAX_WORDS = 1_000_000
"""Maximum number of distinct words whose tokens are cached; beyond it the cache is cleared."""


class CitationEncoder:
    """Vectors of passages and works in one space, of length 1.

    `weights` is a folder with `encoder.npz` (`Transformer`), `vocab.txt`, one token a line, and
    `table.npz`: `table` int8 (V, d), `scale`, `title_weight` and `abstract_weight` float16 (V,).
    A work's vector is the sum of `table` times `scale` times the weight of each token. A passage's
    is the first d numbers of the mean of the transformer's states.
    """

    name = "citation"

    def __init__(self, weights: Path = WEIGHTS) -> None:
        """Raises `CitewellError` for unreadable weights."""
        try:
            arrays = _mapped(weights) if weights == WEIGHTS else _arrays(weights)
            self._transformer = Transformer(weights / TRANSFORMER)
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise CitewellError(
                Problem(
                    "encoder-weights",
                    f"The encoder's weights cannot be read ({error}).",
                    "Reinstall citewell; until then set `retrieval.dense` to false.",
                    path=str(weights),
                )
            ) from error
        self._vocabulary: Vocabulary = MappedVocabulary(arrays)
        self._table: NDArray[np.int8] = arrays["table"]
        self._title: NDArray[np.float32] = arrays["title"]
        self._abstract: NDArray[np.float32] = arrays["abstract"]
        self.dim = int(self._table.shape[1])
        self.fingerprint = arrays["fingerprint"].tobytes().decode()
        # A search encodes its place and its paper several times, and they stay while words are
        # typed.
        self._passage = lru_cache(_REMEMBERED)(self._read_passage)
        self._question = lru_cache(_REMEMBERED)(self._read_question)
        self._work = lru_cache(_REMEMBERED)(self._read_work)

    @cached_property
    def _reader(self) -> TokenReader:
        # Only builds of a library encode papers.
        return TokenReader(Vocabulary(self._vocabulary.tokens))

    @cached_property
    def _wordpiece(self) -> WordPiece:
        return WordPiece()

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Encode title and abstract, by the table."""
        bulk = len(papers) > _CHUNK // 8
        table = self._table.astype(np.float32) if bulk else None
        out = np.zeros((len(papers), self.dim), np.float32)
        for begin in range(0, len(papers), _CHUNK):
            texts = [text for paper in papers[begin : begin + _CHUNK] for text in paper]
            tokens, starts = self._reader.read(texts)
            is_title = np.repeat(np.resize([True, False], len(texts)), np.diff(starts))
            factor = np.where(is_title, self._title[tokens], self._abstract[tokens])
            bounds = starts[::2]
            gathered = np.empty((int(np.diff(bounds).max()), self.dim), np.float32)
            for row, (first, last) in enumerate(pairwise(bounds.tolist()), begin):
                if first < last:
                    ids, rows = tokens[first:last], gathered[: last - first]
                    if table is None:
                        rows[:] = self._table[ids]
                    else:
                        np.take(table, ids, axis=0, out=rows, mode="clip")
                    np.dot(factor[first:last], rows, out=out[row])
        return _unit(out)

    def read_works(self, works: Sequence[Work]) -> NDArray[np.float32]:
        """Encode works by the transformer, 60 ms of one core each. Shape (n, dim)."""
        out = np.zeros((len(works), self.dim), np.float32)
        for row, work in enumerate(works):
            names = [author.display for author in work.authors]
            tokens = work_tokens(self._wordpiece, work.title, names, work.year, work.abstract)
            out[row] = self._transformer.read(tokens)[: self.dim]
        return _unit(out)

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """The mean of a passage, read by the transformer, and the typed words, read by the table.

        A request for papers is read by both: on 250 questions of AutoScholar, recall@20 is .32 with
        both, .28 with the transformer alone, .27 with the table.
        """
        out = np.zeros((len(queries), self.dim), np.float32)
        for row, query in enumerate(queries):
            out[row] = self._passage(query.sentence, query.before[-2:], query.paper.title)
            if query.literature and not out[row].any():
                out[row] = self._question(query.text)
            if query.text:
                out[row] += self._work(query.text, "")
        return _unit(out)

    def encode_topics(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """Encode the citing papers as works, by the table."""
        papers = [(one.paper.title, one.paper.abstract) for one in queries]
        if len(papers) > 1:
            return self.encode_papers(papers)
        return np.array([self._work(*paper) for paper in papers], np.float32)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode each text as if typed into a placeholder without context."""
        return self.encode_queries([Query(text=text) for text in texts])

    def _read_passage(
        self, sentence: str, before: tuple[str, ...], title: str
    ) -> NDArray[np.float32]:
        """The vector of a passage; zeros without a known word around the place, or without a place
        in a paper with a title, since the transformer gives a vector to any letters."""
        texts = (_plain(sentence), *before, title if MARK in sentence else "")
        if not any(map(self._vocabulary.encode, texts)):
            return np.zeros(self.dim, np.float32)
        query = Query(sentence=sentence, before=before, paper=CitingPaper(title=title))
        return self._vector(passage_tokens(self._wordpiece, query))

    def _read_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a request for papers; zeros without a known word."""
        if not self._vocabulary.encode(text):
            return np.zeros(self.dim, np.float32)
        return self._vector((CLS, *self._wordpiece.encode(text)[:QUESTION], SEP, SEP))

    def _vector(self, tokens: tuple[int, ...]) -> NDArray[np.float32]:
        state = self._transformer.read(tokens)[None, : self.dim].copy()
        found: NDArray[np.float32] = _unit(state)[0]
        return found

    def _read_work(self, title: str, abstract: str) -> NDArray[np.float32]:
        """The vector of one work, as in `encode_papers`, without the parts for many."""
        total = np.zeros((1, self.dim), np.float32)
        for text, weight in ((title, self._title), (abstract, self._abstract)):
            ids = np.array(self._vocabulary.encode(text) if text else (), np.int64)
            total[0] += weight[ids] @ self._table[ids].astype(np.float32)
        found: NDArray[np.float32] = _unit(total)[0]
        return found


def passage_tokens(wordpiece: WordPiece, query: Query) -> tuple[int, ...]:
    """The transformer's input for a passage: [CLS], the words before the place, [MASK], those after
    it, [SEP], the citing title, [SEP], the previous sentences."""
    left, mark, right = query.sentence.partition(MARK)
    return (
        CLS,
        *wordpiece.encode(_last_words(left, LEFT))[-LEFT:],
        *((MASK,) if mark else ()),
        *wordpiece.encode(_plain(right))[:RIGHT],
        SEP,
        *wordpiece.encode(query.paper.title)[:TITLE],
        SEP,
        *wordpiece.encode(_last_words(" ".join(query.before[-2:]), BEFORE))[-BEFORE:],
    )


def work_tokens(
    wordpiece: WordPiece, title: str, names: Sequence[str], year: int | None, abstract: str
) -> tuple[int, ...]:
    """The transformer's input for a work: [CLS], the title, [SEP], two surnames and the year,
    [SEP], the abstract. The last word of each of `names` is its surname."""
    surnames = " ".join(name.split()[-1] for name in names[:2] if name.split())
    return (
        CLS,
        *wordpiece.encode(title)[:WORK_TITLE],
        SEP,
        *wordpiece.encode(f"{surnames} {year or ''}")[:WORK_AUTHORS],
        SEP,
        *wordpiece.encode(abstract[:WORK_CHARACTERS]),
    )[:WORK]


def _plain(text: str) -> str:
    return text.replace(OTHER, " ").replace(MARK, " ")


def _last_words(text: str, count: int) -> str:
    """The last `count` words: each is at least one token."""
    return " ".join(_plain(text).split()[-count:])


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, length, out=rows, where=length > 0)
    return rows


def _mapped(weights: Path) -> Arrays:
    """The constant arrays of the weights, mapped from the cache."""
    files = [weights / VOCABULARY, weights / TABLE]
    return mapped_arrays("table-1", files, partial(_arrays, weights))


def _arrays(weights: Path) -> Arrays:
    """The arrays for encoding works. Raises `OSError`, `ValueError`, `KeyError` and `BadZipFile`
    for damaged weights."""
    vocabulary = Vocabulary.read(weights / VOCABULARY)
    with (weights / TABLE).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        table: NDArray[np.int8] = file["table"]
        scale = file["scale"].astype(np.float32)
        title = scale * file["title_weight"].astype(np.float32)
        abstract = scale * file["abstract_weight"].astype(np.float32)
    if table.dtype != np.int8 or table.ndim != 2:
        raise ValueError("table is not a matrix of int8")
    if {len(table), len(scale), len(title), len(abstract)} != {len(vocabulary)}:
        raise ValueError("table, weights and vocabulary differ in length")
    digest = hashlib.sha256(table.tobytes())
    digest.update(title.tobytes())
    digest.update(abstract.tobytes())
    digest.update("\n".join(vocabulary.tokens).encode())
    fingerprint = f"citation-1-{digest.hexdigest()[:16]}"
    return {
        "table": table,
        "title": title,
        "abstract": abstract,
        "fingerprint": np.frombuffer(fingerprint.encode(), np.uint8),
        **vocabulary_arrays(vocabulary),
    }


class TokenReader:
    """Encodes many texts at once, with the tokens of `Vocabulary.encode` in another order within a
    text.

    Each distinct word is split once, and phrases are found by looking up all adjacent pairs
    together.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._words = Words()
        self._counts = np.zeros(0, np.int32)
        self._pieces = np.zeros(0, np.int32)
        self._begins = np.zeros(0, np.int64)
        self._single = np.zeros(0, np.int32)
        self._lock = threading.Lock()
        pairs = [token.partition(" ") for token in vocabulary.tokens]
        numbers = {token: number for number, token in enumerate(vocabulary.tokens)}
        size = len(numbers)
        keys = np.array(
            [numbers[a] * size + numbers[b] if b else -1 for a, _, b in pairs], np.int64
        )
        order = np.argsort(keys, kind="stable")
        order = order[keys[order] >= 0]
        self._phrase_keys, self._phrases = keys[order], order.astype(np.int32)
        self._opens = np.zeros(size, np.bool_)
        self._opens[self._phrase_keys // size] = True
        self._closes = np.zeros(size, np.bool_)
        self._closes[self._phrase_keys % size] = True

    def read(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Token numbers of all texts in sequence, and the start of each text, shape (n + 1,)."""
        with self._lock:
            if len(self._words) > _MAX_WORDS:
                self._words = Words()
                self._counts = self._pieces = self._single = np.zeros(0, np.int32)
                self._begins = np.zeros(0, np.int64)
            flat, starts = self._words.encode(texts)
            self._learn()
            counts, pieces, begins, single = (
                self._counts,
                self._pieces,
                self._begins,
                self._single,
            )
        text_of_word = np.repeat(np.arange(len(texts)), np.diff(starts))
        per_word = counts[flat]
        ends = np.cumsum(per_word)
        inside = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - per_word, per_word)
        tokens = pieces[np.repeat(begins[flat], per_word) + inside]
        owner = np.repeat(text_of_word, per_word)
        found, at = self._find_phrases(single[flat], text_of_word)
        if len(found):
            tokens = np.concatenate([tokens, found])
            owner = np.concatenate([owner, at])
            order = np.argsort(owner, kind="stable")
            tokens, owner = tokens[order], owner[order]
        return tokens, np.searchsorted(owner, np.arange(len(texts) + 1))

    def _find_phrases(
        self, single: NDArray[np.int32], text: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if len(single) < 2 or not len(self._phrase_keys):
            return np.zeros(0, np.int32), np.zeros(0, np.int64)
        first, second = single[:-1], single[1:]
        near = (first >= 0) & (second >= 0) & (text[:-1] == text[1:])
        near &= self._opens[first] & self._closes[second]
        place = np.flatnonzero(near)
        keys = first[place].astype(np.int64) * len(self._opens) + second[place]
        slot = np.searchsorted(self._phrase_keys, keys)
        slot[slot == len(self._phrase_keys)] = 0
        hit = self._phrase_keys[slot] == keys
        return self._phrases[slot[hit]], text[place[hit]]

    def _learn(self) -> None:
        new = [
            self._vocabulary.encode_words(words(word.decode("utf-8", "ignore")))
            for word in self._words.since(len(self._counts))
        ]
        if not new:
            return
        counts = np.array([len(pieces) for pieces in new], np.int32)
        flat = np.array([piece for pieces in new for piece in pieces], np.int32)
        begins = len(self._pieces) + np.cumsum(counts, dtype=np.int64) - counts
        single = np.array([pieces[0] if len(pieces) == 1 else -1 for pieces in new], np.int32)
        self._counts = np.concatenate([self._counts, counts])
        self._pieces = np.concatenate([self._pieces, flat])
        self._begins = np.concatenate([self._begins, begins])
        self._single = np.concatenate([self._single, single])
