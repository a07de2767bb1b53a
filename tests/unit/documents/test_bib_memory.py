"""What many entries share, so that a large file takes little memory, and what that must not change."""

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.bib.work import with_arxiv, with_doi
from citewell.features.checking.check import question
from citewell.features.checking.lint import LintPaper, lint_bib
from citewell.lsp.documents.project_state import BibTables
from citewell.model import Work

ENTRY = """@article{key%d,
  title = {On the parts of number %d},
  author = {Adams, A. and Bauer, B.},
  journal = {Journal of Parts},
  year = {20%02d},
  doi = {10.1234/%d},
}

"""


def many(count: int) -> str:
    return "".join(ENTRY % (number, number, number % 90 + 10, number) for number in range(count))


def test_entries_refer_to_the_text_of_the_file():
    text = many(3)
    bib = parse_bib(text)
    assert all(entry.body.source is text for entry in bib.entries)
    assert "".join(entry.body.text + "\n\n" for entry in bib.entries) == text


def test_an_entry_that_is_read_again_does_not_keep_a_version_of_the_file():
    bib = parse_bib(many(50))
    for letter in "abcdef":
        bib = reparse(bib, bib.text.replace("number 20", f"number 20{letter}", 1))
    assert len({id(entry.body.source) for entry in bib.entries}) == 2
    assert len(bib.entries[20].body.source) == bib.entries[20].body.length
    assert bib.entries[20].get("title").endswith("20fedcba")
    assert [entry.body.text for entry in bib.entries] == [
        entry.body.text for entry in parse_bib(bib.text).entries
    ]


def test_no_entry_keeps_more_than_its_doi_after_all_was_indexed_looked_up_and_linted():
    bib = parse_bib(many(20))
    tables = BibTables((bib,))
    assert tables.index.search("key7") and tables.taken
    assert tables.works.find(Work(id="1", title="?", doi="10.1234/7"))[1].key == "key7"
    assert all(question(bib, entry) for entry in bib.entries)
    list(lint_bib(bib, LintPaper(())))
    looked_up = {"doi"}
    assert set().union(*(entry.body.__dict__ for entry in bib.entries)) <= looked_up


def test_the_identity_of_an_entry_is_that_of_others_with_the_same_work():
    bib = parse_bib(
        "@article{a, title={Sparse Things}, doi={10.1234/ABC}}\n"
        "@misc{b, title={{Sparse} things}, url={https://doi.org/10.1234/abc}}\n"
        "@misc{c, title={Other}, eprint={1901.00001}, archiveprefix={arXiv}}\n"
    )
    one, two, three = (entry.body.identity for entry in bib.entries)
    assert one == two != three
    assert three.arxiv and not three.doi and not one.arxiv
    assert [entry.key for entry in with_doi(bib, "10.1234/abc")] == ["a", "b"]
    assert [entry.key for entry in with_arxiv(bib, "1901.00001")] == ["c"]
