"""The command line as a user runs it: real processes, a real library, real files."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.documents.bib.reader import parse_bib

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PAPERS = (FIXTURES / "papers.jsonl", FIXTURES / "more_papers.jsonl")

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's own: neither settings nor libraries."""
    clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
    config = folder / "config.toml"
    config.touch()
    return clean | {
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
        "CITEWELL_CONFIG": str(config),
        "CITEWELL_DATA": str(folder / "history"),
        "PYTHONIOENCODING": "utf-8",
        "OMP_NUM_THREADS": "1",
    }


def command(
    *arguments: str | Path, folder: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "citewell", *map(str, arguments)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user's home whose library "default" holds the 28 papers of the fixtures."""
    folder = tmp_path_factory.mktemp("home")
    run = command("library", "add", *PAPERS, folder=folder, env=environment(folder))
    assert run.returncode == 0, run.stderr
    yield folder


@pytest.fixture(autouse=True)
def nothing_accepted(home: Path) -> None:
    """Tests share a home: each begins without the history of another."""
    shutil.rmtree(home / "history", ignore_errors=True)


@pytest.fixture
def citewell(home: Path, tmp_path: Path) -> Run:
    """Runs `citewell ARGUMENTS` in the test's folder with the library of `home`."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return command(*arguments, folder=tmp_path, env=environment(home))

    return run


def at_a_terminal(arguments: list[str], folder: Path, env: dict[str, str]) -> str:
    """What the command shows at a terminal of its own."""
    import pty

    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "citewell", *arguments],
        cwd=folder, env=env, stdin=secondary, stdout=secondary, stderr=secondary,
    )  # fmt: skip
    os.close(secondary)
    shown = b""
    try:
        while data := os.read(primary, 65_536):
            shown += data
    except OSError:  # Linux says so at the end of a pseudo-terminal
        pass
    process.wait(timeout=600)
    os.close(primary)
    return shown.decode("utf-8", "replace")


@pytest.fixture
def bare(tmp_path: Path) -> Run:
    """The same without any library."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return command(*arguments, folder=tmp_path, env=environment(tmp_path))

    return run


class TestFind:
    def test_the_paper_that_is_meant_comes_first_with_the_reason(self, citewell: Run) -> None:
        run = citewell("find", "graph", "attention", "networks")
        assert run.returncode == 0, run.stderr
        first = run.stdout.index("Graph Attention Networks")
        assert first < run.stdout.index("Attention Is All You Need")
        assert "its title is what you typed" in run.stdout
        assert "2018" in run.stdout

    def test_json_holds_the_whole_record(self, citewell: Run) -> None:
        run = citewell("find", "long short-term memory", "--json", "-k", "3")
        result = json.loads(run.stdout)
        assert len(result["hits"]) <= 3
        work = result["hits"][0]["work"]
        assert work["title"] == "Long Short-Term Memory"
        assert work["authors"] == ["Sepp Hochreiter", "Jürgen Schmidhuber"]
        assert result["hits"][0]["key"] == "hochreiter1997long"
        assert {e["retriever"] for e in result["hits"][0]["evidence"]} >= {"bm25", "dense"}

    def test_bibtex_can_be_added_to_a_bibliography(self, citewell: Run) -> None:
        run = citewell("find", "neural networks", "--bibtex", "-k", "5")
        assert run.returncode == 0, run.stderr
        bib = parse_bib(run.stdout)
        assert bib.problems == ()
        assert len({entry.key for entry in bib.entries}) == 5

    def test_each_line_of_a_file_is_answered_in_its_order(
        self, citewell: Run, tmp_path: Path
    ) -> None:
        file = tmp_path / "queries.txt"
        file.write_text("long short-term memory\n\ngraph attention networks\n")
        run = citewell("find", "--file", file, "--json", "-k", "2")
        titles = [one["hits"][0]["work"]["title"] for one in json.loads(run.stdout)]
        assert titles == ["Long Short-Term Memory", "Graph Attention Networks"]
        lines = citewell("find", "--file", file, "-k", "1").stdout.splitlines()
        assert lines[::2] == ["# long short-term memory", "# graph attention networks"]
        assert citewell("find", "--file", file, "words").returncode == 2

    @pytest.mark.parametrize(
        ("arguments", "title"),
        [
            (["10.18653/v1/N19-1423"], "BERT"),
            (["https://doi.org/10.18653/v1/N19-1423"], "BERT"),
            (["https://aclanthology.org/N19-1423.pdf"], "BERT"),
            (["arXiv:1710.10903v3"], "Graph Attention"),
            (["https://arxiv.org/abs/1710.10903"], "Graph Attention"),
            (["graphs", "--author", "Thomas Kipf"], "Semi-Supervised"),
            (["--author", "Kipf, Thomas N."], "Semi-Supervised"),
            (["attention", "--venue", "NIPS", "--year", "2017"], "Attention Is All"),
            (["--venue", "Neural Information Processing Systems 2017"], "Attention Is All"),
        ],
    )
    def test_an_identifier_and_filters_as_people_write_them_lead_to_one_paper(
        self, citewell: Run, arguments: list[str], title: str
    ) -> None:
        run = citewell("find", *arguments, "--json")
        assert run.returncode == 0, run.stderr
        (hit,) = json.loads(run.stdout)["hits"]
        assert hit["work"]["title"].startswith(title)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["10.1000/attention"], "[identifier-unknown]"),
            (["https://example.org/attention"], "[identifier-unknown]"),
            (["attention", "--author", "Jan Kipf"], "no paper by 'Jan Kipf'"),
            (["attention", "--year", "2090"], "no paper of 2090"),
        ],
    )
    def test_what_found_nothing_is_named(
        self, citewell: Run, arguments: list[str], message: str
    ) -> None:
        run = citewell("find", *arguments)
        assert run.returncode == 1
        assert message in run.stderr

    def test_json_has_hits_and_problems_also_when_nothing_is_found_or_searched(
        self, citewell: Run, bare: Run
    ) -> None:
        for run, code in (
            (citewell("find", "10.1000/attention", "--json"), "identifier-unknown"),
            (citewell("find", "a", "--author", "Jan Kipf", "--json"), "filter-empty"),
            (citewell("find", "a", "--online", "--json"), "sources-off"),
            (bare("find", "a", "--json"), "library-missing"),
        ):
            result = json.loads(run.stdout)
            assert result["hits"] == []
            assert [problem["code"] for problem in result["problems"]] == [code]
            assert run.returncode == (1 if code in ("identifier-unknown", "filter-empty") else 2)

    def test_a_pipe_gets_one_line_a_paper(self, citewell: Run) -> None:
        run = citewell("find", "long short-term memory", "-k", "3")
        lines = run.stdout.splitlines()
        assert len(lines) == 3
        fields = lines[0].split("\t")
        assert fields[:5] == [
            "hochreiter1997long", "Long Short-Term Memory", "Hochreiter, Schmidhuber", "1997",
            "Neural Computation",
        ]  # fmt: skip
        assert fields[5].startswith("its title is what you typed; ")

    @pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
    @pytest.mark.parametrize("no_color", ["", "1"])
    def test_a_terminal_gets_styles_only_where_the_user_wants_them(
        self, home: Path, tmp_path: Path, no_color: str
    ) -> None:
        env = environment(home) | {"NO_COLOR": no_color, "TERM": "xterm-256color", "COLUMNS": "70"}
        for arguments, words in (
            (["find", "graph attention", "-k", "1"], "velickovic2018graph"),
            (["find", "10.1000/attention"], "identifier-unknown"),
        ):
            shown = at_a_terminal(arguments, tmp_path, env)
            assert words in shown
            assert ("\x1b[" in shown) is (not no_color)
            plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r", "").splitlines()
            if arguments[1] == "graph attention":
                assert max(map(len, plain)) <= 70

    def test_every_command_that_needs_a_library_names_the_missing_one(
        self, bare: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "p.tex").write_text(
            "\\documentclass{article}\\begin{document}A \\cite<b>. \\cite{a}\\bibliography{r}\\end{document}"
        )
        (tmp_path / "r.bib").write_text("@misc{a, title={A}, year=2000}\n")
        for arguments in (
            ("find", "a"), ("find", "10.1000/a"), ("find", "--author", "Kipf"),
            ("fill", "p.tex", "--dry-run"), ("check", "r.bib"), ("library", "status"),
            ("library", "build"), ("eval", "p.tex"),
        ):  # fmt: skip
            run = bare(*arguments)
            assert run.returncode in (1, 2), arguments
            assert "[library-missing]" in run.stderr, arguments
            assert "citewell library add" in run.stderr, arguments

    def test_an_unknown_library_lists_those_that_exist(self, citewell: Run) -> None:
        run = citewell("--library", "thesis", "find", "kettles")
        assert run.returncode == 2
        assert "Existing libraries: default" in run.stderr

    def test_a_file_that_is_not_there_needs_another_name_and_no_folder(self, citewell: Run) -> None:
        run = citewell("check", "nofile.bib")
        assert "no such file" in run.stderr and "Check the name." in run.stderr
        assert "folder" not in run.stderr
        assert "there is no folder sub" in citewell("check", "sub/nofile.bib").stderr


class TestDoctor:
    def test_what_answers_and_how_fast_is_told(self, citewell: Run, home: Path) -> None:
        run = citewell("doctor", "--json")
        assert run.returncode == 0, run.stderr
        found = json.loads(run.stdout)
        assert found["library"]["works"] == 28
        assert set(found["library"]["retrievers"]) >= {"bm25", "dense"}
        assert found["timing"]["warm_ms"] > 0
        assert found["problems"] == []
        assert str(home) in found["settings"]["library.path"]
        assert "CITEWELL_LIBRARY_PATH" in found["settings"]["library.path"]

    def test_a_machine_without_a_library_gets_the_cure(self, bare: Run) -> None:
        run = bare("doctor")
        assert run.returncode == 1
        assert "[library-missing]" in run.stderr
        assert "Versions" in run.stdout

    def test_a_wrong_setting_is_shown_with_its_file_and_line(
        self, citewell: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "citewell.toml").write_text("\n[retrieval]\ntimeout_m = 3\n", encoding="utf-8")
        run = citewell("doctor")
        assert run.returncode == 1
        assert "citewell.toml:3" in run.stderr
        assert "Did you mean `retrieval.timeout_ms`?" in run.stderr

    def test_the_pipeline_is_drawn_as_configured_with_the_times_of_a_search(
        self, citewell: Run, tmp_path: Path
    ) -> None:
        (tmp_path / "citewell.toml").write_text("[retrieval]\ndense = false\n", encoding="utf-8")
        run = citewell("doctor", "--graph", "pipeline.svg")
        assert run.returncode == 0, run.stderr
        picture = (tmp_path / "pipeline.svg").read_text(encoding="utf-8")
        graph = (tmp_path / "pipeline.mmd").read_text(encoding="utf-8")
        assert picture.startswith("<svg ") and graph.startswith("flowchart LR\n")
        (off,) = [line for line in graph.splitlines() if line.endswith(" off")]
        assert "dense" in off and "bm25" not in off
        assert re.search(r'bm25\["BM25<br>words<br>[\d.]+ ms"\]', graph)
        assert re.search(r">[\d.]+ ms</text>", picture)
        refused = citewell("doctor", "--graph", "no-such-folder/pipeline.svg")
        assert refused.returncode == 2 and "[graph-unwritable]" in refused.stderr


TEX = r"""\documentclass{article}
\begin{document}
We use residual networks \cite<deep residual learning for image recognition>, trained with
\cite{Adam a method for stochastic optimization}. The Transformer \cite<attention is all you need>
is known. Medieval trade routes \cite<salt roads of the twelfth century> are not.
\bibliographystyle{plain}
\bibliography{refs}
\end{document}
"""
BIB = """@comment{kept as it is}

@inproceedings{transformer,
    title = {Attention is All you Need},
    author = {Vaswani, Ashish and others},
    year = 2017,
}
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    (tmp_path / "refs.bib").write_bytes(BIB.encode())
    path = tmp_path / "paper.tex"
    path.write_bytes(TEX.encode())
    return path


def plan_of(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads(run.stdout)
    return plan


class TestFill:
    def test_a_dry_run_shows_the_diff_and_writes_nothing(self, citewell: Run, paper: Path) -> None:
        run = citewell("fill", paper.name, "--dry-run")
        assert run.returncode == 1, run.stderr  # one placeholder is left open
        assert paper.read_bytes() == TEX.encode()
        assert (paper.parent / "refs.bib").read_bytes() == BIB.encode()
        assert "+++ b/refs.bib" in run.stdout
        assert "+++ b/paper.tex" in run.stdout
        assert "left open" in run.stdout
        assert "salt roads of the twelfth century" in run.stdout

    @pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
    def test_the_diff_is_what_is_written(self, citewell: Run, paper: Path, tmp_path: Path) -> None:
        diff = plan_of(citewell("fill", paper.name, "--dry-run", "--json"))["diff"]
        copy = tmp_path / "copy"
        copy.mkdir()
        for name in ("paper.tex", "refs.bib"):
            shutil.copy(tmp_path / name, copy / name)
        patch = ["patch", "--binary", "-s", "-p1"]
        subprocess.run(patch, cwd=copy, input=diff.encode(), check=True)
        citewell("fill", paper.name, "--yes")
        for name in ("paper.tex", "refs.bib"):
            assert (copy / name).read_bytes() == (tmp_path / name).read_bytes()

    def test_citations_and_entries_are_written_and_the_rest_stays(
        self, citewell: Run, paper: Path
    ) -> None:
        run = citewell("fill", paper.name, "--yes", "--json")
        plan = plan_of(run)
        assert plan["written"] is True
        by_title = {p["work"]["title"]: p for p in plan["placeholders"] if p["work"]}
        assert set(by_title) == {
            "Deep Residual Learning for Image Recognition",
            "Adam: A Method for Stochastic Optimization",
            "Attention Is All You Need",
        }
        assert by_title["Attention Is All You Need"]["key"] == "transformer"
        assert by_title["Attention Is All You Need"]["reused"] is True

        bib = (paper.parent / "refs.bib").read_text(encoding="utf-8")
        text = paper.read_text(encoding="utf-8")
        assert bib.startswith(BIB.rstrip("\n"))
        assert bib.count("@inproceedings") == 3
        for found in by_title.values():
            assert f"{{{found['key']}}}" in text
            assert f"{{{found['key']}," in bib
        changed = [
            (old, new)
            for old, new in zip(TEX.split("\n"), text.split("\n"), strict=True)
            if old != new
        ]
        assert len(changed) == 2
        assert r"\cite<salt roads of the twelfth century> are not." in text

    def test_markdown_with_windows_line_ends_keeps_them(
        self, citewell: Run, tmp_path: Path
    ) -> None:
        path = tmp_path / "notes.md"
        text = "---\r\ntitle: Notes\r\nbibliography: refs.bib\r\n---\r\n\r\nWord vectors [@?GloVe global vectors for word representation] work.\r\n"
        path.write_bytes(text.encode())
        (tmp_path / "refs.bib").write_bytes(BIB.replace("\n", "\r\n").encode())
        run = citewell("fill", path.name, "--yes")
        assert run.returncode == 0, run.stderr
        new = path.read_bytes().decode()
        assert new.count("\r\n") == text.count("\r\n") == new.count("\n")
        assert "[@?" not in new
        bib = (tmp_path / "refs.bib").read_bytes().decode()
        assert bib.count("\n") == bib.count("\r\n")
        assert "GloVe" in bib

    def test_without_a_terminal_a_question_is_wrong_usage(self, citewell: Run, paper: Path) -> None:
        run = citewell("fill", paper.name)
        assert run.returncode == 2
        assert "use --dry-run or --yes" in run.stderr
        assert paper.read_bytes() == TEX.encode()

    @pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() == 0,
        reason="the superuser may write everywhere",
    )
    def test_a_bibliography_that_cannot_be_written_leaves_the_paper_alone(
        self, citewell: Run, paper: Path
    ) -> None:
        paper.parent.chmod(0o555)
        try:
            run = citewell("fill", paper.name, "--yes")
        finally:
            paper.parent.chmod(0o755)
        assert run.returncode == 2
        assert "Traceback" not in run.stderr
        assert paper.read_bytes() == TEX.encode()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal on Windows")
class TestAtATerminal:
    def drive(self, home: Path, folder: Path, arguments: list[str], keys: bytes) -> tuple[int, str]:
        """Run with a pseudo-terminal for all three streams and type `keys` at it."""
        import pty

        env = environment(home) | {"TERM": "dumb", "COLUMNS": "100"}
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "citewell", *arguments], env)
        os.write(terminal, keys)
        output = b""
        while True:
            try:
                part = os.read(terminal, 4096)
            except OSError:
                break
            if not part:
                break
            output += part
        os.close(terminal)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), output.decode("utf-8", "replace")

    def test_yes_writes_and_no_does_not(self, home: Path, paper: Path) -> None:
        code, out = self.drive(home, paper.parent, ["fill", "paper.tex"], b"n\n")
        assert "Write these changes?" in out
        assert code == 1
        assert paper.read_bytes() == TEX.encode()
        code, _ = self.drive(home, paper.parent, ["fill", "paper.tex"], b"y\n")
        assert code == 1  # one placeholder is left open
        assert paper.read_bytes() != TEX.encode()

    def test_each_placeholder_can_be_chosen_searched_again_or_skipped(
        self, home: Path, paper: Path
    ) -> None:
        keys = b"1\nlatent dirichlet allocation\n1\ns\nq\ny\n"
        code, out = self.drive(home, paper.parent, ["fill", "paper.tex", "-i"], keys)
        assert code == 1
        text = paper.read_text(encoding="utf-8")
        bib = (paper.parent / "refs.bib").read_text(encoding="utf-8")
        assert "Shaoqing" in bib
        assert "Blei" in bib
        assert "Kingma" not in bib
        assert r"\cite<attention is all you need>" in text, out


def test_a_reader_that_leaves_early_is_no_error(home: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "citewell", "find", "networks", "--json", "-k", "20"],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert run.stdout is not None and run.stderr is not None
    run.stdout.close()
    errors = run.stderr.read()
    run.stderr.close()
    run.wait(60)
    assert b"Traceback" not in errors


def test_a_model_is_not_asked_about_a_whole_title(citewell: Run) -> None:
    model = ("llm.provider=llamacpp", "llm.model=none", "llm.base_url=http://127.0.0.1:9/v1")
    flags = [part for one in model for part in ("--set", one)]
    named = citewell(*flags, "find", "--pick", "-k", "3", "attention is all you need")
    assert named.returncode == 0 and "Attention Is All You Need" in named.stdout
    assert "llm-" not in named.stderr
    assert "llm-" in citewell(*flags, "find", "--pick", "-k", "3", "attention").stderr


def test_a_server_that_asks_for_a_key_where_there_is_none_is_named(
    citewell: Run, chat: Any
) -> None:
    server = chat.ChatServer(lambda request: chat.Reply(status=401, body=b"{}"))
    settings = ("llm.provider=vllm", "llm.model=none", f"llm.base_url={server.url}")
    flags = [part for one in settings for part in ("--set", one)]
    try:
        shown = citewell(*flags, "find", "--pick", "-k", "3", "attention").stderr
    finally:
        server.close()
    assert "no key was found" in shown and "it/s" not in shown
