"""The default encoder: a table of token vectors, summed with learned weights.

It needs numpy only and embeds a quarter of a million abstracts in seconds, so a library is
searchable by meaning right after its import. The table is trained on titles, abstracts and
citing sentences by `citewell_lab.training`.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.arrays import Arrays, mapped_arrays
from citewell.model import CitewellError, Problem, Query
from citewell.retrieval import zones
from citewell.retrieval.encoders.contract import Paper
from citewell.retrieval.tokens import MappedVocabulary, Vocabulary, vocabulary_arrays, words
from citewell.retrieval.words import Words

WEIGHTS = Path(__file__).parent.parent / "weights"
VOCABULARY, TABLE = "vocab.txt", "static.npz"
_CHUNK = 4096
_REMEMBERED = 16
_MAX_WORDS = 1_000_000
"""Maximum number of distinct words whose tokens are cached; beyond it the cache is cleared."""


class StaticEncoder:
    """Vectors are sums of token vectors, each times the token's weight, brought to length 1.

    `weights` is a folder with `vocab.txt` (one token a line) and `static.npz`: `table` int8
    (V, d), `scale`, `query_weight` and `paper_weight` float16 (V,), `query_zones` float16 (27,),
    `paper_zones` float16 (2,). A token's vector is its row of `table` times its `scale`; the zones
    are factors for where in a query a token stands (`retrieval.zones`), and for title and abstract.
    """

    name = "static"

    def __init__(self, weights: Path = WEIGHTS) -> None:
        try:
            arrays = _mapped(weights) if weights == WEIGHTS else _arrays(weights)
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise CitewellError(
                Problem(
                    "encoder-weights",
                    f"The static encoder's weights cannot be read ({error}).",
                    "Reinstall citewell; until then set `retrieval.dense` to false.",
                    path=str(weights),
                )
            ) from error
        self._vocabulary: Vocabulary = MappedVocabulary(arrays)
        self._table: NDArray[np.int8] = arrays["table"]
        self._query_weight: NDArray[np.float32] = arrays["query_weight"]
        self._paper_weight: NDArray[np.float32] = arrays["paper_weight"]
        self._query_zones: NDArray[np.float32] = arrays["query_zones"]
        self._paper_zones: NDArray[np.float32] = arrays["paper_zones"]
        self.dim = int(self._table.shape[1])
        self.fingerprint = arrays["fingerprint"].tobytes().decode()
        self._encoded: OrderedDict[Query, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def _reader(self) -> TokenReader:
        # Only builds of a library read papers.
        return TokenReader(Vocabulary(self._vocabulary.tokens))

    def encode_papers(self, papers: Sequence[Paper]) -> NDArray[np.float32]:
        """Title and abstract, each with its factor."""
        bulk = len(papers) > _CHUNK // 8
        table = self._table * self._paper_weight[:, None] if bulk else None
        out = np.zeros((len(papers), self.dim), np.float32)
        for begin in range(0, len(papers), _CHUNK):
            texts = [text for paper in papers[begin : begin + _CHUNK] for text in paper]
            tokens, starts = self._reader.read(texts)
            factor = np.repeat(np.resize(self._paper_zones, len(texts)), np.diff(starts))
            if table is None:
                factor *= self._paper_weight[tokens]
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

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """The whole query, each token with the factor of its zone.

        The last queries are remembered: in a search more than one part asks for their vectors.
        """
        out = np.zeros((len(queries), self.dim), np.float32)
        for row, query in enumerate(queries):
            with self._lock:
                found = self._encoded.get(query)
            out[row] = self._remember(query) if found is None else found
        return out

    def _remember(self, query: Query) -> NDArray[np.float32]:
        vector = np.zeros((1, self.dim), np.float32)
        tokens, places = zones.query_tokens(self._vocabulary, query)
        if tokens:
            ids = np.array(tokens)
            factor = self._query_weight[ids] * self._query_zones[np.array(places)]
            vector[0] = factor @ self._table[ids].astype(np.float32)
        unit: NDArray[np.float32] = _unit(vector)[0]
        with self._lock:
            self._encoded[query] = unit
            while len(self._encoded) > _REMEMBERED:
                self._encoded.popitem(last=False)
        return unit

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As if each text were typed into a placeholder without any context."""
        return self.encode_queries([Query(text=text) for text in texts])


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, length, out=rows, where=length > 0)
    return rows


def _mapped(weights: Path) -> Arrays:
    """The arrays of weights that stay, mapped from the cache."""
    files = [weights / VOCABULARY, weights / TABLE]
    return mapped_arrays("static-1", files, partial(_arrays, weights))


def _arrays(weights: Path) -> Arrays:
    """What the encoder reads. Raises `OSError`, `ValueError`, `KeyError` and `BadZipFile` for
    weights that are damaged."""
    vocabulary = Vocabulary.read(weights / VOCABULARY)
    with (weights / TABLE).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        table: NDArray[np.int8] = file["table"]
        scale = file["scale"].astype(np.float32)
        query_weight = scale * file["query_weight"].astype(np.float32)
        paper_weight = scale * file["paper_weight"].astype(np.float32)
        query_zones = file["query_zones"].astype(np.float32)
        paper_zones = file["paper_zones"].astype(np.float32)
    if table.dtype != np.int8 or table.ndim != 2:
        raise ValueError("table is not a matrix of int8")
    if {len(table), len(scale), len(query_weight), len(paper_weight)} != {len(vocabulary)}:
        raise ValueError("table, weights and vocabulary differ in length")
    if query_zones.shape != (zones.COUNT,) or paper_zones.shape != (2,):
        raise ValueError("the factors of the zones have another shape")
    digest = hashlib.sha256(table.tobytes())
    digest.update(paper_weight.tobytes())
    digest.update(paper_zones.tobytes())
    digest.update("\n".join(vocabulary.tokens).encode())
    fingerprint = f"static-1-{digest.hexdigest()[:16]}"
    return {
        "table": table,
        "query_weight": query_weight,
        "paper_weight": paper_weight,
        "query_zones": query_zones,
        "paper_zones": paper_zones,
        "fingerprint": np.frombuffer(fingerprint.encode(), np.uint8),
        **vocabulary_arrays(vocabulary),
    }


class TokenReader:
    """`Vocabulary.encode` for many texts at once; the same tokens, in another order within a text.

    Each distinct word is cut once, and phrases are found by looking all adjacent pairs up
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
        """Token numbers of all texts end to end, and where each text begins, shape (n + 1,)."""
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
