"""A cross-encoder trained on citations, as `citewell_lab.training.crossencoder` writes it.

Its score is evidence beside the ranker's, not an order of its own: the two are added with a weight
that was fitted on papers that trained neither (`combination.json`). The confidence is the ranker's,
of the scores with the model's or without them, whichever is lower: it was calibrated without them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import Query, Work
from citewell.model.cancel import Cancel
from citewell.model.query import MARK, OTHER
from citewell.ranking.contract import Calibrate, Ordering
from citewell.ranking.cross_encoder import Moved

# What the bundled cross-encoder reads: a passage and a paper as short lists of tokens.
#
# The same in training and at work.

PASSAGE_TOKENS, PAPER_TOKENS = 80, 40
LEFT, RIGHT, TITLE, BEFORE = 32, 14, 14, 16
"""Tokens of a passage: before and after the place, of the citing paper's title, of the sentence
before."""
PAPER_TITLE, ABSTRACT_CHARACTERS = 22, 300
CLS, SEP, PLACE = "[CLS]", "[SEP]", "[MASK]"
_SPACE = re.compile(r"\s+")


class PairTexts:
    """Cuts texts for one tokenizer (of the package `tokenizers`). Safe across threads."""

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._cls, self._sep, self._place = map(tokenizer.token_to_id, (CLS, SEP, PLACE))

    def passage(self, query: Query) -> list[int]:
        """The sentence around the place, the citing paper's title, the end of the sentence before;
        at most `PASSAGE_TOKENS` ids."""
        left, mark, right = query.sentence.partition(MARK)
        before = query.before[-1] if query.before else ""
        parts = self._ids([left, right, query.paper.title, before, query.text])
        context = [*parts[4][:LEFT], *parts[0][-LEFT:]][-LEFT:]
        place = [self._place] if mark else []
        return [
            self._cls, *context, *place, *parts[1][:RIGHT], self._sep,
            *parts[2][:TITLE], self._sep, *parts[3][-BEFORE:],
        ][:PASSAGE_TOKENS]  # fmt: skip

    def papers(self, works: Sequence[Work]) -> list[list[int]]:
        """Title, first author and year, and the beginning of the abstract; at most
        `PAPER_TOKENS` ids each."""
        texts: list[str] = []
        for work in works:
            author = work.authors[0].family if work.authors else ""
            texts += [
                work.title,
                f"{author} {work.year or ''}",
                work.abstract[:ABSTRACT_CHARACTERS],
            ]
        parts = self._ids(texts)
        return [
            [
                self._cls, *parts[at][:PAPER_TITLE], self._sep, *parts[at + 1][:5], self._sep,
                *parts[at + 2],
            ][:PAPER_TOKENS]
            for at in range(0, len(parts), 3)
        ]  # fmt: skip

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        plain = [_clean(text) for text in texts]
        return [one.ids for one in self._tokenizer.encode_batch(plain, add_special_tokens=False)]


def _clean(text: str) -> str:
    """One line, without the lone surrogates that tokenizers refuse."""
    text = _SPACE.sub(" ", text.replace(OTHER, " ").replace(MARK, " "))
    return text.encode("utf-8", "replace").decode("utf-8").strip()


MODEL, TOKENIZER, COMBINATION = "model.onnx", "tokenizer.json", "combination.json"
BATCH = 16
"""Papers between two looks at whether the search was cancelled."""
_MAX_FILE = 1 << 16


class Combination(msgspec.Struct, frozen=True):
    """How the score is added to the ranker's."""

    weight: float
    """Of the score, whose mean over the list is taken off, beside the ranker's."""


class CitationCrossEncoder:
    """The model of a folder. Safe to call from several threads."""

    def __init__(self, folder: Path, onnxruntime: Any, tokenizers: Any, options: Any) -> None:
        """`options` are onnxruntime's. Raises what the two packages and msgspec raise."""
        self.combination = read_combination(folder)
        self._session = onnxruntime.InferenceSession(
            str(folder / MODEL), options, providers=["CPUExecutionProvider"]
        )
        self._texts = PairTexts(tokenizers.Tokenizer.from_file(str(folder / TOKENIZER)))

    def scores(self, query: Query, works: Sequence[Work], cancel: Cancel) -> NDArray[np.float32]:
        """How well each work fits the place of the query, shape (n,). Raises `Cancelled`."""
        passage = np.array([self._texts.passage(query)], np.int64)
        papers = self._texts.papers(works)
        # Those of like length share a batch, so that little is padded.
        order = sorted(range(len(papers)), key=lambda n: len(papers[n]))
        out = np.zeros(len(papers), np.float32)
        for start in range(0, len(order), BATCH):
            cancel.check()
            part = order[start : start + BATCH]
            ids = np.zeros((1, len(part), len(papers[part[-1]])), np.int64)
            for row, number in enumerate(part):
                ids[0, row, : len(papers[number])] = papers[number]
            given = {"passage": passage, "papers": ids}
            out[part] = self._session.run(None, given)[0][0]
        cancel.check()
        return np.nan_to_num(out, nan=-1e3, neginf=-1e3, posinf=1e3).astype(np.float32)

    def rerank(
        self, query: Query, ordering: Ordering, head: Sequence[Work], cancel: Cancel
    ) -> tuple[Ordering, list[Moved]]:
        """The ordering with the score added to those of its first places, and what moved."""
        return combine(ordering, self.scores(query, head, cancel), self.combination)


def is_place(query: Query) -> bool:
    """Whether a query is what the model was trained for: a citing sentence without typed words,
    which mean one paper whatever the sentence says."""
    return bool(query.sentence.strip()) and not query.typed


def combine(
    ordering: Ordering, scores: NDArray[np.float32], how: Combination
) -> tuple[Ordering, list[Moved]]:
    """The ordering after the model's scores of its first places, shape (k,), and where the papers
    now in those places stood.

    The places below keep their order, and stay below.
    """
    count = len(scores)
    if not count:
        return ordering, []
    added = ordering.scores[:count] + how.weight * (scores - scores.mean())
    places = np.lexsort((np.arange(count), -added))
    rest = np.minimum(ordering.scores[count:], added.min())
    changed = np.concatenate([added[places], rest]).astype(np.float32)
    calibrate = ordering.calibrate
    if calibrate is not None:
        given = changed - ordering.scores[np.concatenate([places, np.arange(count, len(changed))])]
        if (places != np.arange(count)).any():
            calibrate = partial(_of_places, calibrate, places)
        if given.any():
            calibrate = partial(_lower, calibrate, given)
    moved = [Moved(rank, float(scores[p]), int(p) + 1) for rank, p in enumerate(places, 1)]
    order = np.concatenate([ordering.order[:count][places], ordering.order[count:]])
    confidence = None if calibrate is None else calibrate(changed)
    return Ordering(order, changed, confidence, calibrate), moved


def _lower(
    calibrate: Calibrate, given: NDArray[np.float32], scores: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The lower of the confidences of the scores, and of the scores without what the model has
    `given` to each, shape (n,)."""
    return np.asarray(np.minimum(calibrate(scores), calibrate(scores - given)), np.float32)


def _of_places(
    calibrate: Calibrate, places: NDArray[np.int64], scores: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The confidence of scores whose first `len(places)` stand for these places of the ordering
    that `calibrate` belongs to; the others keep their place."""
    order = np.concatenate([places, np.arange(len(places), len(scores))])
    before = np.empty_like(scores)
    before[order] = scores
    return np.asarray(calibrate(before)[order], np.float32)


def read_combination(folder: Path) -> Combination:
    """The combination of a model's folder. Raises OSError, and ValueError for another file."""
    with (folder / COMBINATION).open("rb") as stream:
        found = msgspec.json.decode(stream.read(_MAX_FILE), type=Combination)
    if not math.isfinite(found.weight):
        raise ValueError("its weight is not finite")
    return found


def write_combination(how: Combination, folder: Path) -> None:
    """Writes the file."""
    text = json.dumps(msgspec.to_builtins(how), indent=1)
    (folder / COMBINATION).write_text(text + "\n", encoding="utf-8")
