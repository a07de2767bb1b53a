"""References that are sent as text, and what is said of each."""

from typing import Any

from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LibraryOptions

RIGHT = """@inproceedings{good, title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki and Uszkoreit, Jakob and Jones, Llion
    and Gomez, Aidan N. and Kaiser, Lukasz and Polosukhin, Illia}, year = {2017}}
"""
WRONG = """@article{late, title = {Long Short-Term Memory},
  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen}, journal = {Neural Computation},
  volume = {9}, year = {2003}}
"""
NOWHERE = "@misc{none, title = {Unheard of Things in Porcelain Teacups}, author = {Roe, Jo}}\n"
IN_WORDS = "Hochreiter, S., and Schmidhuber, J. Long short-term memory. Neural Computation, 1997."


def test_each_reference_of_a_text_has_its_verdict_and_its_reason(client: Any) -> None:
    found = client.post("/v1/check", json={"text": RIGHT + WRONG + NOWHERE}).json()
    assert found["status"] == "checked"
    good, late, none = found["references"]
    assert [one["n"] for one in found["references"]] == [1, 2, 3]
    assert (good["reference"], good["verdict"]) == ("good", "verified")
    assert late["verdict"] == "wrong-detail"
    (year,) = [one for one in late["findings"] if one["field"] == "year"]
    assert (year["given"], year["expected"]) == ("2003", "1997")
    assert late["record"]["source"] and late["record"]["year"] == 1997
    assert (none["verdict"], "record" in none) == ("not-found", False)
    assert found["counts"] == {"verified": 1, "wrong-detail": 1, "not-found": 1}


def test_entries_are_answered_by_their_number(client: Any) -> None:
    body = {"entries": [RIGHT, "nothing here", IN_WORDS]}
    found = client.post("/v1/check", json=body).json()
    by_number = {one["n"]: one for one in found["references"]}
    assert by_number[1]["verdict"] == "verified"
    assert by_number[3]["record"]["title"] == "Long Short-Term Memory"
    assert set(by_number) | set(found.get("unread", ())) == {1, 2, 3}


def test_a_text_without_references_is_no_report_that_all_is_well(client: Any) -> None:
    for body in (
        {},
        {"text": ""},
        {"text": "\n"},
        {"text": "@string{a = {b}}\n"},
        {"entries": []},
    ):
        assert client.post("/v1/check", json=body).json()["status"] == "no_references"


def test_an_unclosed_brace_is_reported_with_its_line(client: Any) -> None:
    text = RIGHT + "@misc{open, title = {Porcelain Teacups, year = {2001}\n" + WRONG
    found = client.post("/v1/check", json={"text": text}).json()
    (one,) = [each for each in found["problems"] if each["code"].startswith("bib-unclosed")]
    assert one["line"] == RIGHT.count("\n") + 1 and one["hint"]
    assert "problems" not in client.post("/v1/check", json={"text": RIGHT + WRONG}).json()
    assert "problems" not in client.post("/v1/check", json={"text": IN_WORDS}).json()


def test_text_and_entries_together_are_refused(client: Any, problem: Any) -> None:
    body = {"text": RIGHT, "entries": [RIGHT]}
    assert problem(client.post("/v1/check", json=body)) == (422, "request-invalid")


def test_sources_that_are_not_allowed_are_not_asked_and_it_is_said(
    client: Any, problem: Any
) -> None:
    found = client.post("/v1/check", json={"text": RIGHT, "online": True})
    assert problem(found) == (403, "sources-off")


def test_without_a_library_nothing_is_checked_and_it_is_said(
    client_of: Any, problem: Any, tmp_path: Any
) -> None:
    options = replace(Options(), library=LibraryOptions(path=tmp_path))
    engine = LocalEngine.open(options)
    try:
        found = client_of(options, engine).post("/v1/check", json={"text": RIGHT})
        assert problem(found) == (503, "library-missing")
    finally:
        engine.close()
