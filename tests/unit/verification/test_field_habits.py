"""References as the databases of other fields export them: none is accused for its habits."""

import datetime

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import entry_work
from citewell.model import Author, Work
from citewell.model.check import Verdict
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.identify import MemoryRecords

PEOPLE = tuple(Author(f"Stone{n}", f"A. {n}.") for n in range(6))
WORK = Work(
    id="m:waves", title="Observation of Waves from a Merger of Two Dark Rivers", year=2016,
    authors=PEOPLE, kind="article", journal="Physical Review Letters", volume="116", issue="6",
    pages="061102",
)  # fmt: skip
FIELDS = "title = {Observation of Waves from a Merger of Two Dark Rivers}, year = 2016"
GROUPS = "{LIGO Scientific Collaboration} and {Virgo Collaboration}"
NAMED = " and ".join(f"{{Stone{n}}}, A.~{n}." for n in range(6))

HABITS = {
    "groups alone": f"author = {{{GROUPS}}}, journal = {{Phys. Rev. Lett.}}",
    "people, then groups": f"author = {{{NAMED} and {GROUPS}}}, journal = {{\\prl}}",
    "a group, then the first people": "author = {{Planck Collaboration} and Stone0, A. and "
    "Stone1, A. and others}, journal = {PRL}",
    "the first people, then a group": "author = {Stone0, A. and Stone1, A. and {KAGRA "
    "Collaboration}}, journal = {Physical Review Letters}",
    "an export of INSPIRE": 'author = "Stone0, A. and others", collaboration = "LIGO", '
    'journal = "Phys. Rev. Lett.", eprint = "hep-th/9711200", SLACcitation = '
    '"%%CITATION = HEP-TH/9711200;%%"',
    "an export of ADS": f"author = {{{NAMED}}}, journal = {{\\prl}}, eid = {{061102}}, adsurl = "
    "{https://ui.adsabs.harvard.edu/abs/2016PhRvL.116f1102S}, adsnote = {Provided by ADS}",
}


def checker() -> Checker:
    return Checker([MemoryRecords([WORK])], today=datetime.date(2026, 1, 1))


@pytest.mark.parametrize("habit", HABITS)
def test_a_reference_in_the_form_of_another_field_is_verified(habit: str) -> None:
    bib = parse_bib(f"@article{{2016PhRvL.116f1102S, {HABITS[habit]}, {FIELDS}}}", "refs.bib")
    (check,) = checker().check(claims_of_bib(bib))
    assert check.verdict is Verdict.VERIFIED
    assert [one.code for one in check.findings if one.field == "author"] == []


def test_people_who_did_not_write_the_work_are_told_beside_a_group() -> None:
    authors = "author = {Invented, Ida and Unknown, Uwe and {LIGO Scientific Collaboration}}"
    bib = parse_bib(f"@article{{x, {authors}, {FIELDS}}}", "refs.bib")
    (check,) = checker().check(claims_of_bib(bib))
    assert check.verdict is Verdict.FABRICATED


@pytest.mark.parametrize(
    ("macro", "name"),
    [
        (r"{\apj}", "The Astrophysical Journal"),
        (r"{{\mnras}}", "Monthly Notices of the Royal Astronomical Society"),
        (r'"\aap "', "Astronomy & Astrophysics"),
        (r"{\unknownmacro}", ""),
        (r"{\mnras Letters}", "Letters"),
    ],
)
def test_the_macro_of_a_journal_is_its_name(macro: str, name: str) -> None:
    bib = parse_bib(f"@article{{x, title = {{Of Stars}}, journal = {macro}}}", "refs.bib")
    assert entry_work(bib, bib.entries[0]).journal == name
