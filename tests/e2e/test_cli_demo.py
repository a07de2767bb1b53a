"""`citewell demo` end to end, with the real starter library."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from citewell.features.checking.check import claims_in_files
from citewell.model.titles import title_key

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
STARTER = Path(__file__).resolve().parents[2] / "corpus_tools" / "starter"
PAPERS = (FIXTURES / "papers.jsonl", FIXTURES / "more_papers.jsonl")


def run(
    folder: Path, *arguments: str | Path, starter: bool = False
) -> subprocess.CompletedProcess[str]:
    config = folder / "config.toml"
    config.touch()
    env = {name: value for name, value in os.environ.items() if "CITEWELL" not in name} | {
        "CITEWELL_LIBRARY_PATH": str(folder / "libraries"),
        "CITEWELL_CONFIG": str(config),
        "PYTHONIOENCODING": "utf-8",
    }
    if starter:
        env["PYTHONPATH"] = str(STARTER)
    return subprocess.run(
        [sys.executable, "-m", "citewell", *map(str, arguments)],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=1800,
        check=False,
    )


def check_paper(out: Path) -> None:
    text = (out / "paper.tex").read_text(encoding="utf-8")
    bib = (out / "references.bib").read_text(encoding="utf-8")
    body = re.sub(r"%.*", "", text)
    assert not re.search(r"\\cite\w*(\[[^]]*\])*<|CITATION|TODO|\\cite\w*(\[[^]]*\])*\{\??\}", body)
    used = {
        key.strip()
        for keys in re.findall(r"\\cite\w*(?:\[[^]]*\])*\{([^}]*)\}", body)
        for key in keys.split(",")
    }
    known = set(re.findall(r"^@\w+\{([^,]+),", bib, flags=re.MULTILINE))
    assert len(used) == 10
    assert used <= known
    assert "transformer" in used, "the entry that was there is cited under its own key"
    if shutil.which("pdflatex") and shutil.which("bibtex"):
        assert (out / "paper.pdf").stat().st_size > 10_000
        log = (out / "paper.log").read_text(encoding="utf-8", errors="replace")
        assert "undefined on input line" not in log
        read = [title_key(claim.title) for claim in claims_in_files([out / "paper.pdf"]).claims]
        entries = claims_in_files([out / "references.bib"]).claims
        assert sorted(read) == sorted(title_key(one.title) for one in entries if one.key in used)


def test_the_bundled_paper_is_filled_checked_and_compiled(tmp_path: Path) -> None:
    assert run(tmp_path, "library", "add", *PAPERS).returncode == 0
    done = run(tmp_path, "--library", "default", "demo", "--out", "try")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 of 10 placeholders filled" in done.stderr
    check_paper(tmp_path / "try")
    assert run(tmp_path, "--library", "default", "demo", "--out", "try").returncode == 0


def test_a_paper_that_somebody_changed_is_not_overwritten(tmp_path: Path) -> None:
    assert run(tmp_path, "library", "add", *PAPERS).returncode == 0
    out = tmp_path / "citewell-demo"
    assert run(tmp_path, "--library", "default", "demo", "--no-compile").returncode == 0
    paper = out / "paper.tex"
    paper.write_text("mine", encoding="utf-8")
    done = run(tmp_path, "--library", "default", "demo", "--no-compile")
    assert done.returncode == 2
    assert "[demo-folder-taken]" in done.stderr
    assert paper.read_text(encoding="utf-8") == "mine"


def test_the_readmes_first_command_fills_the_paper_from_real_records(tmp_path: Path) -> None:
    done = run(tmp_path, "demo", starter=True)
    assert done.returncode == 0, done.stdout + done.stderr
    check_paper(tmp_path / "citewell-demo")
    again = run(tmp_path, "find", "graph attention networks", starter=True)
    assert again.returncode == 0, "the starter library answers until there is another one"


def test_without_the_starter_library_the_demo_says_what_to_install(tmp_path: Path) -> None:
    done = run(tmp_path, "demo")
    assert done.returncode == 2
    assert "[starter-missing]" in done.stderr
    assert "corpus_tools/starter" in done.stderr
