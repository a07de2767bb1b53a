"""The result as a self-contained HTML page: no script, no network, no other files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from citewell.features.checking.page import POLICY
from citewell_lab.evaluation import svg
from citewell_lab.evaluation.methods import FigureTable, figure_tables
from citewell_lab.evaluation.results import (
    Evaluation,
    MethodComparison,
    MethodRun,
    Miss,
    PaperDetails,
    Scope,
)
from citewell_lab.evaluation.scoring import metric_names
from citewell_lab.evaluation.statistics import Estimate
from citewell_lab.evaluation.table import (
    MODEL_HEADS,
    MODEL_TITLE,
    PICK_HEADS,
    PICK_TITLE,
    model_rows,
    number,
    pick_rows,
    short,
    summary,
)

# The tables of the page: methods by metrics, intervals, confidence, comparisons.


def heat(evaluation: Evaluation, scope: Scope, own: bool) -> str:
    """A heat map of methods by metrics."""
    names = metric_names(evaluation.depth)
    best = {
        name: max((_mean(run, name, scope) for run in evaluation.runs), default=0.0)
        for name in names
    }
    head = "".join(f'<th scope="col">{escape(short(name))}</th>' for name in names)
    head += '<th scope="col">p95 ms</th>'
    rows = []
    for run in evaluation.runs:
        cells = []
        for name in names:
            figure = run.figure(name, scope)
            value = figure.by_question.mean if figure else 0.0
            # Squared within the column, so that close methods differ; text stays readable on 55%.
            tone = 55.0 * (value / best[name]) ** 2 if best[name] else 0.0
            css = "heat best" if value >= best[name] > 0 else "heat"
            hint = escape(_interval(figure.by_question)) if figure else ""
            cells.append(
                f'<td class="{css}" style="--v:{tone:.0f}%" title="{hint}">{number(value)}</td>'
            )
        p95 = f"{run.latency.p95:.0f}" if run.latency else "-"
        rows.append(
            f'<tr><th scope="row">{escape(svg.shown(run.name))}<small>{run.setting}</small></th>'
            f"{''.join(cells)}<td>{p95}</td></tr>"
        )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="Methods by metrics"><table>'
        f'<thead><tr><th scope="col">method</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="note">Mean {"per citation" if own else "per question"}; a stronger tone is '
        "better, the best of a column is underlined. Point at a cell for its 95% interval.</p>"
    )


def _mean(run: MethodRun, metric: str, scope: Scope) -> float:
    figure = run.figure(metric, scope)
    return figure.by_question.mean if figure else 0.0


def _interval(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return "one paper only: no interval"
    return f"95% interval {number(one.low)} to {number(one.high)}"


def details(evaluation: Evaluation) -> str:
    """The detailed tables, collapsed."""
    parts = ["<section><h2>Details</h2>"]
    parts.extend(_scope_table(evaluation, one) for one in figure_tables(evaluation))
    if any(run.coverage for run in evaluation.runs):
        parts.append(_confidence(evaluation))
    if rows := model_rows(evaluation):
        title = MODEL_TITLE
        parts.append(table(title, MODEL_HEADS, _cells(rows)))
    if rows := pick_rows(evaluation):
        parts.append(table(PICK_TITLE, PICK_HEADS, _cells(rows)))
    if evaluation.comparisons:
        parts.append(_comparisons(evaluation.comparisons))
    parts.append("</section>")
    return "".join(parts)


def _scope_table(evaluation: Evaluation, of: FigureTable) -> str:
    names = metric_names(evaluation.depth)
    rows = []
    for run in evaluation.runs:
        cells = []
        for name in names:
            figure = run.figure(name, of.scope)
            if figure is None:
                cells.append("<td>-</td>")
                continue
            one: Estimate = getattr(figure, of.mean)
            interval = ""
            if one.low is not None and one.high is not None:
                interval = f"<small>{number(one.low)}-{number(one.high)}</small>"
            cells.append(f"<td>{number(one.mean)}{interval}</td>")
        rows.append(
            f'<tr><th scope="row">{escape(svg.shown(run.name))}<small>{run.setting}</small></th>'
            f"{''.join(cells)}</tr>"
        )
    return table(of.title, ["method", *(short(name) for name in names)], rows)


def _confidence(evaluation: Evaluation) -> str:
    rows = [
        f'<tr><th scope="row">{escape(svg.shown(run.name))}<small>{run.setting}</small></th>'
        f"<td>{one.coverage:.0%}</td><td>{number(one.precision)}</td>"
        f"<td>{number(one.precision_answerable)}</td><td>{number(one.threshold)}</td></tr>"
        for run in evaluation.runs
        for one in run.coverage
    ]
    heads = ["method", "coverage", "all questions", "answerable", "minimum confidence"]
    title = "Precision of the first paper by coverage (what fill would write)"
    out = table(title, heads, rows)
    rows = [
        f'<tr><th scope="row">{escape(svg.shown(run.name))}<small>{run.setting}</small></th>'
        f"<td>{'fill: ' if one.threshold == run.threshold else ''}{one.threshold:g}</td>"
        f"<td>{one.abstained:,}</td><td>{number(one.precision)}</td>"
        f"<td>{number(one.recall)}</td><td>{number(one.answered_right)}</td></tr>"
        for run in evaluation.runs
        for one in run.abstention
    ]
    heads = ["method", "threshold", "abstained", "precision", "recall", "accuracy of answers"]
    return out + table("Abstention when the right paper is not in the library", heads, rows)


def _comparisons(comparisons: Sequence[MethodComparison]) -> str:
    rows = []
    for one in comparisons:
        low, high = one.result.low, one.result.high
        interval = "-" if low is None or high is None else f"{low:+.3f} to {high:+.3f}"
        css = ""
        if one.p_holm < 0.05:
            css = ' class="good"' if one.result.difference > 0 else ' class="bad"'
        rows.append(
            f'<tr><th scope="row">{_label(one.a)}</th><td class="text">{_label(one.b)}</td>'
            f"<td>{escape(short(one.metric))}</td><td{css}>{one.result.difference:+.3f}</td>"
            f"<td>{interval}</td><td>{one.p_holm:.4f}</td></tr>"
        )
    unit = comparisons[0].result.unit
    title = f"Paired randomisation test (10,000 sign flips over {unit}s, Holm's correction)"
    return table(title, ["A", "B", "metric", "A - B", "95% interval", "p"], rows)


def _cells(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [
        f'<tr><th scope="row">{escape(svg.shown(name))}<small>{escape(setting)}</small></th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, setting, *cells in rows
    ]


def _label(name: str) -> str:
    return escape(name.replace("pipeline", svg.shown("pipeline")))


def table(title: str, heads: Sequence[str], rows: Sequence[str]) -> str:
    """A collapsible table; `rows` are `<tr>` elements."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    return (
        f'<details><summary>{escape(title)}</summary><div class="scroll" tabindex="0" '
        f'role="region" aria-label="{escape(title)}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></details>"
    )


MARK = "[CITATION]"
OTHER = "[OTHER]"
NEWER_REPORTED = 0.1
"""Minimum share of newer papers in the top ten for a note about them."""


def render(evaluation: Evaluation, title: str = "", *, own: bool = False) -> str:
    """The page as HTML. `own`: for the author of one manuscript, citation by citation."""
    title = title or f"Citation recommendation: {evaluation.data.name}"
    body = "\n".join(_body(evaluation, title, own))
    css = files("citewell_lab.evaluation").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def headline_run(evaluation: Evaluation) -> MethodRun:
    """The run of the headline figures: the last method, in the warm setting if measured."""
    last = evaluation.runs[-1].name
    return evaluation.run(last, "warm") or evaluation.runs[-1]


def _body(evaluation: Evaluation, title: str, own: bool) -> Iterator[str]:
    run = headline_run(evaluation)
    yield f"<header><h1>{escape(title)}</h1>"
    yield f'<p class="lede">{escape(_lede(evaluation, run, own))}</p></header>'
    yield _tiles(evaluation, run, own)
    if own:
        yield _newer(evaluation, run)
        yield _strip(evaluation, run)
    if own:
        yield from _reading(evaluation, run, own)
    yield "<section><h2>Recall by length of the list</h2>"
    yield "<figure>" + svg.recall_chart(svg.lines(evaluation), evaluation.depth)
    dashed = len({one.setting for one in evaluation.runs}) > 1
    settings = "Solid: warm, the paper's other references are known. Dashed: cold, text alone."
    yield (
        "<figcaption>Share of right papers among the first papers listed (logarithmic axis). "
        f"{settings if dashed else ''}</figcaption></figure></section>"
    )
    several = len({one.name for one in evaluation.runs}) > 1
    yield f"<section><h2>{'Methods by metrics' if several else 'Metrics'}</h2>"
    yield heat(evaluation, "library", own)
    yield "</section>"
    if not own:
        yield from _reading(evaluation, run, own)
    yield details(evaluation)
    yield _about(evaluation)


def _reading(evaluation: Evaluation, run: MethodRun, own: bool) -> Iterator[str]:
    if evaluation.misses:
        yield _misses(evaluation, run, own)
    if evaluation.finds:
        yield _finds(evaluation, own)


def _lede(evaluation: Evaluation, run: MethodRun, own: bool) -> str:
    held = sum(item.held > 0 for item in evaluation.items)
    library = f"a library of {evaluation.library.works:,} papers"
    if own:
        return (
            f"Each of the {len(evaluation.items):,} citations was removed, one at a time, and "
            f"Citewell searched for it from the surrounding text, in {library}. The library "
            f"has the cited paper for {held:,} of them; the figures are for those, {_how(run)}."
        )
    return (
        f"{held:,} questions whose right answer is in {library}. "
        f"The headline figures are for these, {_how(run)}."
    )


def _how(run: MethodRun) -> str:
    known = "the paper's other references known" if run.setting == "warm" else "from the text alone"
    name = "Citewell as configured" if run.name == "pipeline" else f"the method “{run.name}”"
    return f"by {name}, {known}"


def _tiles(evaluation: Evaluation, run: MethodRun, own: bool) -> str:
    held = [item for item in evaluation.items if item.held]
    tiles = []
    for metric, words in (
        ("recall@1", "the first paper is the right one"),
        ("recall@10", "the right paper is among the first ten"),
        ("recall@100", "the right paper is among the first hundred"),
    ):
        figure = run.figure(metric)
        if figure is None:
            continue
        one = figure.by_question
        interval = ""
        if one.low is not None and one.high is not None:
            interval = f" (95% interval {one.low:.0%} to {one.high:.0%})"
        tiles.append((f"{one.mean:.0%}", words + interval))
    first = run.figure("mrr")
    if first and not own:
        words = "mean reciprocal rank: 1 if every right paper is first, .5 if second"
        tiles.append((number(first.by_question.mean), words))
    if own:
        share = len(held) / len(evaluation.items) if evaluation.items else 0.0
        tiles.append((f"{share:.0%}", "of the cited papers are in this library"))
    if run.latency:
        tiles.append((f"{run.latency.p95:.0f} ms", "95th percentile of the search time"))
    backed = f"of {run.emitted:,} papers listed are hallucinated: each was looked up again"
    tiles.append((f"{run.unbacked:,}", backed))
    items = "".join(f"<li><b>{escape(a)}</b><span>{escape(b)}</span></li>" for a, b in tiles)
    return f'<ul class="tiles">{items}</ul>'


def _strip(evaluation: Evaluation, run: MethodRun) -> str:
    judged = {one.id: one for one in run.judged}
    counts: dict[str, int] = {}
    for item in evaluation.items:
        one = judged.get(item.id)
        css, _ = svg.band(one.ranks[0] if one and one.ranks else None, item.held > 0)
        counts[css] = counts.get(css, 0) + 1
    names = [(css, f"rank {words}") for _, css, words in svg.BANDS]
    names[0] = ("b1", "found first")
    names += [("b6", f"not in the first {evaluation.depth}"), ("b0", "not in the library")]
    key = "".join(
        f'<li><i class="{css}"></i>{escape(words)}: {counts[css]}</li>'
        for css, words in names
        if counts.get(css)
    )
    return (
        "<section><h2>Your paper, citation by citation</h2>"
        "<figure>" + svg.strip(evaluation, run) + f'<ul class="key">{key}</ul>'
        "<figcaption>In text order; hover over a square for its key.</figcaption>"
        f"</figure>{_every(evaluation, run)}</section>"
    )


def _newer(evaluation: Evaluation, run: MethodRun) -> str:
    """A note if many listed papers are newer than the citing paper."""
    first, ten = run.figure("recall@1", "past"), run.figure("recall@10", "past")
    if first is None or ten is None or (run.newer_in_ten or 0.0) < NEWER_REPORTED:
        return ""
    return (
        f'<p class="note">{run.newer_in_ten:.0%} of the papers in the top ten are newer than the '
        "newest reference of this paper, which could not have cited them. Without them, the first "
        f"paper is right for {first.by_question.mean:.0%} of the citations and one of the top ten "
        f"for {ten.by_question.mean:.0%}.</p>"
    )


def _every(evaluation: Evaluation, run: MethodRun) -> str:
    """A table of all citations with their ranks, cold and warm, in text order."""
    runs = [one for one in evaluation.runs if one.name == run.name]
    ranks = [{one.id: one for one in method.judged} for method in runs]
    rows = []
    for item in evaluation.items:
        tags = dict(tag.split(":", 1) for tag in item.tags if ":" in tag)
        cells = []
        for judged in ranks:
            one = judged.get(item.id)
            rank = one.ranks[0] if one and one.ranks else None
            css, words = svg.band(rank, item.held > 0)
            shown = str(rank) if rank else words.replace("not in the library", "-")
            cells.append(f'<td><i class="{css}"></i>{escape(shown)}</td>')
        place = ":".join(part for part in (tags.get("file", ""), tags.get("line", "")) if part)
        rows.append(
            f'<tr><th scope="row">{escape(tags.get("key", item.id))}</th>'
            f'<td class="text">{escape(place)}</td>{"".join(cells)}</tr>'
        )
    heads = ["key", "place", *(f"rank, {one.setting}" for one in runs)]
    return table("All citations with the rank of their paper (-: not in the library)", heads, rows)


def _misses(evaluation: Evaluation, run: MethodRun, own: bool) -> str:
    cards = "".join(_card(miss, evaluation.depth, own) for miss in evaluation.misses)
    whose = (evaluation.misses[0].method or run.label).replace("pipeline", svg.shown("pipeline"))
    return (
        "<section><h2>Selected misses</h2>"
        f"<p>Cases where {escape(whose)} did not rank the right paper in the top ten, although the "
        "passage contains words of its title; those with the most words in common first.</p>"
        f"{cards}</section>"
    )


def _finds(evaluation: Evaluation, own: bool) -> str:
    cards = "".join(_card(find, evaluation.depth, own) for find in evaluation.finds)
    return (
        "<section><h2>Selected hits</h2>"
        "<p>The right paper is ranked first, although the passage has few words of its title.</p>"
        f"{cards}</section>"
    )


def _card(miss: Miss, depth: int, own: bool) -> str:
    rank = f"rank {miss.rank}" if miss.rank else f"not among the first {depth}"
    place = miss.paper if not own else ""
    if miss.file:
        place = f"{miss.file}:{miss.line}" if miss.line else miss.file
    where = " · ".join(part for part in (place, miss.key, rank) if part)
    before = f'<span class="soft">{escape(miss.before)}</span> ' if miss.before else ""
    text = escape(miss.text).replace(MARK, "<mark>citation</mark>").replace(OTHER, "[…]")
    truth = "".join(f"<li>{_paper(one)}</li>" for one in miss.truth)
    cited = f"<div><h3>Cited</h3><ul>{truth}</ul></div>"
    if miss.rank != 1:
        offered = "".join(f"<li>{_paper(one)}</li>" for one in miss.offered)
        offered = f"<ol>{offered}</ol>" if offered else "<p>None.</p>"
        cited += f"<div><h3>Listed first</h3>{offered}</div>"
    return (
        f'<article><p class="where">{escape(where)}</p><blockquote>{before}{text}</blockquote>'
        f'<div class="pair">{cited}</div></article>'
    )


def _paper(paper: PaperDetails) -> str:
    about = ", ".join(part for part in (paper.authors, str(paper.year or "")) if part)
    return f"{escape(paper.title)}<small>{escape(about)}</small>"


def _about(evaluation: Evaluation) -> str:
    facts = [("Created", f"{evaluation.created}, Citewell {evaluation.version}")]
    if evaluation.command:
        facts.append(("Command", evaluation.command))
    facts += [("Data", line) for line in summary(evaluation)]
    facts += [(name, f"{count:,}") for name, count in evaluation.data.counts.items()]
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts)
    notes = "".join(
        f"<li>{escape(note)}</li>" for note in (*evaluation.data.notes, *evaluation.notes)
    )
    methods = {svg.shown(run.name): run.description for run in evaluation.runs}
    named = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in methods.items() if b)
    return (
        f"<section><h2>How this was measured</h2><dl>{named}{listed}</dl>"
        f'<ul class="plain">{notes}</ul></section>'
    )
