"""Adjectives such as "classic" before a topic, over a quarter of a million real papers.

Half of the queries ask for papers that others cite often; in the others the adjective belongs to
the topic.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

WANTED = {
    "classic topic models": "classic",
    "seminal work on word embeddings": "seminal",
    "influential graph neural networks": "influential",
    "foundational reinforcement learning": "foundational",
    "foundational methods for domain adaptation": "foundational",
    "seminal attention mechanisms": "seminal",
    "seminal transformers": "seminal",
    "most influential language models": "most influential",
    "highly cited sentiment analysis": "highly cited",
    "the most cited neural machine translation": "most cited",
    "What are some classic methods for learning latent graphs?": "classic",
    "what are the classic algorithms for matrix factorization": "classic",
    "find influential generative models": "influential",
    "classic deep learning papers": "classic",
    "landmark object detection papers": "landmark",
    "classic dependency parsing since 2000": "classic",
    "influential few-shot learning": "influential",
    "papers on coreference resolution, most cited": "most cited",
    "most important optimization algorithms for deep learning": "most important",
    "classic coreference resolution": "classic",
}
"""Queries for papers that others cite often, and the words that ask for them."""
TOPICS = (
    "classical planning",
    "classical planning heuristics",
    "classical Chinese poetry",
    "classical conditioning",
    "classical music generation",
    "classical machine learning",
    "classic Shepard interpolation",
    "classic control",
    "classic and neural topic models",
    "classic GNNs are strong baselines",
    "influential nodes",
    "influential nodes in social networks",
    "influential users in microblogs",
    "influential training examples",
    "identifying influential spreaders",
    "the most influential person in a conversation",
    "foundational language models",
    "foundational models for medical imaging",
    "landmark detection in faces",
    "important sentences extraction",
)
"""Queries in which the adjective says what is studied."""
FIRST = {
    "classic topic models": {"latent dirichlet allocation"},
    "seminal work on word embeddings": {
        "distributed representations of words and phrases and their compositionality",
        "efficient estimation of word representations in vector space",
    },
}
"""Questions, and what may come first."""


@pytest.fixture(scope="module")
def real_url(real_env: dict[str, str], serving: Any) -> Iterator[str]:
    with serving(real_env) as (address, _):
        yield address


def answer(url: str, path: str, **body: object) -> Any:
    request = urllib.request.Request(
        f"{url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=600) as reply:
        return json.load(reply)


def asking(url: str, text: str) -> list[str]:
    """The words of the query that ask for influential papers."""
    parts = answer(url, "/v1/search", query=text, k=1).get("understood", [])
    return [text[one["start"] : one["end"]] for one in parts if one["value"] == "influential"]


@pytest.mark.parametrize(("text", "words"), WANTED.items())
def test_an_adjective_before_a_topic_asks_for_influential_papers(
    real_url: str, text: str, words: str
) -> None:
    assert asking(real_url, text) == [words]


@pytest.mark.parametrize("text", TOPICS)
def test_an_adjective_that_belongs_to_the_topic_stays_a_word(real_url: str, text: str) -> None:
    assert asking(real_url, text) == []


@pytest.mark.parametrize(("text", "titles"), FIRST.items())
def test_the_classic_comes_first_in_a_literature_search(
    real_url: str, text: str, titles: set[str]
) -> None:
    found = answer(real_url, "/v1/explore", query=text, k=20)
    first = found["papers"][0]
    assert first["title"].lower() in titles
    # It says so of the papers that stand elsewhere than in the order by the topic alone.
    reasons = [one for paper in found["papers"] for one in paper["reasons"]]
    assert any(one["step"] == "order" and "cited" in one["detail"] for one in reasons)
    assert found["relevant"] >= 1
