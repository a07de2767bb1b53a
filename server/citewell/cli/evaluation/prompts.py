"""`citewell prompts`, `tune` and `compare-models`: programs that ask a language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

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
    write_json,
)
from citewell.llm.versions import (
    NAMES,
    current,
    current_version,
    read_version,
    roll_back,
    start_trial,
    use_version,
    versions_of,
)
from citewell.model import CitewellError
from citewell_lab.tuning import OPTIMIZERS, TUNABLE

if TYPE_CHECKING:
    from citewell.llm.versions import Version
    from citewell_lab.tuning.compare_models import ModelComparison
    from citewell_lab.tuning.plan import Tuning

PROGRAM = click.Choice(NAMES)


class _Group(click.Group):
    """The group of commands; an unknown program or version is a problem with a hint."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except CitewellError as error:
            show_problems([error.problem])
            ctx.exit(FINDINGS)


@click.group("prompts", cls=_Group, short_help="List, compare and choose prompt versions.")
def prompts() -> None:
    """List, compare and choose the versions of the prompts that `citewell tune` made.

    The version "builtin" is always there.
    """


@prompts.command("list", short_help="List all versions of all programs.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_obj
def list_versions(session: Session, as_json: bool) -> None:
    """List all versions of all programs, with the figures of their acceptance."""
    from rich.table import Table

    folder = _folder(session)
    rows: list[dict[str, object]] = []
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "program", "version", "made with", "by", "metric", "examples", "from"):
        table.add_column(name)
    for program in NAMES:
        now = current(program, folder)
        for version in versions_of(program, folder):
            found = None if version == "builtin" else _read(program, version, folder)
            state = "in use" if version == now.version else ""
            if version == now.trial:
                state = f"trial, {now.share:.0%}"
            metric = "" if found is None else f"{found.metrics.get('metric', 0):.3f}"
            rows.append({"program": program, "version": version, "state": state, "facts": found})
            table.add_row(
                state, program, version, found.model if found else "",
                found.optimizer if found else "", metric, str(len(found.demos)) if found else "",
                found.parent if found else "",
            )  # fmt: skip
    if as_json:
        write_json(rows)
    else:
        console().print(table)


@prompts.command("show", short_help="Show the instructions and examples of a version.")
@click.argument("program", type=PROGRAM)
@click.argument("version", required=False, default="")
@click.pass_obj
def show(session: Session, program: str, version: str) -> None:
    """Show the instructions and examples of a version as JSON; default: the one in use."""
    folder = _folder(session)
    write_json(_read(program, version or current_version(program, folder), folder))


@prompts.command("compare", short_help="Show the differences between two versions.")
@click.argument("program", type=PROGRAM)
@click.argument("first")
@click.argument("second")
@click.pass_obj
def compare(session: Session, program: str, first: str, second: str) -> None:
    """Show the differences between two versions: instructions, examples, figures."""
    import difflib

    folder = _folder(session)
    a, b = _read(program, first, folder), _read(program, second, folder)
    lines = difflib.unified_diff(
        a.instructions.splitlines(), b.instructions.splitlines(), first, second, lineterm=""
    )
    text = "\n".join(lines)
    click.echo(text or "The instructions are the same.")
    click.echo(f"Examples: {len(a.demos)} and {len(b.demos)}.")
    for name in dict.fromkeys((*a.metrics, *b.metrics)):
        values = (f"{v.metrics[name]:.3f}" if name in v.metrics else "-" for v in (a, b))
        click.echo(f"{name}: {' and '.join(values)}")


@prompts.command("use", short_help="Use a version.")
@click.argument("program", type=PROGRAM)
@click.argument("version")
@click.pass_obj
def use(session: Session, program: str, version: str) -> None:
    """Use a version, and end a trial."""
    use_version(program, version, _folder(session))
    click.echo(f"{program}@{version} is in use.")


@prompts.command("rollback", short_help="Go back to the version used before.")
@click.argument("program", type=PROGRAM)
@click.pass_obj
def rollback(session: Session, program: str) -> None:
    """Go back to the version used before, and end a trial."""
    click.echo(f"{program}@{roll_back(program, _folder(session))} is in use.")


@prompts.command("trial", short_help="Try a version on a share of the requests.")
@click.argument("program", type=PROGRAM)
@click.argument("version")
@click.option("--share", default=0.5, show_default=True, type=click.FloatRange(0, 1),
              help="Share of the passages; 0 ends the trial.")  # fmt: skip
@click.pass_obj
def trial(session: Session, program: str, version: str, share: float) -> None:
    """Try a version on a share of the requests; `citewell prompts outcomes` says how it goes."""
    folder = _folder(session)
    start_trial(program, version, share, folder)
    now = current(program, folder)
    if now.trial:
        click.echo(f"{program}@{now.trial} answers for {now.share:.0%} of the passages.")
    else:
        click.echo(f"There is no trial of {program}: {program}@{now.version} answers for all.")


@prompts.command("outcomes", short_help="Show how many suggestions of each version you accepted.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_obj
def show_outcomes(session: Session, as_json: bool) -> None:
    """Show how many suggestions of each version you accepted, from `citewell history`."""
    from rich.table import Table

    from citewell.engine.history_store import HistoryStore
    from citewell_lab.tuning.outcomes import outcomes

    store = HistoryStore()
    found = outcomes(store.read())
    store.close()
    if as_json:
        write_json(found)
        return
    if not found:
        click.echo("No suggestion of a language model has been accepted yet.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("program", "version", "accepted", "stood first", "95% interval", "mrr"):
        table.add_column(name)
    for one in found:
        table.add_row(
            one.program, one.version, str(one.accepted), f"{one.first:.0%}",
            f"{one.low:.0%} to {one.high:.0%}", f"{one.mrr:.3f}",
        )  # fmt: skip
    console().print(table)


def _folder(session: Session) -> Path | None:
    return session.load().options.llm.programs


def _read(program: str, version: str, folder: Path | None) -> Version:
    return read_version(program, version, folder)


# `citewell tune`: better prompts for the language model, accepted only when they win.


@click.command("tune", short_help="Improve the prompts of the language model.")
@with_questions
@click.option(
    "--program", type=click.Choice(TUNABLE), default="pick", show_default=True,
    help="Program to tune: choose one paper, or order all.",
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

    The model chooses a paper for each removed citation of PAPERS or a data set. While the metric is
    below the threshold, an optimizer of DSPy makes a version of the prompt from half of the papers,
    which is kept if significantly better on the others. Only the model of `llm.provider` receives
    the passages.
    """
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

    # Without a model, nothing is searched.
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


# `citewell compare-models`: the same passages with several language models.


@click.command("compare-models", short_help="Compare language models on the same passages.")
@with_questions
@click.option(
    "-m", "--model", "models", multiple=True, required=True, metavar="PROVIDER:MODEL[@URL]",
    help="A model (repeatable), such as ollama:qwen3:8b.",
)  # fmt: skip
@click.option(
    "--program", type=click.Choice(TUNABLE), default="pick", show_default=True,
    help="Task: choose one paper, or order all.",
)  # fmt: skip
@click.option("--json", "json_path", type=PATH, help="Write the figures.")
@click.option("--html", "html_path", type=PATH, help="Write an HTML report with a plot.")
@click.pass_context
def compare_models(ctx: click.Context, /, **flags: Any) -> None:
    """Compare language models on the same passages.

    Reports recall, reciprocal rank, latency and cost of each model and of the ranker alone, with
    95% intervals over papers. Only the named models receive the passages. Exits with 1 if a model
    answered nothing.
    """
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
    _show_comparison(comparison)
    save_results(flags, comparison, lambda: _comparison_page(comparison))
    _explain(comparison)
    ctx.exit(OK if all(one.answered for one in comparison.models) else FINDINGS)


def _comparison_page(comparison: ModelComparison) -> str:
    from citewell_lab.tuning.page import comparison_page

    return comparison_page(comparison)


def _show_comparison(found: ModelComparison) -> None:
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
    """Report the models without an answer, the number of passages, and the first reason."""
    for one in found.models:
        if one.why is None:
            continue
        without = sum(one.problems.values())
        head = f"{one.model} did not answer {without} of {found.examples} passages"
        show_problems([replace(one.why, message=f"{head}. First failure: {one.why.message}")])
