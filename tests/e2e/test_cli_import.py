"""What `citewell library add` reads, leaves out and merges, as it reports it."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FIRST = """@article{one, title={Measuring the growth of trees}, author={Fir, Clara}, year=2015,
  journal={Forests}, doi={10.5555/one}}
@inproceedings{two, title={Seeing trees in the woods}, author={Elm, Bo}, year=2018, booktitle={CVPR}}
@book{three, title={A book of leaves and branches}, author={Ivy, Dora}, year=2001, publisher={X}}
"""
SECOND = """@article{uno, title={Measuring the Growth of Trees}, author={Fir, C.}, year=2015,
  journal={Forests}, doi={10.5555/one}}
@inproceedings{dos, title={Seeing Trees in the Woods}, author={Elm, B.}, year=2018, booktitle={CVPR}}
"""


class Run:
    """Commands of `citewell library`, and others through `citewell`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, environment

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.citewell("library", *arguments)

    def citewell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "citewell", *arguments], cwd=self._folder,
            env=self._environment, capture_output=True, encoding="utf-8", timeout=300, check=False,
        )  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    environment = {n: v for n, v in os.environ.items() if not n.startswith("CITEWELL")} | {
        "CITEWELL_LIBRARY_PATH": str(tmp_path / "libraries"),
        "CITEWELL_CONFIG": str(tmp_path / "config.toml"),
        "OMP_NUM_THREADS": "1",
    }
    (tmp_path / "config.toml").touch()
    (tmp_path / "first.bib").write_text(FIRST, encoding="utf-8")
    (tmp_path / "second.bib").write_text(SECOND, encoding="utf-8")

    return Run(tmp_path, environment)


SCHOLAR = {
    "scholar.csv": """Authors,Title,Publication,Volume,Number,Pages,Year,Publisher
"Fir, Clara; Elm, Bo; ",Roots that follow the water,Journal of Forests,12,3,45-67,2016,Wood Press
""",
    "scholar.ris": """TY  - CONF
T1  - Branches and their light
A1  - Ivy, Dora
JO  - Proceedings of the Conference on Trees
Y1  - 2019
ER  -
""",
    "scholar.bib": """@article{elm2020moss, title={Moss on the northern side}, author={Elm, Bo and others},
  journal={Journal of Forests}, volume={16}, pages={1--9}, year={2020}, publisher={Wood Press}}
""",
}


def test_exports_of_google_scholar_are_read_whole(run: Run, tmp_path: Path) -> None:
    for name, text in SCHOLAR.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert run("add", *SCHOLAR).returncode == 0
    for title, author, venue, year in (
        ("Roots that follow the water", "Clara Fir", "Journal of Forests", "2016"),
        ("Branches and their light", "Dora Ivy", "Proceedings of the Conference on Trees", "2019"),
        ("Moss on the northern side", "Bo Elm", "Journal of Forests", "2020"),
    ):
        shown = json.loads(run.citewell("find", title, "-k", "1", "--json").stdout)
        assert all(text in json.dumps(shown) for text in (title, author.split()[1], venue, year))


DBLP = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE dblp SYSTEM "dblp-2023-06-28.dtd">
<dblp>
<inproceedings mdate="2023-11-27" key="conf/trees/ElmU18"><author>Bo Elm 0001</author>
<author>J&ouml;rg &Uuml;lme</author><title>Ringing &amp; counting <i>O(n)</i> trees.</title>
<pages>1-9</pages><year>2018</year><booktitle>TREES</booktitle>
<ee type="oa">https://doi.org/10.5555/trees.1</ee><url>db/conf/trees/trees2018.html</url>
</inproceedings><proceedings key="conf/trees/2018"><title>TREES 2018.</title></proceedings>
<www key="homepages/1/1"><author>Bo Elm 0001</author><title>Home Page</title></www>
</dblp>
"""


def test_the_dump_of_dblp_is_read_without_its_declarations(run: Run, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "dblp.xml.gz", "wt", encoding="iso-8859-1") as stream:
        stream.write(DBLP)
    done = run("add", "dblp.xml.gz")
    assert done.returncode == 0, done.stderr
    assert "days old" not in run("status").stdout
    os.utime(tmp_path / "dblp.xml.gz", (1_600_000_000, 1_600_000_000))
    assert "days old: newer works are missing" in run("status").stdout
    found = run.citewell("find", "ringing and counting O(n) trees", "--json")
    (work,) = [hit["work"] for hit in json.loads(found.stdout)["hits"]]
    assert work["title"] == "Ringing & counting O(n) trees"
    assert work["authors"] == ["Bo Elm", "Jörg Ülme"]
    assert (work["id"], work["doi"]) == ("dblp:conf/trees/ElmU18", "10.5555/trees.1")
    (tmp_path / "bomb.xml").write_text(
        DBLP.replace('SYSTEM "dblp-2023-06-28.dtd"', '[<!ENTITY ouml "xxxx">]'), encoding="utf-8"
    )
    assert "declares entities" in run("add", "bomb.xml").stderr


def test_a_paper_is_found_by_a_keyword_and_shown_with_it(run: Run, tmp_path: Path) -> None:
    (tmp_path / "keys.bib").write_text(
        FIRST.replace("year=2015", "keywords={Tree Growth, forests}, year=2015"), encoding="utf-8"
    )
    assert run("add", "keys.bib").returncode == 0
    found = json.loads(run.citewell("find", 'keyword:"tree growth"', "--json").stdout)
    text = json.dumps(found)
    assert "Measuring the growth of trees" in text and "Seeing trees in the woods" not in text
    assert "Tree Growth" in text
    none = run.citewell("find", "trees keyword:growth")
    assert none.returncode == 1 and "with the keyword 'growth'" in none.stdout + none.stderr


def test_an_import_names_what_was_merged_with_what(run: Run, tmp_path: Path) -> None:
    first, second = str(tmp_path / "first.bib"), str(tmp_path / "second.bib")
    assert "merged in" not in run("add", "first.bib").stdout
    done = run("add", "second.bib")
    assert f"merged in {first} and {second}: 2 papers, such as " in done.stdout, done.stdout
    assert "Measuring the growth of trees" in done.stdout
    # A source that is read again is merged with nothing.
    (tmp_path / "second.bib").write_text(SECOND + "\n", encoding="utf-8")
    assert "merged in" not in run("build").stdout
    done = run("build", "--fresh", "--json")
    (pair,) = json.loads(done.stdout)["pairs"]
    assert (pair["first"], pair["second"], pair["works"]) == (first, second, 2)
    assert len(pair["examples"][0]["ids"]) == 2
    shown = run("explain", "10.5555/one")
    assert first in shown.stdout and second in shown.stdout


def test_only_works_of_the_wanted_kinds_are_read(run: Run) -> None:
    done = run("add", "first.bib", "--kind", "article", "--kind", "Book")
    assert "2 records (1 left out (kind inproceedings))" in done.stdout, done.stdout
    assert "Nothing has changed." in run("build").stdout
    done = run("add", "first.bib")
    assert "3 papers in " in done.stdout


LANGUAGES = """TY  - JOUR
AU  - Müller, Jörg
TI  - Über das Stillsitzen im Walde
PY  - 2021
LA  - ger
ER  -
TY  - JOUR
AU  - Li, Wei
TI  - Learning to sit still in noisy rooms
PY  - 2021
LA  - English
ER  -
TY  - CONF
AU  - Ng, Ada
TI  - Standing up for a longer time
PY  - 2020
ER  -
"""


def test_only_works_in_the_wanted_languages_are_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "refs.ris").write_text(LANGUAGES, encoding="utf-8")
    done = run("add", "refs.ris", "--language", "English")
    # A work without a stated language is kept.
    assert "2 records (1 left out (language de))" in done.stdout, done.stdout + done.stderr
    done = run("add", "refs.ris", "--language", "en", "--strict-language")
    assert "1 records (2 left out (language de, no language stated))" in done.stdout, done.stdout
    assert "Nothing has changed." in run("build").stdout
    # The filters of `build` are those of all sources.
    done = run("build", "--language", "any", "--kind", "inproceedings")
    assert "1 records (2 left out (kind article))" in done.stdout, done.stdout
    assert "1 papers in " in done.stdout
    assert "3 papers in " in run("build", "--kind", "any").stdout
    done = run("build", "--language", "Klingon")
    assert done.returncode == 2 and "'Klingon'" in done.stderr
    assert run("build", "--strict-language").returncode == 2


def test_works_without_an_abstract_can_be_left_out(run: Run, tmp_path: Path) -> None:
    text = LANGUAGES.replace("LA  - English", "AB  - Rooms are noisy.")
    (tmp_path / "refs.ris").write_text(text, encoding="utf-8")
    done = run("add", "refs.ris", "--with-abstract")
    assert "1 records (2 left out (no abstract))" in done.stdout, done.stdout + done.stderr
    assert "Nothing has changed." in run("build").stdout
    assert "3 papers in " in run("build", "--any-abstract").stdout
    assert "1 papers in " in run("build", "--with-abstract").stdout


def test_a_search_by_kind_and_language(run: Run, tmp_path: Path) -> None:
    (tmp_path / "refs.ris").write_text(LANGUAGES, encoding="utf-8")
    assert run("add", "refs.ris").returncode == 0

    def titles(*arguments: str) -> list[str]:
        done = run.citewell("find", "--json", *arguments)
        return sorted(hit["work"]["title"] for hit in json.loads(done.stdout)["hits"])

    german, english, unstated = (
        "Über das Stillsitzen im Walde",
        "Learning to sit still in noisy rooms",
        "Standing up for a longer time",
    )
    assert titles("--kind", "article") == [english, german]
    assert titles("sit still", "--kind", "conference") == [unstated]
    assert titles("--language", "German") == [unstated, german]
    assert titles("--language", "de", "--strict-language") == [german]
    assert titles("type:article language:en") == [english]
    done = run.citewell("find", "chairs", "--kind", "sonnet")
    assert done.returncode == 1 and "no paper of the kind 'sonnet'" in done.stderr


def test_build_reads_the_files_of_a_pattern_and_names_file_and_line_of_a_bad_record(
    run: Run, tmp_path: Path
) -> None:
    for part in range(3):
        lines = [
            json.dumps({"corpusid": 10 * part + n, "title": f"How trees {part} grow {n}",
                        "authors": [{"name": "Clara Fir"}], "year": 2001 + n})
            for n in range(3)
        ]  # fmt: skip
        if part == 1:
            lines.insert(2, '{"corpusid": 19, "title"')
        path = tmp_path / "papers" / f"papers-part{part}.jsonl.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    done = run("build", "--input", "papers/*.gz", "--jobs", "2", "--json")
    report = json.loads(done.stdout)
    assert report["works"] == 9, done.stderr
    (problem,) = report["sources"][0]["problems"]
    assert problem["line"] == 3
    assert problem["path"].endswith("papers-part1.jsonl.gz")
    # The pattern is a source of the library, which later builds look at.
    assert json.loads(run("build", "--json").stdout)["up_to_date"]
    pytest.importorskip("qdrant_edge")
    to = f"edge:{tmp_path / 'edge'}"
    written = json.loads(run("build", "--input", "papers/*.gz", "--to", to, "--json").stdout)
    assert written["built"]["works"] == written["written"]["points"] == 9
    missing = run("build", "--input", "elsewhere/*.gz")
    assert missing.returncode != 0
    assert "No file matches the pattern" in missing.stderr
