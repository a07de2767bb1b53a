"""The page stands alone, escapes what it did not write, and draws what the figures say."""

import io
import itertools
import re
from html.parser import HTMLParser

import msgspec
import pytest
from rich.console import Console

from citewell_lab.evaluation import page, svg, table
from citewell_lab.evaluation.evaluate import evaluate
from citewell_lab.evaluation.leave_one_out import questions_of
from citewell_lab.evaluation.methods import named
from citewell_lab.evaluation.plan import EvaluationPlan
from citewell_lab.evaluation.results import Judged, MethodRun, Miss, PaperDetails

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


def test_every_citation_has_its_square_and_every_chart_its_words(evaluation, parsed):
    text = page.render(evaluation, own=True)
    tags = parsed(text)
    squares = re.search(r'class="strip".*?</div>', text, re.DOTALL).group()
    assert squares.count("<i ") == len(evaluation.items)
    charts = [attrs for tag, attrs in tags if tag == "svg"]
    assert len(charts) == 2, "one for wide pages, one for narrow ones"
    assert all(
        a.get("role") == "img" and (a.get("aria-label") or a.get("aria-labelledby")) for a in charts
    )


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


def test_the_curve_is_the_recall_at_every_depth():
    held = {"a": 1, "b": 2, "c": 1}
    run = MethodRun(
        name="m", setting="cold",
        judged=(Judged(id="a", ranks=(2,)), Judged(id="b", ranks=(1, 4)), Judged(id="z", ranks=(1,))),
    )  # fmt: skip
    values = svg.recalls(run, held, 5)
    assert values == pytest.approx((0.5 / 3, 1.5 / 3, 1.5 / 3, 2 / 3, 2 / 3))


def test_labels_at_the_end_of_the_lines_never_overlap_or_leave_the_chart():
    places = svg._label_places([100, 101, 102, 280, 290, 300])
    order = sorted(places)
    assert all(b - a >= 15.9 for a, b in itertools.pairwise(order))
    assert max(places) <= svg.HEIGHT - svg.BOTTOM


@pytest.mark.parametrize(
    ("rank", "held", "words"),
    [(1, True, "first"), (5, True, "2 to 5"), (21, True, "lower"), (None, True, "not found"),
     (None, False, "not in the library")],
)  # fmt: skip
def test_a_square_says_where_the_paper_stood(rank, held, words):
    assert svg.band(rank, held)[1] == words


def test_the_text_colours_stand_out_from_their_ground_in_both_schemes():
    from importlib.resources import files

    css = files("citewell_lab.evaluation").joinpath("page.css").read_text(encoding="utf-8")
    light, dark = css.split("@media (prefers-color-scheme: dark)")[0:2]
    for scheme in (light, dark):
        colours = dict(re.findall(r"--([a-z]+\d?): (#[0-9a-f]{3,6});", scheme))
        for ink in ("ink", "soft", "accent", "good", "bad", "c2", "c3", "c4", "c5", "c6"):
            assert contrast(colours[ink], colours["card"]) >= 4.5 or ink.startswith("c"), ink
            assert contrast(colours[ink], colours["card"]) >= 3.0, ink


def contrast(a, b):
    """Contrast ratio as WCAG 2 defines it."""

    def luminance(colour):
        digits = colour.lstrip("#")
        digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_table_shows_every_method_in_every_setting(evaluation):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table.render(evaluation))
    text = console.export_text()
    for run in evaluation.runs:
        assert re.search(rf"{run.name}\s+│ {run.setting}", text)
    assert "sign flips" in text and "hallucinated" in text


def test_numbers_are_written_the_way_the_field_writes_them():
    assert table.number(0.4561) == ".456" and table.number(1.0) == "1.00"
    assert table.number(None) == "-" and table.number(0.9999) == "1.00"
    assert table.short("ndcg@10") == "nDCG@10" and table.short("mrr") == "MRR"


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
