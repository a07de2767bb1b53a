"""The command line and the user's files: what may be written, and all of it or nothing."""

import json
import os
import subprocess
import sys
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
        "CITEWELL_LEARNING_ENABLED": "false",
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
        assert "library build --fresh" in found["library-corrupt"]["cure"]


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
