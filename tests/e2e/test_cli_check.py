"""`citewell check` as a user of a linter meets it: fixes, codes, and output for programs."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.e2e.conftest import Run, citewell_in

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
RIGHT = BIB.replace("Thang and Manning", "Thang and Pham, Hieu and Manning")


@pytest.fixture
def citewell(env: dict[str, str], tmp_path: Path) -> Run:
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    return citewell_in(tmp_path, env)


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


def test_a_bib_of_the_library_does_not_verify_itself(
    new_env: dict[str, str], tmp_path: Path
) -> None:
    """Neither what is in no other record, nor what other records contradict."""
    citewell = citewell_in(tmp_path, new_env)
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


PAPER = r"""\documentclass{article}
\begin{document}
Attention \cite{luong} and more \cite{nobody2020}. Here is a gap \cite<open words>.
\bibliography{refs}
\end{document}
"""


def test_a_paper_is_linted_with_its_references(citewell: Run, tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    (tmp_path / "refs.bib").write_text(RIGHT, encoding="utf-8")
    run = citewell("check", "paper.tex")
    assert run.returncode == 1, run.stderr
    assert 'paper.tex:3: error: The key "nobody2020" is not in the bibliographies' in run.stdout
    assert "[undefined-key]" in run.stdout and "[unresolved-placeholder]" in run.stdout
    assert "1 blocking, 1 to correct (policy default)." in run.stdout
    found = json.loads(citewell("check", "paper.tex", "--format", "json").stdout)
    assert [(one["code"], one["line"], one["weight"]) for one in found["diagnostics"]] == [
        ("undefined-key", 3, "blocking"), ("unresolved-placeholder", 3, "to correct"),
    ]  # fmt: skip
    assert found["policy"] == {"name": "default", "blocking": 1, "to correct": 1, "note": 0}
    sarif = json.loads(citewell("check", "paper.tex", "--format", "sarif").stdout)
    assert {one["ruleId"] for one in sarif["runs"][0]["results"]} == {
        "undefined-key", "unresolved-placeholder",
    }  # fmt: skip
    github = citewell("check", "paper.tex", "--format", "github").stdout
    assert "::error file=" in github and "title=undefined-key" in github
    assert "In the paper (2)" in citewell("check", "paper.tex", "--format", "html").stdout
    # Without the lint, a .bib itself, and with the code ignored.
    assert citewell("check", "paper.tex", "--no-lint").returncode == 0
    assert citewell("check", "refs.bib").returncode == 0
    assert citewell("check", "paper.tex", "--ignore", "undefined-key").returncode == 0


def test_a_policy_says_what_blocks(citewell: Run, tmp_path: Path) -> None:
    run = citewell("check", "refs.bib", "--policy", "default")
    assert run.returncode == 0 and "1 to correct (policy default)." in run.stdout
    kettles = "@misc{kettles, title={The patience of kettles}, author={Example, Ada}, year=2019}\n"
    (tmp_path / "refs.bib").write_text(RIGHT + kettles, encoding="utf-8")
    assert citewell("check", "refs.bib").returncode == 0
    run = citewell("check", "refs.bib", "--policy", "neurips-2026")
    assert run.returncode == 1 and "1 blocking (policy neurips-2026)." in run.stdout
    (tmp_path / "mine.toml").write_text('blocking = ["author"]\n', encoding="utf-8")
    run = citewell("check", "refs.bib", "--policy", "mine.toml")
    assert run.returncode == 2 and "no verdict or code is called 'author'" in run.stderr
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    (tmp_path / "mine.toml").write_text('blocking = ["author-missing"]\n', encoding="utf-8")
    run = citewell("check", "refs.bib", "--policy", "mine.toml")
    assert run.returncode == 1 and "(policy mine)" in run.stdout
    run = citewell("check", "refs.bib", "--policy", "strict")
    assert run.returncode == 2 and "neurips-2026" in run.stderr
    run = citewell("check", "refs.bib", "--policy", "default", "--fail-on", "never")
    assert run.returncode == 2 and "either --policy or --fail-on" in run.stderr


def test_references_outside_the_library_are_said_once(citewell: Run, tmp_path: Path) -> None:
    entries = [
        f"@article{{k{n}, title={{The patience of kettle number {n}}}, author={{Example, Ada}}, "
        f"journal={{Kettles}}, year={{2019}}}}\n"
        for n in range(12)
    ]
    (tmp_path / "refs.bib").write_text(RIGHT + "".join(entries), encoding="utf-8")
    run = citewell("check", "refs.bib")
    assert run.returncode == 0
    assert run.stderr.count("12 of 13 references are outside the library") == 1
    assert "citewell sources allow" in run.stderr and "kettle number" not in run.stdout
    found = json.loads(citewell("check", "refs.bib", "--format", "json").stdout)
    assert [one["code"] for one in found["problems"]] == ["library-outside"]
    (tmp_path / "refs.bib").write_text(RIGHT + "".join(entries[:3]), encoding="utf-8")
    assert "outside the library" not in citewell("check", "refs.bib").stderr


PROCEEDINGS = "Proceedings of the {} Conference on Empirical Methods in Natural Language Processing"
INVENTED = """@inproceedings{{k, title = {{Damming Gradients with Wooden Beavers}}, year = {{2018}},
  author = {{Zoe Zinnia and Yan Yew}}, booktitle = {{{}}}}}
"""


def test_a_paper_that_whole_proceedings_lack_fails_by_default(
    new_env: dict[str, str], tmp_path: Path
) -> None:
    """Three years of a meeting, numbered without a gap."""
    citewell = citewell_in(tmp_path, new_env)
    records = [
        {"id": f"D{year - 2000}-1{number:03}", "title": f"Study {number} of Brook {year}",
         "authors": [f"Ann Ash{number}", "Ben Beech"], "year": year, "venue": "EMNLP",
         "booktitle": PROCEEDINGS.format(year), "kind": "inproceedings", "source": "acl-anthology"}
        for year in (2017, 2018, 2019)
        for number in range(1, 61)
    ]  # fmt: skip
    source = tmp_path / "records.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    added = citewell("library", "add", source)
    assert added.returncode == 0, added.stderr
    (tmp_path / "refs.bib").write_text(INVENTED.format(PROCEEDINGS.format(2018)), encoding="utf-8")
    run = citewell("check", "refs.bib")
    assert run.returncode == 1
    assert "not in the venue that it names" in run.stdout
    (check,) = json.loads(citewell("check", "refs.bib", "--format", "json").stdout)["checks"]
    assert (check["verdict"], check["findings"][0]["code"]) == ("not-in-venue", "venue-lacks")
    assert citewell("check", "refs.bib", "--fail-on", "never").returncode == 0
    workshop = INVENTED.format(f"Workshop of Brooks at {PROCEEDINGS.format(2018)}")
    (tmp_path / "refs.bib").write_text(workshop, encoding="utf-8")
    assert citewell("check", "refs.bib").returncode == 0


INVENTED_NAMES = "Marta Olsen, Pavel Dvorak, and Xi Wang"
ANSWER = """Here are the references you asked for:

[1] Ashish Vaswani et al. Attention Is All You Need. NeurIPS 2017. [2] {invented}. Effective
Approaches to Attention-based Neural Machine Translation. EMNLP 2015. [3] Thomas N. Kipf and Max
Welling. Semi-Supervised Classification with Graph Convolutional Networks. ICLR 2017.

Let me know if you need more!
"""


def test_an_invented_reference_inside_a_pasted_answer_is_found(
    citewell: Run, tmp_path: Path
) -> None:
    (tmp_path / "answer.txt").write_text(ANSWER.format(invented=INVENTED_NAMES), encoding="utf-8")
    run = citewell("check", "answer.txt", "--format", "json")
    assert run.returncode == 1, run.stderr
    checks = json.loads(run.stdout)["checks"]
    assert [one["verdict"] for one in checks] == ["verified", "fabricated", "verified"]


@pytest.mark.parametrize(
    "form",
    [
        "Olsen, Marta, and Pavel Dvorak. 2015. “{title}.” In EMNLP.",
        "OLSEN, Marta and DVORAK, Pavel, 2015. {title}. In: EMNLP.",
        "Olsen M, Dvorak P. {title}. In: EMNLP; 2015.",
        "[{title}](https://aclanthology.org/D15-1166) (M. Olsen and P. Dvorak, 2015)",
        "{title}\nMarta Olsen, Pavel Dvorak\nEMNLP 2015",
        "| {title} | Marta Olsen, Pavel Dvorak | EMNLP | 2015 |",
    ],
)
def test_invented_authors_of_a_real_title_are_never_verified(citewell: Run, form: str) -> None:
    title = "Effective Approaches to Attention-based Neural Machine Translation"
    run = citewell("check", "-", "--format", "json", text=form.format(title=title))
    (check,) = json.loads(run.stdout)["checks"]
    assert check["verdict"] == "fabricated"
    assert (run.returncode, check["findings"][0]["code"]) == (1, "author-unrelated")


DOUBTED = """% read in May
@article{fake,
  title = {Attention Is All You Need},
  author = {Smith, John and Roe, Jane},
  journal = {Neural Computation},
  year = {2017},
  keywords = {mine},
}

@article{real,
  title = {Long Short-Term Memory},
  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  journal = {Neural Computation},
  year = {1997},
}
"""
CITING = """\\documentclass{article}
\\begin{document}
See \\cite{real,fake} and \\citep[p.~3]{fake}.
\\bibliography{refs}
\\end{document}
"""


@pytest.fixture
def doubted(citewell: Run, tmp_path: Path) -> Run:
    (tmp_path / "refs.bib").write_text(DOUBTED, encoding="utf-8")
    (tmp_path / "main.tex").write_text(CITING, encoding="utf-8")
    # A paper of its own, whose key of this name is another work's.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "own.bib").write_text("@misc{fake, title={Mine}}\n", encoding="utf-8")
    (tmp_path / "other" / "own.tex").write_text(CITING.replace("{refs}", "{own}"), encoding="utf-8")
    return citewell


def texts(folder: Path) -> dict[str, str]:
    found = [*folder.glob("*.bib"), *folder.rglob("*.tex")]
    return {path.name: path.read_text(encoding="utf-8") for path in found}


def test_a_verdict_names_the_commands_that_act_on_its_entry(doubted: Run) -> None:
    run = doubted("check", "refs.bib")
    assert run.returncode == 1
    assert "citewell find 'Attention Is All You Need' [--author Smith]" in run.stdout
    ways = "--replace fake=ID | --replace fake | --remove fake | --mark fake"
    assert f"citewell check refs.bib {ways}" in run.stdout
    assert "real" not in run.stdout


def test_an_entry_is_marked_as_checked_and_no_longer_blocks(doubted: Run, tmp_path: Path) -> None:
    shown = doubted("check", "refs.bib", "--mark", "fake")
    assert texts(tmp_path)["refs.bib"] == DOUBTED
    assert "+% citewell: ignore author-unrelated" in shown.stdout
    run = doubted("check", "refs.bib", "--mark", "fake", "--write")
    assert (run.returncode, run.stderr) == (
        0,
        "refs.bib:2: fake: marked as checked\n1 entry changed.\n",
    )
    marked = texts(tmp_path)["refs.bib"]
    head, _, rest = marked.partition("@article{fake")
    assert "% read in May\n@article{fake" + rest == DOUBTED
    assert head.startswith("% read in May\n% citewell: ignore ") and head.count("\n") == 2

    run = doubted("check", "refs.bib")
    assert run.returncode == 0
    (line,) = [one for one in run.stdout.splitlines() if "fake" in one and "refs.bib:3" in one]
    day = datetime.now(UTC).date().isoformat()
    assert f"likely fabricated, marked as checked on {day} against " in line
    assert "1 likely fabricated, 1 verified; 1 marked as checked." in run.stdout
    found = json.loads(doubted("check", "--format", "json", "refs.bib").stdout)
    assert found["policy"]["blocking"] == 0 and found["checks"][0]["claim"]["mark"]["day"] == day

    # Marked again, it has one mark still; a finding that the mark does not name is reported.
    doubted("check", "refs.bib", "--mark", "fake", "--write")
    assert texts(tmp_path)["refs.bib"] == marked
    changed = marked.replace(
        "year = {2017}", "year = {2017},\n  doi = {10.1162/neco.1997.9.8.1735}"
    )
    (tmp_path / "refs.bib").write_text(changed, encoding="utf-8")
    assert doubted("check", "refs.bib").returncode == 1


def test_an_entry_is_removed_with_its_citations(doubted: Run, tmp_path: Path) -> None:
    before = texts(tmp_path)
    shown = doubted("check", "refs.bib", "--remove", "fake")
    assert texts(tmp_path) == before
    run = doubted("check", "refs.bib", "--remove", "fake", "--write")
    assert "fake: removed, 2 citations left open" in run.stderr
    after = texts(tmp_path)
    assert after["main.tex"] == CITING.replace("real,fake", "real,?").replace("{fake}", "{?}")
    assert "{fake," not in after["refs.bib"] and "@article{real," in after["refs.bib"]
    assert after["own.tex"] == before["own.tex"]
    for name, text in before.items():
        (tmp_path / name if name != "own.tex" else tmp_path / "other" / name).write_text(text)
    subprocess.run(
        ["git", "apply", "-"], input=shown.stdout, cwd=tmp_path, check=True, encoding="utf-8"
    )
    assert texts(tmp_path) == after


def test_an_entry_is_replaced_by_its_record_or_by_what_was_meant(
    doubted: Run, tmp_path: Path
) -> None:
    doubted("check", "main.tex", "--replace", "fake", "--write")
    text = texts(tmp_path)["refs.bib"]
    assert "Vaswani, Ashish" in text and "keywords = {mine}" in text and "{fake," in text
    assert doubted("check", "refs.bib").returncode == 0
    (tmp_path / "refs.bib").write_text(DOUBTED, encoding="utf-8")
    run = doubted("check", "refs.bib", "--replace", "fake=10.1162/neco.1997.9.8.1735", "--write")
    assert run.returncode == 0, run.stderr
    assert texts(tmp_path)["refs.bib"].count("Hochreiter, Sepp") == 2


def test_the_parent_of_an_entry_is_removed_with_it_alone(doubted: Run, tmp_path: Path) -> None:
    child = "@inbook{child, title = {A Part of It}, pages = {1--2}, crossref = {fake}}\n\n"
    (tmp_path / "refs.bib").write_text(child + DOUBTED, encoding="utf-8")
    run = doubted("check", "refs.bib", "--remove", "fake", "--write")
    assert run.returncode == 2
    assert "'child' refers to 'fake'" in " ".join(run.stderr.split())
    assert texts(tmp_path)["refs.bib"] == child + DOUBTED
    run = doubted("check", "refs.bib", "--remove", "fake", "--remove", "child", "--write")
    assert "fake: removed" in run.stderr and "child: removed" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mark", "fakes"], "Did you mean 'fake'?"),
        (["--mark", "real"], "'real' stays as it is: nothing is reported of it."),
        (["--mark", "real", "--remove", "fake"], "'real' stays as it is"),
        (["--replace", "fake=no-such-id"], "No record has the id 'no-such-id'"),
        (["--mark", "fake", "--remove", "fake"], "One key is given twice"),
        (["--mark", "fake", "--fix"], "Give either --fix"),
    ],
)
def test_a_change_that_cannot_be_made_changes_nothing(
    doubted: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    before = texts(tmp_path)
    run = doubted("check", "refs.bib", *arguments, "--write")
    assert run.returncode == 2
    assert message in " ".join(run.stderr.split())
    assert texts(tmp_path) == before
