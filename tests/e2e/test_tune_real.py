"""`citewell tune` and `compare-models` from the prompt, with a real model behind its real server.

The model is far too small to choose well: what is asserted is the machinery, and that nothing is
kept that did not win.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from citewell_lab.tuning.compare_models import ModelComparison
from citewell_lab.tuning.plan import Tuning

pytest.importorskip("dspy")
from tests.e2e.test_llm_real import url  # noqa: F401 - a fixture

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "papers.jsonl"
PAPERS = 14


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Short papers that each cite one of the library's."""
    folder = tmp_path_factory.mktemp("papers")
    records = [json.loads(line) for line in FIXTURES.read_text(encoding="utf-8").splitlines()]
    for number, record in enumerate(records[:PAPERS]):
        # Every other passage leaves the ranker in doubt, so that there is something to win.
        topic = record["title"].lower() if number % 2 else "earlier neural models of language"
        (folder / f"p{number:02}.tex").write_text(
            "\\documentclass{article}\n\\begin{document}\n"
            f"Our method builds on {topic} \\cite{{k{number}}}.\n"
            f"\\bibliography{{p{number:02}}}\n\\end{{document}}\n",
            encoding="utf-8",
        )
        authors = " and ".join(record["authors"])
        (folder / f"p{number:02}.bib").write_text(
            f"@misc{{k{number}, title={{{record['title']}}}, author={{{authors}}}, "
            f"year={{{record['year']}}}}}\n",
            encoding="utf-8",
        )
    return folder


def citewell(folder: Path, address: str, library: Path, *words: str) -> subprocess.CompletedProcess:
    small = {
        "provider": "llamacpp", "model": "smollm2", "base_url": address, "timeout_ms": "120000",
        "abstract_characters": "0", "answer_tokens": "60", "pick_depth": "3",
    }  # fmt: skip
    settings = [part for name, value in small.items() for part in ("--set", f"llm.{name}={value}")]
    names = [path.name for path in sorted(folder.glob("*.tex"))]
    return subprocess.run(
        [sys.executable, "-m", "citewell", "--set", f"library.path={library}", *settings,
         words[0], *names, *words[1:]],
        cwd=folder, capture_output=True, text=True, check=False, timeout=900,
        env=os.environ | {"CITEWELL_DATA": str(folder / "data")},
    )  # fmt: skip


@pytest.mark.nightly
def test_a_tuning_with_a_real_model_goes_through_and_keeps_only_what_wins(
    folder: Path,
    url: str,  # noqa: F811
    library_folder: Path,
) -> None:
    done = citewell(
        folder, url, library_folder,
        "tune", "--steps", "1", "--threshold", "1", "--demos", "1",
        "--json", "tuning.json", "--html", "tuning.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tuning = msgspec.json.decode((folder / "tuning.json").read_bytes(), type=Tuning)
    (step,) = tuning.steps
    assert step.problem is None and step.version is not None
    assert step.optimizer == "bootstrap" and len(step.version.demos) >= 1
    assert tuning.sizes["asked"] == PAPERS
    assert sum(tuning.sizes[p] for p in ("train", "valid", "test")) == PAPERS
    assert tuning.usage.requests > PAPERS and tuning.usage.output_tokens > PAPERS
    kept = folder / "data" / "programs" / "pick" / f"{step.version.version}.json"
    assert kept.exists() == step.accepted
    assert step.accepted == (
        step.difference is not None
        and step.difference.low is not None
        and step.difference.low > 0
        and step.difference.p <= 0.05
    )
    assert f"pick@{tuning.ended.version} is in use." in done.stdout
    threshold = tuning.pick_threshold
    assert threshold is not None and threshold.test_ranker.passages == tuning.sizes["test"]
    counts = msgspec.structs.asdict(threshold)
    kinds = ("shown_right", "shown_wrong", "shown_none", "absent_one", "absent_none", "failed")
    assert sum(counts[kind] for kind in kinds) == tuning.sizes["valid"]
    assert f"at {threshold.best:g};" in done.stdout
    page = (folder / "tuning.html").read_text(encoding="utf-8")
    assert "Our method builds on" in page and "default-src 'none'" in page


def test_real_models_are_compared_with_the_ranker(
    folder: Path,
    url: str,  # noqa: F811
    library_folder: Path,
) -> None:
    done = citewell(
        folder, url, library_folder,
        "compare-models", "--limit", "3", "-m", f"llamacpp:smollm2@{url}",
        "--json", "models.json", "--html", "models.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = msgspec.json.decode((folder / "models.json").read_bytes(), type=ModelComparison)
    ranker, model = found.models
    assert ranker.model == "ranker" and ranker.usage.requests == 0
    assert model.usage.requests == 3 and model.p50 > 0
    assert model.failed < 1
    assert "<svg" in (folder / "models.html").read_text(encoding="utf-8")


def test_without_a_model_nothing_is_asked_and_the_cure_is_named(
    folder: Path, library_folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "citewell", "--set", f"library.path={library_folder}", "tune", "p00.tex"],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1
    assert "llm.provider" in done.stderr
