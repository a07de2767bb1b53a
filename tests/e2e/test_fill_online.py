"""`citewell fill --online`: the allowed sources are asked for what the library does not answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import EVERY_PAPER

Run = Callable[..., "subprocess.CompletedProcess[str]"]
TITLE = "Patience of Kettles"
PAPER = r"""\documentclass{article}\begin{document}
We wait \cite<on the patience of kettles>. We attend \cite<graph attention networks>.
They wait, too \cite<On the Patience of Kettles>.
\bibliography{refs}\end{document}
"""


@pytest.fixture
def run(tmp_path: Path, fake_sources: Any) -> Run:
    """Runs Citewell in a folder with a paper and a small library, with default settings but for
    the address of the sources."""
    config = tmp_path / "config.toml"
    config.write_text(f'[sources]\nbase_url = "{fake_sources.url}"\n', encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
        "CITEWELL_CONFIG": str(config),
        "CITEWELL_DATA": str(tmp_path / "data"),
        "CITEWELL_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "OMP_NUM_THREADS": "1",
    }

    def call(*arguments: str, allow: str = "") -> subprocess.CompletedProcess[str]:
        allowed = {"CITEWELL_SOURCES_ALLOW": allow} if allow else {}
        return subprocess.run(
            [sys.executable, "-m", "citewell", *arguments], cwd=tmp_path, env=clean | allowed,
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300,
            check=False,
        )  # fmt: skip

    assert call("library", "add", *map(str, EVERY_PAPER)).returncode == 0
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    (tmp_path / "refs.bib").write_text("", encoding="utf-8")
    return call


def test_what_the_library_lacks_is_cited_kept_and_found_offline(
    run: Run, tmp_path: Path, fake_sources: Any
) -> None:
    done = run("fill", "--yes", "--online", "paper.tex", allow="openreview")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "paper.tex").read_text(encoding="utf-8")
    assert "<" not in text
    assert (tmp_path / "refs.bib").read_text(encoding="utf-8").count(TITLE) == 1
    sent = [one.target.lower() for one in fake_sources.log]
    assert sum("patience" in target for target in sent) == 1, sent
    assert not any("attention" in target for target in sent), sent
    fake_sources.log.clear()
    found = json.loads(run("find", "patience of kettles", "--json").stdout)["hits"][0]["work"]
    assert TITLE in found["title"]
    assert found["provenance"][0]["source"] == "openreview"
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    done = run("fill", "--dry-run", "paper.tex")
    assert done.returncode == 0, done.stdout + done.stderr
    assert fake_sources.log == []


def test_nothing_is_sent_without_the_flag_or_without_permission(
    run: Run, tmp_path: Path, fake_sources: Any
) -> None:
    done = run("fill", "--yes", "paper.tex", allow="openreview")
    assert done.returncode == 1
    done = run("fill", "--yes", "--online", "paper.tex")
    assert done.returncode != 0 and "sources-off" in done.stderr, done.stderr
    assert fake_sources.log == []
    assert TITLE not in (tmp_path / "refs.bib").read_text(encoding="utf-8")


def test_a_source_that_hangs_costs_only_its_own_answers(
    run: Run, tmp_path: Path, fake_sources: Any, fakes: Any
) -> None:
    fake_sources.fail("crossref", fakes.Fault(kind="hang"))
    allow = "openreview,crossref"
    done = run("fill", "--yes", "--online", "paper.tex", allow=allow)
    assert done.returncode == 0, done.stdout + done.stderr
    assert TITLE in (tmp_path / "refs.bib").read_text(encoding="utf-8")
    assert "Crossref" in done.stderr, done.stderr
