"""Inlay hints, semantic tokens and code lenses as plain data."""

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.features.citing.completion import source_line
from citewell.lsp.requests.display import (
    MAX_HINTS,
    TokenKind,
    bib_tokens,
    citation_hints,
    difference,
    document_tokens,
    encode,
    entry_hints,
    entry_lenses,
)
from citewell.model import Provenance, Work
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict
from citewell.model.document import Span

BIB = r"""@article{kipf17,
  author = {Kipf, Thomas and Welling, Max}, title = {Graphs}, year = {2017},
}
@misc{solo, title = {No Author}}
@book{vas, author = {A, B and C, D and E, F}, title = {Attention}, date = {2017-06}}
"""
BIBS = parse_bib(BIB, "/p/refs.bib")
WHOLE = Span(0, 10**9)


def shown(text, hints):
    """The text with the hints written into it."""
    for hint in sorted(hints, key=lambda hint: -hint.offset):
        text = text[: hint.offset] + f"«{hint.text}»" + text[hint.offset :]
    return text


def test_author_and_year_stand_behind_each_key_that_has_them():
    text = r"As \citep[see][5]{kipf17, vas,solo} and \cite{nobody} say. \nocite{vas}"
    hints = citation_hints(scan_latex(text), BIBS.by_key.get, WHOLE)
    assert shown(text, hints) == (
        r"As \citep[see][5]{kipf17«Kipf and Welling 2017», vas«A et al. 2017»,solo} "
        r"and \cite{nobody} say. \nocite{vas}"
    )
    assert hints[0].tooltip == "Graphs"


def test_markdown_keys_are_hinted_alike():
    text = "As [@kipf17; @vas, p. 3] says."
    hints = citation_hints(scan_markdown(text), BIBS.by_key.get, WHOLE)
    assert (
        shown(text, hints) == "As [@kipf17«Kipf and Welling 2017»; @vas«A et al. 2017», p. 3] says."
    )


def test_only_the_part_that_is_shown_is_hinted():
    text = r"\cite{vas}" * 50
    hints = citation_hints(scan_latex(text), BIBS.by_key.get, Span(100, 129))
    assert [hint.offset for hint in hints] == [109, 119, 129]


def test_a_client_that_asks_for_all_of_a_huge_text_gets_a_bounded_answer():
    text = "\\cite{vas}\n" * (MAX_HINTS + 500)
    assert len(citation_hints(scan_latex(text), BIBS.by_key.get, WHOLE)) == MAX_HINTS


def check(verdict, *findings, work=None):
    return Check(claim=Claim(), verdict=verdict, findings=findings, work=work, evidence=("Why.",))


CHECKS = {
    "kipf17": check(
        Verdict.WRONG_DETAIL,
        FieldFinding(
            code="year-differs", field="year", message="It is 2016.", severity=Severity.WARNING
        ),
    ),
    "vas": check(
        Verdict.VERIFIED,
        work=Work(id="x", title="Attention", provenance=(Provenance("acl-anthology"),)),
    ),
}


def check_of(entry):
    return CHECKS.get(entry.key)


def test_the_state_of_an_entry_stands_behind_its_key():
    hints = entry_hints(BIBS, check_of, WHOLE)
    lines = shown(BIB, hints).splitlines()
    assert lines[0] == "@article{kipf17,«⚠ year»"
    assert lines[3] == "@misc{solo, title = {No Author}}"
    assert lines[4].startswith("@book{vas,«✓ verified»")
    assert hints[0].tooltip == "It is 2016."


def test_lenses_count_the_uses_and_name_the_record():
    counts = {"kipf17": 1, "vas": 1234}
    lenses = entry_lenses(
        BIBS, lambda key: counts.get(key, 0), lambda entry: source_line(check_of(entry))
    )
    assert [(BIB[lens.span.start : lens.span.end], lens.title, lens.key) for lens in lenses] == [
        ("kipf17", "cited once", "kipf17"),
        ("kipf17", "⚠ wrong detail", ""),
        ("solo", "not cited", ""),
        ("vas", "cited 1,234 times", "vas"),
        ("vas", "✓ verified · ACL Anthology", ""),
    ]


def test_in_a_large_file_only_cited_entries_have_a_lens():
    bib = parse_bib("".join(f"@misc{{k{n}, title={{T}}}}\n" for n in range(20_000)))
    lenses = entry_lenses(bib, lambda key: 3 if key == "k77" else 0)
    assert [(lens.key, lens.title) for lens in lenses] == [("k77", "cited 3 times")]


def test_each_key_has_the_colour_of_its_state():
    text = "As \\cite{kipf17, nobody}\nand \\cite<neural\nparsing> or \\cite{} or [CITE].\n"
    tokens = document_tokens(scan_latex(text), {"kipf17"}.__contains__)
    assert [(text[t.span.start : t.span.end], t.kind.name) for t in tokens] == [
        ("kipf17", "DEFINED"),
        ("nobody", "UNDEFINED"),
        ("neural", "PLACEHOLDER"),
        ("parsing", "PLACEHOLDER"),
        ("\\cite{}", "PLACEHOLDER"),
        ("[CITE]", "PLACEHOLDER"),
    ]


def test_an_entry_that_nobody_cites_has_another_colour():
    tokens = bib_tokens(BIBS, {"vas"}.__contains__)
    assert [t.kind for t in tokens] == [TokenKind.UNUSED, TokenKind.UNUSED, TokenKind.DEFINED]
    part = Span(BIB.index("@book"), len(BIB))
    assert [t.kind for t in bib_tokens(BIBS, {"vas"}.__contains__, part)] == [TokenKind.DEFINED]


def test_tokens_are_encoded_relative_to_the_one_before():
    text = "\\cite{a,b}\n\n \\cite{c}"
    tokens = document_tokens(scan_latex(text), {"b"}.__contains__)

    def place(span):
        start = text.rfind("\n", 0, span.start) + 1
        line = text.count("\n", 0, span.start)
        return line, span.start - start, line, span.end - start

    places = [place(token.span) for token in tokens]
    assert encode(tokens, places) == [0, 6, 1, 1, 0, 0, 2, 1, 0, 0, 2, 7, 1, 1, 0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([], [1, 2]),
        ([1, 2], []),
        ([1, 2, 3], [1, 9, 3]),
        ([1, 1, 1], [1, 1, 1, 1]),
        ([1, 2, 3, 4], [1, 4]),
        ([5], [6]),
    ],
)
def test_a_difference_applied_to_the_old_numbers_gives_the_new_ones(old, new):
    start, gone, more = difference(old, new)
    assert [*old[:start], *more, *old[start + gone :]] == new
    assert difference(new, new) is None
