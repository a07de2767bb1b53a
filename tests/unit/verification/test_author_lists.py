"""When an author list is wrong, and when the record of it may be."""

import datetime

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Provenance, Work
from citewell.model.check import Verdict
from citewell.sources.combine import combine
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib, claims_of_text
from citewell.verification.identify import MemoryRecords
from citewell.verification.people import AuthorComparison, Difference, compare_people

TITLE = "Measuring the Meanders of Slow Rivers by Their Shadows"


def people(names):
    return tuple(
        Author(family, given)
        for given, _, family in (name.strip().rpartition(" ") for name in names.split(","))
    )


def record(source, authors, **fields):
    values = {"title": TITLE, "year": 2019, "venue": "iccv", "kind": "inproceedings",
              "doi": "10.1109/iccv.2019.00123"} | fields  # fmt: skip
    return Work(id=f"{source}:1", authors=people(authors), provenance=(Provenance(source, "1"),),
                **values)  # fmt: skip


def check(records, author, **fields):
    values = {"title": TITLE, "author": author, "booktitle": "ICCV", "year": "2019"} | fields
    kind = "inproceedings" if values["booktitle"] else "misc"
    text = "".join(f"  {name} = {{{value}}},\n" for name, value in values.items() if value)
    (claim,) = claims_of_bib(parse_bib(f"@{kind}{{k,\n{text}}}", "refs.bib"))
    checker = Checker([MemoryRecords(records)], today=datetime.date(2026, 1, 1))
    return checker.check([claim])[0]


FOUR = "Ann Ash, Dan Dogwood, Ben Beech, Cara Cedar"
OTHER_ORDER = "Ann Ash and Cara Cedar and Dan Dogwood and Ben Beech"


def test_the_order_of_one_record_is_a_note():
    result = check([record("dblp", FOUR)], OTHER_ORDER)
    assert result.verdict is Verdict.VERIFIED
    assert [one.code for one in result.findings] == ["author-order"]


def test_the_order_of_two_independent_records_counts_and_names_who_is_misplaced():
    both = combine([record("dblp", FOUR), record("crossref", FOUR)])
    result = check([both], OTHER_ORDER)
    assert result.verdict is Verdict.WRONG_DETAIL
    (finding,) = result.findings
    assert "Cara Cedar" in finding.message
    assert "DBLP" in finding.message and "Crossref" in finding.message


def test_two_parts_of_one_source_are_one_witness():
    both = combine([record("mlanthology:cvf", FOUR), record("mlanthology:dblp", FOUR)])
    assert check([both], OTHER_ORDER).verdict is Verdict.VERIFIED


def test_another_first_author_counts_with_one_record():
    result = check([record("dblp", FOUR)], "Cara Cedar and Dan Dogwood and Ben Beech and Ann Ash")
    assert result.verdict is Verdict.WRONG_DETAIL


def test_a_record_that_agrees_silences_one_that_does_not():
    both = combine([record("acl-anthology", "Cara Cedar, Ann Ash, Ben Beech, Dan Dogwood"),
                    record("dblp", FOUR)])  # fmt: skip
    assert not check([both], FOUR.replace(", ", " and ")).findings


def test_a_record_that_was_sorted_by_surname_is_doubted():
    both = combine([record(source, "Ann Ash, Ben Beech, Cara Cedar, Dan Dogwood")
                    for source in ("dblp", "crossref")])  # fmt: skip
    result = check([both], "Cara Cedar and Dan Dogwood and Ann Ash and Ben Beech")
    assert result.verdict is Verdict.VERIFIED


def test_and_others_on_a_line_of_its_own_is_understood():
    assert not check(
        [record("dblp", FOUR)], "Ann Ash and\n    Dan Dogwood and\n    others"
    ).findings


def test_before_and_others_stands_the_first_author():
    both = combine([record("dblp", FOUR), record("crossref", FOUR)])
    result = check([both], "Ben Beech and Cara Cedar and others")
    assert result.verdict is Verdict.WRONG_DETAIL
    assert "begins with Ann Ash" in result.findings[0].message


def test_a_preprint_export_may_lack_a_later_author_and_have_the_year_of_a_revision():
    preprint = {"booktitle": "", "eprint": "1901.00001", "archiveprefix": "arXiv", "year": "2023"}
    known = record("dblp", FOUR, arxiv="1901.00001")
    assert check([known], "Ann Ash and Dan Dogwood and Ben Beech", **preprint).verdict is (
        Verdict.VERIFIED
    )
    published = check([known], "Ann Ash and Dan Dogwood and Ben Beech")
    assert published.verdict is Verdict.WRONG_DETAIL


def test_a_version_with_a_doi_of_its_own_may_have_other_names():
    result = check([record("dblp", FOUR)], OTHER_ORDER, doi="10.1007/s11263-019-0001-2")
    assert "author-order" not in {one.code for one in result.findings if one.confidence >= 0.7}


@pytest.mark.parametrize(
    ("recorded", "given"),
    [
        ("Emma Bell, Margaret Mitchellson", "Emma Bell and Shmargaret Shmitchellson"),
        ("Linda Low, Gholamreza Haffarian", "Linda Low and Reza Haffarian"),
        ("Linda Low, Gholamreza Haffarian", "Linda Low and Haf, Reza"),
        ("Ann Ash, Dongxian Woo", "Ann Ash and Dongxian"),
    ],
)
def test_a_name_in_another_form_is_the_same_person(recorded, given):
    assert check([record("dblp", recorded)], given).verdict is Verdict.VERIFIED


def test_names_that_were_cut_into_two_accuse_nobody():
    split = record("ecva", FOUR)
    split = Work(id="ecva:1", title=TITLE, year=2019, venue="iccv",
                 authors=(Author("Ash"), Author("Ann")), provenance=split.provenance)  # fmt: skip
    assert check([split], "Ann Ash").verdict is Verdict.VERIFIED
    whole = check([split], "Ann Ash and Ben Beech and Cara Cedar")
    assert whole.verdict is Verdict.UNCHECKED  # the names cannot be compared


def test_a_malformed_name_in_the_reference_is_never_called_fabricated():
    result = check([record("dblp", FOUR)], r"Zachary \emph{et al.}")
    assert result.verdict is not Verdict.FABRICATED


def test_several_wrong_given_names_are_a_warning():
    result = check([record("dblp", FOUR)], "Ann Ash and Kim Dogwood and Zoe Beech and Cara Cedar")
    assert [one.code for one in result.findings] == ["author-given"]
    assert result.verdict is Verdict.WRONG_DETAIL


def test_given_and_family_names_in_each_others_place_are_a_warning():
    result = check(
        [record("dblp", FOUR)], "Ash, Ann and Dan, Dogwood and Ben, Beech and Cedar, Cara"
    )
    assert [one.code for one in result.findings] == ["author-swapped"]
    assert result.verdict is Verdict.WRONG_DETAIL


def test_every_accusation_names_the_sources_whose_records_disagree():
    both = combine([record("dblp", FOUR), record("crossref", FOUR)])
    names = FOUR.replace(", ", " and ")
    wrong = {"title": TITLE.replace("Slow", "Fast"), "year": "2014", "booktitle": "CVPR"}
    for field, value in wrong.items():
        (finding,) = check([both], names, **{field: value}).findings
        assert finding.message.endswith("Sources: Crossref, DBLP."), finding.message
    for author in ("Ann Ash and Dan Dogwood", OTHER_ORDER, "Ann Ash and Zoe Zinnia and Yan Yew",
                   "Zoe Zinnia and Yan Yew"):  # fmt: skip
        (finding,) = check([both], author).findings
        assert "Crossref, DBLP" in finding.message, finding.message


@pytest.mark.parametrize(
    "names",
    [
        [("Elm", "Kim"), ("Oak", "Ada")],
        [("Kim", "Elm"), ("Elm", "Kim")],
        [("Elm", "Kim"), ("Elm", "Kim"), ("Elm", "K.")],
        [("Wei", ""), ("Wei", "Wei"), ("", "Wei")],
        [("Elm Collaboration", "")],
    ],
)
def test_a_list_that_is_the_records_letter_by_letter_differs_in_nothing(names):
    authors = tuple(Author(*name) for name in names)
    found = compare_people(authors, list(authors), others=False, more=True)
    assert found == AuthorComparison(Difference.SAME, 1.0, known=len(authors))


def test_names_run_together_are_parted_though_the_record_has_them_too():
    authors = (Author("Oak", "Kim Elm Ada"), Author("Elm", "Kim"))
    assert compare_people(authors, authors).known == 2
    assert compare_people(authors, authors).difference is not Difference.SAME


@pytest.mark.parametrize(
    ("authors", "given"),
    [
        ("Gus Ash-Beech", "Ash-Beech G"),
        ("Ann Ash-Beech, Cy O'Dell, Dan Dogwood", "Ash-Beech A, O'Dell C, Dogwood D"),
        ("Ann Ash, Cy Cedar-Elm, Dan Dogwood", "Ann Ash, Cy Cedar-Elm and Dan Dogwood"),
    ],
)
def test_surnames_with_a_hyphen_are_found_in_names_run_together(authors, given):
    assert check([record("dblp", authors)], given).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("given", ["Xu H and Liu Q and He K", "Xu HF and Liu QH and He KM"])
def test_a_surname_of_two_letters_before_initials_is_found(given):
    found = check([record("dblp", "Hongfei Xu, Qiuhui Liu, Kaiming He")], given)
    assert found.verdict is Verdict.VERIFIED
    other = check([record("dblp", "Hongfei Xu, Qiuhui Liu, Kaiming He")], "Xu H and Liu Q and He B")
    assert other.verdict is Verdict.WRONG_DETAIL


def test_a_middle_name_that_is_a_coauthors_surname_divides_no_name():
    names = "Mohaimenul Azam Khan Raiaan, Md. Saddam Hossain Mukta, Sami Azam"
    given = people(names.replace("Md. Saddam", "Md Saddam"))
    assert compare_people(given, people(names)).difference is Difference.SAME
    together = (Author("Ann Ash Dan Dogwood"), *people("Sami Azam"))
    assert compare_people(together, people("Ann Ash, Dan Dogwood, Sami Azam")).difference is (
        Difference.SAME
    )


def test_a_thesis_is_not_its_authors_paper_of_the_same_title():
    text = (
        f"@phdthesis{{k, title = {{{TITLE}}}, author = {{Ash, Ann Maria}}, year = 2019,"
        " school = {Somewhere}}"
    )
    (claim,) = claims_of_bib(parse_bib(text, "refs.bib"))
    checker = Checker([MemoryRecords([record("dblp", FOUR)])], today=datetime.date(2026, 1, 1))
    assert checker.check([claim])[0].verdict is Verdict.NOT_FOUND
    assert check([record("dblp", FOUR)], "Ash, Ann").verdict is Verdict.WRONG_DETAIL


def test_a_subtitle_that_the_work_does_not_have_is_noted_in_print():
    own = record("arxiv", FOUR, title="Meanders 7B", arxiv="1906.01234", doi="", venue="arXiv",
                 kind="misc")  # fmt: skip
    text = (
        "Ann Ash, Dan Dogwood, Ben Beech, and Cara Cedar. Meanders 7b: Efficient river models with"
        " grouped gravel. arXiv preprint arXiv:1906.01234, 2019."
    )
    checker = Checker([MemoryRecords([own])], today=datetime.date(2026, 1, 1))
    result = checker.check(claims_of_text(text))[0]
    assert "title-subtitle" in [one.code for one in result.findings]
    longer = (
        f"Ann Ash, Dan Dogwood, Ben Beech, and Cara Cedar. {TITLE}: Pre-training of deep gravel"
        " models. In ICCV, 2019."
    )
    checker = Checker([MemoryRecords([record("dblp", FOUR)])], today=datetime.date(2026, 1, 1))
    result = checker.check(claims_of_text(longer))[0]
    assert "title-subtitle" in [one.code for one in result.findings]
