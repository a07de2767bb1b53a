"""The citation priors: what they say, and what they must not say of themselves."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from citewell.corpus.columns import title_keys
from citewell.corpus.priors import Priors, read_priors
from citewell.model import CitewellError
from citewell.retrieval.citation_priors import SIGNALS, UNKNOWN, CitationPriors, QueryVectors
from citewell.retrieval.encoders.citation import WEIGHTS

NONE = np.zeros(0, np.int64)
EAST, NORTH = np.eye(2, dtype=np.float32)


def priors() -> Priors:
    """Paper 0 is cited by lists 0 and 1, paper 1 by list 0, paper 2 by list 1, paper 3 by none."""
    return Priors(
        key=np.arange(1, 5, dtype=np.uint64) * 100,
        citations=np.array([-1, -1, -1, np.log1p(50)], np.float16),
        list_key=np.array([11, 12], np.uint64),
        list_starts=np.array([0, 2, 4], np.int32),
        list_cited=np.array([0, 1, 0, 2], np.int32),
        list_vectors=np.array([[127, 0], [0, 127]], np.int8),
        passage_vectors=np.array([[127, 0], [0, 127]], np.int8),
        passage_cited=np.array([1, 2], np.int32),
        passage_list=np.array([0, 1], np.int32),
    )


def signals(query_vectors: QueryVectors) -> dict[str, list[float]]:
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32)
    table = CitationPriors(priors(), vectors, np.ones(4, bool)).signals(query_vectors)
    return {name: table[:, at].tolist() for at, name in enumerate(SIGNALS)}


def test_stored_vectors_give_the_signals_of_decoded_ones() -> None:
    coded = np.array([[127, 40], [90, 127], [0, 127], [0, 0]], np.int8)
    length = np.linalg.norm(coded.astype(np.float32), axis=1, keepdims=True)
    decoded = np.divide(coded, length, out=np.zeros((4, 2), np.float32), where=length > 0)
    query_vectors = QueryVectors(EAST, EAST, NONE)
    known = np.ones(4, bool)
    found = CitationPriors(priors(), coded, known).signals(query_vectors)
    expected = CitationPriors(priors(), decoded, known).signals(query_vectors)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_citing_paper_is_no_evidence_for_itself() -> None:
    found = signals(QueryVectors(EAST, EAST, NONE, own=11))
    assert found["memory_popularity"][0] == pytest.approx(np.log(2))
    # Nobody else cites paper 1: nothing at all is known of it.
    assert all(values[1] == UNKNOWN for values in found.values())
    assert found["memory_citations"][3] == pytest.approx(np.log(51), rel=1e-3)


def test_papers_cited_together_are_company_but_not_their_own() -> None:
    found = signals(QueryVectors(EAST, EAST, np.array([0])))["memory_cocited"]
    assert found[1] > 0
    assert found[2] > 0
    assert found[0] == pytest.approx(0, abs=1e-6)


def test_unknown_papers_stand_behind_all_others_in_the_blend() -> None:
    vectors = np.zeros((4, 2), np.float32)
    memory = CitationPriors(priors(), vectors, np.array([True, False, True, True]))
    blend = CitationPriors.blend(memory.signals(QueryVectors(EAST, EAST, NONE)))
    assert np.isneginf(blend[1])
    assert np.isfinite(blend[[0, 2, 3]]).all()


def test_priors_whose_arrays_disagree_are_refused(tmp_path: Path) -> None:
    bad = priors()
    arrays = {n: getattr(bad, n) for n in Priors.__struct_fields__}
    arrays["list_cited"] = np.array([0, 1, 0, 9], np.int32)
    np.savez(tmp_path / "priors.npz", **arrays)
    with pytest.raises(CitewellError, match="inconsistent"):
        read_priors(tmp_path / "priors.npz")


def test_the_shipped_priors_know_a_famous_paper_and_fit_the_encoder() -> None:
    from citewell.retrieval.encoders.citation import CitationEncoder

    shipped = read_priors(WEIGHTS / "priors.npz")
    assert shipped.encoder == CitationEncoder().fingerprint
    assert (np.diff(shipped.key.astype(np.float64)) > 0).all()
    number = int(shipped.find(title_keys(["Attention is All you Need"]))[0])
    assert number >= 0
    assert np.bincount(shipped.list_cited, minlength=len(shipped))[number] > 100
    assert sum(f.stat().st_size for f in WEIGHTS.iterdir()) < 50e6


@pytest.mark.parametrize("seed", range(4))
def test_cocitations_are_those_of_all_lists_counted_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    papers, sizes = 40, rng.integers(0, 9, 30)
    lists = [rng.choice(papers, size, replace=False) for size in sizes]
    data = msgspec.structs.replace(
        priors(),
        key=np.arange(1, papers + 1, dtype=np.uint64),
        citations=np.full(papers, -1, np.float16),
        list_key=np.arange(1, len(lists) + 1, dtype=np.uint64),
        list_starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        list_cited=np.concatenate(lists).astype(np.int32),
        list_vectors=np.ones((len(lists), 2), np.int8),
        passage_cited=np.array([1, 2], np.int32),
    )
    known = CitationPriors(data, np.ones((papers, 2), np.float32), np.ones(papers, np.bool_))
    for own in (0, 3):
        references = rng.choice(papers, 5, replace=False)
        expected = np.zeros(papers)
        for number, cited in enumerate(lists, 1):
            met = set(cited.tolist()) & set(references.tolist())
            weight = sum(1 / np.log(2 + known.degree[one]) for one in met) / np.sqrt(
                max(len(cited), 1)
            )
            expected[cited] += weight * (number != own)
        for one in references:
            shares = [1 / np.sqrt(len(cited)) for cited in lists if one in cited]
            expected[one] = max(expected[one] - sum(shares) / np.log(2 + known.degree[one]), 0)
        found = known.cocited(references, own)
        np.testing.assert_allclose(found[:, 0], np.log1p(expected), atol=1e-5)
        again = known.cocited(references.copy(), own)
        assert again is found, "kept while the references stay the same"
        assert known.cocited(references[:4], own) is not found


def test_papers_that_others_cite_together_with_these_are_found() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], np.float32)
    memory = CitationPriors(priors(), vectors, np.ones(4, bool))
    count, share = memory.cocited(np.array([1]), 0).T
    assert count[0] > 0 and share[0] > 0  # list 0 cites papers 0 and 1
    assert count[2] == count[3] == 0
    assert memory.cocited(np.array([1]), 11)[0].tolist() == [0, 0]  # list 0 is the paper's own


def many_priors() -> tuple[Priors, np.ndarray]:
    """400 papers, cited by 60 lists in 900 passages, and the papers' vectors."""
    random = np.random.default_rng(3)
    starts = np.arange(0, 60 * 20 + 1, 20)
    cited = np.concatenate([random.choice(400, 20, replace=False) for _ in range(60)])
    made = Priors(
        key=np.arange(1, 401, dtype=np.uint64),
        citations=np.where(random.random(400) < 0.3, 2.0, -1.0).astype(np.float16),
        list_key=np.arange(1000, 1060, dtype=np.uint64),
        list_starts=starts.astype(np.int32),
        list_cited=cited.astype(np.int32),
        list_vectors=random.integers(-9, 10, (60, 8)).astype(np.int8),
        passage_vectors=random.integers(-9, 10, (900, 8)).astype(np.int8),
        passage_cited=random.integers(0, 400, 900).astype(np.int32),
        passage_list=random.integers(0, 60, 900).astype(np.int32),
    )
    return made, random.integers(-9, 10, (400, 8)).astype(np.int8)


@pytest.mark.parametrize("own", [0, 1007])
def test_the_best_papers_are_those_with_the_highest_blend_of_all(own: int) -> None:
    made, vectors = many_priors()
    known = np.arange(400) % 7 != 0
    memory = CitationPriors(made, vectors, known)
    random = np.random.default_rng(4)
    for _ in range(10):
        full, topic = random.normal(size=(2, 8)).astype(np.float32)
        full, topic = (v / np.linalg.norm(v) for v in (full, topic))
        query_vectors = QueryVectors(full, topic, random.choice(400, 5, replace=False), own)
        blend = CitationPriors.blend(memory.signals(query_vectors))
        allowed = random.random(400) < 0.8
        blend[~allowed] = -np.inf
        found, scores = memory.ask(query_vectors).best(25, allowed)
        assert set(found.tolist()) == set(np.argsort(-blend)[:25].tolist())
        np.testing.assert_allclose(scores, blend[found], rtol=1e-5)


@pytest.mark.parametrize("own", [0, 1003])
def test_the_references_that_others_cite_together_with_a_paper_are_counted(own: int) -> None:
    made, vectors = many_priors()
    references = np.array([1, 2, 5, 77])
    query_vectors = QueryVectors(*np.eye(8, dtype=np.float32)[:2], references, own)
    signals = CitationPriors(made, vectors, np.ones(400, bool)).ask(query_vectors)
    parts = np.split(made.list_cited, made.list_starts[1:-1])
    lists = [set(p.tolist()) for p, key in zip(parts, made.list_key, strict=True) if key != own]
    for paper in range(0, 400, 7):
        together = {one for cited in lists if paper in cited for one in cited} - {paper}
        assert signals.beside(paper) == len(together & set(references.tolist()))


def test_the_votes_are_those_of_the_topic_at_hand() -> None:
    made, vectors = many_priors()
    memory = CitationPriors(made, vectors, np.ones(400, bool))
    axes = np.eye(8, dtype=np.float32)
    topics = [(axes[2], 0), (axes[2], 0), (axes[2], 1003), (axes[3], 1003), (axes[2], 0)]
    for topic, own in topics:
        query_vectors = QueryVectors(axes[0], topic, NONE, own)
        fresh = CitationPriors(made, vectors, np.ones(400, bool))
        found, expected = memory.signals(query_vectors), fresh.signals(query_vectors)
        np.testing.assert_array_equal(found, expected)
        assert found[:, SIGNALS.index("memory_topic_votes")].max() > 0
