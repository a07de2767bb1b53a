"""Other queries by rules: specific words alone, acronyms written out; none that ask the same."""

from collections.abc import Sequence

from citewell.model import Query
from citewell.retrieval.understand import variants

COMMON = {"neural": 0.08, "model": 0.05, "recent": 0.02, "learning": 0.09, "graph": 0.004}


def shares(words: Sequence[str]) -> list[float]:
    return [COMMON.get(word, 1e-5) for word in words]


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
