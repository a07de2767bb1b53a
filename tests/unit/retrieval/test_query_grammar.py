"""What is understood of typed words, with a handful of known names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.retrieval.query_grammar.words import asks_for_papers
from citewell.retrieval.structure import Reading, read_query

NOW = 2024


class Names:
    """A library in which three people write, two venues appear, one system has a name, and papers
    are about two topics."""

    people: ClassVar = {("yann", "lecun"): 80, ("kaiming", "he"): 50, ("ming", "fisher"): 30}
    titles: ClassVar = {"fisher": 200, "attention": 9000, "networks": 20000, "neurips": 3}
    venues: ClassVar = {"neurips": "NeurIPS", "nature": "Nature"}

    def surname(self, word: str) -> int:
        indexed = {f: n for (_, f), n in self.people.items() if f != "he"}
        return indexed.get(word.lower(), 0)

    def spelling(self, word: str) -> str:
        return word

    def titled(self, word: str) -> int:
        return self.titles.get(word.lower(), 0)

    def opens_title(self, phrase: str) -> bool:
        return False

    def titles_with(self, phrase: str) -> int:
        return 12 if phrase.lower() in ("classic planning", "influential routers") else 0

    def papers_on(self, topic: str) -> int:
        return 900 if set(topic.lower().split()) <= {"topic", "models", "planning", "tasks"} else 2

    def has_author(self, name: str) -> bool:
        words = name.lower().replace(".", "").replace(",", "").split()
        return any(
            family in words and all(w == family or given.startswith(w) for w in words)
            for given, family in self.people
        )

    def has_person(self, given: str, family: str) -> bool:
        return (given.lower(), family.lower()) in self.people

    def are_coauthors(self, surnames: Sequence[str]) -> bool:
        return {"lecun", "fisher"} <= {one.lower() for one in surnames}

    def venue(self, text: str, *, is_marked: bool) -> str:
        found = self.venues.get(text.lower(), "")
        return found if is_marked or found != "Nature" else ""

    def is_system(self, word: str) -> bool:
        return word.lower() == "bert"

    def work(self, text: str) -> str:
        return "t:bert" if text.lower() == "bert" else ""


def read(text: str) -> Reading:
    return read_query(text, Names(), NOW)


def conditions_of(text: str) -> dict[str, Any]:
    """The parts that were understood, without the topic."""
    query = read(text).understood.query
    return {
        name: getattr(query, name)
        for name in query.__struct_fields__
        if name != "topic" and getattr(query, name) not in ((), "", None, False)
    }


@pytest.mark.parametrize(
    ("text", "topic", "found"),
    [
        ("papers by Yann LeCun on convolution", "convolution", {"authors": ("Yann LeCun",)}),
        ("yann lecun convolution", "convolution", {"authors": ("yann lecun",)}),
        ("Y. LeCun convolution", "convolution", {"authors": ("Y. LeCun",)}),
        ("LeCun, Yann convolution", "convolution", {"authors": ("LeCun, Yann",)}),
        ("LeCun, Y. convolution", "convolution", {"authors": ("LeCun, Y.",)}),
        ("LeCun's papers on convolution", "convolution", {"authors": ("LeCun",)}),
        ("Kaiming He residual", "residual", {"authors": ("Kaiming He",)}),
        ("He et al. residual", "residual", {"authors": ("He",)}),
        (
            "he fisher lecun 2019",
            "",
            {"authors": ("he", "fisher", "lecun"), "year_from": 2019, "year_to": 2019},
        ),
        ("by LeCun and Kaiming He, pooling", "pooling", {"authors": ("LeCun", "Kaiming He")}),
        ("fisher information", "", {}),
        ("Ming Fisher information", "information", {"authors": ("Ming Fisher",)}),
        ("reduction by attention networks", "", {}),
        ("attention at NeurIPS", "attention", {"venues": ("NeurIPS",)}),
        ("attention neurips", "attention", {"venues": ("NeurIPS",)}),
        ("patterns in nature", "", {}),
        ("patterns, published in Nature", "patterns", {"venues": ("Nature",)}),
        ('"graph attention" links', "graph attention links", {"phrases": ("graph attention",)}),
        ("parsing -dependency", "parsing", {"none_of": ("dependency",)}),
        ('parsing -"deep learning"', "parsing", {"none_of": ("deep learning",)}),
        ("parsing but not dependency or shift", "parsing", {"none_of": ("dependency", "shift")}),
        ("parsing NOT dependency", "parsing", {"none_of": ("dependency",)}),
        ("self-attention pre-training", "", {}),
        ("survey of parsing", "survey of parsing", {"kinds": ("survey",)}),
        ("parsing datasets", "parsing datasets", {"kinds": ("dataset",)}),
        ("parsing benchmark", "", {}),
        ("recent papers on parsing", "parsing", {"recency": "recent"}),
        ("recent advances in parsing", "parsing", {"recency": "recent"}),
        ("early work on parsing", "parsing", {"recency": "early"}),
        ("classic papers on parsing", "parsing", {"influential": True}),
        ("classic soups", "", {}),
        ("classic topic models", "topic models", {"influential": True}),
        ("What are the most cited topic models?", "topic models", {"influential": True}),
        ("seminal planning", "planning", {"influential": True}),
        ("landmark planning papers", "planning", {"influential": True}),
        ("classic planning tasks", "", {}),
        ("classic planning", "", {}),
        ("classic parsing of soups", "", {}),
        ("influential nodes of topic models", "", {}),
        ("landmark topic models", "", {}),
        ("topic models and classic planning tasks", "", {}),
        ("which papers are most cited in planning", "planning", {"influential": True}),
        ("parsing with at least 100 citations", "parsing", {"min_citations": 100}),
        ("parsing cited more than 50 times", "parsing", {"min_citations": 51}),
        ("parsing cited at least 50 times", "parsing", {"min_citations": 50}),
        ("parsing, over 50 citations", "parsing", {"min_citations": 51}),
        ("parsing > 50 citations", "parsing", {"min_citations": 51}),
        ("parsing >= 50 citations", "parsing", {"min_citations": 50}),
        ("parsing 50+ citations", "parsing", {"min_citations": 50}),
        ("parsing citations:>20", "parsing", {"min_citations": 21}),
        ("parsing citations:> 20", "parsing", {"min_citations": 21}),
        ("parsing citations:>=20", "parsing", {"min_citations": 20}),
        ("parsing citations:≥20", "parsing", {"min_citations": 20}),
        ("parsing citations:20", "parsing", {"min_citations": 20}),
        ("parsing citations:20+", "parsing", {"min_citations": 20}),
        ("parsing kind:survey", "parsing survey", {"kinds": ("survey",)}),
        ("papers citing BERT about parsing", "parsing", {"cites": ("t:bert",)}),
        ("cited by BERT", "", {"cited_by": ("t:bert",)}),
        ("similar to BERT", "", {"like": ("t:bert",)}),
        ("citing nobody we know", "", {}),
    ],
)  # fmt: skip
def test_the_grammar(text: str, topic: str, found: dict[str, Any]) -> None:
    assert conditions_of(text) == found
    assert read(text).understood.query.topic == topic


@pytest.mark.parametrize(
    ("text", "low", "high", "is_filter"),
    [
        ("parsing 2019", 2019, 2019, False),
        ("parsing in 2019", 2019, 2019, False),
        ("parsing since 2020", 2020, None, True),
        ("parsing before 2018", None, 2017, True),
        ("parsing between 2015 and 2018", 2015, 2018, True),
        ("parsing in the last three years", 2021, None, True),
        ("parsing of the past decade", 2014, None, True),
        ("parsing in the 1990s", 1990, 1999, True),
        ("parsing in the early 2010s", 2010, 2013, True),
        ("parsing last year", 2023, 2023, True),
        ("parsing year:2012..2014", 2012, 2014, True),
        ("parsing prior to 2000", None, 1999, True),
        ("parsing 2019 or newer", 2019, None, True),
    ],
)
def test_years(text: str, low: int | None, high: int | None, is_filter: bool) -> None:
    found = read(text)
    assert (found.understood.query.year_from, found.understood.query.year_to) == (low, high)
    bounds = {"year_from": low, "year_to": high} if is_filter else {}
    assert found.filters == {name: year for name, year in bounds.items() if year is not None}


def test_the_parts_are_ranges_of_the_text_and_do_not_overlap() -> None:
    text = 'Papers by Yann LeCun at NeurIPS since 2015 "graph attention" -survey'
    parts = read(text).understood.parts
    assert [(text[part.start : part.end], part.kind, part.value) for part in parts] == [
        ("by Yann LeCun", "author", "Yann LeCun"),
        ("at NeurIPS", "venue", "NeurIPS"),
        ("since 2015", "year", "2015-"),
        ('"graph attention"', "phrase", "graph attention"),
        ("-survey", "excluded", "-survey"),
    ]


def test_a_plus_sign_makes_a_word_of_what_would_be_a_condition() -> None:
    assert conditions_of("+LeCun +2017 +neurips") == {}
    assert read("+LeCun parsing").words == "LeCun parsing"


@pytest.mark.parametrize(
    "text",
    [
        "In 2019, LeCun showed at NeurIPS that attention works well for parsing.",
        "We follow the approach of Yann LeCun since 2015 for our own networks",
        "Attention helps translation a lot (LeCun et al., 2019) and parsing [CITATION]",
        "word " * 50 + "LeCun 2019",
    ],
)
def test_years_and_names_in_a_sentence_are_no_conditions(text: str) -> None:
    found = read(text)
    assert found.understood.parts == ()
    assert found.filters == {}


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    found = read(text)
    at = 0
    for part in found.understood.parts:
        assert at <= part.start < part.end <= len(text)
        at = part.end


@pytest.mark.parametrize(
    "text",
    [
        "Which papers study the pruning of apple trees?",
        "Could you provide me some works about irrigation?",
        "Are there any studies on orchards",
        "Any research focused on drought?",
        "Who proposed drip irrigation?",
        "papers on irrigation since 2015",
        "list articles about orchards",
    ],
)
def test_a_request_for_papers_is_a_literature_question(text: str) -> None:
    assert asks_for_papers(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "irrigation of apple orchards",
        "What Does BERT Look At?",
        "Are Transformers Effective for Time Series Forecasting?",
        "Show, attend and tell",
        "Can you unpack that? Learning to rewrite questions",
        "vaswani 2017 attention",
        "Studies on Hysteria",
        "a study of papers and pens",
        "Pruning is what most papers of the last years describe. We follow them.",
    ],
)
def test_words_that_may_mean_one_paper_are_no_literature_question(text: str) -> None:
    assert not asks_for_papers(text)


def test_a_surname_of_two_words_is_one_name() -> None:
    class WithVanHorn(Names):
        def has_author(self, name: str) -> bool:
            return name.lower() == "van horn" or super().has_author(name)

    read = read_query("van horn attention", WithVanHorn(), NOW).understood.query
    assert (read.authors, read.topic) == (("van horn",), "attention")
