"""`citewell review`: what is wrong with the citations of a whole paper?"""

from __future__ import annotations

from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.check import ONLINE, PATH, SECONDS, progress_bar, write_report
from citewell.cli.terminal import FINDINGS, OK, Session, console, show_problems

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.features.checking.codes import CodeSelection
    from citewell.features.review.report import Review
    from citewell.usecases.library import Library

FORMATS = ("text", "json", "sarif", "github", "html")
FAIL_ON = ("blocking", "correct", "note", "never")


@click.command("review", short_help="Review the citations of a whole paper.")
@click.argument("paper", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@click.option("--out", type=PATH, help="Write it to this file instead of standard output.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), default="blocking", show_default=True,
    help="Exit with 1 for findings of this weight or a heavier one.",
)  # fmt: skip
@click.option(
    "--policy", "policy_name", metavar="NAME|FILE", default="default", show_default=True,
    help="What blocks: default, neurips-2026, or a TOML file.",
)  # fmt: skip
@click.option(
    "--select", multiple=True, metavar="CODE",
    help="Report only this part, code, or beginning of codes.",
)  # fmt: skip
@click.option(
    "--ignore", multiple=True, metavar="CODE", help="Leave out this part, code, or beginning."
)
@click.option(
    "--baseline", type=click.Path(path_type=Path, exists=True),
    help="Leave out the findings of this review (JSON).",
)  # fmt: skip
@ONLINE
@SECONDS
@click.option(
    "--fix", is_flag=True,
    help="Make the bibliography consistent; show the diff.",
)  # fmt: skip
@click.option("--write", is_flag=True, help="With --fix, write the change.")
@click.pass_context
def review(
    ctx: click.Context,
    paper: Path,
    form: str,
    out: Path | None,
    fail_on: str,
    policy_name: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    baseline: Path | None,
    online: bool,
    seconds: float,
    fix: bool,
    write: bool,
) -> None:
    """Review the citations of a whole paper.

    PAPER is the main file of a paper, a .bib, or a folder with papers. Reports undefined, unused
    and duplicate keys, open placeholders, wrong and fabricated references, missing citations, an
    inconsistent bibliography, and works to consider. Sends nothing without --online.

    Exits with 0 if nothing blocks, 1 if something does, and 2 if the review could not run.
    """
    from citewell.features.checking.codes import CodeSelection
    from citewell.features.checking.report import Weight, policy_named
    from citewell.features.review.report import read_baseline, shown_under, without_known
    from citewell.usecases.library import Library

    if write and not fix:
        raise click.UsageError("--write needs --fix.")
    session: Session = ctx.obj
    options = session.load(paper).options
    policy, selection = policy_named(policy_name), CodeSelection(select, ignore)
    known = read_baseline(baseline) if baseline is not None else None
    with Library(options, online=online) as library, ExitStack() as stack:
        if fix:
            _fix(library, paper, selection, write=write)
            return
        progress = stack.enter_context(progress_bar("reviewing", 1))
        found = library.review(
            paper,
            selection=selection,
            policy=policy,
            seconds=seconds or float("inf"),
            progress=progress,
        )
    if session.verbosity >= 0:
        show_problems(found.problems)
    found = shown_under(found, Path.cwd())
    if known is not None:
        found = without_known(found, known)
    text = _written(found, form, paper)
    if text is None and out is None:
        _show(console(), found)
    else:
        write_report(text if text is not None else _plain(found), out)
    weights = [Weight.BLOCKING, Weight.CORRECT, Weight.NOTE]
    failing = weights[: FAIL_ON.index(fail_on) + 1] if fail_on != "never" else []
    faults = found.faults
    ctx.exit(FINDINGS if any(one.weight in failing for one in faults) else OK)


def _written(found: Review, form: str, paper: Path) -> str | None:
    """The review as text of the format; None for the terminal's own."""
    import msgspec

    from citewell.features.checking import report as check_report
    from citewell.features.review.page import to_html
    from citewell.features.review.report import to_json

    if form == "text":
        return None
    if form == "html":
        return to_html(found, f"Review of {paper.resolve().name}")
    if form == "github":
        *lines, _ = check_report.to_github((), found.faults)
        return "".join(line + "\n" for line in lines)
    value = (
        check_report.to_sarif((), Path.cwd(), found.faults) if form == "sarif" else to_json(found)
    )
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8") + "\n"


def _plain(found: Review) -> str:
    """The text that a terminal would show, for a file."""
    from rich.console import Console

    text = StringIO()
    _show(Console(file=text, highlight=False, width=120), found)
    return text.getvalue()


def _show(out: Console, found: Review) -> None:
    """The findings by part, the figures, and what all of it amounts to."""
    from rich.text import Text

    from citewell.features.checking.report import Weight
    from citewell.features.review.report import figure_rows

    styles = {Weight.BLOCKING: "bold red", Weight.CORRECT: "bold yellow", Weight.NOTE: "bold"}
    for title, findings in found.by_part():
        out.print(Text(f"{title} ({len(findings):,})", style="bold underline"))
        for one in findings:
            line = Text(f"{one.path}:{one.line}: ", style="cyan")
            if one.part != "suggestions":
                line.append(f"{one.weight}: ", style=styles[Weight(one.weight)])
            line.append(one.message, style="default").append(f"  [{one.code}]", style="dim")
            out.print(line, soft_wrap=True)
            if one.hint:
                out.print(Text(f"    {one.hint}", style="dim"), soft_wrap=True)
    rows = figure_rows(found.figures)
    if rows:
        out.print(Text("Figures", style="bold underline"))
    for label, value in rows:
        out.print(Text(f"{label}: ", style="bold").append(value, style="not bold default"))
    counts = found.weights
    words = [f"{counts[weight]:,} {weight.value}" for weight in Weight if counts[weight]]
    known = f" {found.known:,} known findings are left out." if found.known else ""
    summary = f"{', '.join(words) or 'No findings'} (policy {found.policy}).{known}"
    out.print(Text(summary, style="bold red" if counts[Weight.BLOCKING] else "bold"))


def _fix(library: Library, paper: Path, selection: CodeSelection, *, write: bool) -> None:
    """Show, or write, what makes the bibliographies of the paper consistent."""
    from citewell.cli.check_fix import show_diff
    from citewell.features.citing.write import write_plan

    plan = library.consistent(paper, selection)
    if write:
        write_plan(plan, plan.again)
    else:
        for diff in plan.diffs:
            show_diff(console(), diff)
    files = f"{len(plan.edits):,} {'file' if len(plan.edits) == 1 else 'files'}"
    words = f"{files} changed" if write else f"{files} can be changed; --write applies the diff"
    click.echo(f"{words}." if plan.edits else "Nothing to make consistent.", err=True)
