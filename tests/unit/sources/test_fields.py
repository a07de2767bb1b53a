"""Which sources a question goes to, and in which words."""

from __future__ import annotations

import pytest

from citewell.model import Provenance, Work
from citewell.sources.fields import (
    fields_of,
    keywords_of,
    sources_for,
    words_of,
)
from citewell.sources.registry import SOURCES, source_named

AVAILABLE = {name: source_named(name).fields for name in SOURCES}


@pytest.mark.parametrize(
    ("question", "chosen", "left_out"),
    [
        ("treatment of lung cancer patients", {"pubmed"}, {"dblp", "arxiv", "openreview"}),
        ("neural machine translation models", {"dblp", "arxiv", "openreview"}, {"pubmed"}),
        ("segmentation of tumours in MRI images", {"dblp", "pubmed"}, set()),
        ("ergodic theorems on manifolds", {"arxiv"}, {"pubmed", "dblp"}),
        ("the patience of kettles", set(AVAILABLE), set()),
        ("", set(AVAILABLE), set()),
    ],
)
def test_the_field_of_a_question_chooses_the_sources(
    question: str, chosen: set[str], left_out: set[str]
) -> None:
    found = set(sources_for(fields_of(question), AVAILABLE))
    assert chosen <= found
    assert not left_out & found
    assert {"crossref", "openalex"} <= found, "a source of every field is always asked"


def test_keywords_are_the_rarest_words_in_the_order_of_the_question() -> None:
    question = "Could you list research that uses quantization of large language models?"
    words = words_of(question)
    assert words == ["quantization", "large", "language", "models"]
    shares = [0.001, 0.2, 0.1, 0.3]
    assert keywords_of(question, 2, shares) == "quantization language"
    assert keywords_of(question, 0) == question
    assert keywords_of(question, 9) == "quantization large language models"


def papers(source: str, *titles: str) -> list[Work]:
    return [
        Work(id=f"t:{n}", title=title, provenance=(Provenance(source),))
        for n, title in enumerate(titles)
    ]


def test_papers_show_the_field_of_words_that_show_none() -> None:
    held = papers("acl-anthology", "Entity Linking", "Linking Entities", "Linking an Entity")
    assert fields_of("entity linking", held) == {"computing"}
    assert fields_of("entity linking", held[:2]) == set(), "two papers are too few"
    assert fields_of("entity linking", papers("europe-pmc", *(p.title for p in held))) == {
        "biomedicine"
    }


def test_papers_that_do_not_match_a_question_do_not_show_its_field() -> None:
    """A library of computing has some paper for any question."""
    held = papers(
        "dblp", "Inequality of Words", "Schools of Fish", "Education in Parsing", "Social Graphs"
    )
    question = "social inequality in school education"
    assert fields_of(question, held) == set()
    assert set(sources_for(fields_of(question, held), AVAILABLE)) == set(AVAILABLE)
