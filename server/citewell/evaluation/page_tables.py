"""The tables of the page: methods by metrics, intervals, confidence, comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from citewell.evaluation import svg
from citewell.evaluation.metrics import metric_names
from citewell.evaluation.results import Comparison, Evaluation, MethodRun, Scope
from citewell.evaluation.scopes import FigureTable, figure_tables
from citewell.evaluation.statistics import Estimate
from citewell.evaluation.table import (
    MODEL_HEADS,
    MODEL_TITLE,
    PICK_HEADS,
    PICK_TITLE,
    model_rows,
    number,
    pick_rows,
    short,
)


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


def _comparisons(comparisons: Sequence[Comparison]) -> str:
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
