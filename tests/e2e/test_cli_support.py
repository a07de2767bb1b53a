"""`citewell support` from the prompt: sentences, abstracts and a model's opinion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dspy")

PAPER = """\
%! main.tex
\\documentclass{article}\\begin{document}
Local attention is compared with global attention \\cite{luong}.
Nobody knows why \\cite{notes}, but see \\cite{luong}.
\\bibliography{refs}\\end{document}
%! refs.bib
@inproceedings{luong, title={Effective Approaches to Attention-based Neural Machine Translation},
  author={Luong, Thang}, year={2015}, doi={10.18653/v1/D15-1166}}
@misc{notes, title={Notes}}

"""


@pytest.fixture
def support(
    tmp_path: Path, library_folder: Path, fixture_files: Callable[[str], Any]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command on the paper."""
    fixture_files(PAPER).write(tmp_path)
    (tmp_path / "none.toml").touch()

    def run(
        *words: str, command: tuple[str, ...] = (), **llm: str
    ) -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
            "CITEWELL_LIBRARY_PATH": str(library_folder),
            "CITEWELL_CONFIG": str(tmp_path / "none.toml"),
            "CITEWELL_DATA": str(tmp_path / "data"),
            "PYTHONIOENCODING": "utf-8",
            **{f"CITEWELL_LLM_{name.upper()}": value for name, value in llm.items()},
        }
        return subprocess.run(
            [sys.executable, "-m", "citewell", *(command or ("support", "main.tex")), *words],
            cwd=tmp_path, env=env, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", timeout=300, check=False,
        )  # fmt: skip

    return run


def test_each_citing_sentence_is_put_beside_the_abstract(
    support: Callable[..., Any], chat: Any
) -> None:
    def script(request: dict[str, Any]) -> Any:
        if "Nobody knows" in chat.prompt_of(request):
            return chat.Reply('{"supports": "no", "words": "these words are made up"}')
        return chat.Reply('{"supports": "yes", "words": "global and local attention"}')

    server = chat.ChatServer(script)
    named = {"provider": "llamacpp", "model": "scripted", "base_url": server.url}
    done = support(**named)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 2, "a paper without an abstract is not asked about"
    assert "main.tex:2 luong: Effective Approaches" in done.stdout
    assert "supports the sentence: “global and local attention”" in done.stdout
    assert "made up" not in done.stdout
    assert "3 of 3 citations: 1 yes, 0 no, 1 unclear, 1 not asked." in done.stdout
    assert "one model's opinion" in done.stdout
    assert "language model: 2 requests" in done.stderr
    done = support("--json", "--key", "luong", "--limit", "1", **named)
    found = json.loads(done.stdout)
    assert found["citations"] == 2
    (row,) = found["asked"]
    assert (row["key"], row["line"], row["verdict"]) == ("luong", 2, "yes")
    assert row["program"] == "verify@builtin" and row["words"] == "global and local attention"
    server.close()
    done = support("--key", "luong", **named)
    assert done.returncode == 1
    assert "llm-down" in done.stderr


@pytest.mark.parametrize(
    ("choice", "answer"),
    [("2", "chose the right paper"), ("1", "chose the wrong paper"), ("x", "gave no answer")],
)
def test_a_small_question_tells_a_wrong_answer_from_none(
    support: Callable[..., Any], chat: Any, choice: str, answer: str
) -> None:
    server = chat.ChatServer(lambda request: chat.Reply(json.dumps({"choice": choice})))
    named = {"provider": "llamacpp", "model": "scripted", "base_url": server.url}
    done = support("--ask", command=("llm",), **named)
    server.close()
    assert answer in done.stdout and server.url in done.stdout
    assert done.returncode == (1 if choice == "x" else 0)


def test_without_a_model_nothing_is_asked(support: Callable[..., Any]) -> None:
    done = support("--ask", command=("llm",))
    assert done.returncode == 1 and "llm-off" in done.stderr
    done = support()
    assert done.returncode == 1
    assert "llm-off" in done.stderr and not done.stdout
