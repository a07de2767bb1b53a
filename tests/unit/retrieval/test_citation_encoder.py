from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.model import CitewellError, Query
from citewell.retrieval.encoders.citation import CitationEncoder, TokenReader
from citewell.retrieval.tokens import Vocabulary

VOCABULARY = Vocabulary(
    [
        "neural",
        "net",
        "work",
        "networks",
        "apple",
        "trees",
        "long",
        "apple trees",
        "neural networks",
    ]
)
TEXTS = st.lists(
    st.sampled_from(
        [
            "neural",
            "Networks",
            "network",
            "apple",
            "trees,",
            "apple-trees",
            "zz",
            "naïve",
            "long",
            "é",
        ]
    ),
    max_size=12,
).map(" ".join)


@given(st.lists(TEXTS, max_size=6))
def test_the_fast_reader_finds_the_tokens_of_the_vocabulary(texts: list[str]) -> None:
    reader = TokenReader(VOCABULARY)
    for _ in range(2):  # the second pass reads remembered words
        tokens, starts = reader.read(texts)
        for number, text in enumerate(texts):
            own = tokens[starts[number] : starts[number + 1]].tolist()
            assert sorted(own) == sorted(VOCABULARY.encode(text))


def test_a_remembered_query_has_the_vector_of_a_new_one() -> None:
    queries = [Query(text=f"neural {word}") for word in VOCABULARY.tokens * 3]
    queries += [Query(text=f"{word} {word}", sentence="attention") for word in VOCABULARY.tokens]
    encoder = CitationEncoder()
    first = encoder.encode_queries(queries)
    first_copy = first.copy()
    first[:] = 0  # what a caller does with its vectors changes no remembered one
    again = encoder.encode_queries(queries[::-1])[::-1]
    np.testing.assert_array_equal(again, first_copy)
    assert len({vector.tobytes() for vector in first_copy}) > len(VOCABULARY)


def test_a_phrase_does_not_reach_over_the_end_of_a_text() -> None:
    tokens, _ = TokenReader(VOCABULARY).read(["apple", "trees"])
    assert VOCABULARY.tokens.index("apple trees") not in tokens.tolist()


def test_a_paper_has_the_same_vector_alone_and_in_bulk(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    papers = [
        ("Deep networks for yield", "A neural network predicts yield."),
        ("Long sentences", ""),
    ]
    one = np.concatenate([encoder.encode_papers([paper]) for paper in papers])
    many = encoder.encode_papers(papers * 400)
    np.testing.assert_allclose(many[:2], one, atol=1e-5)
    np.testing.assert_allclose(many[-2:], one, atol=1e-5)


def test_the_fingerprint_follows_the_weights(encoder_weights: Path) -> None:
    before = CitationEncoder(encoder_weights).fingerprint
    assert CitationEncoder(encoder_weights).fingerprint == before
    with np.load(encoder_weights / "table.npz") as file:
        arrays = dict(file)
    arrays["abstract_weight"] = arrays["abstract_weight"] * np.float16(0.5)
    np.savez(encoder_weights / "table.npz", **arrays)
    assert CitationEncoder(encoder_weights).fingerprint != before


@pytest.mark.parametrize(
    "damage", ["missing", "cut", "short vocabulary", "no weights", "pickle", "transformer"]
)
def test_damaged_weights_are_refused_with_a_cure(encoder_weights: Path, damage: str) -> None:
    file = encoder_weights / "table.npz"
    with np.load(file) as opened:
        arrays = dict(opened)
    if damage == "missing":
        file.unlink()
    elif damage == "transformer":
        (encoder_weights / "encoder.npz").write_bytes(b"no weights")
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-500])
    elif damage == "short vocabulary":
        (encoder_weights / "vocab.txt").write_text("apple\n", encoding="utf-8")
    elif damage == "no weights":
        del arrays["title_weight"]
        np.savez(file, **arrays)
    else:
        arrays["table"] = np.array([object()], dtype=object)
        np.savez(file, **arrays)
    with pytest.raises(CitewellError) as caught:
        CitationEncoder(encoder_weights)
    assert caught.value.problem.code == "encoder-weights"
    assert caught.value.problem.hint


def test_who_loads_the_encoder_while_another_uses_it_gets_the_same() -> None:
    """In a process of its own: here another test may still use the encoder."""
    code = """
import gc, weakref
from citewell.retrieval.encoders.registry import load_encoder
first = load_encoder("citation")
assert load_encoder("citation") is first
known = weakref.ref(first)
del first
gc.collect()
assert known() is None, "it is let go with its last user"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
