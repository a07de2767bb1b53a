"""PDFs are read in a process of their own: whole ones to the letter, others to a problem each."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from types import ModuleType

import pytest

from citewell.documents.pdf.layout import Line, readable, title_of
from citewell.documents.pdf.reader import PdfReader
from citewell.features.checking.check import claims_in_files
from citewell.model import Problem
from citewell.model.pdf import PdfPaper
from citewell.model.titles import title_key
from citewell.options.tree import PdfOptions

FIXTURES = Path(__file__).parents[2] / "fixtures"
LATEX = shutil.which("pdflatex") is not None and shutil.which("bibtex") is not None
BODY = "A line of the body that is long enough to be read as the text of a page."
LIST = [
    "[1] Ann Ash and Ben Beech. Rivers that cross the plain at night.",
    "In Proceedings of Water, 2001. doi:10.1000/rivers",
    "[2] C. Cedar. Sand and its grains. Journal of Sand, 3(2):1-9, 2002.",
    "[3] D. Dogwood. A dam too far. arXiv preprint arXiv:1503.01234, 2015.",
]
UNNUMBERED = [
    "Ash, A. and Beech, B. (2001). Rivers that cross the plain at night.",
    "In Proceedings of Water, pages 1-9.",
    "Cedar, C. (2002). Sand and its grains. Journal of Sand, 3(2):1-9.",
    "Dogwood, D. (2015). A dam too far. arXiv preprint arXiv:1503.01234.",
    "Elm, E. and Fir, F. (2016). Lakes that nobody saw. Journal of Sand, 4(1):1-9.",
]


@pytest.fixture
def paper(pdf_files: ModuleType, tmp_path: Path) -> Path:
    pages = [
        [
            "On the Reading of Files",
            "Ann Ash",
            "Abstract",
            "We read files.",
            "1 Introduction",
            BODY,
        ],
        [BODY] * 3,
        ["References", *LIST, "Appendix A: More", BODY],
    ]
    return pdf_files.written(tmp_path / "paper.pdf", pages, title="doi:10.1000/own.1")


def test_the_parts_of_a_paper_are_told_apart(paper: Path) -> None:
    with PdfReader() as reader:
        found = reader.read(paper)
    assert isinstance(found, PdfPaper)
    assert found.page_count == 3
    assert found.titles[0] == "On the Reading of Files"
    assert found.dois == ("10.1000/own.1",)
    assert found.abstract == "We read files."
    assert [page.number for page in found.references] == [3]
    assert "Appendix" not in found.references[0].text
    assert "Appendix" in found.body[-1].text


def test_references_have_their_page_and_number(paper: Path) -> None:
    found = claims_in_files([paper])
    assert found.problems == ()
    assert [(claim.page, claim.key) for claim in found.claims] == [(3, "1"), (3, "2"), (3, "3")]
    assert [claim.title for claim in found.claims] == [
        "Rivers that cross the plain at night", "Sand and its grains", "A dam too far",
    ]  # fmt: skip
    assert (found.claims[0].doi, found.claims[2].arxiv) == ("10.1000/rivers", "1503.01234")


def test_codes_of_fonts_without_unicode_become_letters() -> None:
    assert readable("algo\ufffeithm") == "algoithm"
    assert readable("Boyd\ufffeGraber") == "Boyd-Graber"
    assert readable("e\x1ecient \x10\x1crst\x11 477\x15523") == "efficient “first” 477–523"
    assert readable("\ufb01ne") == "fine"


@pytest.fixture(scope="module")
def hostile(pdf_files: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "hostile.pdf"
    return pdf_files.written(path, [["x"]], content=pdf_files.endless())


def test_each_bad_file_is_a_problem_and_the_others_are_read(
    pdf_files: ModuleType, paper: Path, tmp_path: Path
) -> None:
    encrypted = pdf_files.written(tmp_path / "locked.pdf", [[BODY]], encrypted=True)
    scanned = pdf_files.written(tmp_path / "scanned.pdf", [[], []])
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(paper.read_bytes()[:300])
    other = tmp_path / "other.pdf"
    other.write_text("no PDF at all", encoding="utf-8")
    found = claims_in_files([encrypted, scanned, paper, broken, other, tmp_path / "gone.pdf"])
    assert len(found.claims) == 3
    assert [(one.code, Path(one.path).name) for one in found.problems] == [
        ("pdf-encrypted", "locked.pdf"), ("pdf-scanned", "scanned.pdf"),
        ("pdf-broken", "broken.pdf"), ("pdf-broken", "other.pdf"), ("file-missing", "gone.pdf"),
    ]  # fmt: skip
    assert all(one.hint for one in found.problems)


def test_a_hostile_file_costs_bounded_time(hostile: Path, paper: Path) -> None:
    with PdfReader(PdfOptions(timeout_s=1)) as reader:
        assert isinstance(reader.read(paper), PdfPaper)
        began = time.monotonic()
        found = reader.read(hostile)
        assert isinstance(found, Problem)
        assert found.code == "pdf-slow"
        assert time.monotonic() - began < 10
        assert isinstance(reader.read(paper), PdfPaper), "the next file is read"


def test_a_hostile_file_costs_bounded_memory(
    hostile: Path, paper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.documents.pdf.reader.MEMORY_MB", 120)
    with PdfReader() as reader:
        found = reader.read(hostile)
        assert isinstance(found, Problem)
        assert found.code == "pdf-memory"
        assert isinstance(reader.read(paper), PdfPaper), "the next file is read"


def test_of_a_long_file_the_head_and_the_end_are_read(
    pdf_files: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.documents.pdf.reader.MAX_PAGES", 100)
    pages = [[BODY]] * 1_999
    path = pdf_files.written(tmp_path / "long.pdf", [*pages, ["References", *LIST]])
    found = claims_in_files([path])
    assert [(claim.page, claim.key) for claim in found.claims] == [
        (2000, "1"), (2000, "2"), (2000, "3"),
    ]  # fmt: skip
    assert [one.code for one in found.problems] == ["pdf-long"]
    assert "pages 51 to 1,950" in found.problems[0].message


@pytest.mark.skipif(not LATEX, reason="pdflatex and bibtex are not installed")
@pytest.mark.parametrize("style", ["numeric", "author-year", "two-columns"])
def test_titles_of_a_typeset_reference_list_are_read_exactly(
    pdf_files: ModuleType, tmp_path: Path, style: str
) -> None:
    works = [
        json.loads(line)
        for name in ("papers.jsonl", "more_papers.jsonl")
        for line in (FIXTURES / name).read_text(encoding="utf-8").splitlines()
    ]
    bib = "\n".join(
        f"@inproceedings{{k{number}, title={{{{{work['title']}}}}}, year={work['year']}, "
        f"author={{{' and '.join(work['authors'])}}}, booktitle={{{work['booktitle']}}}}}"
        for number, work in enumerate(works)
    ).replace("&", r"\&")
    path = pdf_files.compiled(tmp_path / style, bib, style)
    found = claims_in_files([path])
    assert len(found.claims) == len(works)
    read = {title_key(claim.title) for claim in found.claims}
    exact = sum(title_key(work["title"]) in read for work in works)
    assert exact >= 0.96 * len(works)


@pytest.mark.parametrize(
    "heading",
    [
        "REFERENCES CITED", "R E F E R E N C E S", "R EFERENCES", "Literatur", "Literaturverzeichnis",
        "Bibliographie", "Références bibliographiques", "Referencias", "Referências", "Riferimenti bibliografici",
        "5. Literature Cited", "VI. Bibliografía", "Selected References", "Referenser", "Works Cited", "",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["numbered", "names"])
def test_the_reference_list_is_found_under_any_heading_and_without_one(
    pdf_files: ModuleType, tmp_path: Path, heading: str, form: str
) -> None:
    listed = LIST if form == "numbered" else UNNUMBERED
    pages = [["On the Reading of Files", "Ann Ash", *[BODY] * 9], [BODY] * 5,
             [BODY, BODY, *([heading] if heading else []), *listed]]  # fmt: skip
    found = claims_in_files([pdf_files.written(tmp_path / "paper.pdf", pages)])
    assert [claim.title for claim in found.claims][:3] == [
        "Rivers that cross the plain at night", "Sand and its grains", "A dam too far",
    ]  # fmt: skip
    assert len(found.claims) == (3 if form == "numbered" else 4)


def test_running_heads_that_alternate_are_no_part_of_a_reference(
    pdf_files: ModuleType, tmp_path: Path
) -> None:
    """Of a paper of few pages each head stands on two of them."""
    words = "Sand Silt Clay Loam Peat Moss Reed Rush Fern Weir Dams Otter".split()
    works = [f"[{n}] A. Ash and B. Beech. {word} and its banks. Water 3, {2000 + n}."
             for n, word in enumerate(words, 1)]  # fmt: skip
    pages = [["On Heads", "Ann Ash", *[BODY] * 4],
             ["12   A. Ash and B. Beech", "", BODY, "References", *works[:4]],
             ["River Banks   13", "", *works[4:8]],
             ["14   A. Ash and B. Beech", "", *works[8:10]],
             ["River Banks   15", "", *works[10:]]]  # fmt: skip
    found = claims_in_files([pdf_files.written(tmp_path / "paper.pdf", pages)])
    assert [claim.raw.partition(". Water")[2] for claim in found.claims] == [
        f" 3, {2000 + n}." for n in range(1, 13)
    ]


def test_a_title_in_small_capitals_goes_on_below() -> None:
    """The size of a line is that of its first letter, which may be a small capital."""
    lines = [
        Line(1, "GRAPH HOMOPHILY BOOSTER: REIMAGINING THE", 100, 700, 17.2),
        Line(1, "ROLE OF DISCRETE FEATURES", 100, 680, 13.8),
        Line(1, "Ann Ash and Ben Beech", 100, 650, 10),
    ]
    whole = "GRAPH HOMOPHILY BOOSTER: REIMAGINING THE ROLE OF DISCRETE FEATURES"
    assert title_of(lines) == whole
    lower = [
        lines[0]._replace(text="Graphs of Homophily"),
        lines[1]._replace(text="A workshop paper"),
    ]
    assert title_of(lower) == "Graphs of Homophily"
