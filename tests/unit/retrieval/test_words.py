from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from citewell.retrieval.words import LONGEST_TEXT, Words, split


def test_accents_and_compatibility_forms_are_folded() -> None:
    assert split("Café ﬁeld, naïve—Müller") == [b"cafe", b"field", b"naive", b"muller"]


def test_other_scripts_keep_their_letters() -> None:
    assert split("Нейронные сети 机器翻译") == [
        "неиронные".encode(), "сети".encode(), *(pair.encode() for pair in ("机器", "器翻", "翻译")),
    ]  # fmt: skip


def test_a_lone_surrogate_does_not_stop_the_split() -> None:
    assert split("a\ud800b c")[-1] == b"c"


@given(st.text())
def test_no_text_breaks_the_split_and_words_hold_no_blank(text: str) -> None:
    for word in split(text):
        assert word and not word.isspace()
        assert word.decode("utf-8").lower() == word.decode("utf-8") or not word.isascii()


def read(words: Words, texts: list[str]) -> list[list[bytes]]:
    flat, starts = words.encode(texts)
    known = words.since(0)
    return [[known[number] for number in flat[begin:end]] for begin, end in pairwise(starts)]


@given(st.lists(st.lists(st.text(max_size=40), max_size=6), max_size=4))
def test_many_texts_at_once_give_the_words_of_each(passes: list[list[str]]) -> None:
    words = Words()
    for texts in passes:
        assert read(words, texts) == [split(text) for text in texts]
    assert len(set(words.since(0))) == len(words)


def test_a_text_without_end_is_cut() -> None:
    assert len(read(Words(), ["ab " * LONGEST_TEXT])[0]) == len(split("ab " * LONGEST_TEXT))


def test_chinese_and_japanese_titles_are_split_into_pairs_of_characters() -> None:
    assert [word.decode() for word in split("图神经网络 GNN")] == [
        "图神", "神经", "经网", "网络", "gnn",
    ]  # fmt: skip
    assert set(split("神经网络")) <= set(split("图神经网络综述"))
