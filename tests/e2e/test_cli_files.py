"""The command line and the user's files: what may be written, and all of it or nothing."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PAPER = r"""\documentclass{article}
\begin{document}
We build on \cite<graph attention networks>.
\bibliography{refs}
\end{document}
"""
OWN = "@misc{own, title = {Own}}\n"


def environment(home: Path) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
    (home / "config.toml").touch()
    return clean | {
        "CITEWELL_LIBRARY_PATH": str(home / "libraries"),
        "CITEWELL_CONFIG": str(home / "config.toml"),
        "CITEWELL_DATA": str(home / "data"),
        "PYTHONIOENCODING": "utf-8",
        "OMP_NUM_THREADS": "1",
    }


def run_in(folder: Path, home: Path, *arguments: str | Path, **how):
    return subprocess.run(
        [sys.executable, "-m", "citewell", *map(str, arguments)],
        cwd=folder, env=environment(home), stdin=how.pop("stdin", subprocess.DEVNULL),
        capture_output=True, encoding="utf-8", timeout=300, check=False, **how,
    )  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A user's home whose library holds the papers of the fixtures."""
    folder = tmp_path_factory.mktemp("home")
    done = run_in(folder, folder, "library", "add", FIXTURES / "papers.jsonl")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def nothing_accepted(home):
    """Tests share a home: each begins without the history of another."""
    shutil.rmtree(home / "data", ignore_errors=True)


@pytest.fixture
def paper(tmp_path):
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "main.tex").write_text(PAPER)
    (folder / "refs.bib").write_text(OWN)
    return folder


def state(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*")
            if p.is_file()}  # fmt: skip


class TestFillWritesAllOrNothing:
    @pytest.mark.parametrize("locked", ["main.tex", "refs.bib"])
    def test_a_file_that_is_write_protected_leaves_the_other_alone(self, home, paper, locked):
        (paper / locked).chmod(0o444)
        before = state(paper)
        done = run_in(paper, home, "fill", "main.tex", "--yes")
        assert done.returncode != 0
        assert locked in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert state(paper) == before

    def test_a_character_that_the_paper_cannot_hold_leaves_the_bib_alone(self, home, paper):
        text = PAPER.replace("We build", "Wir bauen f\xfcr uns").replace("graph", "graph")
        (paper / "main.tex").write_bytes(text.encode("cp1252"))
        (paper / "refs.bib").write_bytes(OWN.replace("Own", "Erd\u0151s").encode("utf-8"))
        done = run_in(paper, home, "fill", "main.tex", "--yes")
        assert done.returncode == 0, done.stderr
        assert (paper / "refs.bib").read_text("utf-8").count("\n@") == 1

    def test_a_new_section_takes_the_bib_of_the_paper_above(self, home, paper):
        (paper / "sections").mkdir()
        (paper / "sections/new.tex").write_text("See \\cite<deep residual learning>.\n")
        done = run_in(paper, home, "fill", "sections/new.tex", "--yes")
        assert done.returncode == 0, done.stderr
        assert sorted(p.name for p in paper.rglob("*.bib")) == ["refs.bib"]
        assert "Deep Residual Learning" in (paper / "refs.bib").read_text()
        assert (paper / "main.tex").read_text().count("\\bibliography{refs}") == 1


class TestAManuscriptsOwnSettings:
    @pytest.mark.parametrize("how", ["absolute", "above", "link", "linked folder"])
    def test_they_make_nothing_write_outside_of_its_folder(self, home, paper, tmp_path, how):
        """A paper of somebody else, with a `citewell.toml` of theirs."""
        victim = tmp_path / "victim" / "mine.bib"
        victim.parent.mkdir()
        victim.write_text(OWN)
        target = {
            "absolute": victim.as_posix(),
            "above": "../victim/mine.bib",
            "link": "link.bib",
            "linked folder": "folder/mine.bib",
        }[how]
        try:
            (paper / "link.bib").symlink_to(victim)
            (paper / "folder").symlink_to(victim.parent, target_is_directory=True)
        except OSError:
            pytest.skip("symbolic links are not allowed here")
        (paper / "citewell.toml").write_text(f'[bib]\ntarget = "{target}"\n')
        done = run_in(paper, home, "fill", "main.tex", "--yes")
        assert victim.read_text() == OWN
        assert "Traceback" not in done.stderr
        assert "bib.target" in done.stdout + done.stderr, "it is said"
        if "link" in how:
            assert (paper / "main.tex").read_text() == PAPER
        else:
            assert "Graph Attention" in (paper / "refs.bib").read_text()


class TestALibraryAfterACrash:
    def test_a_killed_add_does_not_lock_it(self, tmp_path):
        """Killed at the end of every stage that it tells of, then asked again."""
        folder = tmp_path / "home"
        folder.mkdir()
        for _ in range(3):
            killed = subprocess.Popen(
                [sys.executable, "-c", KILLED, FIXTURES / "papers.jsonl"],
                cwd=folder, env=environment(folder), stderr=subprocess.PIPE,
            )  # fmt: skip
            killed.communicate(timeout=120)
            assert killed.returncode != 0
            library = folder / "libraries" / "default"
            assert any(path.name.endswith(".tmp") for path in library.iterdir())
        done = run_in(folder, folder, "library", "add", FIXTURES / "papers.jsonl")
        assert done.returncode == 0, done.stderr
        assert not any(path.name.endswith(".tmp") for path in library.iterdir())

    def test_doctor_names_a_file_with_a_wrong_bit(self, tmp_path):
        folder = tmp_path / "home"
        folder.mkdir()
        run_in(folder, folder, "library", "add", FIXTURES / "papers.jsonl")
        vectors = max(folder.rglob("segments/*/*/*"), key=lambda path: path.stat().st_size)
        data = bytearray(vectors.read_bytes())
        data[len(data) // 2] ^= 1
        vectors.write_bytes(data)
        done = run_in(folder, folder, "doctor", "--json")
        assert done.returncode == 1
        found = {one["code"]: one for one in json.loads(done.stdout)["problems"]}
        assert found["library-corrupt"]["path"] == str(vectors)
        assert "library build --fresh" in found["library-corrupt"]["hint"]


KILLED = """
import os, signal, sys
from pathlib import Path
real = Path.replace
def killed(self, target):
    if self.name.startswith(".sources.json"):
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
    return real(self, target)
Path.replace = killed
from citewell.__main__ import main
sys.argv = ["citewell", "library", "add", sys.argv[1]]
main()
"""


REFERENCES = """@inproceedings{gat, title = {Graph Attention Networks}, year = {2018},
  author = {Veli{\\v{c}}kovi{\\'c}, Petar and others}}
"""


def keys_of(done) -> list[str]:
    assert done.stdout, done.stderr
    return sorted(one["claim"]["key"] for one in json.loads(done.stdout)["checks"])


class TestCheckReadsWhatIsGiven:
    def test_standard_input(self, home, tmp_path):
        for name in ("-", *(["/dev/stdin"] if Path("/dev/stdin").exists() else [])):
            with (tmp_path / "in").open("w+b") as stream:
                source, sink = os.pipe()
                os.write(sink, REFERENCES.encode())
                os.close(sink)
                done = run_in(tmp_path, home, "check", name, "--format", "json", stdin=source)
                os.close(source)
                assert stream is not None
            assert keys_of(done) == ["gat"], name

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
    def test_a_named_pipe(self, home, tmp_path):
        pipe = tmp_path / "refs.bib"
        os.mkfifo(pipe)
        writer = subprocess.Popen(
            [sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write(sys.argv[2])",
             pipe, REFERENCES]
        )  # fmt: skip
        done = run_in(tmp_path, home, "check", "refs.bib", "--format", "json")
        assert writer.wait(60) == 0
        assert keys_of(done) == ["gat"]

    def test_a_folder_is_every_paper_in_it(self, home, paper):
        (paper / "refs.bib").write_text(
            OWN + REFERENCES + "@misc{two, title = {Another One}, author = {Roe, Jo}}\n"
        )
        (paper / "main.tex").write_text(PAPER.replace("<graph attention networks>", "{gat}"))
        other = paper / "other"
        other.mkdir()
        (other / "talk.md").write_text(
            "---\nbibliography: ../refs.bib\n---\nAs [@gat; @two] say.\n"
        )
        (other / "loose.bib").write_text("@misc{loose, title = {Loose}, author = {Roe, Jo}}\n")
        for name in (".", str(paper)):
            done = run_in(paper, home, "check", name, "--format", "json")
            assert keys_of(done) == ["gat", "loose", "two"]
        done = run_in(paper, home, "check", ".", "--every", "--format", "json")
        assert keys_of(done) == ["gat", "loose", "own", "two"]
        (paper / "sections").mkdir()
        (paper / "sections/new.tex").write_text("Not included yet: \\cite{own}.\n")
        done = run_in(paper, home, "check", ".", "--format", "json")
        assert keys_of(done) == ["gat", "loose", "own", "two"]
        (paper / "empty").mkdir()
        done = run_in(paper, home, "check", "empty")
        assert done.returncode == 2 and "No references found in empty" in done.stderr

    def test_text_goes_to_the_file_that_out_names(self, home, paper):
        (paper / "refs.bib").write_text(REFERENCES)
        done = run_in(paper, home, "check", "refs.bib", "--out", "report.txt")
        assert done.stdout == ""
        assert "1 reference" in (paper / "report.txt").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is not there")
class TestAFullDevice:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("check", "refs.bib"),
            ("find", "graph attention"),
            ("library", "list"),
            ("doctor",),
            ("--help",),
        ],
    )
    def test_it_is_said_in_a_line_with_the_code_of_a_broken_environment(
        self, home, paper, arguments
    ):
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "citewell", *arguments], cwd=paper, env=environment(home),
                stdout=full, stderr=subprocess.PIPE, encoding="utf-8", timeout=300, check=False,
            )  # fmt: skip
        assert done.returncode == 2
        last = done.stderr.strip().splitlines()[-1]
        assert last == "error: The output cannot be written: No space left on device."
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr

    def test_a_device_named_by_out_stays_a_device(self, home, paper):
        done = run_in(paper, home, "check", "refs.bib", "--out", "/dev/full")
        assert done.returncode == 2 and "Traceback" not in done.stderr
        assert Path("/dev/full").is_char_device()


STARTED = """
import signal, sys, warnings
# Tests may run in the background of a shell, which has its jobs ignore Ctrl+C.
signal.signal(signal.SIGINT, signal.default_int_handler)
# As for a user, whom Python does not tell that an interrupted import left its file open.
warnings.simplefilter("ignore", ResourceWarning)
from {package}.cli import main
sys.argv = ["{package}", *sys.argv[1:]]
try:
    print("ready", flush=True)
    main()
except KeyboardInterrupt as error:
    # Before `main` began, it is this program that is interrupted.
    if error.__traceback__.tb_next is not None:
        raise
    sys.exit(130)
"""


DROPPED = """
import signal, sys, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)
from citewell import cli
from citewell.cli import app

class Thing:
    pass

def interrupted(_):
    raise KeyboardInterrupt

def run(arguments):
    thing = Thing()
    kept = weakref.ref(thing, interrupted)
    del thing  # Python drops what the callback raises
    time.sleep(60)
    return 0

app.run = run
cli.main()
"""


def test_an_interrupt_that_python_dropped_still_ends_the_command(home, paper):
    begin = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", DROPPED], cwd=paper, env=environment(home),
        stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 130 and done.stderr == ""
    assert time.monotonic() - begin < 30


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be sent Ctrl+C there")
class TestControlC:
    def interrupt(self, process, milliseconds):
        """Press Ctrl+C so long after the start, wherever the program is then."""
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)

    @pytest.mark.parametrize("milliseconds", [0, 40, 150, 400])
    @pytest.mark.parametrize(
        ("package", "command", "notice"),
        [
            ("citewell", ("find", "graph attention"), "Interrupted."),
            ("citewell", ("check", "refs.bib"), "Interrupted."),
            (
                "citewell_corpus",
                ("library", "add", "refs.bib"),
                "Interrupted; run the same command again to continue.",
            ),
        ],
    )
    def test_during_the_start_it_ends_quietly(
        self, home, paper, tmp_path, milliseconds, package, command, notice
    ):
        own = {"CITEWELL_LIBRARY_PATH": str(tmp_path / "own")} if "add" in command else {}
        process = subprocess.Popen(
            [sys.executable, "-c", STARTED.format(package=package), *command],
            cwd=paper, env=environment(home) | own,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        self.interrupt(process, milliseconds)
        _, errors = process.communicate(timeout=120)
        # Python gives SIGINT back to the system while it shuts down: the signal itself ends the
        # process then, which a shell reports as 130 too.
        interrupted = (130, -signal.SIGINT)
        assert process.returncode in (0, 1, *interrupted), errors
        assert "Traceback" not in errors and "internal-error" not in errors
        last = errors.strip().rpartition("\n")[2]  # a build reports its progress before
        assert process.returncode not in interrupted or last in ("", notice)


def test_fill_leaves_code_and_raw_text_of_markdown_alone(home, tmp_path):
    """What Pandoc reads as no citation is no place for one."""
    words = "[@?graph attention networks]"
    parts = [
        "`%`", "x\n\n    %", "```\n%\n```", "<pre>\n\n%\n\n</pre>", "<a title='%'>x</a>",
        "\\begin{verbatim}\n%\n\\end{verbatim}", "\\emph{%}", "<!-- % -->", "- x\n\n  ```\n  %\n  ```",
        "[id]: x.html '%'", "# H {title='%'}",
    ]  # fmt: skip
    raw = "\n\n".join(parts).replace("%", words)
    (tmp_path / "refs.bib").write_text("")
    (tmp_path / "a.md").write_text(f"---\nbibliography: refs.bib\n---\n{raw}\n\nWe use {words}.\n")
    done = run_in(tmp_path, home, "fill", "a.md", "--yes")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "a.md").read_text()
    assert raw in text
    assert "We use [@velickovic" in text


WORDS = "graph attention networks"
TEX = "\\documentclass{article}\n%s\n\\begin{document}\nWe use \\cite<%s>.\n%s\n\\end{document}\n"
HELD = "\\begin{filecontents}{refs.bib}\n@misc{own, title = {Own}}\n\\end{filecontents}"
ITEM = "- id: own\n  type: book\n  title: Own\n"


@pytest.mark.parametrize(
    ("files", "target"),
    [
        ({"a.tex": TEX % (HELD, WORDS, "\\bibliography{refs}")}, "a.tex"),
        ({"a.tex": TEX % (HELD.replace("\n", "\r\n"), WORDS, "\\bibliography{refs}")}, "a.tex"),
        (
            {
                "a.tex": TEX % ("\\addbibresource[glob]{bib/*.bib}", WORDS, ""),
                "bib/one.bib": OWN,
            },
            "bib/one.bib",
        ),
        ({"a.md": f"---\nreferences:\n{ITEM}lang: en\n---\n\nWe use [@?{WORDS}].\n"}, "a.md"),
        (
            {"a.md": f"---\nbibliography: r.yaml\n---\nWe use [@?{WORDS}].\n",
             "r.yaml": f"---\nreferences:\n{ITEM}...\n"},
            "r.yaml",
        ),
        (
            {"a.md": f"---\nbibliography: r.json\n---\nWe use [@?{WORDS}].\n",
             "r.json": '[\n  {"id": "own", "type": "book", "title": "Own"}\n]\n'},
            "r.json",
        ),
        (
            {"a.md": f"---\nbibliography: [r.json, r.bib]\n---\nWe use [@?{WORDS}].\n",
             "r.json": '[{"id": "own", "title": "Own"}]', "r.bib": ""},
            "r.bib",
        ),
    ],
)  # fmt: skip
def test_fill_writes_into_the_bibliography_that_the_paper_has(home, tmp_path, files, target):
    """`filecontents`, a pattern, a list in the header, files of CSL: each in its own form."""
    folder = tmp_path / "paper"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, newline="")
    main = next(iter(files))
    for _ in range(2):  # the second finds the entry
        done = run_in(folder, home, "fill", main, "--yes")
        assert done.returncode == 0, done.stderr
        (folder / main).write_text(
            (folder / main).read_text().replace("We use", f"[@?{WORDS}] and we use", 1)
            if main.endswith(".md")
            else (folder / main).read_text().replace("We use", f"\\cite<{WORDS}> and", 1)
        )
    assert set(state(folder)) == set(files)
    written = state(folder)[target]
    key = "velickovic2018graph"
    assert written.count("Graph Attention Networks") == 1, written
    assert "own" in state(folder)[next(iter(reversed(files)))] or target == "r.bib"
    for name in files:
        if name not in (main, target):
            assert state(folder)[name] == files[name]
    assert key in state(folder)[main]
    if target.endswith((".yaml", ".md")):
        yaml = pytest.importorskip("yaml")
        items = yaml.safe_load(written.strip("-.\n").partition("\n---\n")[0])["references"]
        assert [item["id"] for item in items] == ["own", key]
        assert items[1]["author"][0]["family"]
    if target.endswith(".json"):
        assert [item["id"] for item in json.loads(written)] == ["own", key]
