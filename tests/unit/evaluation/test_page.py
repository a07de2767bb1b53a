"""The page stands alone, escapes what it did not write, and draws what the figures say."""

import io
import re
from html.parser import HTMLParser

import msgspec
import pytest
from rich.console import Console

from citewell_lab.evaluation import page, table
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.leave_one_out import questions_of
from citewell_lab.evaluation.methods import EvaluationPlan, named
from citewell_lab.evaluation.results import Miss, PaperDetails

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Balanced(HTMLParser):
    """Fails on an end tag that does not close what is open."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


@pytest.fixture
def evaluation(paper, library_options):
    made, info, _ = questions_of([paper], library_options.documents)
    methods = tuple(named(["bm25", "rrf"], library_options))
    return evaluate(
        made, library_options, EvaluationPlan(methods=methods, depth=10, latency_calls=2), info
    )


@pytest.fixture
def parsed():
    def parse(text):
        parser = Balanced()
        parser.feed(text)
        assert parser.open == []
        return parser.tags

    return parse


def test_the_page_is_well_formed_and_asks_for_nothing_from_outside(evaluation, parsed):
    text = page.render(evaluation, "Title", own=True)
    for tag, attrs in parsed(text):
        assert tag not in {"script", "link", "img", "iframe", "object"}
        assert not {"src", "href", "srcset"} & attrs.keys()
    assert "url(" not in text and "@import" not in text


def test_what_others_wrote_is_escaped(evaluation, parsed):
    import msgspec

    nasty = '<script>alert("x")</script>'
    miss = Miss(
        id="x", paper=nasty, method=nasty, before=nasty, text=f"{nasty} [CITATION] & more",
        truth=(PaperDetails(title=nasty, authors=nasty),), offered=(PaperDetails(title=nasty),), key=nasty,
    )  # fmt: skip
    data = msgspec.structs.replace(evaluation.data, name=nasty, notes=(nasty,), counts={nasty: 1})
    items = tuple(msgspec.structs.replace(i, tags=(f"key:{nasty}",)) for i in evaluation.items)
    changed = msgspec.structs.replace(
        evaluation, data=data, misses=(miss,), finds=(miss,), items=items, command=nasty
    )
    text = page.render(changed, own=True)
    assert "<script" not in text.lower()
    assert "<mark>citation</mark> &amp; more" in text
    parsed(text)


def test_an_author_is_shown_every_citation_with_its_place_and_less_in_the_terminal(evaluation):
    text = page.render(evaluation, own=True)
    rows = re.search(r"All citations with the rank.*?</details>", text, re.DOTALL).group()
    assert rows.count('<th scope="row">') == len(evaluation.items)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table.render(evaluation, brief=True))
    assert "sign flips" not in console.export_text()


def test_an_old_paper_is_told_that_newer_ones_crowd_the_list(evaluation):
    runs = tuple(msgspec.structs.replace(run, newer_in_ten=0.6) for run in evaluation.runs)
    assert "60% of the papers in the top ten are newer" in page.render(
        msgspec.structs.replace(evaluation, runs=runs), own=True
    )
    runs = tuple(msgspec.structs.replace(run, newer_in_ten=0.0) for run in evaluation.runs)
    assert "are newer than" not in page.render(
        msgspec.structs.replace(evaluation, runs=runs), own=True
    )
