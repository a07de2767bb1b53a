"""`citewell compare-models`: the same passages through several language models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell.cli.evaluation.questions import PATH, examples_of, questions_of, with_questions
from citewell.cli.terminal import (
    BROKEN,
    FINDINGS,
    OK,
    Bars,
    Session,
    console,
    save_results,
    show_problems,
)
from citewell_lab.tuning import TUNABLE

if TYPE_CHECKING:
    from citewell_lab.tuning.compare_models import ModelComparison


@click.command("compare-models", short_help="Compare language models on the same passages.")
@with_questions
@click.option(
    "-m", "--model", "models", multiple=True, required=True, metavar="PROVIDER:MODEL[@URL]",
    help="A model (repeatable), such as ollama:qwen3:8b or anthropic:claude-sonnet-4-5.",
)  # fmt: skip
@click.option(
    "--program", type=click.Choice(TUNABLE), default="pick", show_default=True,
    help="Task: choose one paper, order all at once, or judge them one by one.",
)  # fmt: skip
@click.option("--json", "json_path", type=PATH, help="Write the figures.")
@click.option("--html", "html_path", type=PATH, help="Write an HTML report with a plot.")
@click.pass_context
def compare_models(ctx: click.Context, /, **flags: Any) -> None:
    """Compare language models on the same passages.

    Recall, reciprocal rank, latency and estimated cost of each, with 95% intervals over papers,
    beside the ranker's own order. Where a model gives no answer the ranker's order counts. The
    passages go to the models that you name, and nowhere else. Exits with 1 if a model answered
    nothing.
    """
    from citewell.model import CitewellError
    from citewell_lab.tuning.compare_models import compare_models as run
    from citewell_lab.tuning.compare_models import named

    session: Session = ctx.obj
    options = session.load(flags["papers"][0] if flags["papers"] else None).options
    questions, problems = questions_of(flags["papers"], flags["data"], flags["split"], options)
    show_problems(problems)
    try:
        models = [(text, named(text, options.llm)) for text in dict.fromkeys(flags["models"])]
    except CitewellError as error:
        show_problems([error.problem], error=True)
        ctx.exit(BROKEN)
    try:
        with Bars() as bars:
            found = examples_of(questions, options, flags["limit"], flags["seed"], bars)
            comparison = run(models, flags["program"], found.examples, bars, seed=flags["seed"])
    except CitewellError as error:
        show_problems([error.problem])
        ctx.exit(FINDINGS)
    _show(comparison)
    save_results(flags, comparison, lambda: _page(comparison))
    _explain(comparison)
    ctx.exit(OK if all(one.answered for one in comparison.models) else FINDINGS)


def _page(comparison: ModelComparison) -> str:
    from citewell_lab.tuning.page import comparison_page

    return comparison_page(comparison)


def _show(found: ModelComparison) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    names = list(found.models[0].figures)
    table.add_column("model", overflow="fold")
    for name in (*names, "mrr - ranker", "p50 s", "p95 s", "failed", "$ / 1,000"):
        table.add_column(name, justify="right")
    for one in found.models:
        gain = ""
        if one.gain is not None and one.answered:
            gain = f"{one.gain.difference:+.3f}"
            if one.gain.low is not None:
                gain += f" [{one.gain.low:+.3f}, {one.gain.high:+.3f}]"
        cost = "" if one.cost_per_thousand is None else f"{one.cost_per_thousand:.2f}"
        figures = [f"{one.figures[name].mean:.3f}" for name in names]
        times = [f"{one.p50:.2f}", f"{one.p95:.2f}"]
        if not one.answered:
            figures, times, cost = ["-"] * len(figures), ["-", "-"], "-"
        table.add_row(Text(one.model), *figures, Text(gain), *times, f"{one.failed:.0%}", cost)
    console().print(table)
    passages = f"{found.examples} passage" + ("" if found.examples == 1 else "s")
    papers = f"{found.papers} paper" + ("" if found.papers == 1 else "s")
    click.echo(f"{passages} of {papers}.", err=True)


def _explain(found: ModelComparison) -> None:
    """Which models gave no answer to how many passages, and why to the first of these."""
    from msgspec.structs import replace

    for one in found.models:
        if one.why is None:
            continue
        without = sum(one.problems.values())
        head = f"{one.model} did not answer {without} of {found.examples} passages"
        show_problems([replace(one.why, message=f"{head}. First failure: {one.why.message}")])
