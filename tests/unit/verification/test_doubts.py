"""Differences that the record may be to blame for, or another version: told, and no accusation."""

import datetime

import msgspec
import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Provenance, Work
from citewell.model.check import Severity, Verdict
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.finding import SURE
from citewell.verification.identify import MemoryRecords


def people(*names):
    return tuple(Author(family, given) for given, _, family in (n.rpartition(" ") for n in names))


CROWD = tuple(f"{given} Stone{n}" for n, given in enumerate(
    ("Ada", "Bea", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Lou")))  # fmt: skip
WORKS = (
    Work(id="m:one", title="Slow Rivers and How to Measure Their Meanders", year=2021, venue="cvpr",
         authors=people("Ann Ash", "Ben Beech", "Cara Cedar", "Dan Dogwood"), kind="inproceedings",
         doi="10.1109/cvpr46437.2021.00100"),
    Work(id="m:two", title="Fast Brooks on a Steep Slope", year=2021, venue="cvpr",
         authors=people("Eve Elm"), kind="inproceedings", doi="10.1109/cvpr46437.2021.00101"),
    Work(id="m:far", title="An Unrelated Study of Sand", year=2014, venue="kdd",
         authors=people("Fay Fir"), kind="inproceedings", doi="10.1145/2623330.2623331"),
    Work(id="m:crowd", title="A Large Model of Everything That Flows", year=2022, venue="neurips",
         authors=people(*CROWD), kind="inproceedings"),
    Work(id="m:old", title="Counting Pebbles by Their Shadows at Noon", year=2008, venue="neurips",
         authors=people("Ben Beech", "Ann Ash"), kind="inproceedings"),
    Work(id="m:tutorial", title="Semantic River Labeling", year=2013, venue="NAACL", kind="misc",
         authors=people("Ann Ash", "Ivo Iris")),
    Work(id="m:short", title="Training Dam Builders from Partial Plans", year=2011, venue="ijcnlp",
         authors=people("Ann Ash", "Ben Beech"), kind="inproceedings"),
    Work(id="m:pca", title="Generalised Pebble Analysis (GPA)", year=2003, venue="cvpr",
         authors=people("Ann Ash"), kind="inproceedings"),
    Work(id="m:named", title="Topic Models for Word Sense Disambiguation of Rivers", year=2007,
         authors=people("Ann Ash"), kind="inproceedings", venue="SemEval"),
    Work(id="m:talk", title="A Spatially and Temporally Enhanced Base of Knowledge: Extended "
         "Abstract", year=2013, venue="ijcai", authors=people("Ann Ash", "Ben Beech"),
         kind="inproceedings"),
    Work(id="m:report", title="The Pebble-4 Technical Report on Large Models", year=2023,
         kind="article", journal="arXiv preprint arXiv:2303.00001", arxiv="2303.00001",
         authors=(Author("PebbleAI"),)),
    Work(id="m:review", title="Conservative Pebbles for Offline Streams", year=2021, venue="iclrw",
         kind="inproceedings", authors=(Author("Anonymous"),)),
    Work(id="m:guide", title="A Guide to Rivers and Their Sources, with Code", year=2024,
         kind="misc", arxiv="2405.00001", authors=people("Ann Ash", "Ben Beech", "Cara Cedar"),
         provenance=(Provenance("bibliographies"),)),
    Work(id="m:workshop", title="Brook: A Large Open-Access Model of Many Rivers", year=2022,
         kind="misc", arxiv="2211.00001", authors=people("BigRiver Workshop")),
)  # fmt: skip


@pytest.fixture(scope="module")
def run():
    checker = Checker([MemoryRecords(WORKS)], today=datetime.date(2026, 1, 1))

    def check(fields, kind="inproceedings"):
        text = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        (claim,) = claims_of_bib(parse_bib(f"@{kind}{{k,\n{text}}}", "refs.bib"))
        return checker.check([claim])[0]

    return check


def codes(result, counted=True):
    return {f.code for f in result.findings
            if (f.severity is not Severity.INFO and f.confidence >= SURE) is counted}  # fmt: skip


ONE = {"title": WORKS[0].title, "booktitle": "CVPR", "year": "2021",
       "author": "Ann Ash and Ben Beech and Cara Cedar and Dan Dogwood"}  # fmt: skip


def test_the_doi_of_a_neighbour_is_a_note_while_all_else_agrees(run):
    result = run({**ONE, "doi": "10.1109/CVPR46437.2021.00101"})
    assert result.verdict is Verdict.VERIFIED
    assert codes(result, counted=False) == {"doi-other-work"}


def test_anonymous_is_right_where_the_record_knows_no_more(run):
    given = {"title": "Conservative Pebbles for Offline Streams", "year": "2021"}
    assert run({**given, "author": "Anonymous"}).findings == ()


def test_another_title_of_a_preprint_by_the_same_people_is_a_note(run):
    first = {"title": "On the Wetness of Water", "journal": "arXiv preprint arXiv:2405.00001",
             "year": "2024"}  # fmt: skip
    result = run({**first, "author": "Ann Ash and Ben Beech and Cara Cedar"}, "article")
    assert result.verdict is Verdict.VERIFIED
    assert codes(result, counted=False) >= {"title-differs"}
    assert run({**first, "author": "Ann Ash and others"}, "article").verdict is not Verdict.VERIFIED


@pytest.mark.parametrize(
    "author", ["Ann Ash and Dan Dogwood and Eve Elm", "Ann Ash and Ben Beech and Cara Cedar and Dan "
               "Dogwood and Eve Elm"]
)  # fmt: skip
def test_other_names_than_in_the_references_of_papers_are_a_note(run, author):
    guide = {"title": "A Guide to Rivers and Their Sources, with Code", "year": "2024"}
    assert run({**guide, "author": author}, "misc").verdict is Verdict.UNCHECKED
    missing = {**guide, "author": "Ann Ash and Cara Cedar"}
    assert run(missing, "misc").verdict is Verdict.UNCHECKED


def test_references_of_papers_accuse_with_the_identifier_of_the_reference_alone(run):
    guide = {"title": "A Guide to Rivers and Their Sources, with Code", "year": "2024",
             "author": "Zed Zinnia and Yan Yew"}  # fmt: skip
    assert run(guide, "misc").verdict is Verdict.UNCHECKED
    own = {"eprint": "2405.00001", "archiveprefix": "arXiv"}
    assert run({**guide, **own}, "misc").verdict is Verdict.FABRICATED


@pytest.mark.parametrize(
    ("title", "organisation"),
    [
        ("The Pebble-4 Technical Report on Large Models", "PebbleAI"),
        ("Brook: A Large Open-Access Model of Many Rivers", "BigRiver Workshop"),
    ],
)
@pytest.mark.parametrize("first", ["", "{organisation} and "])
def test_the_people_of_an_organisation_that_the_record_names_alone_are_a_note(
    run, title, organisation, first
):
    author = first.format(organisation=f"{{{organisation}}}") + "Ann Ash and Ben Beech and others"
    result = run({"title": title, "author": author, "year": "2023"}, "misc")
    assert result.verdict is Verdict.UNCHECKED
    assert [one.message for one in result.findings if one.field == "author"] == [
        f"The record names {organisation} alone."
    ]


def test_the_doi_of_a_stranger_is_evidence_although_all_else_agrees(run):
    result = run({**ONE, "doi": "10.1145/2623330.2623331"})
    assert codes(result) == {"doi-other-work"}


def test_the_doi_of_a_neighbour_is_evidence_when_something_else_is_wrong(run):
    result = run({**ONE, "year": "2018", "doi": "10.1109/CVPR46437.2021.00101"})
    assert {"year-differs", "doi-other-work"} <= codes(result)


def test_a_name_that_the_record_has_cut_or_changed_is_a_note(run):
    result = run({**ONE, "author": "Ann Ash and B. Birch and Cara Cedar and Dan Dogwood"})
    assert result.verdict is Verdict.UNCHECKED
    assert codes(result, counted=False) == {"author-replaced"}


def test_another_given_name_is_a_note(run):
    result = run({**ONE, "author": "Ann Ash and Ben Beech and Cordula Cedar and Dan Dogwood"})
    assert codes(result, counted=False) == {"author-given"}


def test_long_lists_may_differ_by_a_name_or_two_but_not_in_their_first(run):
    fields = {"title": WORKS[3].title, "booktitle": "NeurIPS", "year": "2022"}
    late = " and ".join((*CROWD[:11], "Max Moss"))
    assert run({**fields, "author": late}).verdict is Verdict.UNCHECKED
    first = " and ".join(("Zoe Moss", *CROWD[1:]))
    assert codes(run({**fields, "author": first})) == {"author-replaced"}


def test_the_order_of_names_in_old_proceedings_of_neurips_is_doubted(run):
    fields = {"title": WORKS[4].title, "booktitle": "NIPS", "year": "2008"}
    result = run({**fields, "author": "Ann Ash and Ben Beech"})
    assert result.verdict is Verdict.VERIFIED
    assert codes(result, counted=False) == {"author-order"}


def test_a_survey_of_the_same_short_title_is_not_the_tutorial(run):
    fields = {"title": "Semantic River Labeling", "author": "Ann Ash and Jon Juniper",
              "journal": "Lectures on Language", "year": "2010"}  # fmt: skip
    assert run(fields, "article").verdict is Verdict.NOT_FOUND


def test_a_longer_paper_elsewhere_with_a_similar_title_is_another_paper(run):
    fields = {"title": "A Pointwise Approach to Training Dam Builders from Partial Plans",
              "author": "Ann Ash and Ben Beech", "journal": "Water and Media Technologies",
              "year": "2012"}  # fmt: skip
    assert run(fields, "article").verdict is Verdict.NOT_FOUND


def test_a_preprint_may_have_had_another_title(run):
    fields = {"title": "Training Dam Makers from Partial Plans", "author": "Ann Ash and Ben Beech",
              "eprint": "1101.01234", "archiveprefix": "arXiv", "year": "2011"}  # fmt: skip
    result = run(fields, "misc")
    assert result.verdict is Verdict.VERIFIED
    assert "title-differs" in codes(result, counted=False)


@pytest.mark.parametrize(
    ("title", "venue", "year"),
    [
        ("Generalised Pebble Analysis", "CVPR", "2003"),
        ("Topic Models for WSD of Rivers", "SemEval", "2007"),
    ],
)
def test_acronyms_stand_for_their_words(run, title, venue, year):
    result = run({"title": title, "author": "Ann Ash", "booktitle": venue, "year": year})
    assert result.verdict is Verdict.VERIFIED


def test_a_journal_version_has_its_own_venue_and_year(run):
    fields = {"title": "A Spatially and Temporally Enhanced Base of Knowledge",
              "author": "Ann Ash and Ben Beech", "journal": "Artificial Intelligence",
              "year": "2014", "volume": "194", "pages": "28--61"}  # fmt: skip
    assert run(fields, "article").verdict is Verdict.VERIFIED


def test_a_series_of_lecture_notes_is_no_other_venue(run):
    result = run(
        {
            **ONE,
            "booktitle": "Lecture Notes in Computer Science (including subseries "
            "Lecture Notes in Artificial Intelligence and Lecture Notes in Bioinformatics)",
        }
    )
    assert "venue-differs" not in codes(result)


def test_the_type_of_an_entry_is_a_note(run):
    fields = {**{k: v for k, v in ONE.items() if k != "booktitle"}, "journal": "CVPR"}
    result = run(fields, "article")
    assert result.verdict is Verdict.VERIFIED
    (finding,) = result.findings
    assert (finding.code, finding.given, finding.expected) == (
        "type-differs", "article", "inproceedings")  # fmt: skip


def test_a_field_that_holds_no_doi_is_a_note(run):
    assert codes(run({**ONE, "doi": "see the website"}), counted=False) == {"doi-malformed"}


def test_a_year_that_stands_for_none_accuses_nobody_of_invention(run):
    fields = {"title": "Notes on a Dam That Was Never Built", "author": "Zed Zinnia"}
    assert run({**fields, "year": "9999"}).verdict is Verdict.WRONG_DETAIL
    assert run({**fields, "year": "2044"}).verdict is Verdict.FABRICATED


def test_a_finding_links_to_what_it_speaks_of(run):
    (finding,) = run({**ONE, "year": "2014"}).findings
    assert finding.url == "https://doi.org/10.1109/cvpr46437.2021.00100"
    (finding,) = run({**ONE, "doi": "10.1145/2623330.2623331"}).findings
    assert finding.url == "https://doi.org/10.1145/2623330.2623331"


@pytest.mark.parametrize(
    ("author", "code"),
    [
        ("Ben Beech and Ann Ash and Cara Cedar and Dan Dogwood", "author-order"),
        ("Ben Beech and Ann Ash and Dan Dogwood and Cara Cedar", "author-order"),
    ],
)
def test_neighbours_in_each_others_place_are_a_note(run, author, code):
    result = run({**ONE, "author": author})
    assert result.verdict is Verdict.VERIFIED
    assert codes(result, counted=False) == {code}


def test_an_author_left_out_counts_although_the_others_are_in_another_order(run):
    result = run({**ONE, "author": "Ben Beech and Ann Ash and Dan Dogwood"})
    assert codes(result) == {"author-missing"}


def test_a_preprint_may_have_half_of_its_authors_from_another_version(run):
    """They stand between those who stayed; invented ones stand in the places of the others."""
    fields = {"title": WORKS[0].title, "year": "2021", "eprint": "2101.00001"}
    version = "Ann Ash and Zoe Zinnia and Ben Beech and Yan Yew"
    assert codes(run(fields | {"author": version}, kind="misc")) == set()
    invented = "Ann Ash and Ben Beech and Zoe Zinnia and Yan Yew"
    assert codes(run(fields | {"author": invented}, kind="misc")) == {"author-replaced"}


def test_a_book_of_a_series_of_lectures_is_not_the_tutorial_of_the_same_title(run):
    result = run({"title": "Semantic River Labeling", "author": "Ann Ash and Zoe Zinnia",
                  "journal": "Synthesis Lectures on Human Language Technologies",
                  "year": "2010"}, kind="article")  # fmt: skip
    assert result.verdict is Verdict.NOT_FOUND


def test_a_journal_given_as_a_book_title_has_its_own_year(run):
    result = run({**ONE, "booktitle": "SIAM Journal of Meanders", "year": "2025"})
    assert codes(result) == set()


def test_a_paper_from_before_iclr_had_proceedings_may_have_any_of_its_titles():
    work = Work(id="m:iclr", title="Deep Pressing of the Network of Brooks and Rivers", year=2016,
                venue="iclr", authors=people("Ann Ash", "Ben Beech"), kind="inproceedings")  # fmt: skip
    fields = {"title": "Deep Pressing of the Networks of Brooks and Rivers", "booktitle": "ICLR"}
    old = check_one(work, fields | {"year": "2016"})
    assert old.verdict is Verdict.VERIFIED and codes(old, counted=False) == {"title-spelling"}
    later = check_one(msgspec.structs.replace(work, year=2019), fields | {"year": "2019"})
    assert codes(later) == {"title-spelling"}


def test_letters_of_a_venue_stand_for_words_in_its_name():
    work = Work(id="m:mt", title="Rivers in Parallel: A Corpus of Parallel Rivers", year=2005,
                venue="acl", booktitle="Proceedings of Machine Translation Summit X: Papers",
                authors=people("Ann Ash", "Ben Beech"), kind="inproceedings")  # fmt: skip
    fields = {"title": work.title, "year": "2005"}
    assert codes(check_one(work, fields | {"booktitle": "MT Summit"})) == set()
    assert codes(check_one(work, fields | {"booktitle": "RT Summit"})) == {"venue-unknown"}


def test_a_talk_of_which_one_page_is_known_may_have_been_given_elsewhere():
    work = Work(id="m:talk1", title="Mining Networks by the Power of Their Many Links", year=2009,
                venue="alt", pages="3", authors=people("Ann Ash"), kind="inproceedings")  # fmt: skip
    fields = {"title": work.title, "year": "2009", "author": "Ann Ash",
              "booktitle": "International Conference on Finding Things"}  # fmt: skip
    assert codes(check_one(work, fields)) == set()
    paper = msgspec.structs.replace(work, pages="3-18")
    assert codes(check_one(paper, fields)) == {"venue-unknown"}


def check_one(work, fields, kind="inproceedings"):
    fields = {"author": "Ann Ash and Ben Beech"} | fields
    text = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    (claim,) = claims_of_bib(parse_bib(f"@{kind}{{k,\n{text}}}", "refs.bib"))
    return Checker([MemoryRecords([work])], today=datetime.date(2026, 1, 1)).check([claim])[0]


@pytest.mark.parametrize(("year", "counted"), [(2024, False), (2025, True)])
def test_a_year_after_the_meeting_that_the_entry_names_is_a_note_for_three_years(
    run, year, counted
):
    result = run({**ONE, "booktitle": "Proceedings of CVPR 2021", "year": str(year)})
    assert ("year-differs" in codes(result)) is counted


@pytest.mark.parametrize("author", ["Meta AI", "Google DeepMind", "{Pebble Team}", "PebbleAI"])
def test_an_organisation_in_the_place_of_the_people_is_a_note(run, author):
    result = run({**ONE, "author": author})
    assert result.verdict is Verdict.UNCHECKED
    assert codes(result, counted=False) == {"author-unrelated"}
    assert run({**ONE, "author": "Weiwei Ai"}).verdict is Verdict.FABRICATED


def test_a_paper_of_a_meeting_that_a_journal_prints_appeared_in_both():
    work = Work(id="c:siggraph", title="Painting a River with Layered Meshes", year=2020,
                venue="SIGGRAPH", booktitle="ACM SIGGRAPH", authors=people("Ann Ash"),
                kind="inproceedings")  # fmt: skip
    fields = {"title": work.title, "author": "Ann Ash", "year": "2020", "journal": "ACM TOG"}
    result = check_one(work, fields, kind="article")
    assert result.verdict is Verdict.VERIFIED and codes(result) == set()


def test_reference_lists_accuse_of_no_year_though_the_identifier_is_the_work_s():
    work = Work(id="c:lists", title="Telling a Brook from a River Cone by Its Stones", year=1980,
                journal="Conference on Stones", authors=people("Ann Ash"), doi="10.1145/318723.1",
                kind="inproceedings", provenance=(Provenance("bibliographies"),))  # fmt: skip
    fields = {"title": work.title, "author": "Ann Ash", "year": "1986", "doi": work.doi}
    assert codes(check_one(work, fields)) == set()


def test_a_preprint_named_by_its_year_alone_may_have_had_another_spelling():
    work = Work(id="m:late", title="Models and a Benchmark for the Genomes of Many Brooks",
                year=2024, venue="iclr", authors=people("Ann Ash", "Ben Beech"),
                kind="inproceedings")  # fmt: skip
    fields = {"title": work.title.replace("Genomes", "Genome"), "author": "Ann Ash and Ben Beech"}
    assert codes(check_one(work, fields | {"year": "2023"}, kind="misc")) == set()
    same = check_one(work, fields | {"year": "2024"}, kind="misc")
    assert codes(same) == {"title-spelling"}


def test_a_journal_article_is_not_the_paper_of_a_meeting_with_a_longer_title():
    work = Work(id="c:robots", title="iDAM: Fast Incremental Dams and Maps with Efficient Stones",
                year=2007, venue="ICRA", kind="inproceedings", authors=people("Ann Ash", "Ben Fir"),
                booktitle="International Conference on Robotics and Automation")  # fmt: skip
    fields = {"title": "iDAM: Incremental Dams and Maps", "author": "Ann Ash and Ben Fir",
              "year": "2008", "journal": "IEEE Transactions on Robotics"}  # fmt: skip
    assert check_one(work, fields, kind="article").verdict is Verdict.NOT_FOUND
