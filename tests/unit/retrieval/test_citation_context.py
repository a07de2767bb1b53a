"""What a library's *citation context* is computed of, and where it is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from citewell.corpus.arrays import FOLDER
from citewell.corpus.library import Library
from citewell.model import Query
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.retrieval import citation_context, registry
from citewell.retrieval.citation_context import CitationContextRetriever, open_citation_context
from citewell.retrieval.opening import Opening
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

PAPERS = Path(__file__).resolve().parents[2] / "fixtures" / "papers.jsonl"
QUERY = Query(sentence="Attention is all that a translation model needs [CITATION].")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(citation_context, "KEPT_FROM", 1)
    return tmp_path / "cache" / FOLDER


def opened(folder: Path) -> CitationContextRetriever:
    opening = Opening(Library.open(folder), Options())
    dense = next(row for row in registry.rows(Options()) if row.name == "dense")
    assert dense.open is not None
    opening.opened["dense"] = dense.open(opening)
    found = open_citation_context(opening)
    assert found is not None
    return found


def build(folder: Path, papers: Path) -> None:
    build_library(folder, add=[source_at(str(papers))], builders=default_builders(Options()))


def found_by(retriever: CitationContextRetriever) -> list[tuple[int, float]]:
    ranking = retriever.search(QUERY, 10, Cancel())
    return list(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True))


def test_the_kept_arrays_give_the_same_papers_and_belong_to_one_snapshot(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    build(library, PAPERS)
    made = opened(library)
    (kept,) = cache.glob("known-*.bin")
    again = opened(library)
    assert isinstance(again.number_of_row.base, np.ndarray), "mapped, not computed"
    assert found_by(again) == found_by(made) != []
    monkeypatch.setattr(citation_context, "KEPT_FROM", 1 << 40)
    assert found_by(opened(library)) == found_by(made)
    monkeypatch.setattr(citation_context, "KEPT_FROM", 1)
    more = tmp_path / "refs.bib"
    more.write_text("@misc{n, author={Ng, A}, title={A new study of old roads}, year={2020}}")
    build(library, more)
    assert len(opened(library).number_of_row) > len(made.number_of_row)
    assert len(list(cache.glob("known-*.bin"))) == 2
    assert kept.exists()


def test_a_damaged_file_is_made_again(cache: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    build(library, PAPERS)
    expected = found_by(opened(library))
    (kept,) = cache.glob("known-*.bin")
    kept.write_bytes(kept.read_bytes()[:5000])
    assert found_by(opened(library)) == expected


def test_nothing_is_kept_of_a_small_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    library = tmp_path / "library"
    build(library, PAPERS)
    assert found_by(opened(library))
    assert not list((tmp_path / "cache" / FOLDER).glob("known-*.bin"))
