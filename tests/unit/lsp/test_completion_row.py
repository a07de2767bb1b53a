"""What one row of a completion list shows, in the width that an editor has."""

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.features.citing.completion import entry_candidate, work_candidate
from citewell.lsp.requests.completion import WIDTH, CompletionColumns, row_of
from citewell.model import Author, Work
from citewell.model.check import Check, Claim, Verdict
from citewell.model.venues import short_venue, shown_venue, venue_ids
from citewell.model.words import VERDICTS

LONG = "Seven Ways of Walking on Directed Graphs, and an Eighth That Nobody Has Tried"


def own(key="ash2012seven", title=LONG, booktitle="ICML", verdict=None):
    text = (
        f"@inproceedings{{{key}, author = {{Ash, Ann}}, title = {{{title}}}, "
        f"booktitle = {{{booktitle}}}, year = 2012}}"
    )
    check = None if verdict is None else Check(claim=Claim(), verdict=verdict)
    return entry_candidate(parse_bib(text).entries[0], "refs.bib", "{k}", check=check)


def paper(title=LONG, venue="icml"):
    return work_candidate(
        Work(id="x", title=title, authors=(Author("Ash", "Ann"),), year=2012, venue=venue), "k", "k"
    )


def width(row: CompletionColumns) -> int:
    return len(row.label) + len(row.beside and " " + row.beside) + len(row.at and "  " + row.at)


def test_a_paper_is_shown_by_author_and_year_before_its_title():
    row = row_of(paper("Walking on Graphs"), columns=True)
    assert row == CompletionColumns("Ash 2012 · Walking on Graphs", "", "ICML", "Walking on Graphs")


@pytest.mark.parametrize("venue", ["icml", "neurips", "Findings", "A venue of many letters", ""])
def test_a_long_title_leaves_room_for_author_year_and_venue(venue):
    row = row_of(paper(venue=venue), columns=True)
    assert row.label.endswith("…")
    assert row.label.startswith("Ash 2012 · Seven Ways")
    assert row.at == short_venue(shown_venue(venue), venue_ids(venue))
    assert width(row) <= WIDTH


@pytest.mark.parametrize("length", range(4, 60))
def test_an_own_entry_keeps_its_key_whole(length):
    key = "k" * length
    row = row_of(own(key), columns=True)
    assert row.label == key
    assert width(row) <= max(WIDTH, length)


def test_an_own_entry_shows_author_year_title_and_venue_beside_its_key():
    row = row_of(own(title="{G}raph walks"), columns=True)
    assert (row.beside, row.at) == ("Ash 2012 · Graph walks", "ICML")
    long = "Proceedings of the 2016 Conference on Empirical Methods in Natural Language Processing"
    assert row_of(own(booktitle=long), columns=True).at == "EMNLP"


@pytest.mark.parametrize("verdict", [Verdict.FABRICATED, Verdict.NOT_IN_VENUE])
def test_an_invented_entry_says_so_and_one_that_the_library_lacks_does_not(verdict):
    words = f"{VERDICTS[verdict].sign} {VERDICTS[verdict].label}"
    assert row_of(own(verdict=verdict), columns=True).at == words
    assert row_of(own("k" * 44, verdict=verdict), columns=True).at == words
    assert row_of(own(verdict=Verdict.NOT_FOUND), columns=True).at == "ICML"
    assert row_of(own(verdict=verdict), columns=False).detail.startswith(words)
