"""`citewell library coverage`: which references of a paper a library holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.conftest import Run, citewell_in

HELD = (
    '{"id": "a1", "title": "Learning to sit still", "authors": ["Ana García", "Wei Li"], '
    '"year": 2019, "venue": "ACL", "doi": "10.5555/sit.1", "source": "acl-anthology"}\n'
    '{"id": "a2", "title": "Standing up slowly", "authors": ["Andrew Ng"], "year": 2020, '
    '"venue": "ICLR", "source": "ml"}\n'
)
BIB = r"""
@inproceedings{doi, title={Something Else}, author={García, Ana}, year=2019, doi={10.5555/SIT.1}}
@inproceedings{title, title={Standing up Slowly}, author={Ng, A.}, year=2021, booktitle={ICLR}}
@inproceedings{namesake, title={Standing up slowly}, author={Curie, M.}, year=2020, booktitle={CVPR}}
@inproceedings{one, title={Seeing trees}, author={Elm, B.}, year=2018, booktitle={CVPR}}
@article{two, title={Measuring the growth of trees}, author={Fir, C.}, year=2015, journal={Forests}}
@article{three, title={Leaves and their number}, author={Fir, C.}, year=2017, journal={Forests}}
@software{tool, title={A Tool}, year=2020}
@misc{uncited, title={Nobody cites this}, author={Ivy, D.}, year=2001}
"""
PAPER = r"""\documentclass{article}\begin{document}
Trees grow \cite{doi,title,namesake,one} and \citep{two,three,tool}.
\bibliography{refs}\end{document}
"""


@pytest.fixture
def run(new_env: dict[str, str], tmp_path: Path) -> Run:
    call = citewell_in(tmp_path, new_env, "library")
    (tmp_path / "held.jsonl").write_text(HELD, encoding="utf-8")
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    done = call("add", "held.jsonl")
    assert done.returncode == 0, done.stderr
    return call


def test_the_references_of_a_paper_are_counted_by_venue_and_year(run: Run) -> None:
    done = run("coverage", "paper.tex", "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["references"], found["held"]) == (6, 2)
    assert [one["key"] for one in found["missing"]] == ["namesake", "one", "two", "three"]
    shares = {one["name"]: (one["held"], one["references"]) for one in found["by_venue"]}
    assert shares["ICLR"] == (1, 1)
    assert shares["CVPR"] == (0, 2)
    assert shares["Forests"] == (0, 2)
    kinds = {one["name"]: (one["held"], one["references"]) for one in found["by_kind"]}
    assert kinds == {"inproceedings": (2, 4), "article": (0, 2)}
    assert not any("--for" in command for command in found["commands"])
    assert [one["name"] for one in found["by_year"]] == [
        "2021",
        "2020",
        "2019",
        "2018",
        "2017",
        "2015",
    ]


def test_what_is_missing_is_named_with_the_command_that_fetches_it(run: Run) -> None:
    done = run("coverage", "paper.tex")
    assert "The library holds 2 of 6 references (33%)." in done.stdout
    assert "one: Seeing trees (CVPR, 2018)" in done.stdout
    assert "citewell library fetch dblp --venue CVPR --since 2018 --until 2020" in done.stdout
    assert (
        "citewell library fetch openalex --venue Forests --since 2015 --until 2017" in done.stdout
    )


def test_all_entries_of_a_bib_count_and_a_full_library_is_said(run: Run, tmp_path: Path) -> None:
    done = run("coverage", "refs.bib", "--json")
    assert json.loads(done.stdout)["references"] == 7
    (tmp_path / "held.bib").write_text(
        BIB.split("@inproceedings{namesake", maxsplit=1)[0], encoding="utf-8"
    )
    done = run("coverage", "held.bib")
    assert done.returncode == 0
    assert "2 of 2 references (100%)" in done.stdout
    (tmp_path / "empty.bib").write_text("", encoding="utf-8")
    done = run("coverage", "empty.bib")
    assert done.returncode == 1
    assert "No references in these files" in done.stdout


def test_a_source_that_gave_nothing_is_not_kept_and_a_short_build_has_one_line(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "nothing.bib").write_text("% to be filled\n", encoding="utf-8")
    done = run("add", "nothing.bib")
    assert done.returncode == 1
    assert "The source contains no papers" in done.stderr
    status = json.loads(run("status", "--json").stdout)
    assert not any("nothing.bib" in str(one) for one in status["sources"])
    (tmp_path / "one.bib").write_text("@misc{a, title={On Pots}, year=2020}\n", encoding="utf-8")
    done = run("add", "one.bib")
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("Done in ")
