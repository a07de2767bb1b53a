"""The .bib files of real projects are read as bibtexparser reads them, and edited losslessly."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.documents.bib.edit import insert_entry
from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.bib.style import detect_style, entry_text
from citewell.documents.bib.work import entry_work
from citewell.model import Author, Work
from citewell.options.tree import BibOptions

PROJECTS = Path(__file__).parents[4] / "shared" / "data" / "projects"
FILES = sorted(PROJECTS.rglob("*.bib")) if PROJECTS.is_dir() else []
pytestmark = pytest.mark.skipif(not FILES, reason="../shared/data/projects is not there")

WORK = Work(
    id="x",
    title="Zyxology of Attention",
    authors=(Author("Tester", "Ann"),),
    year=2021,
    kind="article",
    journal="Journal of Tests",
    doi="10.1234/zyx-1",
)


@pytest.fixture(params=FILES, ids=lambda path: str(path.relative_to(PROJECTS)))
def text(request: pytest.FixtureRequest) -> str:
    data = request.param.read_bytes()
    try:
        return str(data.decode("utf-8"))
    except UnicodeDecodeError:
        return str(data.decode("latin-1"))


def squeeze(value: str) -> str:
    return " ".join(value.split())


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


# bibtexparser 2 joins a field to the next one when the comma between is missing; ours reads both.
MISSING_COMMA = {"simon2012spectralradius", "charniakparsing"}
# `@techreport={...}` inside an entry: a field name to bibtexparser, a fault to BibTeX and to us.
AT_SIGN_IN_NAME = {"pignataro12"}


def test_keys_and_raw_values_equal_those_of_bibtexparser(text: str, quiet: None) -> None:
    from bibtexparser.splitter import Splitter

    theirs: dict[str, dict[str, str]] = {}
    for block in Splitter(text).split().blocks:
        entry = getattr(block, "ignore_error_block", None) or block
        if type(entry).__name__ == "Entry":
            fields = {field.key.lower(): squeeze(field.value) for field in reversed(entry.fields)}
            theirs.setdefault(entry.key, fields)
    ours = {
        key: {name: squeeze(entry.body.raw(i)) for i, name in reversed([*enumerate(entry.names)])}
        for key, entry in parse_bib(text).by_key.items()
    }
    assert ours.keys() == theirs.keys()
    for key in ours.keys() - MISSING_COMMA - AT_SIGN_IN_NAME:
        assert ours[key] == theirs[key]


def test_an_insertion_changes_nothing_else(text: str) -> None:
    bib = parse_bib(text, "refs.bib")
    edit, key = insert_entry(bib, WORK, None, BibOptions())
    assert edit is not None
    (change,) = edit.edits
    at = change.span.start
    new_text = text[:at] + change.text + text[at:]
    after = reparse(bib, new_text)
    assert [e.body.text for e in after.entries if e.key != key] == [
        e.body.text for e in bib.entries
    ]
    assert after.by_key[key].get("doi") == WORK.doi
    assert ("\r\n" in change.text) == ("\r\n" in text)
    assert insert_entry(after, WORK, "other", BibOptions()) == (None, key)


def test_every_entry_finds_itself_and_its_rewrite_says_the_same(text: str) -> None:
    bib = parse_bib(text, "refs.bib")
    style = detect_style(bib)
    for entry in bib.entries[:150]:
        work = entry_work(bib, entry)
        again = parse_bib(entry_text(work, "k", style))
        (copy,) = again.entries
        assert not copy.body.faults
        assert entry_work(again, copy).title == work.title
        assert copy.body.year == work.year
        assert copy.body.doi == work.doi
        shown = [[a.display.lower() for a in one] for one in (copy.body.authors, work.authors)]
        assert shown[0] == shown[1]


def test_a_cut_file_keeps_the_entries_before_the_cut(text: str) -> None:
    bib = parse_bib(text)
    for part in range(1, 10):
        cut = len(text) * part // 10
        whole = [entry.body.text for entry in bib.entries if entry.end < cut and entry.body.closed]
        assert [e.body.text for e in parse_bib(text[:cut]).entries][: len(whole)] == whole
