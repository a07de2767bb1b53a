"""`citewell check` as a user of a linter meets it: fixes, codes, and output for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PAPERS = Path(__file__).parents[1] / "fixtures" / "papers.jsonl"
BIB = r"""% my references
@inproceedings{luong,
  title     = {Effective Approaches to Attention-based Neural Machine Translation},
  author    = {Luong, Thang and Manning, Christopher D.},
  booktitle = {EMNLP},
  year      = {2015},
  note      = {read twice},
}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("home")
    run = citewell_in(folder, folder)("library", "add", PAPERS)
    assert run.returncode == 0, run.stderr
    yield folder


def citewell_in(home: Path, folder: Path) -> Run:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CITEWELL_")}
    (home / "config.toml").touch()
    env = kept | {
        "CITEWELL_LIBRARY_PATH": str(home / "libraries"),
        "CITEWELL_CONFIG": str(home / "config.toml"),
        "CITEWELL_DATA": str(home / "data"),
        "PYTHONIOENCODING": "utf-8",
    }

    def run(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "citewell", *map(str, arguments)],
            cwd=folder, env=env, input=text, capture_output=True, encoding="utf-8",
            timeout=300, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def citewell(home: Path, tmp_path: Path) -> Run:
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    return citewell_in(home, tmp_path)


def test_a_fix_is_a_diff_until_it_is_to_be_written(citewell: Run, tmp_path: Path) -> None:
    run = citewell("check", "--fix", "refs.bib")
    assert "+  author    = {Luong, Thang and Pham, Hieu and Manning, Christopher D.}," in run.stdout
    assert (tmp_path / "refs.bib").read_text(encoding="utf-8") == BIB
    assert "--write" in run.stderr
    subprocess.run(
        ["git", "apply", "-"], input=run.stdout, cwd=tmp_path, check=True, encoding="utf-8"
    )
    by_diff = (tmp_path / "refs.bib").read_text(encoding="utf-8")
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    run = citewell("check", "--fix", "--write", "--fail-on", "wrong-detail", "refs.bib")
    assert run.returncode == 0, run.stderr
    written = (tmp_path / "refs.bib").read_text(encoding="utf-8")
    assert written == by_diff
    assert written == BIB.replace("Thang and Manning", "Thang and Pham, Hieu and Manning")
    assert citewell("check", "--fail-on", "wrong-detail", "refs.bib").returncode == 0


def test_an_unknown_code_is_refused_with_the_nearest(citewell: Run) -> None:
    run = citewell("check", "--select", "author-mising", "refs.bib")
    assert run.returncode == 2
    assert "author-missing" in run.stderr


@pytest.mark.parametrize("name", ["empty.bib", "missing.bib"])
def test_json_is_written_for_an_empty_and_for_a_missing_file(
    citewell: Run, tmp_path: Path, name: str
) -> None:
    if name == "empty.bib":
        (tmp_path / name).touch()
    run = citewell("check", "--format", "json", name)
    assert run.returncode == 2
    result = json.loads(run.stdout)
    assert result["checks"] == []
    assert result["problems"][0]["path"].endswith(name)
    assert name in run.stderr


@pytest.mark.parametrize("piped", [False, True])
def test_an_entry_that_is_not_closed_is_named_with_its_line(
    citewell: Run, tmp_path: Path, piped: bool
) -> None:
    broken = BIB.rstrip("}\n") + "\n\n@misc{other, title={Teapots of the World}}\n"
    (tmp_path / "refs.bib").write_text(broken, encoding="utf-8")
    source = ["-"] if piped else ["refs.bib"]
    run = citewell("check", "--format", "json", *source, text=broken if piped else "")
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert [one["claim"]["key"] for one in result["checks"]] == ["luong", "other"]
    (problem,) = result["problems"]
    assert (problem["code"], problem["line"]) == ("bib-unclosed", 2)
    assert 'The entry "luong" is not closed.' in run.stderr
    assert ("refs.bib:2" in run.stderr) != piped


def test_json_is_written_without_a_library_too(citewell: Run, tmp_path: Path) -> None:
    elsewhere = ("--set", f"library.path={tmp_path}", "--set", "library.name=none")
    run = citewell(*elsewhere, "check", "--format", "json", "refs.bib")
    assert run.returncode == 2
    assert [one["code"] for one in json.loads(run.stdout)["problems"]] == ["library-missing"]


UNKNOWN = """@misc{nowhere, title={A Work That No Record Holds at All}, author={Cy Cedar}}
"""


@pytest.mark.parametrize("form", ["text", "sarif", "github", "html"])
def test_what_was_not_found_is_counted_and_not_marked(
    citewell: Run, tmp_path: Path, form: str
) -> None:
    (tmp_path / "refs.bib").write_text(UNKNOWN, encoding="utf-8")
    run = citewell("check", "--format", form, "refs.bib")
    assert run.returncode == 0, run.stderr
    shown = run.stdout.partition("<details>")[0]
    assert "nowhere" not in shown
    assert ('"not-found": 1' if form == "sarif" else "not found") in shown.lower()
    if form != "html":
        assert "nowhere" in citewell("check", "--all", "--format", form, "refs.bib").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFOs")
def test_a_fifo_and_standard_input_are_read(home: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "refs.bib")
    for command in ("check --format json refs.bib & cat > refs.bib; wait $!",
                    "check --format json -"):  # fmt: skip
        line = f"exec 3<&0; {sys.executable} -m citewell {command.replace('cat', 'cat <&3')}"
        run = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, input=BIB, capture_output=True, encoding="utf-8",
            timeout=300, check=False,
            env=os.environ | {"CITEWELL_LIBRARY_PATH": str(home / "libraries"),
                              "CITEWELL_CONFIG": str(home / "config.toml")},
        )  # fmt: skip
        assert [one["claim"]["key"] for one in json.loads(run.stdout)["checks"]] == ["luong"]


@pytest.mark.parametrize(
    "flags",
    [("--write",), ("--unsafe-fixes",), ("--fix", "--format", "json"),
     ("--fix", "--out", "refs.diff"), ("--fix", "-")],
)  # fmt: skip
def test_flags_that_would_do_nothing_are_refused(citewell: Run, flags: tuple[str, ...]) -> None:
    run = citewell("check", *flags, "refs.bib")
    assert run.returncode == 2
    assert "--fix" in run.stderr


def test_a_missing_file_beside_others_is_no_success(citewell: Run) -> None:
    run = citewell("check", "missing.bib", "refs.bib")
    assert run.returncode == 2
    assert "missing.bib" in run.stderr
    assert "luong" in run.stdout


OWN = r"""@inproceedings{ghost,
  title     = {Invisible Attention for the Translation of Haunted Sentences},
  author    = {Ghost, Anna and Spook, Ben},
  booktitle = {EMNLP},
  year      = {2015},
}
@inproceedings{gat,
  title     = {Graph Attention Networks},
  author    = {Veli{\v{c}}kovi{\'c}, Petar},
  booktitle = {ICLR},
  year      = {2015},
}
"""


def test_a_bib_of_the_library_does_not_verify_itself(tmp_path: Path) -> None:
    """Neither what is in no other record, nor what other records contradict."""
    citewell = citewell_in(tmp_path, tmp_path)
    (tmp_path / "refs.bib").write_text(OWN, encoding="utf-8")
    (tmp_path / "other.bib").write_text(OWN, encoding="utf-8")
    for source in (PAPERS, "refs.bib"):
        run = citewell("library", "add", source)
        assert run.returncode == 0, run.stderr

    def verdicts(*files: str) -> dict[str, str]:
        run = citewell("check", "--format", "json", *files)
        return {
            f"{one['claim']['path']}:{one['claim']['key']}": one["verdict"]
            for one in json.loads(run.stdout)["checks"]
        }

    found = verdicts("refs.bib", "other.bib")
    assert found["refs.bib:ghost"] == "not-found"
    assert found["refs.bib:gat"] == "wrong-detail"
    # For another file it is a record like any other: it may be the export of a database.
    assert found["other.bib:ghost"] == "verified"
    if hasattr(os, "symlink") and os.name != "nt":
        (tmp_path / "link.bib").symlink_to("refs.bib")
        assert verdicts("link.bib")["link.bib:ghost"] == "not-found"
