from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.retrieval.words import Words, split


def test_words_are_lower_case_runs_of_letters_and_digits() -> None:
    assert split("Word2Vec: state-of-the-art (2013)!") == [
        b"word2vec", b"state", b"of", b"the", b"art", b"2013",
    ]  # fmt: skip


def test_accents_and_compatibility_forms_are_folded() -> None:
    assert split("Café ﬁeld, naïve—Müller") == [b"cafe", b"field", b"naive", b"muller"]


def test_other_scripts_keep_their_letters() -> None:
    assert split("Нейронные сети 机器翻译") == [
        "неиронные".encode(), "сети".encode(), "机器翻译".encode(),
    ]  # fmt: skip


def test_a_lone_surrogate_does_not_stop_the_split() -> None:
    assert split("a\ud800b c")[-1] == b"c"


@given(st.text())
def test_no_text_breaks_the_split_and_words_hold_no_blank(text: str) -> None:
    for word in split(text):
        assert word and not word.isspace()
        assert word.decode("utf-8").lower() == word.decode("utf-8") or not word.isascii()


def test_words_are_numbered_once_and_texts_keep_their_bounds() -> None:
    words = Words()
    flat, starts = words.encode(["a b a", "", "b c"])
    assert flat.tolist() == [0, 1, 0, 1, 2]
    assert starts.tolist() == [0, 3, 3, 5]
    words.encode(["d"])
    assert words.since(2) == [b"c", b"d"]
    assert len(words) == 4
