"""Every example of docs/python.md, run as it stands there, and as on the command line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.test_front_ends import BIB, CHECKED, PAPER, citewell

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
FIND, FIND_ONE, EXPLORE, FILL, CHOOSE, CHECK, BUILD, ERROR = EXAMPLES


def output(env: dict[str, str], folder: Path, program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=env, cwd=folder, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the examples run: a paper and its bibliography."""
    (tmp_path / "paper.tex").write_bytes(PAPER.encode())
    (tmp_path / "refs.bib").write_bytes(BIB.encode())
    return tmp_path


def test_a_record_comes_with_its_entry(env: dict[str, str], folder: Path) -> None:
    first, *entry = output(env, folder, FIND_ONE).splitlines(keepends=True)
    assert re.fullmatch(r"fx:1 Attention Is All You Need, [01]\.\d\d\n", first, re.IGNORECASE)
    arguments = ("find", "--bibtex", "-k", "1", "--year-from", "2017", "attention is all you need")
    assert "".join(entry).strip() == citewell(env, folder, *arguments).stdout.strip()


def test_the_literature_is_searched_as_on_the_command_line(
    env: dict[str, str], folder: Path
) -> None:
    *passes, best = output(env, folder, EXPLORE).splitlines()
    assert passes[0].startswith("search ")
    printed = citewell(env, folder, "explore", "-k", "20", "attention in translation").stdout
    assert best == printed.splitlines()[0].split("\t")[1]


def test_a_paper_is_filled_as_on_the_command_line(env: dict[str, str], folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    for name in ("paper.tex", "refs.bib"):
        (other / name).write_bytes((folder / name).read_bytes())
    printed = output(env, folder, FILL)
    citewell(env, other, "fill", "--yes", "paper.tex")
    for name in ("paper.tex", "refs.bib"):
        assert (folder / name).read_bytes() == (other / name).read_bytes()
    assert (folder / "paper.tex").read_bytes() != PAPER.encode()
    assert r"5 | \citet<attention is all you need> | mine" in printed
    assert r"6 | \cite{?} | it has no words that identify a paper" in printed
    assert "+++ b/paper.tex" in printed


def test_a_program_may_choose(env: dict[str, str], folder: Path) -> None:
    assert output(env, folder, CHOOSE) == "7 of 7 filled\n"
    assert (folder / "paper.tex").read_bytes() == PAPER.encode(), "nothing is written unasked"


def test_references_are_judged_and_corrected(env: dict[str, str], folder: Path) -> None:
    (folder / "refs.bib").write_text(CHECKED)
    printed = output(env, folder, CHECK)
    assert printed.splitlines()[0] == "right verified"
    assert "late wrong-detail year-differs" in printed and "invented fabricated" in printed
    diff = printed[printed.index("--- ") :].strip()
    fixed = citewell(env, folder, "check", "--fix", "refs.bib").stdout
    assert diff == fixed.strip() and diff.startswith("--- a/refs.bib")


def test_what_cannot_be_answered_is_an_error_with_a_code(env: dict[str, str], folder: Path) -> None:
    assert output(env, folder, ERROR) == "library-missing\n"


def test_the_page_names_the_public_names_and_no_others() -> None:
    import citewell as package

    table = PAGE.partition("## Names")[2]
    named = re.findall(r"^\| `(\w+)", table, flags=re.MULTILINE)
    assert sorted(named) == package.__all__ == sorted(package.__all__)
    assert len(package.__all__) <= 12
    methods = re.search(r"^\| `Library` \| (.*) \|$", table, re.MULTILINE)
    assert methods is not None
    public = {
        name for name, value in vars(package.Library).items()
        if callable(value) and not name.startswith("_")
    }  # fmt: skip
    assert set(re.findall(r"`(\w+)`", methods[1])) == public


def test_importing_the_package_sets_the_switches_and_imports_nothing_else() -> None:
    program = "import sys; before = set(sys.modules); import citewell; print(sorted(set(sys.modules) - before))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    # The switches of the dependencies are set before any of them can be imported.
    assert run.stdout.strip() == "['citewell', 'citewell.privacy']"


def test_a_library_is_built_from_works(env: dict[str, str], folder: Path) -> None:
    own = env | {"CITEWELL_LIBRARY_PATH": str(folder / "libraries")}
    assert output(own, folder, BUILD).split() == ["2", "lab:1"]
    fewer = BUILD.replace('citewell.Work(id="lab:2"', 'citewell.Work(id="lab:3"')
    assert output(own, folder, fewer).split() == ["2", "lab:1"]
    ids = [line.split("\t")[0] for line in citewell(
        own, folder, "--set", "library.name=lab", "explore", "teapots kettles"
    ).stdout.splitlines()]  # fmt: skip
    assert set(ids) & {"lab:1", "lab:2", "lab:3"} == {"lab:1", "lab:3"}
