"""What is not in proceedings that are known whole; silence wherever they are not."""

import datetime

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Work
from citewell.model.check import Severity, Verdict
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.identify import MemoryRecords
from citewell.verification.proceedings import Meeting, meeting_of

PAPER = Work(id="m:real", title="Ferrying Gradients over Wide Rivers", year=2019, venue="emnlp",
             authors=(Author("Ash", "Ann"), Author("Beech", "Ben")))  # fmt: skip


class Holding(MemoryRecords):
    """Records of a place that says how much of a meeting it holds."""

    papers = 773
    whole = True

    def meeting(self, venue, year, authors):
        own = [w for w in self._works if w.venue == venue and w.year == year]
        wanted = {author.family for author in authors}
        return Meeting(
            self.papers, self.whole, tuple(w for w in own if wanted & {a.family for a in w.authors})
        )


class Half(Holding):
    whole = False


def claim(**fields):
    values = {"title": "Damming Gradients with Wooden Beavers", "author": "Zoe Zinnia and Yan Yew",
              "booktitle": "EMNLP", "year": "2019"} | fields  # fmt: skip
    text = "".join(f"  {name} = {{{value}}},\n" for name, value in values.items() if value)
    return claims_of_bib(parse_bib(f"@inproceedings{{k,\n{text}}}", "refs.bib"))[0]


def check(records, **fields):
    checker = Checker([records([PAPER])], today=datetime.date(2026, 1, 1))
    return checker.check([claim(**fields)])[0]


def test_what_whole_proceedings_do_not_hold_did_not_appear_there():
    result = check(Holding)
    assert result.verdict is Verdict.NOT_IN_VENUE
    (finding,) = result.findings
    assert (finding.code, finding.field) == ("venue-lacks", "booktitle")
    assert "773 papers of EMNLP 2019" in finding.message


def test_the_paper_there_by_the_same_people_is_named():
    result = check(Holding, author="Ann Ash and Ben Beech")
    (finding,) = result.findings
    assert PAPER.title in finding.message


def test_a_paper_of_a_workshop_beside_the_meeting_is_not_accused():
    result = check(Holding, booktitle="ICML")
    assert result.verdict is Verdict.NOT_FOUND
    (finding,) = result.findings
    assert (finding.code, finding.severity) == ("venue-lacks", Severity.INFO)


def test_one_author_in_common_with_many_is_no_link_to_another_paper():
    crowd = " and ".join(f"{letter}ob Birch" for letter in "CDFGHJKL")
    (finding,) = check(Holding, author=f"Ann Ash and {crowd}").findings
    assert PAPER.title not in finding.message


def test_a_similar_title_by_the_same_people_elsewhere_is_likely_meant():
    elsewhere = Work(id="m:else", title="Damming Gradients with Many Wooden Beavers", year=2019,
                     venue="some workshop", authors=(Author("Zinnia", "Zoe"), Author("Yew", "Yan")))  # fmt: skip
    checker = Checker([Holding([PAPER, elsewhere])], today=datetime.date(2026, 1, 1))
    (result,) = checker.check([claim(author="Yan Yew and Zoe Zinnia")])
    assert result.verdict is not Verdict.WRONG_DETAIL


def test_a_library_with_half_of_the_proceedings_says_nothing():
    assert check(Half).verdict is Verdict.NOT_FOUND


def test_a_place_that_knows_no_proceedings_says_nothing():
    assert check(MemoryRecords).verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize(
    "venue",
    [
        "ICML",
        "Proceedings of the 36th International Conference on Machine Learning",
        "Proc. of ICML 2019, Long Beach, California",
        "ICML'19",
    ],
)
def test_a_meeting_is_known_by_its_own_name(venue):
    assert meeting_of(claim(booktitle=venue)) == ("icml", 2019)


@pytest.mark.parametrize(
    "fields",
    [
        {"booktitle": "ICML Workshop on Rivers"},
        {"booktitle": "International Conference on Machine Learning and Applications"},
        {"booktitle": "Proceedings of the AAAI Conference on Human Computation and Crowdsourcing"},
        {"booktitle": "AAAI/ACM Conference on AI, Ethics, and Society"},
        {"booktitle": "Findings of EMNLP"},
        {"booktitle": "International Conference on Neural Information Processing"},
        {"booktitle": "Neural Information Processing - 27th International Conference, ICONIP 2020"},
        {"booktitle": "Conference of the Pacific Association for Computational Linguistics"},
        {"booktitle": "Asian Conference on Computer Vision"},
        {"booktitle": "International Conference on Computer Vision Theory and Applications"},
        {"booktitle": "Nordic Conference on Computational Linguistics"},
        {"booktitle": "International Conference on Pattern Recognition and Computer Vision"},
        {"booktitle": "Submitted to ICLR"},
        {"booktitle": "ICML", "year": ""},
        {"booktitle": "ICML", "eprint": "1901.01234", "archiveprefix": "arXiv"},
        {"booktitle": ""},
    ],
)
def test_workshops_namesakes_and_preprints_are_no_meeting_that_is_known(fields):
    assert meeting_of(claim(**fields)) is None


def test_a_tutorial_or_an_invited_talk_is_in_no_volume():
    for title in ("Damming Gradients (Tutorial)", "Damming Gradients (Invited Talk)"):
        assert check(Holding, title=title).verdict is Verdict.NOT_FOUND


def test_one_person_may_have_given_a_talk():
    assert check(Holding, author="Zoe Zinnia").verdict is Verdict.NOT_FOUND


def test_a_paper_of_the_meeting_with_another_spelling_of_the_title_is_meant():
    spelt = "Ferrying Gradients over Wide Riverz"
    named = {"title": spelt, "author": "Ann Ash and Ben Beech"}
    result = check(WithoutTitles, **named)
    assert [one.code for one in result.findings] == ["title-spelling"]
    assert result.work is not None and result.work.id == PAPER.id


class WithoutTitles(Holding):
    """As when the words of the title are too common to be looked up."""

    def near(self, claims):
        return [() for _ in claims]
