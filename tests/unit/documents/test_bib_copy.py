"""An entry that moves from one .bib to another keeps its bytes and its meaning."""

import random

import pytest

from citewell.documents.bib.edit import insert_texts, self_contained, with_parents
from citewell.documents.bib.reader import parse_bib
from citewell.documents.textfile import apply_edits

SOURCE = """@string{jml = {Journal of Machine Learning}}
@string{spr = "Springer"}

@article{a, title = {{A} \\"u}, journal = jml, month = may, year = 2019}
@inproceedings{child, title = "Child", crossref = {volume}, xdata = {common, lost}}
@proceedings{volume, title = {Volume}, publisher = spr # " and Sons", xdata = {common}}
@xdata{common, series = {jml}}
@misc{loop, crossref = {loop}, title={jml # spr}}
"""


@pytest.mark.parametrize(
    ("key", "copied"),
    [
        ("child", ["child", "volume", "common"]),
        ("volume", ["volume", "common"]),
        ("loop", ["loop"]),
        ("nowhere", []),
    ],
)
def test_what_an_entry_inherits_from_comes_behind_it(key, copied):
    assert [entry.key for entry in with_parents(parse_bib(SOURCE), key)] == copied


def test_macros_that_the_other_file_lacks_are_written_out_and_nothing_else():
    source = parse_bib(SOURCE)
    entry = source.by_key["a"]
    assert self_contained(source, entry, {}) == entry.body.text.replace(
        "= jml", "= {Journal of Machine Learning}"
    )
    assert self_contained(source, entry, source.strings) == entry.body.text
    other = {"jml": "{Something else}"}
    assert "{Journal of Machine Learning}" in self_contained(source, entry, other)
    volume = self_contained(source, source.by_key["volume"], {})
    assert "publisher = {Springer and Sons}" in volume
    loop = source.by_key["loop"]
    assert self_contained(source, loop, {}) == loop.body.text, "a text is no macro"


def test_every_real_entry_arrives_as_it_was(shared_data):
    """Of each public .bib some entries, inserted into another public .bib: their values stay, and
    so does every byte of the file that takes them."""
    paths = sorted((shared_data / "projects").rglob("*.bib"))
    rng = random.Random(7)
    files = [parse_bib(path.read_text("utf-8", "replace"), str(path)) for path in paths]
    files = [bib for bib in files if bib.entries and len(bib.text) < 300_000]
    moved = 0
    for source in files:
        target = rng.choice(files)
        for entry in rng.sample(source.entries, min(3, len(source.entries))):
            if entry.body.faults or not entry.key or entry is not source.by_key[entry.key]:
                continue
            if entry.key.lower() in {key.lower() for key in target.by_key}:
                continue
            text = self_contained(source, entry, target.strings)
            edit = insert_texts(target, {entry.key: text})
            (change,) = edit.edits
            after = parse_bib(apply_edits(target.text, edit.edits))
            copied = after.by_key[entry.key]
            assert {n: copied.get(n) for n in copied.names} == {
                n: entry.get(n) for n in entry.names
            }
            assert (
                target.text[: change.span.start]
                == apply_edits(target.text, edit.edits)[: change.span.start]
            )
            assert len(after.entries) == len(target.entries) + 1
            moved += 1
    assert moved > 20
