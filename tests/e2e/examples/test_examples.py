"""The examples for agents work with the frameworks that they name, and with their clients."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "clients" / "examples" / "agents"
SCRIPTED = Path(__file__).with_name("scripted_models.py")
PYTHON = EXAMPLES / ".venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
FILES = sorted(EXAMPLES.glob("with_*.py"))


def test_each_example_is_named() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert len(FILES) == 5 and all(f"[{path.name}]({path.name})" in page for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_agent_finds_fills_and_checks(env: dict[str, str], tmp_path: Path, path: Path) -> None:
    python = os.environ.get("CITEWELL_EXAMPLES_PYTHON") or str(PYTHON)
    if not Path(python).exists():
        pytest.skip("needs what scripts/install-agent-examples.sh installs")
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}\n"
        "Attention \\cite<attention is all you need>.\n\\bibliography{refs}\\end{document}\n"
    )
    (tmp_path / "refs.bib").write_text("")
    command = tmp_path / "citewell"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m citewell "$@"\n')
    command.chmod(0o755)
    found = subprocess.run(
        [python, str(SCRIPTED), str(path), str(tmp_path), str(command)],
        env=env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-3000:]
    assert "Graph Attention Networks" in found.stdout
    assert "verified" in found.stdout
    assert "it takes an integer from 1 to 50" in found.stdout, "an error reaches the model"
    assert "\\cite{vaswani2017attention}" in (tmp_path / "main.tex").read_text()
    assert (tmp_path / "refs.bib").read_text().count("@") == 1
