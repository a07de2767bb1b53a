"""Formatting a .bib changes blanks, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.documents.bib.edit import insert_entry
from citewell.documents.bib.reader import parse_bib
from citewell.documents.textfile import apply_edits
from citewell.lsp.requests.formatting import format_bib
from citewell.model import Work
from citewell.model.document import Span
from citewell.options import Options

ALIGNED = """@article{a,
  author = {A},
  title  = {T, with = and
            a second line},
  year   = 2000,
}

@misc{b,
  title  = "B" # foo,
  year   = {2001}
}
"""
PLAIN = ALIGNED.replace("title  =", "title =").replace("year   =", "year =")


def formatted(text: str, within: Span | None = None) -> str:
    return apply_edits(text, format_bib(parse_bib(text, "refs.bib"), within))


@pytest.mark.parametrize("model", [ALIGNED, PLAIN])
def test_an_entry_is_laid_out_as_the_others(model):
    odd = "@Book{c ,title={C},\n\n      YEAR   ={ 1999 } , note = {n}   }\n"
    wide = "title  =" in model
    assert formatted(model + "\n\n\n" + odd) == model + (
        "\n@Book{c,\n  title  = {C},\n  YEAR   = { 1999 },\n  note   = {n}\n}\n"
        if wide
        else "\n@Book{c,\n  title = {C},\n  YEAR = { 1999 },\n  note = {n}\n}\n"
    )


def test_only_the_entries_of_a_range_are_changed():
    odd = "@misc{c,title={C},year=1}\n\n@misc{d,title={D},year=2}\n"
    text = f"{ALIGNED}\n{odd}"
    at = text.index("{D}")
    done = formatted(text, Span(at, at))
    assert done.startswith(
        f"{ALIGNED}\n@misc{{c,title={{C}},year=1}}\n\n@misc{{d,\n  title  = {{D}}"
    )


def test_entries_on_one_line_stay_so_where_most_are():
    lines = "".join(f"@misc{{k{n}, title={{T}}, year={n}}}\n" for n in range(3))
    assert formatted(lines) == lines
    assert formatted(lines + ALIGNED).startswith(lines)


@pytest.mark.parametrize(
    "odd",
    [
        "@misc{c,title={C}, % a comment\nyear=1}\n",
        "@misc{c,title={C}\nyear=1}\n",
        "@misc{c,title={C},year=1\n",
        "@misc{,title={C},year=1}\n",
        "@string{foo={F}}\n@comment{ x }\nwords between\n",
    ],
)
def test_what_is_broken_or_holds_a_comment_is_left_alone(odd):
    assert formatted(f"{ALIGNED}\n{odd}") == f"{ALIGNED}\n{odd}"


def test_an_entry_that_was_added_is_in_form_already():
    work = Work(id="w", title="A Title", year=2000, kind="article", journal="J", doi="10.1/x")
    for text in (ALIGNED, PLAIN):
        bib = parse_bib(text, "refs.bib")
        edit, _ = insert_entry(bib, work, "new", Options().bib)
        assert edit is not None
        done = apply_edits(text, edit.edits)
        assert formatted(done) == done


_PIECES = st.sampled_from(
    [
        *'{}",=@#% \n\t',
        "@article{k,",
        "title",
        " = ",
        "{T}",
        "year=2000",
        "}\n",
        "@string{f={F}}",
        "é",
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join), st.booleans())
def test_no_text_loses_or_gains_anything_but_blanks(text, after_entries):
    text = ALIGNED + text if after_entries else text
    done = formatted(text)
    assert "".join(done.split()) == "".join(text.split())
    assert formatted(done) == done


def test_real_files_keep_all_but_blanks(shared_data: Path):
    for path in sorted((shared_data / "projects").rglob("*.bib"))[:40]:
        text = path.read_bytes().decode("utf-8", "replace")
        done = formatted(text)
        assert "".join(done.split()) == "".join(text.split()), path
        assert formatted(done) == done, path
