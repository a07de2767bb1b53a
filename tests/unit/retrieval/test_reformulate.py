"""Other queries by rules: specific words alone, acronyms written out; none that ask the same."""

from collections.abc import Sequence

import pytest

from citewell.model import Query
from citewell.retrieval.understand import specificity, variants

COMMON = {"neural": 0.08, "model": 0.05, "recent": 0.02, "learning": 0.09, "graph": 0.004}


def shares(words: Sequence[str]) -> list[float]:
    return [COMMON.get(word, 1e-5) for word in words]


def test_specificity_falls_with_the_share_of_titles() -> None:
    assert specificity(0) == specificity(1e-4) == 1
    assert specificity(1e-3) == pytest.approx(0.5)
    assert specificity(1e-2) == specificity(0.5) == 0


def test_the_keyword_query_keeps_specific_words_and_says_the_most_specific_twice() -> None:
    query = Query(sentence="A recent neural model learning with gryphons on a graph [CITATION].")
    (keywords,) = variants(query, shares)
    assert keywords.sentence == "gryphons graph gryphons"
    assert keywords.before == ()
    assert keywords.paper == query.paper


def test_vague_words_alone_make_no_query() -> None:
    assert variants(Query(sentence="A recent neural model learning model."), shares) == []
    assert variants(Query(text="gryphons"), shares) == []


def test_acronyms_are_written_out_where_they_stand() -> None:
    query = Query(
        text="GAT",
        sentence="We use GAT [CITATION].",
        acronyms=(("GAT", "graph attention network"),),
    )
    first = variants(query, shares)[0]
    assert first.text == "GAT graph attention network"
    assert first.sentence == "We use GAT graph attention network [CITATION]."


def test_an_acronym_that_the_passage_writes_out_is_found_there() -> None:
    query = Query(
        before=("We study named entity recognition (NER).",), sentence="NER is old [CITATION]."
    )
    assert "NER named entity recognition is old" in variants(query, shares)[0].sentence


def test_typed_words_are_put_in_the_terms_of_papers() -> None:
    texts = {
        "how to make language models smaller?": "compression of language models",
        "What are the best ways to detect fake news": "detect misinformation detection",
        "gnn for molecules": "gnn graph neural network for molecules",
        "RAG": "RAG retrieval augmented generation",
    }
    for text, term in texts.items():
        assert [one.text for one in variants(Query(text=text), shares)] == [term]
    assert variants(Query(sentence="We make models smaller [CITATION]."), shares) == []


def test_what_is_written_out_in_the_sentence_is_not_said_again() -> None:
    query = Query(sentence="Graph attention networks (GAT) [CITATION].")
    assert all("(GAT) graph" not in one.sentence for one in variants(query, shares))
