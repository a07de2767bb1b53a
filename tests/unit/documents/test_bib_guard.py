"""An edit of a .bib is written only if the file then reads as was meant."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.documents.bib.edit import insert_entry, insert_texts
from citewell.documents.bib.reader import check_edits, parse_bib, wrong_edit
from citewell.documents.keys.pattern import check_key
from citewell.features.bib.actions import plan_removal, plan_sort
from citewell.features.citing.write import write_edits
from citewell.model import Author, CitewellError, Work
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Span
from citewell.options.tree import BibOptions

OLD = "@string{acl = {ACL}}\n@book{one, title={One}, year=2001}\n\n@misc{two, title={Two}}\n"
WORK = Work(id="w:1", title="Three", authors=(Author("Roe", "Jo"),), year=2003)


def wrong(edit, text=OLD):
    problem = wrong_edit(parse_bib(text, "refs.bib"), edit)
    return "" if problem is None else problem.message


def at_end(text, *keys, old=OLD):
    return FileEdit("refs.bib", (TextEdit(Span(len(old), len(old)), text),), adds=keys)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@misc{three, title={T}}\n@article{fake, title={F}}\n", "an unintended entry `fake`"),
        ("@misc{three,\n title={Y}}\n\n@article{fake, author={N}}\n", "an unintended entry `fake`"),
        ("@misc{four, title={T}}\n", "an unintended entry `four`"),
        ("@misc{three, title={T\n", "malformed"),
        ("@misc{three, title={T}}\n@string{acl = {Other}}\n", "@string"),
        ("just words\n", "lack the new entry `three`"),
        ("@misc{three, title={T}}\n@misc{one, title={Again}}\n", "an unintended entry `one`"),
    ],
)
def test_what_is_not_meant_is_named(text, message):
    assert message in wrong(at_end(text, "three"))


def test_an_entry_that_swallows_another_or_changes_it_is_refused():
    cut = FileEdit("refs.bib", (TextEdit(Span(20, 20), "@misc{three, title={"),), adds=("three",))
    assert wrong(cut)
    place = OLD.index("@misc{two")
    removal = FileEdit("refs.bib", (TextEdit(Span(place, len(OLD)), ""),))
    assert "lose the entry `two`" in wrong(removal)
    assert wrong(FileEdit("refs.bib", removal.edits, removes=("two",))) == ""


def test_an_insertion_into_a_broken_file_names_the_line_to_correct():
    broken = "@book{one, title={One},\n"
    edit = FileEdit(
        "refs.bib",
        (TextEdit(Span(len(broken), len(broken)), "@misc{three, title={T}}\n"),),
        adds=("three",),
    )
    problem = wrong_edit(parse_bib(broken, "refs.bib"), edit)
    # The entry begins a line and so ends the broken one: both are read, and nothing is lost.
    assert problem is None
    inside = FileEdit("refs.bib", (TextEdit(Span(18, 18), "@misc{x, a={b}}"),), adds=("x",))
    problem = wrong_edit(parse_bib(broken, "refs.bib"), inside)
    assert problem is not None and "line 1" in problem.hint


@given(st.text(alphabet='ab1:{}(),@="#%\\\n \u00e9_', min_size=1, max_size=30))
def test_no_key_brings_an_entry_that_is_not_the_works(key):
    """Whatever a key holds: it is refused, or the file has exactly one entry more, the work's."""
    bib = parse_bib(OLD, "refs.bib")
    edit, found = insert_entry(bib, WORK, key, BibOptions())
    problem = wrong_edit(bib, edit)
    if check_key(key) is None:
        assert problem is None
        text = OLD + "".join(change.text for change in edit.edits)
        assert [e.key for e in parse_bib(text).entries][-1] == found


def test_every_plan_over_real_files_passes(shared_data):
    """No true edit of a public .bib is taken for a wrong one."""
    paths = sorted((shared_data / "projects").rglob("*.bib"))
    dice = random.Random(3)
    tried = 0
    for path in dice.sample(paths, min(40, len(paths))):
        bib = parse_bib(path.read_text("utf-8", "replace"), str(path))
        if not bib.entries or len(bib.text) > 400_000:
            continue
        plans = [plan_sort(bib, "key").edits]
        plans.append(plan_removal(bib, [dice.choice(bib.entries)]).edits)
        added, _ = insert_entry(bib, WORK, None, BibOptions())
        plans.append((added,) if added else ())
        plans.append((insert_texts(bib, {"new:1": "@misc{new:1, title = {New}}"}),))
        for edits in plans:
            check_edits(edits, {bib.path: bib.text})
            tried += len(edits)
    assert tried > 60


def test_nothing_is_written_when_an_edit_is_refused(tmp_path):
    bib, paper = tmp_path / "refs.bib", tmp_path / "a.tex"
    bib.write_text(OLD)
    paper.write_text("x")
    bad = FileEdit(str(bib), at_end("@misc{fake, title={F}}\n").edits)
    good = FileEdit(str(paper), (TextEdit(Span(0, 1), "y"),))
    with pytest.raises(CitewellError) as caught:
        write_edits([bad, good], {str(bib): OLD, str(paper): "x"})
    assert caught.value.problem.code == "bib-edit-refused"
    assert (bib.read_text(), paper.read_text()) == (OLD, "x")
