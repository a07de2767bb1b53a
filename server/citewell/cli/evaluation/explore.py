"""`citewell eval --mode explore`: how much of the literature a search in passes finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell.cli.report import save_results
from citewell.cli.terminal import console

if TYPE_CHECKING:
    from citewell.model import Question
    from citewell.options import Options
    from citewell_corpus.processes import Progress
    from citewell_lab.evaluation.explore import PassOutcome
    from citewell_lab.evaluation.results import DataInfo


def evaluate_explore(
    questions: list[Question], options: Options, flags: dict[str, Any], report: Progress
) -> list[PassOutcome]:
    """Explore every question, as a whole and without each part that `--without` names."""
    from citewell_lab.evaluation.explore import PARTS, ask_explore

    unknown = [name for name in flags["without"] if name not in PARTS]
    if unknown:
        raise click.UsageError(
            f"`--without {unknown[0]}` does not go with --mode explore; it takes "
            f"{', '.join(PARTS)}."
        )
    rounds = flags["rounds"]
    if rounds is None:
        # Without a model, other queries are made from the second round on.
        rounds = 2 if "evolve" in flags["without"] else 1
    return ask_explore(
        questions,
        options,
        flags["without"],
        report,
        limit=flags["limit"],
        seed=flags["seed"],
        rounds=rounds,
    )


def show_explore(answers: list[PassOutcome], info: DataInfo, flags: dict[str, Any]) -> int:
    """Print the figures, and write them where that is asked; the number of listed papers without
    a record."""
    from rich.table import Table

    from citewell_lab.evaluation.explore import METRICS, RANKED, SET, lines_of
    from citewell_lab.evaluation.table import number

    out = console()
    out.print(f"{info.name} ({info.selection})", soft_wrap=True)
    lines = list(lines_of(answers, flags["seed"]))
    title = f"{lines[0].questions} questions; recall of the papers that the library holds"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("list", overflow="fold")
    for name in RANKED:
        table.add_column(name.replace("recall", "R"), justify="right", no_wrap=True)
    table.add_column("ms p50", justify="right")
    table.add_column("p95", justify="right")
    for line in lines:
        label = f"after {line.step}" if line.step != "last" else line.method
        values = (number(line.values[name].mean) for name in RANKED)
        table.add_row(label, *values, f"{line.p50:,.0f}", f"{line.p95:,.0f}")
    out.print(table)
    title = "the papers judged relevant, as a set; and what a question costs, means"
    judged = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    judged.add_column("list", overflow="fold")
    for name in ("papers", *SET, "queries", "requests", "tokens"):
        judged.add_column(name, justify="right")
    for line in lines:
        label = f"after {line.step}" if line.step != "last" else line.method
        values = (number(line.values[name].mean) for name in SET)
        costs = (f"{cost:,.1f}" for cost in (line.queries, line.requests, line.tokens))
        judged.add_row(label, f"{line.relevant:.1f}", *values, *costs)
    out.print(judged)
    out.print("95% intervals over questions", style="bold")
    for line in lines:
        label = f"after {line.step}" if line.step != "last" else line.method
        for name in (*METRICS[1:7], "F1", "F1 of all"):
            own = line.values[name]
            interval = "-" if own.low is None else f"{own.low:.3f} to {own.high:.3f}"
            gain = line.gains.get(name)
            change = ""
            if gain is not None and gain.low is not None:
                change = (
                    f"; the whole is {gain.difference:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}], "
                    f"p = {gain.p:.4f}"
                )
            out.print(f"  {label}: {name} {own.mean:.3f} [{interval}]{change}", soft_wrap=True)
    unbacked = sum(one.unbacked for one in answers if one.step == "last")
    out.print(f"Listed papers without a record: {unbacked}.")
    save_results(flags, {"data": info, "lines": lines, "answers": answers})
    return unbacked
