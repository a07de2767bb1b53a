"""The cross-encoder that ships, with default settings: it reads what the ranker puts first, and
without its extra everything works as if there were none.

Its scores depend a little on the processor (int8), so that no test says what they are.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citewell.model import Query, Work
from citewell.model.cancel import Cancel
from citewell.ranking.citation_cross_encoder import CitationCrossEncoder
from citewell.ranking.pair_models import load_cross_encoder
from citewell.ranking.shipped_cross_encoder import FOLDER, SHIPPED, can_run

PAPER = r"""\documentclass{article}
\begin{document}
The Transformer replaced recurrence with attention \cite{}.
Words became vectors that are learned from the words around them \cite{}.
Networks on graphs weigh the neighbours of each node \cite{}.
A pretrained encoder is adapted to each task \cite{}.
\bibliography{refs}
\end{document}
"""
PLACES = 4
AMPLE_MS = "600000"
"""A model that is late on busy cores is the subject of other tests."""
MOST_BYTES = 16_000_000
DEFAULT = "TESTS_CROSS_ENCODER"
"""Keeps the default setting in the processes of a test (tests/strict/sitecustomize.py)."""

needs_extra = pytest.mark.skipif(not can_run(), reason="the `onnx` extra is not installed")


def with_default(env: dict[str, str]) -> dict[str, str]:
    return env | {DEFAULT: "1", "CITEWELL_RETRIEVAL_CROSS_ENCODER_MS": AMPLE_MS}


def without_extra(env: dict[str, str], folder: Path) -> dict[str, str]:
    """An environment in which onnxruntime counts as not installed."""
    hides = (
        'import sys\nsys.modules["onnxruntime"] = None\nsys.modules["citewell_starter"] = None\n'
    )
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(hides, encoding="utf-8")
    return with_default(env) | {"PYTHONPATH": str(folder)}


def run(folder: Path, env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=600, check=False,
    )  # fmt: skip


def lists(folder: Path, env: dict[str, str], *settings: str) -> list[tuple[float, list[str]]]:
    """The confidence and the papers of each placeholder, as `citewell fill` lists them."""
    (folder / "paper.tex").write_text(PAPER, encoding="utf-8")
    (folder / "refs.bib").touch()
    done = run(folder, env, *settings, "fill", "paper.tex", "--dry-run", "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    assert not found["problems"], done.stderr
    return [
        (one["confidence"], [paper["title"] for paper in one["candidates"]])
        for one in found["placeholders"]
    ]


@needs_extra
def test_the_model_prefers_what_a_sentence_is_about() -> None:
    model = load_cross_encoder(SHIPPED)
    assert isinstance(model, CitationCrossEncoder)
    assert model.combination.weight > 0
    works = [
        Work(id="w:1", title="Neural Machine Translation by Learning to Align and Translate"),
        Work(id="w:2", title="Deep Residual Learning for Image Recognition"),
    ]
    for at, sentence in enumerate(
        (
            "Attention was first used in translation models that align words [CITATION].",
            "Images are recognized by deep residual networks [CITATION].",
        )
    ):
        scores = model.scores(Query(sentence=sentence), works, Cancel())
        assert int(scores.argmax()) == at, scores


def test_its_files_are_small_enough_to_ship() -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) < MOST_BYTES


@needs_extra
def test_fill_reads_the_first_papers_by_default(env: dict[str, str], tmp_path: Path) -> None:
    read = lists(tmp_path, with_default(env))
    plain = lists(tmp_path, with_default(env), "--set", "retrieval.cross_encoder=")
    assert len(read) == len(plain) == PLACES
    assert [titles for _, titles in read] != [titles for _, titles in plain]
    # What the model adds to a paper's score does not make that paper surer.
    for (own, titles), (alone, before) in zip(read, plain, strict=True):
        assert own <= alone + 1e-6 or titles[0] != before[0]


@needs_extra
@pytest.mark.asyncio(loop_scope="module")
async def test_a_hover_reads_the_first_papers_by_default(
    start_editor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEFAULT, "1")
    cards: list[list[str]] = []
    for changed in ({}, {"crossEncoder": ""}):
        times = {"crossEncoderMs": int(AMPLE_MS), "timeoutMs": 60_000}
        editor = await start_editor(
            files={"main.tex": PAPER, "refs.bib": ""}, settings={"retrieval": times | changed}
        )
        editor.open("main.tex", PAPER)
        places = [f"{{}}.\n{word}" for word in ("Words", "Networks", "A pre", "\\bib")]
        cards.append([await editor.hover("main.tex", place) for place in places])
    assert all("Papers for this place" in card for card in cards[0]), cards
    assert cards[0] != cards[1]


def test_without_its_extra_nothing_is_read_and_doctor_recommends_it(
    env: dict[str, str], tmp_path: Path
) -> None:
    bare = without_extra(env, tmp_path / "site")
    assert lists(tmp_path, bare) == lists(tmp_path, env, "--set", "retrieval.cross_encoder=")
    found = json.loads(run(tmp_path, bare, "doctor", "--json").stdout)
    assert not found["problems"]
    (text,) = found["recommended"]
    assert "cross-encoder" in text and "[onnx]" in text
    assert "cross-encoder that ships" in run(tmp_path, bare, "doctor").stdout.replace("\n", " ")


@needs_extra
def test_doctor_recommends_nothing_where_the_extra_is(env: dict[str, str], tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, with_default(env), "doctor", "--json").stdout)
    assert found["recommended"] == []
