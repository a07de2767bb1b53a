"""The result as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from citewell_lab.evaluation.methods import FigureTable, figure_tables
from citewell_lab.evaluation.results import Evaluation, MethodComparison, MethodRun
from citewell_lab.evaluation.scoring import metric_names
from citewell_lab.evaluation.statistics import Estimate

SHORT = {
    "recall": "R",
    "mrr": "MRR",
    "ndcg": "nDCG",
    "map": "MAP",
}
_INTERVALS = ("recall@10", "mrr")


def short(metric: str) -> str:
    """The name of a metric as a column head."""
    kind, _, cutoff = metric.partition("@")
    return SHORT[kind] + (f"@{cutoff}" if cutoff else "")


def number(value: float | None) -> str:
    """A value with three decimals and no leading zero; a dash for None."""
    if value is None:
        return "-"
    text = f"{value:.3f}"
    return "1.00" if text == "1.000" else text.removeprefix("0")


def estimate(one: Estimate) -> str:
    """A mean, with its interval if there is one."""
    if one.low is None or one.high is None:
        return number(one.mean)
    return f"{number(one.mean)} ({number(one.low)}-{number(one.high)})"


def render(evaluation: Evaluation, *, brief: bool = False) -> RenderableType:
    """The tables for a terminal; `brief`: only those for an author."""
    return Group(*(_brief(evaluation) if brief else _parts(evaluation)))


def _brief(evaluation: Evaluation) -> Iterator[RenderableType]:
    for line in summary(evaluation):
        yield Text(line, style="dim")
    for one in figure_tables(evaluation, brief=True):
        yield _figures(evaluation, one)
    yield _costs(evaluation)
    yield from _model(evaluation)
    if any(run.coverage for run in evaluation.runs):
        yield _coverage(evaluation)
        yield _abstention(evaluation, only_own=True)
    for note in evaluation.data.notes:
        yield Padding(Text(note, style="dim"), (0, 0, 0, 2))


def summary(evaluation: Evaluation) -> list[str]:
    """A few lines on the questions and the library."""
    held = [item for item in evaluation.items if item.held]
    dated = sum(item.year is not None for item in held)
    library = evaluation.library
    lines = [
        f"{evaluation.data.name}: {evaluation.data.selection}".rstrip(": "),
        f"{len(evaluation.items):,} questions, {len(held):,} with a right answer in the library "
        f"({len({item.paper for item in held}):,} papers), "
        f"{len(evaluation.items) - len(held):,} without; "
        f"{sum(i.held for i in evaluation.items):,} of "
        f"{sum(i.answers for i in evaluation.items):,} right answers are in it",
        f"library {library.library} with {library.works:,} papers"
        f"{f', encoder {library.encoder}' if library.encoder else ''}"
        f"{f', ranker {library.ranker}' if library.ranker else ''}",
    ]
    if dated < len(held):
        lines.append(f"{len(held) - dated:,} questions have no citing year")
    return lines


def _parts(evaluation: Evaluation) -> Iterator[RenderableType]:
    for line in summary(evaluation):
        yield Text(line, style="dim")
    for one in figure_tables(evaluation):
        yield _figures(evaluation, one)
    yield _costs(evaluation)
    yield from _model(evaluation)
    if any(run.abstention for run in evaluation.runs):
        yield _abstention(evaluation)
        yield _coverage(evaluation)
    if evaluation.comparisons:
        yield comparison_table(evaluation.comparisons)
    for note in (*evaluation.data.notes, *evaluation.notes):
        yield Padding(Text(note, style="dim"), (0, 0, 0, 2))


def _figures(evaluation: Evaluation, of: FigureTable) -> Table:
    table = Table(title=of.title, title_justify="left", title_style="bold")
    table.add_column("method")
    table.add_column("setting")
    names = metric_names(evaluation.depth)
    for name in names:
        table.add_column(short(name), justify="right", no_wrap=True)
    best = {
        name: max((_mean(run, name, of) or 0.0 for run in evaluation.runs), default=0.0)
        for name in names
    }
    for run in evaluation.runs:
        cells = []
        for name in names:
            figure = run.figure(name, of.scope)
            if figure is None:
                cells.append(Text("-"))
                continue
            one: Estimate = getattr(figure, of.mean)
            text = estimate(one) if name in _INTERVALS else number(one.mean)
            cells.append(Text(text, style="bold" if one.mean >= best[name] > 0 else ""))
        table.add_row(run.name, run.setting, *cells)
    return table


def _mean(run: MethodRun, metric: str, of: FigureTable) -> float | None:
    figure = run.figure(metric, of.scope)
    if figure is None:
        return None
    one: Estimate = getattr(figure, of.mean)
    return one.mean


def _costs(evaluation: Evaluation) -> Table:
    table = Table(title="Latency and validity", title_justify="left", title_style="bold")
    for head in ("method", "setting"):
        table.add_column(head)
    for head in (
        "p50 ms",
        "p95 ms",
        "papers listed",
        "hallucinated",
        "newer in top 10",
        "incomplete",
    ):
        table.add_column(head, justify="right")
    for run in evaluation.runs:
        table.add_row(
            run.name,
            run.setting,
            f"{run.latency.p50:.1f}" if run.latency else "-",
            f"{run.latency.p95:.1f}" if run.latency else "-",
            f"{run.emitted:,}",
            Text(
                f"{run.unbacked} ({run.hallucination_rate:.1%})",
                style="bold red" if run.unbacked else "green",
            ),
            "-" if run.newer_in_ten is None else f"{run.newer_in_ten:.1%}",
            str(sum(run.dropped.values())),
        )
    return table


MODEL_HEADS = (
    "method", "setting", "requests", "per question", "tokens in", "tokens out", "s", "$", "failed",
)  # fmt: skip
PICK_HEADS = (
    "method", "setting", "shown: right", "wrong", "none", "not shown: wrong", "none", "no answer",
)  # fmt: skip
MODEL_TITLE = (
    "Language model requests behind the figures (tokens and seconds per request); "
    "latency measurements are extra"
)
PICK_TITLE = "Choices of the model, when the right paper was shown and when it was not"


def model_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Rows of `MODEL_HEADS`; tokens and seconds are means per request."""
    rows: list[tuple[str, ...]] = []
    for run in evaluation.runs:
        used = run.usage
        if not used.requests:
            continue
        rows.append(
            (
                run.name,
                run.setting,
                f"{used.requests:,}",
                f"{used.requests / max(1, len(run.judged)):.1f}",
                f"{used.input_tokens / used.requests:.0f}",
                f"{used.output_tokens / used.requests:.0f}",
                f"{used.seconds / used.requests:.2f}",
                f"{used.cost:.4f}" if not used.unpriced else "unknown",
                str(sum(n for code, n in run.dropped.items() if code.startswith("llm-"))),
            )
        )
    return rows


def pick_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Rows of `PICK_HEADS`: counts of a language model's choices."""
    return [
        (
            run.name, run.setting, *(f"{n:,}" for n in (
                run.picks.right, run.picks.wrong, run.picks.missed, run.picks.misled,
                run.picks.declined, run.picks.failed,
            )),
        )
        for run in evaluation.runs
        if run.picks is not None
    ]  # fmt: skip


def _model(evaluation: Evaluation) -> Iterator[Table]:
    title_of_requests = MODEL_TITLE
    of_requests = (title_of_requests, MODEL_HEADS, model_rows(evaluation))
    of_picks = (PICK_TITLE, PICK_HEADS, pick_rows(evaluation))
    for title, heads, rows in (of_requests, of_picks):
        if not rows:
            continue
        table = Table(title=title, title_justify="left", title_style="bold")
        for head in heads[:2]:
            table.add_column(head)
        for head in heads[2:]:
            table.add_column(head, justify="right")
        for row in rows:
            table.add_row(*row)
        yield table


def _abstention(evaluation: Evaluation, *, only_own: bool = False) -> Table:
    """Abstention at each threshold up to the first without answers; that of `fill` is marked."""
    table = Table(
        title="Abstention when the right paper is not in the library (*: threshold of fill)",
        title_justify="left",
        title_style="bold",
    )
    for head in ("method", "setting"):
        table.add_column(head)
    for head in ("threshold", "abstained", "precision", "recall", "accuracy of answers"):
        table.add_column(head, justify="right")
    for run in evaluation.runs:
        silent = False
        for one in run.abstention:
            own = one.threshold == run.threshold
            if not own and (silent or only_own):
                continue
            silent = silent or one.answered_right is None
            table.add_row(
                run.name,
                run.setting,
                f"{'* ' if own else ''}{one.threshold:g}",
                f"{one.abstained:,}",
                number(one.precision),
                number(one.recall),
                number(one.answered_right),
            )
    return table


def _coverage(evaluation: Evaluation) -> Table:
    table = Table(
        title="Precision of the first paper by coverage (what fill would write)",
        title_justify="left",
        title_style="bold",
    )
    for head in ("method", "setting"):
        table.add_column(head)
    for head in ("coverage", "all questions", "answerable", "minimum confidence"):
        table.add_column(head, justify="right")
    for run in evaluation.runs:
        for one in run.coverage:
            table.add_row(
                run.name,
                run.setting,
                f"{one.coverage:.0%}",
                number(one.precision),
                number(one.precision_answerable),
                number(one.threshold),
            )
    return table


def comparison_table(comparisons: tuple[MethodComparison, ...]) -> Table:
    """Differences of metrics with their intervals and p-values."""
    first = comparisons[0].result
    table = Table(
        title=f"Paired randomisation test, 10,000 sign flips over {first.units} {first.unit}s",
        title_justify="left",
        title_style="bold",
    )
    for head in ("A", "B", "metric"):
        table.add_column(head)
    for head in ("A - B", "95% interval", "p", "p (Holm)"):
        table.add_column(head, justify="right")
    for one in comparisons:
        low, high = one.result.low, one.result.high
        table.add_row(
            one.a,
            one.b,
            short(one.metric),
            f"{one.result.difference:+.3f}",
            "-" if low is None or high is None else f"{low:+.3f} to {high:+.3f}",
            f"{one.result.p:.4f}",
            Text(f"{one.p_holm:.4f}", style="bold" if one.p_holm < 0.05 else ""),
        )
    return table
