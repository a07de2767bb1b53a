"""The check with sources: what counts as evidence, and what only as silence."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Provenance, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.check import Check, Claim, Verdict
from citewell.sources.contract import Answer, Failed, Matched, NoMatch, Reason, SourceQuery
from citewell.sources.registry import source_title
from citewell.sources.service import SourceAnswers
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.identify import MemoryRecords
from citewell.verification.online import OnlineChecker

TITLE = "On the Patience of Kettles in Deep Networks"
PEOPLE = (Author("Example", "Ada"), Author("Wang", "Jun"))
OTHER_PEOPLE = (Author("Stranger", "Sam"), Author("Unknown", "Una"), Author("Nemo", "Ned"))
DOI = "10.5555/kettle.1"
ENTRY = """@inproceedings{kettle, title = {On the Patience of Kettles in Deep Networks},
  author = {Ada Example and Jun Wang}, year = 2020, booktitle = {Proceedings of Kettles}%s}"""
WITH_DOI = ENTRY % f", doi = {{{DOI}}}"
WITHOUT = ENTRY % ""


def record(source: str, **fields: Any) -> Work:
    facts: dict[str, Any] = {
        "id": f"{source}:1",
        "title": TITLE,
        "authors": PEOPLE,
        "year": 2020,
        "kind": "inproceedings",
        "doi": DOI,
        "provenance": (Provenance(source, "1"),),
    }
    return Work(**{**facts, **fields})


def found(source: str, **fields: Any) -> Matched:
    return Matched(source, (record(source, **fields),))


def failed(source: str, reason: Reason = Reason.THROTTLED) -> Failed:
    return Failed(source, reason, f"{source} limits the request rate (HTTP 429).")


class Script:
    """Sources that say what a test has them say, and count what they are asked."""

    names = ("crossref", "openalex")

    def __init__(
        self,
        doi: Sequence[Answer] = (),
        title: Sequence[Answer] = (),
        arxiv: Sequence[Answer] = (),
        notices: Sequence[Answer] = (),
    ) -> None:
        self.answers = SourceAnswers(doi=tuple(doi), arxiv=tuple(arxiv))
        self.titles = SourceAnswers(title=tuple(title))
        self.notes = tuple(notices)
        self.requests: list[tuple[str, list[Any]]] = []

    def by_ids(
        self, wanted: Sequence[SourceQuery], cancel: Cancel | None = None
    ) -> list[SourceAnswers]:
        self.requests.append(("ids", list(wanted)))
        return [self.answers for _ in wanted]

    def notices(
        self, dois: Sequence[str], cancel: Cancel | None = None
    ) -> list[tuple[Answer, ...]]:
        self.requests.append(("notices", list(dois)))
        return [self.notes for _ in dois]

    def match(
        self,
        wanted: Sequence[SourceQuery],
        done: Callable[[int], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[SourceAnswers]:
        self.requests.append(("match", list(wanted)))
        return [self.titles for _ in wanted]


def claims(entry: str) -> list[Claim]:
    return claims_of_bib(parse_bib(entry, "refs.bib"))


def checked(script: Script, entry: str, library: Sequence[Work] = ()) -> Check:
    checker = Checker([MemoryRecords(library, "library")], today=datetime.date(2026, 1, 1))
    return OnlineChecker(checker, script).check(claims(entry))[0]


def codes(check: Check) -> set[str]:
    return {one.code for one in check.findings}


# -- what settles a reference ----------------------------------------------------------------


def test_identifiers_are_asked_before_titles_and_titles_only_when_needed() -> None:
    script = Script(doi=[found("crossref")])
    checked(script, WITH_DOI)
    assert [what for what, _ in script.requests] == ["ids"]
    script = Script(title=[found("dblp")])
    assert checked(script, WITHOUT).verdict is Verdict.VERIFIED
    assert [what for what, _ in script.requests] == ["ids", "match"]


def test_what_the_library_settles_is_asked_about_for_a_retraction_alone() -> None:
    script = Script()
    check = checked(script, WITH_DOI, [record("acl")])
    assert check.verdict is Verdict.VERIFIED
    assert script.requests == [("notices", [DOI])]


def test_only_title_three_names_year_and_identifiers_are_handed_to_sources() -> None:
    script = Script()
    checked(script, WITH_DOI)
    ((_, (wanted,)), *_) = script.requests
    assert msgspec.structs.asdict(wanted) == {
        "doi": DOI, "arxiv": "", "isbn": "", "title": TITLE, "authors": ("Example", "Wang"), "year": 2020,
    }  # fmt: skip


def test_an_address_of_another_work_of_the_library_counts_beside_sources() -> None:
    page = "https://aclanthology.org/D19-1001"
    other = record("acl", id="acl:D19-1001", title="Nothing of the Kind at All", doi="", url=page)
    entry = ENTRY % f", url = {{{page}}}"
    check = checked(Script(title=[found("dblp"), found("crossref")]), entry, [other])
    assert "url-other-work" in codes(check)


def test_an_author_whom_one_source_lacks_is_not_verified() -> None:
    fewer = [found("crossref", authors=PEOPLE[:1])]
    check = checked(Script(doi=fewer), WITH_DOI)
    assert check.verdict is Verdict.UNCHECKED
    assert codes(check) == {"author-added"}


def test_a_wrong_detail_is_told_with_what_the_source_has() -> None:
    both = [found("crossref", year=2011), found("openalex", year=2011)]
    check = checked(Script(doi=both), WITH_DOI)
    assert check.verdict is Verdict.WRONG_DETAIL
    assert codes(check) == {"year-differs"}
    assert check.findings[0].expected == "2011"


@pytest.mark.parametrize(
    "wrong",
    [
        {"year": 2011},
        {"authors": (*PEOPLE, Author("Third", "Tim"))},
        {"title": "On the Patience of Teapots in Deep Networks"},
        {"venue": "icml", "booktitle": "International Conference on Machine Learning"},
    ],
)
def test_what_one_source_alone_says_of_any_field_is_a_note(wrong: dict[str, Any]) -> None:
    check = checked(Script(doi=[found("crossref", **wrong)]), WITH_DOI)
    assert check.verdict in (Verdict.VERIFIED, Verdict.NOT_FOUND)


def test_the_registry_and_what_resolves_to_it_are_one_witness() -> None:
    same = [found("crossref", year=2011), found("doi", year=2011)]
    assert checked(Script(doi=same), WITH_DOI).verdict is Verdict.VERIFIED


def test_preprint_records_do_not_accuse_a_published_paper_of_its_year() -> None:
    preprints = [found(name, year=2011, kind="misc", venue="arXiv", doi="10.48550/arxiv.1101.00001")
                 for name in ("arxiv", "openalex")]  # fmt: skip
    assert checked(Script(title=preprints), WITHOUT).verdict is Verdict.VERIFIED


def test_a_dead_doi_on_a_work_that_the_library_verifies_is_found() -> None:
    held = MemoryRecords([record("library", doi="")], "library")
    script = Script(doi=[NoMatch("doi"), NoMatch("openalex")])
    checker = OnlineChecker(Checker([held], today=datetime.date(2026, 1, 1)), script)
    (check,) = checker.check(claims_of_bib(parse_bib(WITH_DOI, "refs.bib")))
    assert check.verdict is Verdict.WRONG_DETAIL
    assert "doi-unregistered" in codes(check)


# -- silence is no evidence -------------------------------------------------------------------


@pytest.mark.parametrize("reason", [r for r in Reason if r is not Reason.UNABLE])
def test_a_source_that_does_not_answer_leaves_a_reference_unchecked(reason: Reason) -> None:
    script = Script(
        doi=[NoMatch("openalex"), failed("crossref", reason)],
        title=[NoMatch("openalex"), failed("crossref", reason)],
    )
    check = checked(script, WITH_DOI)
    assert check.verdict is Verdict.UNCHECKED
    assert check.severity is not None and check.severity.value == "info"
    assert "crossref limits the request rate" in check.evidence[0]
    assert "crossref" not in check.sources and "openalex" in check.sources


def test_all_sources_down_leave_everything_unchecked() -> None:
    script = Script(doi=[failed("crossref")], title=[failed("crossref"), failed("dblp")])
    assert checked(script, WITH_DOI).verdict is Verdict.UNCHECKED
    assert checked(script, WITHOUT).verdict is Verdict.UNCHECKED


def test_one_source_that_answers_is_enough_though_another_fails() -> None:
    script = Script(doi=[failed("crossref"), found("openalex")])
    assert checked(script, WITH_DOI).verdict is Verdict.VERIFIED


def test_a_source_without_such_a_service_is_no_silence() -> None:
    unable = Failed("doi", Reason.UNABLE, "doi.org does not match references.")
    script = Script(title=[NoMatch("crossref"), unable])
    assert checked(script, WITHOUT).verdict is Verdict.NOT_FOUND


def test_absence_everywhere_is_no_accusation() -> None:
    names = ("crossref", "openalex", "dblp", "arxiv")
    check = checked(Script(title=[NoMatch(name) for name in names]), WITHOUT)
    assert check.verdict is Verdict.NOT_FOUND
    assert all(source_title(name) in check.evidence[0] for name in names)


# -- the word of one source accuses nobody ----------------------------------------------------


def test_a_wrong_title_under_the_right_doi_of_one_index_is_no_evidence() -> None:
    script = Script(
        doi=[found("openalex", title="Teapots and Other Vessels of the North Sea")],
        title=[NoMatch("openalex"), NoMatch("crossref"), NoMatch("dblp")],
    )
    check = checked(script, WITH_DOI)
    assert check.verdict is Verdict.NOT_FOUND
    assert "doi-other-work" not in codes(check)


def test_a_wrong_title_loses_to_the_source_that_has_the_right_one() -> None:
    script = Script(doi=[found("openalex", title="Teapots"), found("crossref")])
    assert checked(script, WITH_DOI).verdict is Verdict.VERIFIED


def test_a_doi_of_another_work_is_one_when_two_independent_sources_say_so() -> None:
    other = {"title": "Teapots and Other Vessels of the North Sea", "authors": OTHER_PEOPLE}
    script = Script(
        doi=[found("openalex", **other), found("crossref", **other)],
        title=[NoMatch("openalex"), failed("crossref")],
    )
    check = checked(script, WITH_DOI)
    assert check.verdict is Verdict.FABRICATED
    assert "doi-other-work" in codes(check)


def test_crossref_and_doi_org_are_one_witness() -> None:
    other = {"title": "Teapots and Other Vessels of the North Sea", "authors": OTHER_PEOPLE}
    script = Script(doi=[found("doi", **other), found("crossref", **other)], title=[failed("dblp")])
    assert checked(script, WITH_DOI).verdict is Verdict.UNCHECKED


def test_the_registry_counts_once_two_sources_do_not_know_the_title() -> None:
    other = {"title": "Teapots and Other Vessels of the North Sea", "authors": OTHER_PEOPLE}
    script = Script(doi=[found("crossref", **other)], title=[NoMatch("openalex"), NoMatch("dblp")])
    assert checked(script, WITH_DOI).verdict is Verdict.FABRICATED


def test_a_real_title_with_other_authors_in_one_source_is_no_accusation() -> None:
    script = Script(title=[found("dblp", authors=OTHER_PEOPLE), NoMatch("crossref")])
    check = checked(script, WITHOUT)
    assert check.verdict is Verdict.NOT_FOUND
    assert "not enough evidence" in check.evidence[-1]


def test_a_real_title_with_other_authors_in_two_sources_is_one() -> None:
    script = Script(
        title=[found("dblp", authors=OTHER_PEOPLE), found("openalex", authors=OTHER_PEOPLE)]
    )
    check = checked(script, WITHOUT)
    assert check.verdict is Verdict.FABRICATED
    assert "author-unrelated" in codes(check)


def test_the_right_authors_in_one_source_beat_others_in_two() -> None:
    script = Script(
        title=[
            found("dblp", authors=OTHER_PEOPLE), found("openalex", authors=OTHER_PEOPLE),
            found("crossref"),
        ]
    )  # fmt: skip
    assert checked(script, WITHOUT).verdict is Verdict.VERIFIED


def test_what_sources_contradict_each_other_in_is_told_with_who_says_what() -> None:
    script = Script(doi=[found("crossref"), found("openalex", year=2023)])
    check = checked(script, WITH_DOI)
    assert check.verdict is Verdict.VERIFIED
    assert check.evidence[-1] == "Sources disagree on the year: 2020 (Crossref); 2023 (OpenAlex)."


# -- identifiers that nobody registered -------------------------------------------------------


def test_a_doi_that_no_registry_knows_is_a_wrong_detail_of_a_real_work() -> None:
    script = Script(
        doi=[NoMatch("doi"), NoMatch("crossref")],
        title=[found("dblp", doi=""), found("openalex", doi="")],
    )
    check = checked(script, WITH_DOI)
    assert check.verdict is Verdict.WRONG_DETAIL
    assert codes(check) == {"doi-unregistered"}


def test_a_dead_doi_and_an_unknown_title_are_two_signals() -> None:
    script = Script(
        doi=[NoMatch("doi"), NoMatch("crossref")], title=[NoMatch("dblp"), NoMatch("openalex")]
    )
    assert checked(script, WITH_DOI).verdict is Verdict.FABRICATED


def test_doi_org_alone_makes_a_note_and_other_sources_alone_make_nothing() -> None:
    title = [NoMatch("dblp"), NoMatch("openalex")]
    check = checked(Script(doi=[NoMatch("doi")], title=title), WITH_DOI)
    assert check.verdict is Verdict.NOT_FOUND
    assert [one.severity.value for one in check.findings] == ["info"]
    check = checked(Script(doi=[NoMatch("crossref"), NoMatch("openalex")], title=title), WITH_DOI)
    assert check.verdict is Verdict.NOT_FOUND
    assert not check.findings


def test_a_doi_of_an_agency_that_the_others_do_not_read_is_no_dead_one() -> None:
    script = Script(doi=[found("doi"), NoMatch("crossref"), NoMatch("openalex")])
    assert checked(script, WITH_DOI).verdict is Verdict.VERIFIED


# -- retractions ------------------------------------------------------------------------------


def test_a_retraction_is_told_with_its_notice_for_a_reference_that_is_otherwise_right() -> None:
    gone = found("crossref", retracted=True, notice="10.5555/notice.7")
    check = checked(Script(notices=[gone]), WITH_DOI, [record("acl")])
    assert check.verdict is Verdict.WRONG_DETAIL
    (one,) = [one for one in check.findings if one.code == "retracted"]
    assert "https://doi.org/10.5555/notice.7" in one.message
    assert one.url == "https://doi.org/10.5555/notice.7"


def test_a_retraction_of_another_title_under_the_doi_is_not_believed() -> None:
    gone = found("openalex", retracted=True, title="Teapots of the North")
    check = checked(Script(notices=[gone]), WITH_DOI, [record("acl")])
    assert check.verdict is Verdict.VERIFIED


def test_a_retraction_is_found_where_the_library_knows_nothing() -> None:
    check = checked(Script(doi=[found("openalex", retracted=True)]), WITH_DOI)
    assert "retracted" in codes(check)


# -- long checks ------------------------------------------------------------------------------


def test_progress_is_told_and_a_cancel_stops_the_check() -> None:
    checker = Checker([MemoryRecords((), "library")])
    many = claims(WITHOUT) * 100
    progress_reports: list[int] = []
    cancel = Cancel()

    def progress(count: int) -> None:
        progress_reports.append(count)
        cancel.set()

    with pytest.raises(Cancelled):
        OnlineChecker(checker, Script()).check(many, progress, cancel)
    assert len(progress_reports) == 1 and progress_reports[0] < 100
    done: list[int] = []
    checks = OnlineChecker(checker, Script()).check(many, done.append)
    assert sum(done) == len(checks) == 100
