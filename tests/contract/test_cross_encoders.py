"""Cross-encoders from files that the test writes: loaded, asked, late, broken, and at work.

No package ships one. A random BERT in Hugging Face's form and a small quantised ONNX graph go
through the same loading code as real models; what they think of a paper is nonsense, but it is the
order that must come out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.engine.cross_encoder_stage import CrossEncoderStage
from citewell.engine.local import LocalEngine
from citewell.engine.worker_client import WorkerEngine
from citewell.model import CitewellError, Query
from citewell.model.installing import install_command
from citewell.options import Options
from citewell.options.merge import load
from citewell.ranking.cross_encoder import paper_text, query_text
from citewell.ranking.pair_models import load_pair_model, onnx_file

WORDS = (
    "we they a the of in and on with graft grafting orchard orchards apple trees dry wet valleys "
    "yield weather rain frost soil pruning harvest measure predict network fruit from"
).split()
ORCHARDS = tuple(
    f"{first} {second} {third}"
    for first in ("Grafting", "Pruning", "Harvest", "Frost")
    for second in ("Orchards", "Apple Trees")
    for third in ("in Dry Valleys", "with Rain", "and Soil", "from Weather")
)
QUERY = Query(text="orchards trees yield")


def write_tokenizer(folder: Path) -> None:
    """A BERT tokenizer of a few words, as `tokenizer.json`."""
    tokenizers = pytest.importorskip("tokenizers", reason="the `onnx` extra is not installed")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS]
    numbers = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "BertTokenizer",
                "do_lower_case": True,
                "pad_token": "[PAD]",
                "unk_token": "[UNK]",
                "cls_token": "[CLS]",
                "sep_token": "[SEP]",
                "mask_token": "[MASK]",
            }
        ),
        encoding="utf-8",
    )
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT with one output, saved as Hugging Face saves it."""
    transformers = pytest.importorskip("transformers", reason="the `neural` extra is missing")
    torch = pytest.importorskip("torch", reason="the `neural` extra is missing")
    pytest.importorskip("sentence_transformers", reason="the `neural` extra is missing")
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    write_tokenizer(folder)
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=96,
        num_labels=1,
        initializer_range=0.6,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph that embeds the tokens, averages them and scores the mean with int8 weights."""
    onnx = pytest.importorskip("onnx", reason="onnx, which writes the graph, is not installed")
    pytest.importorskip("onnxruntime", reason="the `onnx` extra is not installed")
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder = tmp_path_factory.mktemp("models") / "tiny-onnx"
    write_tokenizer(folder)
    rng = np.random.default_rng(3)
    constants = {
        "table": rng.normal(size=(64, 16)).astype(np.float32),
        "weight": rng.normal(size=(16, 1)).astype(np.float32),
        "axis": np.array([1], np.int64),
        "last": np.array([2], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["vectors"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["vectors", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "axis"], ["total"], keepdims=0),
        helper.make_node("ReduceSum", ["mask", "axis"], ["count"], keepdims=1),
        helper.make_node("Div", ["total", "count"], ["mean"]),
        helper.make_node("MatMul", ["mean", "weight"], ["logits"]),
    ]
    made = helper.make_graph(
        nodes,
        "pairs",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    plain = folder / "plain.onnx"
    onnx.save(model, plain)
    quantize_dynamic(plain, folder / "model_int8.onnx", weight_type=QuantType.QInt8)
    plain.unlink()
    return folder


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Settings of a library of 32 orchards, which only a cross-encoder tells apart."""
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    folder = tmp_path_factory.mktemp("libraries")
    records = folder / "records.jsonl"
    lines = [
        {"id": f"t:{n}", "title": title, "abstract": "We measure yield.", "year": 2000,
         "authors": ["A. Name"], "kind": "article", "source": "test"}
        for n, title in enumerate(ORCHARDS)
    ]  # fmt: skip
    records.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    base = Options()
    build_library(
        folder / "small",
        add=[FileSource(path=str(records), format="records")],
        builders=default_builders(base),
    )
    return replace(base, library=replace(base.library, path=folder, name="small"))


def asking(options: Options, **changes: Any) -> Options:
    return replace(options, retrieval=replace(options.retrieval, **changes))


@pytest.fixture(params=["bert", "graph"])
def model(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def engine(options: Options, model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalEngine]:
    monkeypatch.setattr("citewell.engine.cross_encoder_stage.DEPTH", 12)
    # Ample time: a model that is late on busy cores is the subject of other tests.
    changed = asking(options, cross_encoder=str(model), cross_encoder_ms=60_000)
    engine = LocalEngine.open(changed)
    engine.load(60)
    yield engine
    engine.close()


def test_a_pairs_score_does_not_depend_on_the_pairs_beside_it(model: Path) -> None:
    loaded = load_pair_model(str(model))
    papers = [
        "grafting orchards",
        "we measure the yield of apple trees in dry valleys " * 30,
        "rain",
    ]
    together = loaded.scores("orchards in valleys", papers)
    alone = [loaded.scores("orchards in valleys", [paper])[0] for paper in papers]
    # int8 arithmetic scales by what stands in the batch.
    assert together == pytest.approx(np.array(alone), abs=0.05)
    assert len(set(np.round(together, 3).tolist())) == 3


def test_an_explicit_search_is_read_and_its_head_stands_in_the_models_order(
    engine: LocalEngine, model: Path
) -> None:
    fast = engine.find(QUERY, 20)
    full = engine.find(QUERY, 20, tier="full")
    assert not full.dropped and not full.problems
    head = [hit.work for hit in fast.hits[:12]]
    scores = load_pair_model(str(model)).scores(query_text(QUERY), [paper_text(w) for w in head])
    wanted = [head[place].title for place in np.argsort(-scores, kind="stable")]
    assert [hit.work.title for hit in full.hits[:12]] == wanted
    assert wanted != [work.title for work in head]
    assert [hit.work.id for hit in full.hits[12:]] == [hit.work.id for hit in fast.hits[12:]]
    own = [hit.score for hit in full.hits]
    assert own == sorted(own, reverse=True)


def test_the_evidence_says_where_the_cross_encoder_moved_a_paper_from(engine: LocalEngine) -> None:
    before = {hit.work.id: rank for rank, hit in enumerate(engine.find(QUERY, 20).hits, 1)}
    hits = engine.find(QUERY, 20, tier="full").hits
    for rank, hit in enumerate(hits[:12], 1):
        first = hit.evidence[0]
        assert (first.retriever, first.rank, first.before) == (
            "cross-encoder", rank, before[hit.work.id],
        )  # fmt: skip
        assert [one.retriever for one in hit.evidence[1:]]
    assert all(one.retriever != "cross-encoder" for hit in hits[12:] for one in hit.evidence)


def test_the_worker_process_reads_too_and_says_which_model_it_has(
    options: Options, graph: Path
) -> None:
    changed = asking(options, cross_encoder=str(graph), cross_encoder_ms=20_000)
    here = LocalEngine.open(changed)
    here.load(60)
    engine = WorkerEngine(changed)
    try:
        there = engine.find(QUERY, 8, tier="full")
        assert [hit.work.id for hit in there.hits] == [
            hit.work.id for hit in here.find(QUERY, 8, tier="full").hits
        ]
        assert there.hits[0].evidence[0].before is not None
        assert engine.status().cross_encoder == str(graph)
    finally:
        engine.close()
        here.close()


SHORT_OF_TIME = """
import sys
from citewell.cli.app import run
sys.exit(run(sys.argv[1:]))
"""


def test_a_command_whose_model_is_late_ends_well(options: Options, bert: Path) -> None:
    ended = subprocess.run(
        [
            sys.executable, "-P", "-c", SHORT_OF_TIME, "--config", os.devnull,
            "--set", f"library.path={options.library.path}", "--set", "library.name=small",
            "--set", f"retrieval.cross_encoder={bert}", "--set", "retrieval.cross_encoder_ms=1",
            "find", "orchards", "trees",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "reranker-late" in ended.stderr
    assert "Loading" not in ended.stderr


class Slow:
    """Reads eight papers in a tenth of a second."""

    def __init__(self) -> None:
        self.batches = 0

    def scores(self, query: str, papers: Sequence[str]) -> Any:
        self.batches += 1
        time.sleep(0.1)
        return np.arange(len(papers), dtype=np.float32)


def with_reader(options: Options, load: Any, **changes: Any) -> LocalEngine:
    changed = asking(options, cross_encoder="test", **changes)
    return LocalEngine.open(changed, reader=CrossEncoderStage(changed.retrieval, load))


def test_a_model_that_is_late_leaves_the_list_and_stops_reading(options: Options) -> None:
    slow = Slow()
    engine = with_reader(options, lambda name: slow, cross_encoder_ms=150)
    result = engine.find(QUERY, 20, tier="full")
    assert [p.code for p in result.dropped] == ["reranker-late"]
    assert "150 ms" in result.dropped[0].message
    assert [h.work.id for h in result.hits] == [h.work.id for h in engine.find(QUERY, 20).hits]
    assert result.timings["cross-encoder"] < 1000
    engine.close()
    read = slow.batches
    assert read < 4
    patient = with_reader(options, lambda name: slow, cross_encoder_ms=60_000)
    patient.find(QUERY, 20, tier="full")
    patient.close()
    whole = slow.batches - read
    patient = with_reader(options, lambda name: slow, cross_encoder_ms=60_000)
    patient.find(QUERY, 20, tier="full")
    patient.close()
    assert slow.batches == read + 2 * whole, "it went on reading after its time was up"


def test_a_model_that_is_still_being_loaded_costs_no_more_than_its_time(options: Options) -> None:
    let_go = threading.Event()

    def load_slowly(name: str) -> Slow:
        let_go.wait(20)
        return Slow()

    engine = with_reader(options, load_slowly, cross_encoder_ms=100)
    result = engine.find(QUERY, 5, tier="full")
    assert "was not loaded" in result.dropped[0].message
    assert engine.status().cross_encoder == ""
    let_go.set()
    engine.load(10)
    assert engine.status().cross_encoder == "test"
    engine.close()


def test_a_model_that_fails_leaves_the_list(options: Options) -> None:
    class Failing(Slow):
        def scores(self, query: str, papers: Sequence[str]) -> Any:
            raise RuntimeError("no memory")

    engine = with_reader(options, lambda name: Failing())
    result = engine.find(QUERY, 5, tier="full")
    assert [p.code for p in result.dropped] == ["reranker-failed"]
    assert "'test' failed (RuntimeError: no memory)" in result.dropped[0].message
    assert len(result.hits) == 5
    engine.close()


def test_a_folder_that_is_not_there_is_a_problem_and_the_list_stands(options: Options) -> None:
    engine = LocalEngine.open(asking(options, cross_encoder="/no/such/model"))
    engine.load(10)
    result = engine.find(QUERY, 5, tier="full")
    assert [problem.code for problem in result.dropped] == ["reranker-missing"]
    assert "'/no/such/model' cannot be used: there is no such folder" in result.dropped[0].message
    assert len(result.hits) == 5
    assert [problem.code for problem in engine.status().problems] == ["reranker-missing"]
    engine.close()


def test_a_name_is_not_downloaded_when_the_hub_is_switched_off(
    bert: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(CitewellError) as raised:
        load_pair_model("cross-encoder/ms-marco-MiniLM-L6-v2")
    assert raised.value.problem.code == "reranker-missing"
    assert "HF_HUB_OFFLINE" in raised.value.problem.hint


@pytest.mark.parametrize(
    ("missing", "extra"), [("onnxruntime", "onnx"), ("sentence_transformers", "neural")]
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, extra: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    if extra == "onnx":
        (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(CitewellError) as raised:
        load_pair_model(str(tmp_path))
    problem = raised.value.problem
    assert problem.code == "reranker-missing"
    assert f"{missing} is not installed" in problem.message
    assert install_command(extra) in problem.hint


def test_a_damaged_graph_and_a_folder_without_a_tokenizer_are_problems(
    graph: Path, tmp_path: Path
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no graph at all")
    with pytest.raises(CitewellError, match=r"no tokenizer\.json"):
        load_pair_model(str(tmp_path))
    write_tokenizer(tmp_path)
    with pytest.raises(CitewellError) as raised:
        load_pair_model(str(tmp_path))
    assert raised.value.problem.code == "reranker-missing"


def test_an_encoder_of_single_texts_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx, which writes the graph, is not installed")
    pytest.importorskip("onnxruntime", reason="the `onnx` extra is not installed")
    from onnx import TensorProto, helper

    write_tokenizer(tmp_path)
    node = helper.make_node("Cast", ["input_ids"], ["states"], to=TensorProto.FLOAT)
    made = helper.make_graph(
        [node],
        "states",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])],
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["n", "t"])],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(CitewellError, match="numbers for a pair, not one"):
        load_pair_model(str(tmp_path))


@pytest.mark.parametrize(
    ("machine", "chosen"), [("x86_64", "model_quint8_avx2"), ("arm64", "model_qint8_arm64")]
)
def test_the_graph_for_this_processor_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, chosen: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    (tmp_path / "onnx").mkdir()
    for name in ("model", "model_O3", "model_qint8_arm64", "model_quint8_avx2"):
        (tmp_path / "onnx" / f"{name}.onnx").touch()
    found = onnx_file(tmp_path)
    assert found is not None and found.stem == chosen


def test_a_workspace_file_cannot_name_a_model(tmp_path: Path) -> None:
    (tmp_path / "citewell.toml").write_text(
        '[retrieval]\ncross_encoder = "somebody/model"\n', encoding="utf-8"
    )
    loaded = load(tmp_path, {}, user_file=tmp_path / "none.toml")
    assert loaded.options.retrieval.cross_encoder == ""
    assert "settings-untrusted" in [problem.code for problem in loaded.problems]
