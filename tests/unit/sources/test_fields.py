"""Which sources a question goes to, and in which words."""

from __future__ import annotations

import pytest

from citewell.sources.registry import (
    SOURCES,
    fields_of,
    keywords_of,
    source_named,
    sources_for,
    words_of,
)

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
    found = set(sources_for(fields_of([question]), AVAILABLE))
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
