from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import bm25s
import msgspec
import numpy as np
import pytest
import Stemmer

from citewell.corpus.layout import SegmentView
from citewell.model import CitewellError, CitingPaper, Query, Work
from citewell.model.cancel import Cancel
from citewell.model.languages import STOPWORDS
from citewell.retrieval.bm25 import MAX_TERMS, Bm25Retriever, best_of_parts
from citewell.retrieval.bm25_build import Bm25Builder, Parameters
from citewell.retrieval.understand import Weights
from citewell.retrieval.words import split

BuildSegments = Callable[..., list[SegmentView]]
PLAIN = Weights(name=0, acronym=0, year=0)


def found(retriever: Bm25Retriever, query: Query, k: int = 10) -> list[int]:
    return retriever.search(query, k, Cancel()).rows.tolist()


def stems(text: str) -> list[str]:
    words = [w.decode() for w in split(text) if len(w) > 1 and w not in STOPWORDS]
    return Stemmer.Stemmer("english").stemWords(words)


def test_scores_equal_those_of_bm25s_over_the_same_weighted_text(
    many_papers: list[Work], build_segments: BuildSegments
) -> None:
    tokens = [stems(w.title) * 3 + stems(w.abstract) for w in many_papers]
    oracle = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    oracle.index(tokens, show_progress=False)
    mean = float(np.mean([len(t) for t in tokens]))
    parameters = Parameters(k1=1.2, b=0.75, title_weight=3, pivot=mean)
    segments = build_segments(many_papers, [Bm25Builder(parameters)])
    retriever = Bm25Retriever(segments, weights=PLAIN)
    for text in ("w1x w5x w700x", "w30x w31x w32x w33x w0x"):
        ours = retriever.scores(Query(sentence=text), Cancel())
        assert ours is not None
        np.testing.assert_allclose(ours, oracle.get_scores(stems(text)), rtol=2e-4, atol=1e-4)


def test_bm25s_opens_the_folder_and_scores_alike(
    many_papers: list[Work], build_segments: BuildSegments
) -> None:
    segments = build_segments(many_papers, [Bm25Builder()])
    opened = bm25s.BM25.load(str(segments[0].index("bm25")), mmap=True)
    ours = Bm25Retriever(segments, weights=PLAIN).scores(Query(sentence="w9x w50x"), Cancel())
    assert ours is not None
    np.testing.assert_allclose(ours, opened.get_scores(["w9x", "w50x"]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [1, 7, 600, 5000])
def test_a_large_library_is_added_up_part_by_part(
    many_papers: list[Work],
    build_segments: BuildSegments,
    monkeypatch: pytest.MonkeyPatch,
    rows: int,
) -> None:
    segments = build_segments(many_papers, [Bm25Builder()], cuts=(900,))
    dead = np.arange(segments[0].count) % 7 == 3
    segments = [msgspec.structs.replace(segments[0], dead=dead), *segments[1:]]
    allowed = np.arange(len(many_papers)) % 5 != 1
    queries = [Query(sentence="w1x w5x w700x w0x"), Query(sentence="w30x w31x w2x"), Query()]
    for mask in (None, lambda query: allowed):
        whole = Bm25Retriever(segments, weights=PLAIN, mask=mask)
        expected = [whole.search(query, 40, Cancel()) for query in queries]
        monkeypatch.setattr("citewell.retrieval.bm25.ROWS", 0)
        parts = Bm25Retriever(segments, weights=PLAIN, mask=mask)
        monkeypatch.setattr(
            "citewell.retrieval.bm25.best_of_parts", partial(best_of_parts, rows=rows)
        )
        for query, one in zip(queries, expected, strict=True):
            found = parts.search(query, 40, Cancel())
            assert found.rows.tolist() == one.rows.tolist()
            assert found.scores.tolist() == one.scores.tolist()
            sample = np.arange(0, len(many_papers), 11)
            np.testing.assert_allclose(
                parts.score_rows(query, sample), whole.score_rows(query, sample), rtol=1e-6
            )
        monkeypatch.undo()


def test_several_segments_answer_as_one_index(
    many_papers: list[Work], build_segments: BuildSegments
) -> None:
    whole = Bm25Retriever(build_segments(many_papers, [Bm25Builder()]))
    parts = Bm25Retriever(build_segments(many_papers, [Bm25Builder()], cuts=(3, 700, 1990)))
    for text in ("w2x w17x Name5", "w400x", "w0x w1x w88x"):
        query = Query(text=text, paper=CitingPaper(title="w3x w4x"))
        one, many = whole.search(query, 50, Cancel()), parts.search(query, 50, Cancel())
        np.testing.assert_allclose(one.scores, many.scores, rtol=1e-4)
        assert set(one.rows[:45].tolist()) <= set(many.rows.tolist())


def test_parts_of_a_query_are_scored_alike_in_any_order(
    many_papers: list[Work], build_segments: BuildSegments
) -> None:
    segments = build_segments(many_papers, [Bm25Builder()], cuts=(500,))
    rows = np.arange(0, 2000, 7)[::-1].copy()
    parts = [Query(sentence="w2x w17x w90x"), Query(text="w17x w88x"), Query(text="w2x w88x")]
    retriever = Bm25Retriever(segments)
    shared = [retriever.score_rows(part, rows) for part in parts]
    alone = [Bm25Retriever(segments).score_rows(part, rows.copy()) for part in parts]
    assert all(scores.any() for scores in shared)
    np.testing.assert_array_equal(shared, alone)
    assert not np.array_equal(retriever.score_rows(parts[0], rows[:-1].copy()), shared[0])


def test_rows_are_scored_by_all_terms_where_the_search_stops_earlier(
    many_papers: list[Work], build_segments: BuildSegments, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = build_segments(many_papers, [Bm25Builder()])
    query, rows = Query(text="w2x w17x w90x"), np.arange(2000)
    whole = Bm25Retriever(segments).score_rows(query, rows)
    monkeypatch.setattr("citewell.retrieval.bm25.MAX_POSTINGS", 1)
    retriever = Bm25Retriever(segments)
    retriever.search(query, 30, Cancel())
    np.testing.assert_array_equal(retriever.score_rows(query, rows), whole)


def test_a_word_near_the_citation_weighs_more_than_a_far_one(
    papers: list[Work], build_segments: BuildSegments
) -> None:
    retriever = Bm25Retriever(build_segments(papers, [Bm25Builder()]))
    far = " and then it goes on about something quite different for a while " * 3
    near_parser = Query(sentence=f"Translation {far} sentences parser [CITATION].")
    near_translation = Query(sentence=f"Sentences parser {far} translation [CITATION].")
    assert found(retriever, near_parser)[0] == 4
    assert found(retriever, near_translation)[0] == 3


def test_a_surname_finds_its_papers_and_no_paper_with_the_word(
    papers: list[Work], build_segments: BuildSegments
) -> None:
    retriever = Bm25Retriever(build_segments(papers, [Bm25Builder()]))
    assert set(found(retriever, Query(text="Okafor"))) == {6}
    first_two = found(retriever, Query(sentence="As Long et al. (2016) show [CITATION]."))[:2]
    assert set(first_two) <= {0, 3, 4}
    assert first_two[0] == 3


def test_an_acronym_finds_the_title_that_opens_with_it(
    papers: list[Work], build_segments: BuildSegments
) -> None:
    retriever = Bm25Retriever(build_segments(papers, [Bm25Builder()]))
    assert found(retriever, Query(sentence="We evaluate on ORCH [CITATION]."))[0] == 1


def test_dead_rows_and_masked_rows_are_never_returned(
    papers: list[Work], build_segments: BuildSegments
) -> None:
    [view] = build_segments(papers, [Bm25Builder()])
    dead = np.zeros(len(papers), np.bool_)
    dead[7] = True
    buried = SegmentView(path=view.path, base=0, count=view.count, dead=dead)
    assert 7 not in found(Bm25Retriever([buried]), Query(text="neural parser"))
    masked = Bm25Retriever([view], mask=lambda query: np.arange(len(papers)) != 7)
    assert 7 not in found(masked, Query(text="neural parser"))


def test_a_hit_explains_its_words_as_the_author_wrote_them(
    papers: list[Work], build_segments: BuildSegments
) -> None:
    retriever = Bm25Retriever(build_segments(papers, [Bm25Builder()], cuts=(4,)))
    query = Query(text="parsers with attentive Ruiz")
    evidence = retriever.explain(query, 7, 1, 3.5)
    assert evidence.retriever == "bm25"
    assert set(evidence.terms) == {"parsers", "attentive", "ruiz"}
    assert evidence.fields == ("title", "abstract", "authors")
    assert (evidence.rank, evidence.score) == (1, 3.5)


def test_hits_are_explained_together_as_one_by_one(
    many_papers: list[Work], build_segments: BuildSegments
) -> None:
    retriever = Bm25Retriever(build_segments(many_papers, [Bm25Builder()], cuts=(500,)))
    query = Query(text="w2x w17x", sentence="w0x w5x w88x", paper=CitingPaper(title="w31x"))
    answer = retriever.search(query, 40, Cancel())
    hits = answer.rows.tolist(), list(range(1, 41)), answer.scores.tolist()
    together = retriever.explain_all(query, *hits)
    assert together == [retriever.explain(query, *hit) for hit in zip(*hits, strict=True)]
    assert len({proof.terms for proof in together}) > 5
    assert retriever.explain_all(query, [], [], []) == []


def test_a_pasted_page_is_cut_to_its_strongest_terms(
    many_papers: list[Work], build_segments: BuildSegments
) -> None:
    retriever = Bm25Retriever(build_segments(many_papers, [Bm25Builder()]))
    page = " ".join(f"w{number}x" for number in range(900))
    assert len(retriever._terms(Query(text=page))) == MAX_TERMS


def test_a_killed_build_is_built_anew_into_the_same_index(
    papers: list[Work], build_segments: BuildSegments, tmp_path: Path
) -> None:
    [whole] = build_segments(papers, [Bm25Builder()])
    into = tmp_path / "again"
    into.mkdir()

    def killed(count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Bm25Builder().build(lambda: iter(papers), len(papers), into, killed)
    (into / "data.csc.index.npy").write_bytes(b"half")
    Bm25Builder().build(lambda: iter(papers), len(papers), into, lambda n: None)
    names = {path.name for path in whole.index("bm25").iterdir()}
    assert names == {path.name for path in into.iterdir()}
    for name in names:
        assert (into / name).read_bytes() == (whole.index("bm25") / name).read_bytes()


def test_a_cut_index_is_refused_with_a_cure(
    papers: list[Work], build_segments: BuildSegments
) -> None:
    [view] = build_segments(papers, [Bm25Builder()])
    file = view.index("bm25") / "indptr.csc.index.npy"
    file.write_bytes(file.read_bytes()[:-16])
    with pytest.raises(CitewellError) as caught:
        Bm25Retriever([view])
    assert caught.value.problem.code == "index-unreadable"
    assert "citewell library build" in caught.value.problem.hint
