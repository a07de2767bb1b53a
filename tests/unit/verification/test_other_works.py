"""Identifiers of another work, wherever they stand, and marks of chat assistants."""

import datetime

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Work
from citewell.model.check import Verdict
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib, claims_of_text
from citewell.verification.identify import MemoryRecords

TITLE = "Slow Rivers and How to Measure Their Meanders"
OWN = Work(id="acl:2021.acl-long.7", title=TITLE, year=2021, venue="ACL", kind="inproceedings",
           authors=(Author("Ash", "Ann"), Author("Beech", "Ben")), arxiv="2105.00007",
           url="https://aclanthology.org/2021.acl-long.7", doi="10.18653/v1/2021.acl-long.7")  # fmt: skip
PAGES = {
    "url": "https://proceedings.mlr.press/v97/dogwood19a.html",
    "doi": "https://doi.org/10.1145/2623330.2623331",
    "arxiv": "https://arxiv.org/abs/1901.00002",
    "acl": "https://aclanthology.org/D19-1001/",
    "openreview": "https://openreview.net/forum?id=H1Xy_-z9",
    "cvf": "https://openaccess.thecvf.com/content/CVPR2019/html/Elm_Dams_CVPR_2019_paper.html",
    "nips": "https://papers.nips.cc/paper/2019/hash/0123456789abcdef0123456789abcdef-Abstract.html",
}
OTHERS = tuple(
    Work(id=f"x:{name}", title=f"The {name} of Dams Built by Nobody in Particular", year=2019,
         authors=(Author("Dogwood", "Dan"), Author("Elm", "Eve")), url=page,
         doi="10.1145/2623330.2623331" if name == "doi" else "",
         arxiv="1901.00002" if name == "arxiv" else "")
    for name, page in PAGES.items()
)  # fmt: skip
RIGHT = f"title = {{{TITLE}}}, author = {{Ann Ash and Ben Beech}}, year = 2021, booktitle = {{ACL}}"
PRINTED = f"Ann Ash and Ben Beech. 2021. {TITLE}. In Proceedings of ACL."


@pytest.fixture(scope="module")
def checker():
    return Checker([MemoryRecords([OWN, *OTHERS])], today=datetime.date(2026, 1, 1))


def entry(checker, more, right=RIGHT):
    return checker.check(
        claims_of_bib(parse_bib(f"@inproceedings{{k, {right}, {more}}}", "r.bib"))
    )[0]


def printed(checker, more):
    return checker.check(claims_of_text(f"{PRINTED} {more}"))[0]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "field", ["url = {{{}}}", r"note = {{\url{{{}}}}}", "howpublished = {{{}}}"]
)
def test_an_address_of_another_work_is_reported_at_its_field(checker, name, field):
    result = entry(checker, field.format(PAGES[name].replace("_", r"\_")))
    assert result.verdict is Verdict.WRONG_DETAIL
    (finding,) = (one for one in result.findings if one.code.endswith("-other-work"))
    assert name in finding.message
    if name not in ("doi", "arxiv"):
        assert (finding.code, finding.field) == ("url-other-work", field.partition(" ")[0])


@pytest.mark.parametrize("name", PAGES)
def test_so_it_is_in_print(checker, name):
    assert printed(checker, f"{PAGES[name]}.").verdict is Verdict.WRONG_DETAIL


@pytest.mark.parametrize(
    "more",
    [
        "eprint = {1901.00002}, archiveprefix = {arXiv}",
        "doi = {10.48550/arXiv.1901.00002}",
        "note = {arXiv:1901.00002}",
        "eprint = {2105.00007}, archiveprefix = {arXiv}, url = {https://arxiv.org/abs/1901.00002}",
        "doi = {10.18653/v1/2021.acl-long.7}, url = {https://doi.org/10.1145/2623330.2623331}",
    ],
)
def test_an_identifier_of_another_work_is_reported_beside_a_right_one(checker, more):
    assert entry(checker, more).verdict is Verdict.WRONG_DETAIL


@pytest.mark.parametrize(
    "more",
    [
        "url = {https://www.aclweb.org/anthology/2021.acl-long.7.pdf}",
        "doi = {10.48550/arXiv.2105.00007}, url = {https://arxiv.org/pdf/2105.00007v2}",
        "url = {https://example.org/code}, note = {https://github.com/ash/rivers}",
        "url = {https://papers.nips.cc/paper/2016/hash/0123456789abcdef0123456789abcdef-Abstract.html}",
    ],
)
def test_its_own_and_unknown_addresses_are_no_finding(checker, more):
    assert entry(checker, more).findings == ()


@pytest.mark.parametrize(
    "more",
    [
        "doi: 10.18653/v1/2021. acl-long.7",
        "https://doi.org/10.18653/v1/2021",
        "doi: 10.1145/2623330. 2623331",
    ],
)
def test_an_identifier_that_the_end_of_a_line_cut_accuses_nobody(checker, more):
    assert printed(checker, more).verdict is Verdict.VERIFIED


def test_an_unknown_title_with_the_address_of_other_people_is_no_invention_by_itself(checker):
    unknown = "title = {On the Wetness of Water in Winter}, author = {Zoe Zinnia}, year = 2019"
    result = entry(checker, f"url = {{{PAGES['acl']}}}", unknown)
    assert result.verdict is Verdict.WRONG_DETAIL
    own = unknown.replace("Zoe Zinnia", "Dan Dogwood and Eve Elm")
    assert entry(checker, f"url = {{{PAGES['acl']}}}", own).verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize(
    ("more", "field"),
    [
        (r"url = {https://example.org/a?utm\_source=chatgpt.com}", "url"),
        ("url = {https://example.org/a?utm%5Fsource=openai}", "url"),
        ("note = {citeturn0search0}", "note"),
        ("annotation = {turn12view3}", "annotation"),
        ("howpublished = {:contentReference[oaicite:0]{index=0}}", "howpublished"),
    ],
)
def test_the_mark_of_an_assistant_is_reported_at_its_field(checker, more, field):
    result = entry(checker, more)
    assert [(one.code, one.field) for one in result.findings] == [("assistant-trace", field)]


def test_a_work_on_assistants_has_no_mark(checker):
    more = "note = {https://chat.openai.com}, keywords = {chatgpt}, abstract = {utm_source=chatgpt}"
    assert entry(checker, more).findings == ()


def test_a_surname_in_braces_of_its_own_is_no_group(checker):
    right = RIGHT.replace("Ann Ash and Ben Beech", "{{Ash}, A.} and {{Beech}, B.}")
    result = entry(checker, "pages = {1}", right)
    assert result.verdict is Verdict.VERIFIED and result.findings == ()
    assert [author.family for author in result.claim.authors] == ["Ash", "Beech"]


def test_a_subtitle_of_another_work_is_reported(checker):
    tail = "The Life of Beavers in Cold Brooks"
    beavers = Work(
        id="x:beavers", title=f"Castor: {tail}", year=2018, authors=(Author("Fir", "Fay"),)
    )
    both = Checker([MemoryRecords([OWN, beavers])], today=datetime.date(2026, 1, 1))
    result = entry(both, "pages = {1}", RIGHT.replace(TITLE, f"{TITLE}: {tail}"))
    assert result.verdict is Verdict.WRONG_DETAIL
    assert beavers.title in result.findings[0].message
    own = entry(both, "pages = {1}", RIGHT.replace(TITLE, f"{TITLE}: A Survey in Four Valleys"))
    assert own.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("form", [
    "Ann Ash and Ben Beech. 2021. {}. In Proceedings of ACL.",
    "Ash, A., & Beech, B. (2021). {}. In Proceedings of ACL.",
    "A. Ash and B. Beech, “{},” in Proceedings of ACL, 2021.",
])  # fmt: skip
def test_a_printed_subtitle_of_another_work_is_reported(form):
    tail = "The life of beavers in cold brooks"
    beavers = Work(
        id="x:beavers", title=f"Castor: {tail}", year=2018, authors=(Author("Fir", "Fay"),)
    )
    both = Checker([MemoryRecords([OWN, beavers])], today=datetime.date(2026, 1, 1))
    (result,) = both.check(claims_of_text(form.format(f"{TITLE}: {tail}")))
    assert result.verdict is Verdict.WRONG_DETAIL
    assert beavers.title in result.findings[0].message
    assert result.findings[0].given == f"{TITLE}: {tail}"
    for other in ("", ": A survey in four valleys"):
        (result,) = both.check(claims_of_text(form.format(f"{TITLE}{other}")))
        assert result.verdict is Verdict.VERIFIED
