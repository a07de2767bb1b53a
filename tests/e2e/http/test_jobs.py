"""Two jobs on real papers and a real library: over HTTP they end as on the command line, to the byte."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

PAPERS = ("latex/slanglab__qsb/emnlp/emnlp-ijcnlp-2019.tex",
          "markdown/x-tabdeveloping__turftopic/paper.md")  # fmt: skip
CITED = re.compile(r"\\(cite[pt]?)\{([^},\s]+)\}|\[@([\w:.-]+)\]")


@pytest.fixture(scope="module")
def real_url(serving: Any, real_env: dict[str, str]) -> Iterator[str]:
    """A server on a quarter of a million papers."""
    with serving(real_env) as (url, _):
        yield url


def emptied(folder: Path, main: Path) -> None:
    """The paper with a few words of the title in the place of every second citation."""
    from citewell.documents.project.paper_project import Project

    references = Project.open(main).citing_paper().references
    titles = {one.key: re.sub(r"[^\w\s-]", "", one.title).split()[:8] for one in references}
    count = 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal count
        words = " ".join(titles.get(match[2] or match[3], ()))
        count += bool(words)
        if not words or count % 2:
            return match[0]
        return f"[@{words}]" if match[3] else f"\\{match[1]}<{words}>"

    text = main.read_text(encoding="utf-8")
    main.write_text(CITED.sub(replaced, text), encoding="utf-8")
    assert main.read_text(encoding="utf-8") != text


@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_is_filled_as_on_the_command_line(
    real_url: str, real_env: dict[str, str], shared_data: Path, tmp_path: Path, name: str
) -> None:
    source = shared_data / "projects" / name
    folder = tmp_path / "paper"
    shutil.copytree(source.parent, folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    main = folder / source.name
    emptied(folder, main)
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.suffix in (".tex", ".md", ".bib", ".sty")
    }
    found = httpx2.post(
        f"{real_url}/v1/fill",
        json={"path": main.name, "text": files.pop(main.name), "files": files, "texts": True},
        timeout=300,
    ).raise_for_status().json()  # fmt: skip
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    subprocess.run(
        [sys.executable, "-m", "citewell", "fill", "--yes", str(main)],
        env=real_env, cwd=folder, check=False, capture_output=True, timeout=600,
    )  # fmt: skip
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    changed = {
        path.relative_to(folder).as_posix(): data.decode()
        for path, data in after.items()
        if data != before.get(path)
    }
    assert found["texts"] == changed and changed
    assert sum("key" in one for one in found["placeholders"]) >= 2


def test_references_are_judged_as_on_the_command_line(
    real_url: str, real_env: dict[str, str], shared_data: Path, tmp_path: Path
) -> None:
    """Real ones, and some that language models made up."""
    bib = shared_data / "projects" / PAPERS[1].rpartition("/")[0] / "paper.bib"
    planted = []
    path = shared_data / "references" / "references_dev.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for number, record in enumerate(map(json.loads, lines)):
            fields = record.get("fields")
            if record["label"] == "fabricated" and fields:
                body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
                planted.append(
                    f"@{record.get('bibtex_type', 'misc')}{{planted{number},\n{body}}}\n"
                )
    assert len(planted) > 20
    text = bib.read_text(encoding="utf-8") + "\n" + "".join(planted)
    found = httpx2.post(f"{real_url}/v1/check", json={"text": text}, timeout=300)
    tables = [
        (one["reference"], one["verdict"], [f["code"] for f in one.get("findings", ())])
        for one in found.raise_for_status().json()["references"]
    ]
    (tmp_path / "audited.bib").write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "citewell", "check", "--format", "json",
         str(tmp_path / "audited.bib")],
        env=real_env, capture_output=True, check=False, timeout=600,
    )  # fmt: skip
    verdicts = [
        (one["claim"]["key"], one["verdict"], [f["code"] for f in one.get("findings", ())])
        for one in json.loads(run.stdout)["checks"]
    ]
    assert tables == verdicts
    of_planted = {verdict for key, verdict, _ in tables if key.startswith("planted")}
    assert not of_planted & {"verified", "unchecked"}
    of_real = [verdict for key, verdict, _ in tables if not key.startswith("planted")]
    assert of_real.count("verified") >= 5 and of_real.count("fabricated") == 0
