"""Half a word at the end of a query, completed by the words of much-cited papers."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.retrieval.word_completion import WordTable, completed, word_arrays

PAPERS = (
    ("Neural Machine Translation by Jointly Learning to Align Dzmitry Bahdanau Cho", 20_000),
    ("BERT: Pre-training of Deep Transformers Jacob Devlin Chang", 80_000),
    ("RobustFill: Program Learning under Noise Jacob Devlin", 400),
    ("Fast Joint Models Jacob Devlin", 500),
    ("Parsing of Berber Ute Ber", 3),
    ("Attention Is All You Need Ashish Vaswani", 100_000),
    ("Vascular Trees of Leaves", 40),
    ("Graph Attention Networks Petar Veličković", 15_000),
    ("Graph Attributes", 10),
    ("Atmospheric Models", 90_000),
    ("Robust Parsing", 50_000),
    ("Berry Trees", 90_000),
    ("THE SERIES BERLIN", 90_000),
    ("A Study of 2015 and 2016", 10),
)


def table(papers: tuple[tuple[str, int], ...] = PAPERS) -> WordTable:
    texts, cited = zip(*papers, strict=True)
    return WordTable(word_arrays(texts, np.array(cited, np.float64)))


def known(*words: str):
    return lambda word: word.lower() in words


@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("bahd", "bahdanau"),
        ("Bahd", "Bahdanau"),
        ("Robu", "Robust"),
        ("RobustF", "RobustFill"),
        ("BER", "BERT"),
        ("vas", "vaswani"),  # vascular comes first in the alphabet
        ("graph att", "graph attention"),  # and not by the much-cited atmosphere
        ("atm", "atmospheric"),
        ("attention is all you nee", "attention is all you need"),
        ("velič", "veličkovic"),
        ("(bahd", "(bahdanau"),
        ("pre-trai", "pre-training"),
    ],
)
def test_half_a_word_is_completed(typed: str, whole: str) -> None:
    assert completed(typed, [table()], known()) == whole


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "ba",  # too short
        "bahdanau",
        "bahdanau ",  # a blank ends the word
        "bahd 2015",
        "zzyzx",
        "2015",
        "10.1234/bahd",
        "author:bahd",
        "bert",
    ],
)
def test_what_is_no_half_word_stays(typed: str) -> None:
    assert completed(typed, [table()], known()) == typed


def test_a_name_is_completed_only_where_the_words_before_it_leave_no_doubt() -> None:
    words, is_known = [table()], known("ber")
    assert completed("ber", words, is_known) == "ber"
    assert completed("devlin ber", words, is_known) == "devlin bert"
    # A name of which the table has no paper, too.
    assert completed("bah", words, known("bah")) == "bah"


def test_the_tables_of_several_libraries_count_together() -> None:
    own = table((("Vasectomy", 1_000), ("Vascular Flow", 1_000)))
    assert completed("vas", [own], known()) == "vascular"
    assert completed("vas", [own, table()], known()) == "vaswani"
    assert completed("vasc", [own, table()], known()) == "vascular"


def test_a_table_of_no_papers_completes_nothing() -> None:
    assert completed("bahd", [WordTable(word_arrays([], np.zeros(0)))], known()) == "bahd"
    assert completed("bahd", [], known()) == "bahd"
