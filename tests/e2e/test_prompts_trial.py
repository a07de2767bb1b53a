"""A trial in use: a share of a paper's placeholders is answered by another version of the picker,
what is cited is learned, and the outcomes stand side by side."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.llm.versions import Version, write_version

pytest.importorskip("dspy")

RECORDS = Path(__file__).resolve().parents[1] / "fixtures" / "papers.jsonl"
PLACES = 10


def test_what_was_cited_by_each_version_is_told(
    tmp_path: Path, library_folder: Path, chat: Any, fixture_files: Callable[[str], Any]
) -> None:
    titles = [json.loads(line)["title"] for line in RECORDS.read_text("utf-8").splitlines()]
    passages = "".join(
        f"Our work builds on {title.lower()} \\cite<{title.lower().rsplit(maxsplit=1)[0]}>.\n"
        for title in titles[:PLACES]
    )
    fixture_files(
        "%! main.tex\n\\documentclass{article}\\begin{document}\n"
        + passages
        + "\\bibliography{refs}\\end{document}\n%! refs.bib\n\n"
    ).write(tmp_path)
    (tmp_path / "none.toml").touch()
    marked = Version(program="pick", version="v2", instructions="THE OTHER PROMPT. Choose one.")
    write_version(marked, tmp_path / "data" / "programs")
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "1", "reason": "It fits."}'))
    env = {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
        "CITEWELL_LIBRARY_PATH": str(library_folder),
        "CITEWELL_CONFIG": str(tmp_path / "none.toml"),
        "CITEWELL_DATA": str(tmp_path / "data"),
        "CITEWELL_LLM_PROVIDER": "vllm",
        "CITEWELL_LLM_MODEL": "m",
        "CITEWELL_LLM_BASE_URL": server.url,
        "CITEWELL_LLM_PICK_THRESHOLD": "0",
        "PYTHONIOENCODING": "utf-8",
    }

    def citewell(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "citewell", *words],
            cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    citewell("prompts", "trial", "pick", "v2", "--share", "0.5")
    plan = json.loads(citewell("fill", "main.tex", "--yes", "--json"))
    server.close()
    made = [place["picked"]["program"] for place in plan["placeholders"]]
    assert set(made) == {"pick@builtin", "pick@v2"}
    # What is said to have been asked was asked: the prompts differ.
    others = sum("THE OTHER PROMPT" in chat.prompt_of(request) for request in server.requests)
    assert others == made.count("pick@v2") and len(server.requests) == PLACES
    found = json.loads(citewell("prompts", "outcomes", "--json"))
    rows = {row["version"]: row["accepted"] for row in found if row["program"] == "pick"}
    assert rows == {name: made.count(f"pick@{name}") for name in ("builtin", "v2")}
    citewell("prompts", "trial", "pick", "v2", "--share", "0")
    assert "trial" not in citewell("prompts", "list")
