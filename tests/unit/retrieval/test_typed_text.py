"""Typed words with their accents composed, and the way back to what was typed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.model.query import QueryPart, Understood
from citewell.retrieval.structure import KEY, as_read, key_words, plain_names


@pytest.mark.parametrize(
    "text", ["Müller", "Đặng", "がくせい", "한국어", "Ω Å", "Kovač — Ṩ", "naïve…"]
)
def test_decomposed_letters_are_composed(text: str) -> None:
    assert as_read(unicodedata.normalize("NFD", text)).text == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"{\O}rsted", "Ørsted"),
        (r"\O rsted and S{\o}gaard", "Ørsted and Søgaard"),
        (r"\'{\i}", "í"),
        (r"{\'{\i}}", "í"),
        (r"Mikolaj{\'c}zyk", "Mikolajćzyk"),
        (r"\c{C}a\u{g}lar", "Çağlar"),
        (r"Stra\ss{}e", "Straße"),
        (r"\L{}ukasz", "Łukasz"),
        (r"C:\users\option", r"C:\users\option"),
        (r"\"quoted text\"", r"\"quoted text\""),
    ],
)
def test_latex_accents_are_letters(text: str, read: str) -> None:
    assert as_read(text).text == read


@given(st.text(st.sampled_from("aou \u0301\u0308\\{}\"'~ovc\u1100\u1161ø한")))
def test_each_part_has_a_place_in_the_original(text: str) -> None:
    read = as_read(text)
    size = len(read.text)
    assert len(read.starts) == len(read.ends) == size
    parts = tuple(QueryPart(start=n, end=n + 1, kind="author", value="x") for n in range(size))
    at = 0
    for part in read.in_original(Understood(parts=parts)).parts:
        assert at <= part.start < part.end <= len(text)
        at = part.end


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("vaswani2017", "vaswani 2017"),
        ("vaswani2017attention", "vaswani 2017 attention"),
        ("Vaswani_2017_attention", "Vaswani 2017 attention"),
        ("vaswani17", "vaswani 2017"),
        ("vaswani98attention", "vaswani 1998 attention"),
        ("vaswani2017b", "vaswani 2017"),
        ("vaswani27", "vaswani 2027"),  # may be out next year
        ("vaswani40", "vaswani40"),
        ("vaswani2100", "vaswani2100"),
        ("vaswani217", "vaswani217"),
        ("resnet50", "resnet50"),
        ("wmt2014", "wmt2014"),
        ("llama13", "llama13"),  # a word of titles rather than a surname
        ("llama2013", "llama 2013"),
    ],
)
def test_a_key_of_a_known_author_is_read_as_its_words(key: str, words: str) -> None:
    def is_author(name: str, mostly: bool) -> bool:
        return name.lower() == "vaswani" or (name == "llama" and not mostly)

    assert KEY.fullmatch(key) or words == key
    assert key_words(key, 2026, is_author) == words


@pytest.mark.parametrize(
    "text", ["arXiv:1706.03762", "CoNLL-2011", "p<2017>", "10.1234/abc2017", "a2017", "2017"]
)
def test_other_words_have_not_the_form_of_a_key(text: str) -> None:
    assert KEY.search(text) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("adam optimizer", [("adam", False)]),
        (
            "the Adam optimiser",
            [("Adam optimiser", True), ("Adam optimizer", True), ("Adam", False)],
        ),
        ("layer norm", [("layer normalization", True)]),
        ("batch normalisation", [("batch normalization", True)]),
        ("moses smt", [("moses", False)]),
        ("coco dataset benchmark", [("coco dataset", False), ("coco", False)]),
        ("dataset", []),
        ("graph attention", []),
        ("a text of many words about a dataset", []),
    ],
)
def test_a_name_is_read_without_what_bears_it_and_written_out(
    text: str, names: list[tuple[str, bool]]
) -> None:
    assert list(plain_names(text)) == names
