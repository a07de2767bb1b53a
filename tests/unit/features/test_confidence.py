"""The probability that the first paper found is the one that is meant."""

import pytest

from citewell.features.text.evidence import confidence_of
from citewell.model import Author, Evidence, Hit, Query, Work

GAT = Work(
    id="t:1", title="Graph Attention Networks", authors=(Author("Veličković", "Petar"),), year=2018
)
OTHER = Work(id="t:2", title="Deep Residual Learning for Image Recognition", year=2016)
BOTH = (Evidence("bm25", 1, 9.0), Evidence("dense", 1, 0.9))


def hits(first: Work, evidence: tuple[Evidence, ...] = BOTH) -> tuple[Hit, ...]:
    second = OTHER if first is GAT else GAT
    return Hit(first, 1.0, evidence), Hit(second, 0.5, (Evidence("bm25", 2, 1.0),))


@pytest.mark.parametrize(
    "text",
    ["graph attention networks", "Velickovic graph attention 2018", "Graph attention network"],
)
def test_words_of_the_title_are_near_certain(text: str) -> None:
    assert confidence_of(Query(text=text), hits(GAT)) > 0.85


def test_a_sentence_that_names_the_title_passes_the_default_and_one_that_does_not_fails() -> None:
    named = Query(sentence="We use deep residual learning for image recognition [CITATION].")
    vague = Query(sentence="We use a standard network for our images [CITATION].")
    assert confidence_of(named, hits(OTHER)) > 0.3
    assert confidence_of(vague, hits(OTHER)) < 0.2


def test_agreement_of_the_retrievers_counts() -> None:
    query = Query(text="graph attention for molecules")
    alone = confidence_of(query, hits(GAT, (Evidence("bm25", 1, 9.0), Evidence("dense", 40, 0.2))))
    assert confidence_of(query, hits(GAT)) > alone
    read = (
        Evidence("cross-encoder", 1, 3.0, before=4),
        Evidence("bm25", 1, 9.0),
        Evidence("dense", 40, 0.2),
    )
    assert confidence_of(query, hits(GAT, read)) == alone, "a ranker is no witness"
