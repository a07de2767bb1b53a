"""Nobody sees a manuscript whom the user did not name, and nothing of it stays on the disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAPER = """\
%! main.tex
\\documentclass{article}\\title{A secret of gryphons}\\begin{document}
Zwiebelkuchen aligners use neural machine translation with attention \\cite{?}.
\\bibliography{refs}\\end{document}
%! refs.bib

"""
SECRETS = (b"Zwiebelkuchen", b"gryphons")
WATCH = """\
import json, sys
seen = {"connect": [], "modules": []}
def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        seen["connect"].append(repr(arguments[1] if len(arguments) > 1 else arguments))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        seen["connect"].append(repr(arguments[0]))
sys.addaudithook(watch)
from citewell.cli.app import run
code = run(sys.argv[2:])
heavy = ("dspy", "litellm", "openai", "transformers", "torch", "pydantic")
seen["modules"] = [name for name in heavy if name in sys.modules]
seen["code"] = code
with open(sys.argv[1], "w") as file:
    file.write(json.dumps(seen))
"""


@pytest.fixture
def watched(
    tmp_path: Path, library_folder: Path, fixture_files: Callable[[str], Any]
) -> Callable[..., dict[str, Any]]:
    """Runs a command in a home of its own; what it connected to and imported."""
    home = tmp_path / "home"
    (home / "tmp").mkdir(parents=True)
    fixture_files(PAPER).write(tmp_path / "paper")

    def run(*arguments: str, **settings: str) -> dict[str, Any]:
        clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
        keys = ("_API_KEY", "_API_BASE", "_BASE_URL", "XDG_", "HF_", "DSPY")
        clean = {name: value for name, value in clean.items() if not any(k in name for k in keys)}
        env = clean | {
            "HOME": str(home), "USERPROFILE": str(home), "LOCALAPPDATA": str(home / "local"),
            "APPDATA": str(home / "roaming"), "TMPDIR": str(home / "tmp"), "TEMP": str(home / "tmp"),
            "CITEWELL_LIBRARY_PATH": str(library_folder), "CITEWELL_DATA": str(home / "data"),
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8",
            "http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9",
        } | settings  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", WATCH, str(tmp_path / "seen.json"), *arguments],
            cwd=tmp_path / "paper",
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
        seen: dict[str, Any] = json.loads((tmp_path / "seen.json").read_text())
        return seen | {"out": done.stdout, "err": done.stderr}

    return run


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("fill", "main.tex", "--dry-run"),
        ("find", "Zwiebelkuchen attention", "--pick"),
        ("llm",),
        ("eval", "main.tex"),
        ("doctor",),
        ("support", "main.tex"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_without_a_named_provider_nothing_is_imported_and_nobody_is_asked(
    watched: Callable[..., dict[str, Any]], arguments: tuple[str, ...]
) -> None:
    seen = watched(*arguments, OPENAI_API_KEY="sk-there", ANTHROPIC_API_KEY="sk-there")
    assert seen["connect"] == [], seen["err"]
    assert not {"dspy", "litellm", "openai", "transformers"} & set(seen["modules"])


def test_a_provider_of_a_workspace_file_is_not_taken(
    watched: Callable[..., dict[str, Any]], chat: Any, tmp_path: Path
) -> None:
    """Such a file comes with somebody else's manuscript."""
    server = chat.ChatServer(lambda request: chat.Reply("{}"))
    (tmp_path / "paper" / "citewell.toml").write_text(
        f'[llm]\nprovider = "vllm"\nmodel = "m"\nbase_url = "{server.url}"\n'
    )
    seen = watched("fill", "main.tex", "--dry-run")
    server.close()
    assert seen["connect"] == [] and not server.requests
    assert "settings-untrusted" in seen["err"]


def test_a_host_that_is_not_named_is_not_asked(watched: Callable[..., dict[str, Any]]) -> None:
    named = {"CITEWELL_LLM_PROVIDER": "openai", "CITEWELL_LLM_MODEL": "m", "OPENAI_API_KEY": "sk-x"}
    seen = watched(
        "fill", "main.tex", "--dry-run", **named, CITEWELL_LLM_BASE_URL="https://127.0.0.9:1/v1"
    )
    assert seen["connect"] == []
    assert "llm-host" in seen["err"]


def test_the_named_server_alone_is_asked_and_nothing_of_the_text_stays(
    watched: Callable[..., dict[str, Any]], chat: Any, tmp_path: Path
) -> None:
    pytest.importorskip("dspy")
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "reason": "It fits."}'))
    before = files_below(tmp_path)
    seen = watched(
        "--set", "llm.rerank=listwise", "--set", "llm.rerank_depth=2", "--set", "llm.verify=true",
        "--set", "llm.pick_threshold=0", "-v",
        "fill", "main.tex", "--dry-run", "--unattended",
        CITEWELL_LLM_PROVIDER="llamacpp", CITEWELL_LLM_MODEL="scripted",
        CITEWELL_LLM_BASE_URL=server.url, CITEWELL_LLM_KEY="sk-very-secret",
    )  # fmt: skip
    server.close()
    assert server.requests, seen["err"]
    assert set(seen["connect"]) <= {"'127.0.0.1'", f"('127.0.0.1', {server.port})"}
    assert set(server.keys) == {"Bearer sk-very-secret"}
    sent = "\n".join(chat.prompt_of(request) for request in server.requests)
    assert "Zwiebelkuchen aligners" in sent
    assert "chosen by llamacpp scripted (pick@builtin): “It fits.”" in seen["out"]
    assert "today" in seen["err"] and "language model:" in seen["err"]
    made = {
        name: data
        for name, data in files_below(tmp_path).items()
        if before.get(name) != data and name != "seen.json"
    }
    assert "home/data/llm-usage.sqlite" in made
    for name, data in made.items():
        assert not any(secret in data for secret in (*SECRETS, b"sk-very-secret")), name
    # What is left besides are the counts, and the unpacked weights, which ship.
    kept = {name for name in made if not name.startswith("home/.cache/citewell/arrays/")}
    assert kept == {"home/data/llm-usage.sqlite"}
    for text in (seen["err"], seen["out"].partition("--- a/")[0]):
        assert "sk-very-secret" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("fill", "main.tex", "--dry-run", "--unattended", "--no-model"),
        ("find", "Zwiebelkuchen attention", "--pick", "--no-model"),
        ("explore", "Zwiebelkuchen attention", "--rounds", "1", "--overview", "--no-model"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_flag_keeps_every_request_from_the_model(
    watched: Callable[..., dict[str, Any]], chat: Any, arguments: tuple[str, ...]
) -> None:
    server = chat.ChatServer(lambda request: chat.Reply("{}"))
    seen = watched(
        "--set", "llm.rerank=listwise", "--set", "llm.reformulate=true", "--set", "llm.verify=true",
        *arguments, CITEWELL_LLM_PROVIDER="llamacpp", CITEWELL_LLM_MODEL="scripted",
        CITEWELL_LLM_BASE_URL=server.url,
    )  # fmt: skip
    server.close()
    assert not server.requests and seen["connect"] == [], seen["err"]
    assert seen["out"]


@pytest.mark.parametrize("choice", ["2", "none"])
def test_what_the_model_says_beside_its_choice_reaches_the_terminal_as_a_quotation(
    watched: Callable[..., dict[str, Any]], chat: Any, choice: str
) -> None:
    pytest.importorskip("dspy")
    reply = json.dumps({"choice": choice, "reason": chat.INJECTION})
    server = chat.ChatServer(lambda request: chat.Reply(reply))
    settings = {
        "CITEWELL_LLM_PROVIDER": "llamacpp", "CITEWELL_LLM_MODEL": "scripted",
        "CITEWELL_LLM_BASE_URL": server.url, "COLUMNS": "2000",
    }  # fmt: skip
    fill = ("--set", "llm.pick_threshold=0", "-v", "fill", "main.tex", "--unattended", "--dry-run")
    for arguments in (fill, (*fill, "--json"), ("find", "attention", "--pick")):
        seen = watched(*arguments, **settings)
        output = seen["out"] + seen["err"]
        assert "Ignore the list." in output
        leaks = [leak for leak in chat.LEAKS if leak not in ("\n", "http", "cite{")]
        assert not [leak for leak in leaks if leak in output], output
        if "--json" not in arguments:
            assert ": “Ignore the list." in output
    server.close()
