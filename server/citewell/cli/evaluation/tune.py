"""`citewell tune`: better prompts for the language model, accepted only when they win."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell.cli.evaluation.questions import PATH, examples_of, questions_of, with_questions
from citewell.cli.terminal import FINDINGS, OK, Bars, Session, console, save_results, show_problems
from citewell_lab.tuning import OPTIMIZERS, TUNABLE

if TYPE_CHECKING:
    from citewell_lab.tuning.plan import Tuning


@click.command("tune", short_help="Improve the prompts of the language model.")
@with_questions
@click.option(
    "--program", type=click.Choice(TUNABLE), default="pick", show_default=True,
    help="Program to tune: choose one paper, order all at once, or judge them one by one.",
)  # fmt: skip
@click.option(
    "--optimizer", "optimizers", multiple=True, type=click.Choice(OPTIMIZERS),
    help="Optimizers, one per step in turn (repeatable). Default: bootstrap.",
)  # fmt: skip
@click.option("--steps", default=3, show_default=True, type=click.IntRange(1, 20),
              help="Maximum number of attempts.")  # fmt: skip
@click.option("--threshold", default=0.75, show_default=True, type=click.FloatRange(0, 1),
              help="Metric value that is good enough.")  # fmt: skip
@click.option(
    "--weights", default="", metavar="mrr=0.4,...",
    help="Weights of mrr, recall@5, recall@10 and recall@20 in the metric. Default: 0.4, "
         "0.3, 0.2, 0.1.",
)  # fmt: skip
@click.option("--demos", default=3, show_default=True, type=click.IntRange(0, 16),
              help="Maximum number of bootstrapped examples in the prompt.")  # fmt: skip
@click.option("--trials", default=6, show_default=True, type=click.IntRange(2, 100),
              help="Number of versions that mipro and gepa try.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Store and change nothing.")
@click.option("--json", "json_path", type=PATH, help="Write the result.")
@click.option(
    "--html", "html_path", type=PATH, help="Write an HTML report with prompts, figures and cost."
)
@click.pass_context
def tune(ctx: click.Context, /, **flags: Any) -> None:
    """Improve the prompts of the language model.

    Each citation in PAPERS (or of a data set) is taken out, and the model is asked for it among
    the papers found. While it falls short of the threshold, an optimizer of DSPy makes another
    version from a half of the papers; it is kept only if it wins on others by more than chance.
    The passages go to the model that `llm.provider` names, and nowhere else.
    """
    from citewell.model import CitewellError
    from citewell_lab.tuning.metric import MetricWeights

    session: Session = ctx.obj
    options = session.load(flags["papers"][0] if flags["papers"] else None).options
    try:
        weights = MetricWeights.parse(flags["weights"]) if flags["weights"] else MetricWeights()
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--weights") from error
    questions, problems = questions_of(flags["papers"], flags["data"], flags["split"], options)
    show_problems(problems)
    try:
        tuning = _tune(options, questions, weights, flags)
    except CitewellError as error:
        show_problems([error.problem])
        ctx.exit(FINDINGS)
    _show(tuning, flags["dry_run"])
    save_results(flags, tuning, lambda: _page(tuning))
    ctx.exit(OK)


def _tune(options: Any, questions: Any, weights: Any, flags: dict[str, Any]) -> Tuning:
    from citewell_lab.tuning.loop import named_model, tune
    from citewell_lab.tuning.optimizers import Effort
    from citewell_lab.tuning.plan import TunePlan

    # Without a model nothing is searched for.
    named_model(options.llm).close()
    plan = TunePlan(
        program=flags["program"],
        optimizers=flags["optimizers"] or ("bootstrap",),
        threshold=flags["threshold"],
        steps=flags["steps"],
        weights=weights,
        effort=Effort(demos=flags["demos"], trials=flags["trials"]),
        seed=flags["seed"],
        least=options.fill.threshold,
        dry=flags["dry_run"],
    )
    with Bars() as bars:
        examples = examples_of(questions, options, flags["limit"], flags["seed"], bars)
        return tune(options.llm, plan, examples, bars)


def _show(tuning: Tuning, dry: bool) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("attempt", "before", "after", "difference", ""):
        table.add_column(name)
    for step in tuning.steps:
        label = f"{step.number}. {step.optimizer}"
        if step.problem is not None:
            table.add_row(label, f"{step.before:.3f}", "", step.problem.message, "failed")
            continue
        found = step.difference
        interval = ""
        if found is not None and found.low is not None:
            interval = f"{found.difference:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
        verdict = "accepted" if step.accepted else "not accepted"
        table.add_row(label, f"{step.before:.3f}", f"{step.after or 0:.3f}", interval, verdict)
    for note in tuning.notes:
        click.echo(note)
    if tuning.steps:
        console().print(table)
    sizes = tuning.sizes
    click.echo(
        f"Test papers ({sizes['test']} passages): {tuning.before.get('metric', 0):.3f} before, "
        f"{tuning.after.get('metric', 0):.3f} after, {tuning.ranker.get('metric', 0):.3f} by the "
        "ranker without a model."
    )
    for line in tuning.pick_threshold.in_words() if tuning.pick_threshold else ():
        click.echo(line)
    state = "would be in use" if dry and tuning.ended != tuning.started else "is in use"
    click.echo(f"{tuning.program}@{tuning.ended.version} {state}.")
    used = tuning.usage
    cost = f", ${used.cost:.4f}" if used.cost else ""
    tokens = used.input_tokens + used.output_tokens
    click.echo(f"{used.requests:,} requests, {tokens:,} tokens{cost}.", err=True)


def _page(tuning: Tuning) -> str:
    from citewell_lab.tuning.page import tuning_page

    return tuning_page(tuning)
