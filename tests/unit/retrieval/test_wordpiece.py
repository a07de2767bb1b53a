"""BERT's tokens, cut as the library `tokenizers` cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.retrieval.encoders.wordpiece import TOKENIZER, WordPiece

CUTTER = WordPiece()
TEXTS = (
    "The Adam optimizer (Kingma & Ba, 2015) -- 10% better!",
    "naïve Bayes, Gödel's théorème and Straße",
    "word2vec/GloVe: state-of-the-art, e.g. <http://x.org/a_b?c=d>",
    "用深度学习进行机器翻译 attention",
    "tab\tnew\nline\u00a0space \u200bzero width",
    "α-divergence, ∇f(x) ≤ ε, “quoted” … 5€",
    "x" * 101 + " after",
    "",
)


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_the_library(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    known = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    known.no_truncation()
    known.no_padding()
    assert WordPiece().encode(text) == known.encode(text, add_special_tokens=False).ids


def test_a_mark_in_the_text_is_text() -> None:
    # The library would read the network's own mark, which a paper must not be able to write.
    assert WordPiece().encode("[MASK]") == WordPiece().encode("[ mask ]")


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    assert all(0 <= number < 30_522 for number in CUTTER.encode(text))
