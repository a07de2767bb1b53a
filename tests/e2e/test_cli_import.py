"""What `citewell library add` reads, leaves out and merges, as it reports it."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import pytest
from tests.e2e.conftest import Run, citewell_in

FIRST = """@article{one, title={Measuring the growth of trees}, author={Fir, Clara}, year=2015,
  journal={Forests}, doi={10.5555/one}}
@inproceedings{two, title={Seeing trees in the woods}, author={Elm, Bo}, year=2018, booktitle={CVPR}}
@book{three, title={A book of leaves and branches}, author={Ivy, Dora}, year=2001, publisher={X}}
"""
SECOND = """@article{uno, title={Measuring the Growth of Trees}, author={Fir, C.}, year=2015,
  journal={Forests}, doi={10.5555/one}}
@inproceedings{dos, title={Seeing Trees in the Woods}, author={Elm, B.}, year=2018, booktitle={CVPR}}
"""


@pytest.fixture
def citewell(new_env: dict[str, str], tmp_path: Path) -> Run:
    (tmp_path / "first.bib").write_text(FIRST, encoding="utf-8")
    (tmp_path / "second.bib").write_text(SECOND, encoding="utf-8")
    return citewell_in(tmp_path, new_env)


@pytest.fixture
def run(citewell: Run) -> Run:
    """Commands of `citewell library`."""
    return partial(citewell, "library")


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


def test_exports_of_google_scholar_are_read_whole(run: Run, citewell: Run, tmp_path: Path) -> None:
    for name, text in SCHOLAR.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert run("add", *SCHOLAR).returncode == 0
    for title, author, venue, year in (
        ("Roots that follow the water", "Clara Fir", "Journal of Forests", "2016"),
        ("Branches and their light", "Dora Ivy", "Proceedings of the Conference on Trees", "2019"),
        ("Moss on the northern side", "Bo Elm", "Journal of Forests", "2020"),
    ):
        shown = json.loads(citewell("find", title, "-k", "1", "--json").stdout)
        assert all(text in json.dumps(shown) for text in (title, author.split()[1], venue, year))


def test_a_paper_is_found_by_a_keyword_and_shown_with_it(
    run: Run, citewell: Run, tmp_path: Path
) -> None:
    (tmp_path / "keys.bib").write_text(
        FIRST.replace("year=2015", "keywords={Tree Growth, forests}, year=2015"), encoding="utf-8"
    )
    assert run("add", "keys.bib").returncode == 0
    found = json.loads(citewell("find", 'keyword:"tree growth"', "--json").stdout)
    text = json.dumps(found)
    assert "Measuring the growth of trees" in text and "Seeing trees in the woods" not in text
    assert "Tree Growth" in text
    none = citewell("find", "trees keyword:growth")
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


def test_a_search_by_kind_and_language(run: Run, citewell: Run, tmp_path: Path) -> None:
    (tmp_path / "refs.ris").write_text(LANGUAGES, encoding="utf-8")
    assert run("add", "refs.ris").returncode == 0

    def titles(*arguments: str) -> list[str]:
        done = citewell("find", "--json", *arguments)
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
    done = citewell("find", "chairs", "--kind", "sonnet")
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
