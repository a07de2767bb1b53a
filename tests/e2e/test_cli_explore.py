"""`citewell explore` and `citewell related` as a user runs them: real processes, real files."""

from __future__ import annotations

import csv
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Run, citewell_in

from citewell.documents.bib.reader import parse_bib

TITLES = {
    "a": "A Survey of Teapots and Their Lids",
    "b": "Porcelain Networks for Pouring Tea",
    "c": "Handles of Teapots That Generalise to Cups",
    "d": "Steeping Tea as Stochastic Optimisation",
    "e": "An Experimental Study of Teapot Spouts",
    "g": "Marginal Notes of Forgotten Librarians",
}
CITED = {"a": "bcd", "e": "bcdg", "c": "bdg"}


def records(names: str) -> str:
    """Some of the papers in the form of Semantic Scholar."""
    return "".join(
        json.dumps(
            {
                "paperId": name,
                "title": TITLES[name],
                "abstract": "Tea, pots and what holds them. =1+1",
                "year": 2020,
                "authors": [{"name": "Jo van der Roe"}],
                "references": [
                    {"paperId": one, "title": TITLES[one]} for one in CITED.get(name, "")
                ],
            }
        )
        + "\n"
        for name in names
    )


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory, env: dict[str, str]) -> Path:
    """A folder of libraries; the default one holds five papers."""
    folder = tmp_path_factory.mktemp("five")
    (folder / "papers.jsonl").write_text(records("abcdg"), encoding="utf-8")
    path = {"CITEWELL_LIBRARY_PATH": str(folder / "libraries")}
    added = citewell_in(folder, env | path)("library", "add", "papers.jsonl")
    assert added.returncode == 0, added.stderr
    return folder / "libraries"


@pytest.fixture
def run(tmp_path: Path, env: dict[str, str], five: Path) -> Run:
    """The command in a folder of its own, with the five papers."""
    shutil.copytree(five, tmp_path / "libraries")
    return citewell_in(tmp_path, env | {"CITEWELL_LIBRARY_PATH": str(tmp_path / "libraries")})


def test_a_search_is_listed_traced_exported_saved_and_repeated(run: Run, tmp_path: Path) -> None:
    files = {form: f"out.{form}" for form in ("bibtex", "ris", "csl", "csv", "jsonl")}
    flags = [word for form, name in files.items() for word in (f"--{form}", name)]
    found = run(
        "explore", "teapots", "-v", "--rounds", "1", "--trace", "--save", "search.toml", *flags
    )
    assert found.returncode == 0, found.stderr
    lines = [line.split("\t") for line in found.stdout.splitlines()]
    assert lines[0][0] in ("s2:a", "s2:c")
    assert all(len(fields) == 6 and fields[5].startswith("search #") for fields in lines[:3])
    for name in ("search: ", "references: ", "papers: ", "citations: "):
        assert f"\n{name}" in f"\n{found.stderr}"
    ids = [fields[0] for fields in lines]
    bib = parse_bib((tmp_path / files["bibtex"]).read_text())
    assert len(bib.entries) == len(ids)
    ris = (tmp_path / files["ris"]).read_bytes().decode()
    assert ris.count("TY  - ") == ris.count("ER  - \r\n") == len(ids)
    assert "AU  - van der Roe, Jo\r\n" in ris
    assert len(json.loads((tmp_path / files["csl"]).read_text())) == len(ids)
    with (tmp_path / files["csv"]).open(newline="", encoding="utf-8") as stream:
        assert [row["id"] for row in csv.DictReader(stream)] == ids
    objects = [json.loads(line) for line in (tmp_path / files["jsonl"]).read_text().splitlines()]
    assert [one["id"] for one in objects] == ids
    assert all(one["reasons"] for one in objects)
    saved = tomllib.loads((tmp_path / "search.toml").read_text(encoding="utf-8"))
    assert saved["search"]["text"] == "teapots"
    assert saved["result"]["ids"] == ids
    assert saved["run"]["snapshot"] and saved["run"]["date"]

    refused = run("explore", "teapots", "--csv", "out.csv")
    assert refused.returncode == 2
    assert "out.csv exists" in refused.stderr
    assert run("explore", "teapots", "--csv", "out.csv", "--replace").returncode == 0

    nothing = run("explore", "--again", "search.toml")
    assert nothing.returncode == 0
    assert "0 of " in nothing.stderr
    assert "No papers found" not in nothing.stderr
    (tmp_path / "more.jsonl").write_text(records("e"), encoding="utf-8")
    assert run("library", "add", "more.jsonl").returncode == 0
    new = run("explore", "--again", "search.toml")
    assert new.returncode == 0
    assert [line.split("\t")[0] for line in new.stdout.splitlines()] == ["s2:e"]


def test_one_search_is_the_default_and_says_why_in_words(run: Run) -> None:
    found = run("explore", "teapots", "--trace")
    assert "search: " in found.stderr and "references: " not in found.stderr
    assert "Judged relevant" not in found.stderr
    for line in found.stdout.splitlines():
        assert line.rsplit("\t", 1)[1].startswith(("its ", "cited ", "close ")) and "#" not in line
    assert "search #1" in run("explore", "teapots", "-v").stdout


def test_a_folder_that_is_missing_is_reported_before_the_search(run: Run, tmp_path: Path) -> None:
    for flag in ("--csv", "--html", "--save"):
        found = run("explore", "teapots", "--trace", flag, str(tmp_path / "none" / "out"))
        assert found.returncode == 2
        assert "there is no folder" in found.stderr
        assert "search: " not in found.stderr


def test_an_overview_is_shown_beside_the_lines_of_papers(run: Run) -> None:
    plain, found = run("explore", "teapots"), run("explore", "teapots", "--overview")
    assert found.returncode == 0, found.stderr
    assert found.stdout == plain.stdout
    assert "papers)" in found.stderr and "papers)" not in plain.stderr


def test_kept_and_rejected_papers_count(run: Run) -> None:
    found = run("explore", "teapots", "--keep", "s2:d", "--reject", "s2:a")
    ids = [line.split("\t")[0] for line in found.stdout.splitlines()]
    assert ids[0] == "s2:d"
    assert "s2:a" not in ids
    unknown = run("explore", "teapots", "--keep", "s2:none")
    assert unknown.returncode == 2
    assert "record-unknown" in unknown.stderr
    assert "Traceback" not in unknown.stderr


def test_a_search_is_written_as_a_page(run: Run, tmp_path: Path) -> None:
    found = run("explore", "<b>teapots</b>", "--overview", "--html", "page.html")
    assert found.returncode == 0, found.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    ids = [line.split("\t")[0] for line in found.stdout.splitlines()]
    assert page.count('<li id="paper-') == len(ids)
    assert all(f"<code>{one}</code>" in page for one in ids)
    assert "&lt;b&gt;teapots&lt;/b&gt;" in page and "<b>" not in page
    assert "<h2>Overview</h2>" in page
    refused = run("explore", "teapots", "--html", "page.html")
    assert refused.returncode == 2
    assert "page.html exists" in refused.stderr


def test_a_saved_search_holds_what_a_report_of_a_systematic_search_asks(
    run: Run, tmp_path: Path
) -> None:
    assert (
        run("explore", "teapots since 2019", "--rounds", "1", "--save", "search.toml").returncode
        == 0
    )
    saved = tomllib.loads((tmp_path / "search.toml").read_text(encoding="utf-8"))
    (library,) = [one for one in saved["databases"] if one["name"] == "default"]
    assert library["kind"] == "library"
    assert library["works"] == 5
    assert library["snapshot"] in saved["run"]["snapshot"]
    assert library["built"]
    assert [one["records"] for one in library["sources"]] == [5]
    run_ = saved["run"]
    assert run_["finished"].startswith(run_["date"][:4]) and run_["finished"].endswith("+00:00")
    assert saved["search"]["text"] == "teapots since 2019"
    assert "kept" not in saved["search"] and "rejected" not in saved["search"]
    assert run_["understood"] == "year: 2019- · topic: teapots"
    assert run_["records"] == run_["papers"] + run_["duplicates"] + run_["not_listed"]
    assert run_["papers"] == len(saved["result"]["ids"])
    assert [one["name"] for one in saved["passes"]][:2] == ["search", "references"]
    assert "updates" not in saved

    (tmp_path / "more.jsonl").write_text(records("e"), encoding="utf-8")
    assert run("library", "add", "more.jsonl").returncode == 0
    assert run("explore", "--again", "search.toml", "--save", "search.toml").returncode == 0
    again = tomllib.loads((tmp_path / "search.toml").read_text(encoding="utf-8"))
    (update,) = again["updates"]
    assert update == {
        "date": run_["date"],
        "snapshot": run_["snapshot"],
        "papers": run_["papers"],
        "since": 1,
    }
    run("explore", "--again", "search.toml", "--save", "search.toml")
    third = tomllib.loads((tmp_path / "search.toml").read_text(encoding="utf-8"))
    assert third["updates"][0] == update
    assert len(third["updates"]) == 2


def test_papers_linked_to_several_come_first(run: Run) -> None:
    found = run("related", "s2:b", "s2:d")
    assert found.returncode == 0, found.stderr
    lines = [line.split("\t") for line in found.stdout.splitlines()]
    assert {fields[0] for fields in lines[:2]} == {"s2:a", "s2:c"}
    assert "cites s2:b" in lines[0][4] and "cites s2:d" in lines[0][4]
    cites = run("related", "s2:c", "--direction", "cites")
    assert {line.split("\t")[0] for line in cites.stdout.splitlines()} == {"s2:b", "s2:d", "s2:g"}
    none = run("related", "s2:none")
    assert none.returncode == 2
    assert "record-unknown" in none.stderr


def test_a_paper_that_cites_one_held_work_is_linked_to_it(run: Run, tmp_path: Path) -> None:
    record = json.loads(records("a")) | {
        "paperId": "h", "title": "Tea Cosies in Winter",
        "references": [{"paperId": "g", "title": TITLES["g"]}],
    }  # fmt: skip
    (tmp_path / "more.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert run("library", "add", "more.jsonl").returncode == 0
    found = run("related", "s2:g", "--direction", "cited_by")
    assert "s2:h" in [line.split("\t")[0] for line in found.stdout.splitlines()], found.stderr
    found = run("related", "s2:h", "--direction", "cites")
    assert [line.split("\t")[0] for line in found.stdout.splitlines()] == ["s2:g"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no saved search"),
        ("format = 1\n", "search"),
        ("not toml [", "cannot be read"),
        ('format = 1\n[search]\ntext = 5\n[run]\ndate = ""\n[result]\nids = []\n', "str"),
    ],
)
def test_a_file_that_is_no_saved_search_is_refused(
    run: Run, tmp_path: Path, content: str, reason: str
) -> None:
    (tmp_path / "broken.toml").write_text(content, encoding="utf-8")
    found = run("explore", "--again", "broken.toml")
    assert found.returncode == 2
    assert "explore-unreadable" in found.stderr
    assert reason in found.stderr
    assert "Traceback" not in found.stderr


def test_questions_that_contradict_themselves_are_refused(run: Run) -> None:
    for arguments in ((), ("x", "--year-from", "2020", "--year-to", "2010")):
        assert run("explore", *arguments).returncode == 2


def test_sources_are_asked_only_with_online_and_their_papers_say_so(
    tmp_path: Path, env: dict[str, str], fake_sources: Any
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'[sources]\nallow = ["openreview"]\nbase_url = "{fake_sources.url}"\n', encoding="utf-8"
    )
    own = env | {"CITEWELL_CONFIG": str(config), "CITEWELL_CACHE": str(tmp_path / "cache")}
    explored = citewell_in(tmp_path, own, "explore", "the patience of kettles")
    fake_sources.log.clear()
    offline = explored("--trace")
    assert "Patience of Kettles" not in offline.stdout
    assert "\nsources: " not in offline.stderr
    assert fake_sources.log == []
    online = explored("--trace", "--online")
    assert "\nsources: " in online.stderr, online.stderr
    lines = online.stdout.splitlines()
    assert len(lines) == 20
    (line,) = [one for one in lines if "Patience of Kettles" in one]
    assert line.split("\t")[5] == "found by OpenReview"
    assert "sources #1" in explored("--online", "-v").stdout
    assert fake_sources.log


def test_papers_of_sources_are_listed_alike_when_a_question_is_asked_again(
    tmp_path: Path, env: dict[str, str], fake_sources: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from citewell.usecases.explore.contract import ExploreQuery
    from citewell.usecases.library import open_library

    monkeypatch.setenv("CITEWELL_CONFIG", env["CITEWELL_CONFIG"])
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    settings = {
        "library.path": env["CITEWELL_LIBRARY_PATH"],
        "sources.allow": ["openreview"],
        "sources.base_url": fake_sources.url,
        "sources.keep": False,
    }
    with open_library(online=True, settings=settings) as library:
        request = ExploreQuery(text="the patience of kettles")
        lists = []
        for _ in range(2):
            *_, found = library.explore(request)
            lists.append([one.work.title for one in found.papers])
            (kettles,) = [one for one in found.papers if "Patience of Kettles" in one.work.title]
            assert [reason.step for reason in kettles.reasons] == ["sources"]
    assert lists[0] == lists[1]


def test_the_key_that_find_prints_names_the_paper(run: Run) -> None:
    key, title, *_ = run("find", TITLES["b"]).stdout.splitlines()[0].split("\t")
    assert title == TITLES["b"] and ":" not in key
    by_key, by_id = run("related", key), run("related", "s2:b")
    assert by_key.returncode == 0, by_key.stderr
    assert by_key.stdout == by_id.stdout
    kept = run("explore", "teapots", "--keep", key)
    assert kept.stdout.startswith("s2:b\t")
    unknown = run("related", key.replace("2020", "2019"))
    assert unknown.returncode == 2
    assert "Nearest titles" in unknown.stderr


def test_a_question_may_start_with_a_dash(run: Run) -> None:
    after = run("explore", "-k", "3", "--", "-zebras", "teapots")
    quoted = run("explore", "-zebras teapots", "-k", "3")
    assert after.returncode == quoted.returncode == 0, after.stderr + quoted.stderr
    assert after.stdout and after.stdout == quoted.stdout
    alone = run("explore", "--", "-zebras")
    assert alone.returncode == 0 and "explore-excludes" in alone.stderr
    assert run("find", "-zebras teapots").returncode == 0
    for command in ("explore", "find"):
        wrong = run(command, "-zebras", "teapots")
        assert wrong.returncode == 2
        assert "Write `--` before words that start with a dash." in wrong.stderr
        assert "before words" not in run(command, "--zebras", "teapots").stderr


def test_keys_of_the_bib_of_the_author_name_papers(run: Run, tmp_path: Path) -> None:
    entry = "@article{%s,\n  title = {%s},\n  author = {%s},\n  year = {2020},\n}\n"
    by_id = run("related", "s2:b")
    bib = tmp_path / "refs.bib"
    bib.write_text(
        entry % ("mine", TITLES["b"], "van der Roe, Jo") + entry % ("none", "On Glass", "Doe, A.")
    )
    alone = run("related", "mine")
    assert alone.returncode == 0, alone.stderr
    assert alone.stdout == by_id.stdout
    kept = run("explore", "teapots", "--keep", "mine", "--save", "search.toml")
    assert kept.stdout.startswith("s2:b\t")
    saved = tomllib.loads((tmp_path / "search.toml").read_text(encoding="utf-8"))
    assert saved["search"]["kept"] == ["s2:b"]
    unknown = run("related", "none")
    assert unknown.returncode == 2
    assert "The library has no record of 'none' (“On Glass”)." in unknown.stderr
    # With two files, the author names the one.
    (tmp_path / "other.bib").write_text("", encoding="utf-8")
    assert run("related", "mine").returncode == 2
    assert run("related", "mine", "--bib", "refs.bib").stdout == by_id.stdout
    # One that cannot be read matters only where a key is looked for in it.
    (tmp_path / "other.bib").unlink()
    bib.unlink()
    bib.mkdir()
    assert run("related", "s2:b").stdout == by_id.stdout
    broken = run("related", "mine")
    assert broken.returncode == 2
    assert "file-not-regular" in broken.stderr and "record-unknown" in broken.stderr


def test_eval_makes_the_round_that_other_queries_need_before_it_leaves_them_out(
    tmp_path: Path, env: dict[str, str]
) -> None:
    titles = ["Neural Machine Translation by Jointly Learning to Align and Translate"]
    line = {"question": "attention for machine translation", "answer": titles}
    (tmp_path / "questions.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    command = ["eval", "--data", "questions.jsonl", "--mode", "explore", "--json", "out.json"]
    counts: dict[tuple[str, ...], tuple[int, int]] = {}
    for flags in (("--without", "evolve"), ("--without", "evolve", "--rounds", "1")):
        done = citewell_in(tmp_path, env)(*command, *flags)
        assert done.returncode == 0, done.stderr
        answers = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["answers"]
        last = {one["method"]: one["queries"] for one in answers if one["step"] == "last"}
        counts[flags] = last["explore"], last["without evolve"]
    whole, without = counts["--without", "evolve"]
    assert whole > without > 0
    whole, without = counts["--without", "evolve", "--rounds", "1"]
    assert whole == without > 0
