from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.model import CitewellError, CitingPaper, Query
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


def test_vectors_have_length_one_and_empty_texts_are_zeros(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    papers = encoder.encode_papers([("Deep networks for yield", "Weather."), ("", ""), ("zzz", "")])
    assert papers.shape == (3, encoder.dim) and papers.dtype == np.float32
    assert np.linalg.norm(papers, axis=1) == pytest.approx([1, 0, 0], abs=1e-5)
    queries = encoder.encode_queries([Query(), Query(text="yield")])
    assert np.linalg.norm(queries, axis=1) == pytest.approx([0, 1], abs=1e-5)


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


def test_the_title_counts_with_its_own_factor(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    a, b = encoder.encode_papers([("apple", "weather"), ("weather", "apple")])
    assert float(a @ b) < 0.999


def test_a_passage_and_typed_words_count_as_much(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    passage = Query(sentence="We follow earlier work [CITATION] on apple trees.")
    typed = Query(text="neural network")
    both = Query(sentence=passage.sentence, text=typed.text)
    one, other, mean = encoder.encode_queries([passage, typed, both])
    expected = (one + other) / np.linalg.norm(one + other)
    np.testing.assert_allclose(mean, expected, atol=1e-5)


def test_a_request_for_papers_is_read_as_a_passage_too(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    words = Query(text="apple trees")
    request = Query(text="apple trees", literature=True)
    one, other = encoder.encode_queries([words, request])
    assert float(one @ other) < 0.99


def test_the_citing_paper_is_read_as_a_work(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    about = CitingPaper(title="Deep networks for yield", abstract="Apple trees.")
    (alone,) = encoder.encode_topics([Query(text="long", paper=about)])
    (work,) = encoder.encode_papers([(about.title, about.abstract)])
    np.testing.assert_allclose(alone, work, atol=1e-5)
    many = encoder.encode_topics([Query(), Query(paper=about)])
    np.testing.assert_allclose(many, [np.zeros(encoder.dim), work], atol=1e-5)


def test_what_follows_the_read_part_of_a_passage_changes_nothing(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    near = "apple trees " * 40
    one = Query(sentence=f"{near} [CITATION] {near}")
    longer = Query(sentence=f"weather yield {near} [CITATION] {near} weather yield")
    np.testing.assert_array_equal(*encoder.encode_queries([one, longer]))


def test_where_a_word_stands_in_the_query_counts(encoder_weights: Path) -> None:
    encoder = CitationEncoder(encoder_weights)
    near = Query(sentence="apple weather [CITATION]", paper=CitingPaper(title="yield"))
    far = Query(sentence="weather apple [CITATION]", paper=CitingPaper(title="yield"))
    a, b = encoder.encode_queries([near, far])
    assert float(a @ b) < 0.99999


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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.text(max_size=300))
def test_no_text_breaks_the_encoder(encoder_weights: Path, text: str) -> None:
    encoder = CitationEncoder(encoder_weights)
    assert np.isfinite(encoder.encode_texts([text])).all()


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
