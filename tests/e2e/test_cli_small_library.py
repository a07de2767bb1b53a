"""Filling from a library of one or two papers: a paper without rivals is no surer for that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HELD = """@inproceedings{clusters,
  title = {Cross-lingual Word Clusters for Direct Transfer of Linguistic Structure},
  author = {Oscar T{\\"a}ckstr{\\"o}m and Ryan McDonald and Jakob Uszkoreit},
  year = {2012},
  booktitle = {NAACL},
}
"""
SECOND = """@article{segmentation,
  title = {Neural Segmentation of Bird Songs},
  author = {Ada Winter},
  year = {2019},
  journal = {Journal of Sounds},
}
"""
UNRELATED = (
    r"We pass messages along edges \cite<neural message passing>.",
    r"The architecture is common \cite<attention is all you need>.",
    r"Proteins fold \cite<highly accurate protein structure prediction with alphafold>.",
    r"Images are recognised \cite<deep residual learning for image recognition>.",
    r"A survey exists \cite<smith 2017>.",
    r"Agents learn to play \cite<mastering the game of go>.",
)
"""Words for works that neither library holds."""
MEANT = (
    r"Clusters carry over between languages \cite<cross-lingual word clusters>.",
    r"Structure is transferred \cite<Cross-lingual Word Clusters for Direct Transfer of Linguistic "
    r"Structure>.",
)
SENTENCES = (
    r"Deep networks recognise images \cite{}.",
    r"Graphs of molecules are classified by passing messages \cite{}.",
)


def run_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
    (folder / "config.toml").touch()
    env = clean | {
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
        "CITEWELL_CONFIG": str(folder / "config.toml"),
        "CITEWELL_DATA": str(folder / "data"),
        "PYTHONIOENCODING": "utf-8",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "citewell", *arguments],
        cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
        timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module", params=[HELD, HELD + SECOND], ids=["one paper", "two papers"])
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """What `fill` plans for each placeholder, by the words of its source line."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "held.bib").write_text(request.param, encoding="utf-8")
    added = run_in(folder, "library", "add", "held.bib")
    assert added.returncode == 0, added.stderr
    lines = [*UNRELATED, *MEANT, *SENTENCES]
    (folder / "main.tex").write_text(
        "\n".join(["\\begin{document}", *lines, "\\bibliography{refs}", "\\end{document}", ""]),
        encoding="utf-8",
    )
    (folder / "refs.bib").write_text("", encoding="utf-8")
    done = run_in(folder, "fill", "main.tex", "--dry-run", "--unattended", "--json")
    assert done.returncode == 1, done.stderr
    planned = json.loads(done.stdout)["placeholders"]
    assert len(planned) == len(lines)
    return dict(zip(lines, planned, strict=True))


@pytest.mark.parametrize("line", UNRELATED)
def test_words_for_another_work_fill_nothing(filled: dict[str, Any], line: str) -> None:
    assert not filled[line]["key"], filled[line]


@pytest.mark.parametrize("line", SENTENCES)
def test_a_sentence_about_something_else_fills_nothing(filled: dict[str, Any], line: str) -> None:
    assert not filled[line]["key"], filled[line]


@pytest.mark.parametrize("line", MEANT)
def test_the_title_of_the_paper_fills_it(filled: dict[str, Any], line: str) -> None:
    assert filled[line]["key"].startswith("tackstrom2012"), filled[line]
