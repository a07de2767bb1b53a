"""Pasted reference lists: where each begins and ends, and how its lines are joined."""

import datetime
import json

import pytest

from citewell.model import Author, Work
from citewell.model.check import Verdict
from citewell.verification.checker import Checker
from citewell.verification.claims import claims_of_text, claims_of_thebibliography
from citewell.verification.free_text import parse_reference
from citewell.verification.identify import MemoryRecords
from citewell.verification.reference_list import joined, pieces

ONE = (
    "A. Ash and B. Beech. Measuring slow rivers by their mean-\nders. In Proceedings of ICML, 2014."
)
TWO = "C. Cedar. Three ways of build-\ning a dam. Journal of Beavers 3(2):1990-\n1999, 2015."
FIRST, SECOND = "A. Ash", "C. Cedar"


def hanging(text):
    return text.replace("\n", "\n    ")


@pytest.mark.parametrize(
    "text",
    [
        f"References\n[1] {ONE}\n[2] {TWO}\n",
        f"[1]{ONE}\n[2]{TWO}\n",
        f"(7) {ONE}\n(8) {TWO}",
        f"1. {ONE}\n2. {TWO}",
        f"  1) {ONE}\n  2) {TWO}",
        f"[Ash14] {ONE}\n[Ced+15] {TWO}",
        f"• {ONE}\n• {TWO}",
        f"- {ONE}\n- {TWO}",
        f"{ONE}\n\n{TWO}\n",
        f"BIBLIOGRAPHY\n\n{ONE}\r\n\r\n{TWO}\n\n",
        f"{hanging(ONE)}\n{hanging(TWO)}",
        f"{ONE}\n{TWO}",
        f"{joined(ONE)}\n{joined(TWO)}",
        f"[1] {ONE}\n\n12\n\n[2] {TWO}",
    ],
)
def test_a_list_is_parted_as_its_writer_marked_it(text):
    one, two = claims_of_text(text)
    assert one.raw.startswith(FIRST) and two.raw.startswith(SECOND)
    assert one.title == "Measuring slow rivers by their meanders"
    assert (one.year, two.year) == (2014, 2015)
    for claim in (one, two):
        assert text[claim.span.start : claim.span.end].startswith(claim.raw[:6])
        assert text[: claim.span.start].count("\n") + 1 == claim.line


FOUR = (
    "Ash, A., & Beech, B. (2014). Measuring slow rivers by their meanders. Journal of Water, 3(2), 1–9.",
    'C. Cedar and D. Dell, "Three ways of building a dam," in Proc. ICML, 2015, pp. 10–19.',
    "Elm, Eve, Fay Fir, and Gus Gale. 2016. “The Sand of Quiet Lakes.” Notes on Sand 4: 7–9.",
    "Hal Hazel, Ivy Iris, and Jo Juniper. What the beaver saw at night. In NeurIPS, 2017.",
)
TITLES = ["Measuring slow rivers by their meanders", "Three ways of building a dam",
          "The Sand of Quiet Lakes", "What the beaver saw at night"]  # fmt: skip


def marked(form: str, marks="1234", between: str = "\n") -> str:
    return between.join(form.format(n=mark, r=one) for mark, one in zip(marks, FOUR, strict=True))


SHAPES = {
    "sentences around": f"Here are some papers:\n\n{marked('{n}. {r}')}\n\nLet me know if you need more!",
    "sentence above": f"The following works are relevant:\n{marked('{r}')}",
    "heading": f"## References\n\n{marked('{r}')}\n\n",
    "bold heading": f"**Bibliography**\n{marked('- {r}')}",
    "foreign heading": f"Literaturverzeichnis\n\n{marked('{r}')}",
    "headings by topic": "### Rivers\n1. {}\n2. {}\n\n### Lakes\n1. {}\n2. {}".format(*FOUR),
    "one paragraph, brackets": marked("[{n}] {r}", between=" "),
    "one paragraph, dots": marked("{n}. {r}", between=" "),
    "one paragraph, parentheses": "References: " + marked("({n}) {r}", between=" "),
    "one paragraph, nothing": marked("{r}", between=" "),
    "semicolons": "; ".join(one.rstrip(".") for one in FOUR),
    "footnotes": marked("[^{n}]: {r}"),
    "named footnotes": marked("[^{n}]: {r}", ("ash14", "cedar", "elm-2016", "hal")),
    "items": "<ol>" + marked("  <li>{r}</li>") + "</ol>",
    "items on a line": "<ul>" + marked("<li>{r}</li>", between="") + "</ul>",
    "paragraphs": marked("<p>{r}</p>", between=""),
    "breaks": marked("[{n}] {r}", between="<br/>"),
    "LaTeX items": "\\begin{itemize}\n" + marked("  \\item {r}") + "\n\\end{itemize}",
    "quotation": f"> References\n>\n{marked('> {n}. {r}')}",
    "tabs": marked("{n}\t{r}"),
    "table": f"| # | Reference |\n|---|---|\n{marked('| {n} | {r} |')}",
    "table of one column": f"| Reference |\n|:--|\n{marked('| {r} |')}",
    "JSON": json.dumps(FOUR, ensure_ascii=False, indent=2),
    "JSON on a line": json.dumps(FOUR),
    "CSV": "\n".join('"' + one.replace('"', '""') + '"' for one in FOUR),
    "letters": marked("({n}) {r}", "abcd"),
    "Roman numbers": marked("{n}. {r}", ("i", "ii", "iii", "iv")),
    "superscripts": marked("{n} {r}", "¹²³⁴"),
    "keycaps": marked("{n}\ufe0f\u20e3 {r}"),
    "tasks": marked("- [ ] {r}"),
    "every number 1": marked("1. {r}"),
    "words and numbers": marked("**Reference {n}:** {r}", between="\n\n"),
    "author labels": marked("[{n}] {r}", ("Ash and Beech, 2014", "CD15", "Elm et al., 2016", "HIJ+17")),
    "code block": f"Sure! The bibliography:\n\n```text\n{marked('[{n}] {r}')}\n```\nPlease verify these.",
    "a number left out": marked("[{n}] {r}", "1245"),
    "wide brackets": marked("［{n}］{r}"),
}  # fmt: skip
"""As people and language models paste lists."""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_list_of_any_shape_is_its_references_and_nothing_else(shape):
    text = SHAPES[shape]
    claims = claims_of_text(text)
    assert [claim.title for claim in claims] == TITLES
    assert [claim.year for claim in claims] == [2014, 2015, 2016, 2017]
    assert [len(claim.authors) for claim in claims] == [2, 2, 3, 3]
    for claim in claims:
        assert claim.authors[0].family in text[claim.span.start : claim.span.end]


def test_references_that_run_on_are_two():
    text = (
        "Ann Ash and Ben Beech. Measuring slow rivers. In ICML, pages 1-9, 2014. URL https://x.org/a. "
        "Cara Cedar. Three ways of building a dam. Springer, Berlin, Germany, 2015. [3] D. Dell, "
        "E. Elm, et al. A dam too far. arXiv preprint arXiv:1503.01234, 2016."
    )
    assert [(claim.title, claim.year) for claim in claims_of_text(text)] == [
        ("Measuring slow rivers", 2014), ("Three ways of building a dam", 2015), ("A dam too far", 2016),
    ]  # fmt: skip


@pytest.mark.parametrize("text", [
    "Ann Ash and Ben Beech. Slow rivers. In Cara Cedar and Dan Dell, editors, Proceedings of Water "
    "2014, pages 1-9, Online and Punta Cana, Dominican Republic, November 2014. Association for Water.",
    "Ann Ash. Slow rivers of the north. Morgan Kaufmann, San Francisco, 2014. Second edition, 2015.",
    "Ash, A. Slow rivers of the north; Water Press: Berlin, Germany, 2014; pp 12–15.",
])  # fmt: skip
def test_editors_places_and_publishers_begin_no_reference(text):
    assert len(claims_of_text(text)) == 1


def test_references_that_name_their_first_author_alone_are_told_apart():
    """As people and language models write them: the title of one never meets the year of another."""
    text = (
        "Ann Ash et al. Measuring slow rivers by their meanders. ICML 2014.\n"
        "Cedar et al. Three ways of building a dam. Journal of Beavers, 2015.\n"
        "Dan Dell et al., A dam too far. NeurIPS 2016."
    )
    assert [text[a:b] for a, b, _ in pieces(text)] == text.splitlines()
    assert [claim.year for claim in claims_of_text(text)] == [2014, 2015, 2016]


def test_a_year_at_the_head_of_a_line_is_no_number():
    text = (
        f"[1] {ONE}\n[2] D. Dogwood. Sand and its grains. In Notes of\n(2003) Sands, pages 1-2.\n"
    )
    assert len(list(pieces(text))) == 2


def test_lines_are_joined_as_they_were_before_they_were_broken():
    assert joined("the \ufb01rst trans-\n  formers") == "the first transformers"
    assert joined("Boyd-\nGraber, pages 12-\n19") == "Boyd-Graber, pages 12-19"
    assert joined("https://doi.org/10.1000/\nabc") == "https://doi.org/10.1000/abc"
    assert joined("soft\u00adhyphen") == "softhyphen"


@pytest.mark.parametrize(
    ("text", "title", "names", "year"),
    [
        ("Ash, A. B., Beech, B., and van der Cedar, C. Rivers are slow. Hydrology 19, 2 (1993), "
         "1990–1995.", "Rivers are slow", 3, 1993),
        ("Ash, A., Beech, B. (2019). Are rivers slow? Notes on water. In Proc. ICML, pp. 1–9.",
         "Are rivers slow? Notes on water", 2, 2019),
        ("A. Ash, B.-C. Beech, and D. Cedar, Slow, wide rivers, in Proc. of ICML, 2017, pp. 1993–2001.",
         "Slow, wide rivers", 3, 2017),
        ("Ash A, Beech B C, et al. Rivers are slow[C]//Proceedings of ICML. 2016: 770-778.",
         "Rivers are slow", 2, 2016),
        ("Ash A B, Beech B. Rivers and dams: A survey[M]. New York: Water Press, 2006.",
         "Rivers and dams: A survey", 2, 2006),
        ("ASH A. Rivers are slow[EB/OL]. 2021. https://example.org/a.",
         "Rivers are slow", 1, 2021),
        ("A. Ash and et al. Rivers of text. arXiv preprint arXiv:2402.XXXX, 2024.",
         "Rivers of text", 1, 2024),
    ],
)  # fmt: skip
def test_styles_of_writing_are_told_apart(text, title, names, year):
    claim = parse_reference(text)
    assert (claim.title, len(claim.authors), claim.year) == (title, names, year)


def test_a_venue_keeps_the_words_after_its_year():
    text = "A. Ash. A title of some words. In Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing (EMNLP), pages 1-9, 2020."
    assert parse_reference(text).venue == (
        "Proceedings of the Conference on Empirical Methods in Natural Language Processing")  # fmt: skip


def test_the_marks_of_a_bibliography_style_are_used():
    text = (
        "\\begin{thebibliography}{2}\n"
        "\\bibitem{acm} {\\sc Ash, A., and Beech, B.}\n\\newblock Are {R}ivers slow? {N}o.\n"
        "\\newblock {\\em Hydrology 3\\/} (2014).\n"
        "\\bibitem{siam} {\\sc A.~Ash}, {\\em The {F}all of water}, in Proc. ICML, 2015.\n"
        "\\end{thebibliography}"
    )
    acm, siam = claims_of_thebibliography(text)
    assert (acm.title, acm.year, len(acm.authors)) == ("Are Rivers slow? No", 2014, 2)
    assert (siam.title, siam.year) == ("The Fall of water", 2015)


WORK = Work(id="m:1", title="Which Side of the River? Judging Banks by Their Sand", year=2006,
            authors=(Author("Ash", "Ann"), Author("Beech", "Ben")), venue="conll")  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Ann Ash, Ben Beech. Which side of the river? judging banks by their sand. CoNLL 2006.",
        "Ash A; Beech B -- Which side of the river? Judging banks by their sand: CoNLL, 2006",
        "2006, ASH ANN, BEECH BEN, Which side of the river? Judging banks by their sand",
    ],
)
def test_a_known_title_is_found_wherever_it_stands(text):
    checker = Checker([MemoryRecords([WORK])], today=datetime.date(2026, 1, 1))
    (result,) = checker.check(claims_of_text(text))
    assert result.verdict is Verdict.VERIFIED
    assert result.work.id == "m:1"


def test_a_known_title_in_other_peoples_text_is_not_taken_for_the_work():
    text = "Zed Zinnia. On the book “Deep and Shallow”: which side of the river? 1999."
    checker = Checker([MemoryRecords([WORK])], today=datetime.date(2026, 1, 1))
    (result,) = checker.check(claims_of_text(text))
    assert result.verdict is Verdict.NOT_FOUND
