"""What the bundled cross-encoder reads: a passage and a paper as short lists of tokens.

The same in training and at work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from citewell.model import Query, Work
from citewell.model.query import MARK, OTHER

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
