"""Each kind of finding on one small reference: its code, its field, its words and its link."""

import datetime

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Work
from citewell.model.check import Severity
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_bib
from citewell.verification.finding import MEANINGS
from citewell.verification.identify import MemoryRecords


def people(*names):
    return tuple(Author(family, given) for given, _, family in (n.rpartition(" ") for n in names))


CROWD = tuple(f"{letter}la Stone{n}" for n, letter in enumerate("ABCDEFGHIJKL"))
WORKS = (
    Work(id="m:a", title="Measuring the Meanders of Slow Rivers: A Field Study", year=2018,
         venue="TACL", journal="Transactions of the Association for Computational Linguistics",
         volume="6", pages="101-117", kind="article", doi="10.1162/tacl_a_00001", arxiv="1801.00001",
         authors=people("Ann Ash", "Ben Beech", "Cara Cedar"), url="https://example.org/a"),
    Work(id="m:b", title="A Dam Built by Nobody in Particular", year=2019, kind="inproceedings",
         venue="icml", authors=people("Dan Dogwood"), doi="10.5555/3000001.3000002",
         arxiv="1901.00002"),
    Work(id="m:c", title="Everything That Flows in One Large Model", year=2020, venue="icml",
         authors=people(*CROWD), kind="inproceedings"),
    Work(id="m:d", title="Whirlpools in the Spring", year=2017, venue="aaai",
         authors=people("Eve Elm", "Fay Fir"), kind="inproceedings", retracted=True),
)  # fmt: skip
RIGHT = {"title": WORKS[0].title, "author": "Ann Ash and Ben Beech and Cara Cedar",
         "journal": "TACL", "year": "2018", "volume": "6", "pages": "101--117"}  # fmt: skip
DAM = {"title": WORKS[1].title, "author": "Dan Dogwood", "booktitle": "ICML", "year": "2019"}
CASES = {
    "title-differs": RIGHT | {"title": "Measuring the Meanders of Quick Rivers: A Field Study"},
    "title-spelling": RIGHT | {"title": "Measuring the Meandres of Slow Rivers: A Field Study"},
    "title-subtitle": RIGHT | {"title": "Measuring the Meanders of Slow Rivers"},
    "author-missing": RIGHT | {"author": "Ann Ash and Cara Cedar"},
    "author-added": RIGHT | {"author": f"{RIGHT['author']} and Zed Zinnia and Yan Yew"},
    "author-replaced": RIGHT | {"author": "Ann Ash and Zed Zinnia and Cara Cedar"},
    "author-order": RIGHT | {"author": "Cara Cedar and Ann Ash and Ben Beech"},
    "author-unrelated": RIGHT | {"author": "Zed Zinnia and Yan Yew"},
    "author-placeholder": {"title": "Unheard of Waters", "author": "Jane Doe", "year": "2001"},
    "author-anonymous": RIGHT | {"author": "Anonymous"},
    "author-cut": {"title": WORKS[2].title, "author": " and ".join(CROWD[:9]),
                   "booktitle": "ICML", "year": "2020"},
    "author-spelling": RIGHT | {"author": "Ann Ash and Ben Beach and Cara Cedar"},
    "author-given": RIGHT | {"author": "Ann Ash and Ben Beech and Cordula Cedar"},
    "author-swapped": RIGHT | {"author": "Ash, Ann and Ben, Beech and Cara, Cedar"},
    "year-differs": RIGHT | {"year": "2013"},
    "year-future": RIGHT | {"year": "2031"},
    "venue-differs": DAM | {"booktitle": "Proceedings of CVPR"},
    "venue-unknown": DAM | {"booktitle": "Conference on Beaver Affairs"},
    "preprint-published": DAM | {"booktitle": "arXiv preprint arXiv:1901.00002"},
    "doi-other-work": DAM | {"doi": "10.1162/tacl_a_00001"},
    "doi-differs": RIGHT | {"doi": "10.1162/tacl_a_00999", "year": "2017"},
    "doi-impossible": DAM | {"doi": "10.99999/x.1"},
    "doi-other-venue": DAM | {"doi": "10.18653/v1/p19-1001"},
    "doi-other-year": RIGHT | {"doi": "10.1016/j.physd.2009.01.001"},
    "doi-unlikely": DAM | {"doi": "10.66660/dam.1"},
    "doi-malformed": DAM | {"doi": "to be filled in"},
    "arxiv-other-work": RIGHT | {"eprint": "1901.00002", "archiveprefix": "arXiv"},
    "url-other-work": DAM | {"url": "https://example.org/a"},
    "arxiv-impossible": DAM | {"eprint": "2313.00001", "archiveprefix": "arXiv"},
    "arxiv-later": DAM | {"eprint": "2407.01234", "archiveprefix": "arXiv"},
    "pages-differ": RIGHT | {"pages": "1--9"},
    "volume-differs": RIGHT | {"volume": "12"},
    "type-differs": {**{k: v for k, v in RIGHT.items() if k != "journal"}, "booktitle": "TACL"},
    "assistant-trace": DAM | {"url": "https://example.org/b?utm_source=chatgpt.com"},
    "retracted": {"title": WORKS[3].title, "author": "Eve Elm and Fay Fir", "booktitle": "AAAI",
                  "year": "2017"},
}  # fmt: skip
NOTES = {"title-subtitle", "author-cut", "author-spelling", "author-given", "preprint-published",
         "doi-malformed", "pages-differ", "volume-differs", "type-differs"}  # fmt: skip
FIELDS = {"assistant": "url", "arxiv": "eprint", "preprint": "booktitle", "venue": "booktitle", "retracted": "title",
          "pages": "pages", "volume": "volume", "type": "type"}  # fmt: skip
ELSEWHERE = {"venue-lacks", "doi-unregistered", "url-gone", "author-unread"}
"""They need whole proceedings, a registration agency that was asked, or free text."""


@pytest.fixture(scope="module")
def checker():
    return Checker([MemoryRecords(WORKS)], today=datetime.date(2026, 1, 1))


def check(checker, fields):
    kind = "article" if "journal" in fields else "inproceedings"
    text = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return checker.check(claims_of_bib(parse_bib(f"@{kind}{{k,\n{text}}}", "refs.bib")))[0]


@pytest.mark.parametrize("code", CASES)
def test_the_finding_names_its_field_in_words_and_links_to_its_evidence(checker, code):
    result = check(checker, CASES[code])
    (finding,) = (one for one in result.findings if one.code == code)
    assert finding.field == FIELDS.get(code.partition("-")[0], code.partition("-")[0])
    assert finding.message.endswith(".") and len(finding.message.split()) > 3
    assert (finding.severity is Severity.INFO) is (code in NOTES)
    if result.work is not None and (result.work.url or result.work.doi or result.work.arxiv):
        assert finding.url.startswith("https://")
    assert result.evidence


def test_every_code_of_the_manual_has_such_a_reference():
    assert set(CASES) | ELSEWHERE >= set(MEANINGS)
