"""Inlay hints, semantic tokens and code lenses as plain data."""

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.latex.scanner import scan_latex
from citewell.lsp.requests.display import (
    MAX_HINTS,
    TokenKind,
    bib_tokens,
    citation_hints,
    difference,
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


def test_in_a_large_file_only_cited_entries_have_a_lens():
    bib = parse_bib("".join(f"@misc{{k{n}, title={{T}}}}\n" for n in range(20_000)))
    lenses = entry_lenses(bib, lambda key: 3 if key == "k77" else 0)
    assert [(lens.key, lens.title) for lens in lenses] == [("k77", "cited 3 times")]


def test_an_entry_that_nobody_cites_has_another_colour():
    tokens = bib_tokens(BIBS, {"vas"}.__contains__)
    assert [t.kind for t in tokens] == [TokenKind.UNUSED, TokenKind.UNUSED, TokenKind.DEFINED]
    part = Span(BIB.index("@book"), len(BIB))
    assert [t.kind for t in bib_tokens(BIBS, {"vas"}.__contains__, part)] == [TokenKind.DEFINED]


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
