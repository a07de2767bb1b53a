import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.keys.index import KeyIndex
from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.documents.textfile import apply_edits
from citewell.features.citing.complete import complete, own_entries, wanted
from citewell.features.citing.completion import unknown
from citewell.features.citing.known_works import KnownWorks
from citewell.model import Author, Evidence, Hit, Work
from citewell.model.bib import TextEdit
from citewell.model.check import Check, Claim, Verdict

BIB = parse_bib(
    """@article{hochreiter97, title={Long Short-Term Memory}, author={Hochreiter, S.}, year=1997}
@book{zuse1969, title={Rechnender Raum}, author={Zuse, K.}, year=1969}
""",
    "refs.bib",
)
LSTM = Work(id="w:1", title="Long short-term memory", authors=(Author("Hochreiter"),), year=1997)
GAT = Work(id="w:2", title="Graph Attention Networks", authors=(Author("Veličković"),), year=2018)
INDEX = KeyIndex.build([BIB])


def judged(**verdicts):
    """What is known of the entries, by key."""
    checks = {
        key: Check(claim=Claim(title=key), verdict=verdict) for key, verdict in verdicts.items()
    }
    return lambda path, entry: checks.get(entry.key)


def completed(text, hits=(GAT, LSTM), scan=scan_latex, limit=20, check_of=unknown):
    cursor = text.index("|")
    document = scan(text.replace("|", "", 1))
    at = wanted(document, cursor)
    if at is None:
        return None, document
    own, more = own_entries(at, INDEX, limit)
    found = complete(
        at,
        own=own,
        more=more,
        hits=[Hit(work, 1.0, (Evidence("bm25", 1, 1.0),)) for work in hits],
        find_work=KnownWorks([BIB]).find,
        new_key=lambda work: f"new{work.year}",
        check_of=check_of,
        limit=limit,
    )
    return found, document


def accepted(text, number=0, **how):
    found, document = completed(text, **how)
    edit = TextEdit(found.span, found.candidates[number].text)
    return apply_edits(document.text, [edit])


def test_a_found_paper_that_the_bib_holds_is_offered_once_under_its_own_key():
    found, _ = completed(r"\cite<long short-term memory>|", hits=(LSTM, GAT, LSTM))
    assert [c.key for c in found.candidates] == ["hochreiter97", "new2018"]
    assert found.candidates[0].work is None
    assert found.candidates[1].work == GAT


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\cite<rechnender raum>|", ["new2018", "new1997", "zuse1969"]),
        (r"\cite{zuse|}", ["zuse1969", "new2018", "new1997"]),
        (r"\cite{|}", ["hochreiter97", "new2018", "zuse1969"]),
    ],
)
def test_an_invented_entry_of_ones_own_is_marked_and_stands_behind_real_papers(text, expected):
    other = Work(id="w:3", title="Other", year=1997)
    hits = (GAT,) if "{|" in text else (GAT, other)
    check_of = judged(zuse1969=Verdict.FABRICATED, hochreiter97=Verdict.VERIFIED)
    found, _ = completed(text, hits=hits, check_of=check_of)
    assert [c.key for c in found.candidates] == expected
    verdicts = [c.check.verdict for c in found.candidates if c.check is not None]
    assert verdicts == [Verdict.FABRICATED]
    believed, _ = completed(text, hits=hits)
    assert [c.key for c in believed.candidates][:1] == [
        "hochreiter97" if "{|" in text else "zuse1969"
    ]


def test_an_invented_entry_keeps_a_place_at_the_end_of_a_full_list():
    works = [Work(id=f"w:{n}", title=f"Paper {n}", year=2000 + n) for n in range(9)]
    check_of = judged(zuse1969=Verdict.FABRICATED)
    found, _ = completed(r"\cite<rechnender raum>|", hits=works, limit=4, check_of=check_of)
    assert [c.key for c in found.candidates] == ["new2000", "new2001", "new2002", "zuse1969"]


def test_an_entry_that_the_library_lacks_is_marked_and_keeps_its_place():
    check_of = judged(zuse1969=Verdict.NOT_FOUND)
    found, _ = completed(r"\cite<rechnender raum>|", check_of=check_of)
    assert found.candidates[0].key == "zuse1969"
    assert found.candidates[0].check.verdict is Verdict.NOT_FOUND


@pytest.mark.parametrize(
    ("text", "after", "typed", "tail"),
    [
        (r"a \cite<graph attention>| b", r"a \cite{new2018} b", "<graph attention>", ""),
        (r"a \cite<graph attention| b", r"a \cite{new2018} b", "<graph attention", ""),
        (r"a \cite<graph att|ention> b", r"a \cite{new2018} b", "<graph att", "ention>"),
        (r"a \cite{graph attention}| b", r"a \cite{new2018} b", "graph attention}", ""),
        (r"a \cite{graph attention|} b", r"a \cite{new2018} b", "graph attention", ""),
        (r"a \cite{graph attention| b", r"a \cite{new2018} b", "graph attention", ""),
        (r"a [CITE: graph attention]| b", r"a \cite{new2018} b", "[CITE: graph attention]", ""),
        (r"a \cite[see p. 5]{graph attention|} b", r"a \cite[see p. 5]{new2018} b", "graph attention", ""),
        (r"a \cite[see p. 5]<graph attention>| b", r"a \cite[see p. 5]{new2018} b", "<graph attention>", ""),
    ],
)  # fmt: skip
def test_the_replaced_range_begins_with_what_changes_and_passes_every_editors_filter(
    text, after, typed, tail
):
    found, document = completed(text, hits=(GAT,))
    assert (found.typed, found.tail) == (typed, tail)
    assert accepted(text, hits=(GAT,)) == after
    assert all(" " not in candidate.text for candidate in found.candidates)
    assert document.text[found.span.start : found.span.end] == typed + tail


def test_markdown_keeps_its_brackets_outside_of_the_replaced_range():
    text = "as [@graph attention|] shows"
    found, _ = completed(text, scan=scan_markdown, hits=(GAT,))
    assert found.typed == "graph attention"
    assert accepted(text, scan=scan_markdown, hits=(GAT,)) == "as [@new2018] shows"


@pytest.mark.parametrize(
    "text",
    [
        "\\cite<graph\nattention>|",
        "|\\cite<graph attention>",
        "\\cite<graph attention> |",
        "\\cite{a, graph attention, b}|",
        "x |",
        "",
    ],
)
def test_no_list_where_an_editor_could_not_apply_it(text):
    found, _ = completed(text if "|" in text else "|")
    assert found is None


def test_an_empty_citation_offers_a_few_own_entries_then_papers_then_the_other_own_ones():
    many = parse_bib("".join(f"@misc{{k{i}, title={{T {i}}}}}\n" for i in range(9)), "m.bib")
    document = scan_latex(r"\cite{}")
    at = wanted(document, 6)
    own, more = own_entries(at, KeyIndex.build([many]), 20)
    assert (len(own), len(more)) == (5, 4)


def test_the_library_is_asked_for_words_and_only_for_keys_that_are_rare():
    def asks(text, own):
        cursor = text.index("|")
        return wanted(scan_latex(text.replace("|", "")), cursor).asks_library(own)

    assert asks(r"\cite<graph attention>|", 50)
    assert asks(r"\cite{vaswani|}", 0)
    assert not asks(r"\cite{vaswani|}", 5)
    assert not asks(r"\cite{va|}", 0)
    assert asks(r"\cite{|}", 20)
