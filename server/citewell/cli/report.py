"""Prints problems on standard error, with code and hint, never a traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import echo

if TYPE_CHECKING:
    from pathlib import Path

    from citewell.model.llm import Budget
    from citewell.model.problem import Problem

OK = 0
FINDINGS = 1
BROKEN = 2
INTERRUPTED = 130


def show_problem(problem: Problem, *, error: bool = False) -> None:
    """Print a problem: place, message and code, with the hint on its own line."""
    from citewell.model.display_text import visible

    place = problem.path
    if place and problem.line:
        place = f"{place}:{problem.line}"
    head = click.style("error" if error else "note", fg="red" if error else "yellow", bold=True)
    text = visible(f"{place + ': ' if place else ''}{problem.message}")
    click.echo(f"{head}: {text} {click.style(f'[{problem.code}]', dim=True)}", err=True)
    if problem.hint:
        echo(f"      {problem.hint}", err=True)


def show_problems(problems: Iterable[Problem], *, error: bool = False) -> None:
    """Each distinct problem once, in order."""
    for problem in dict.fromkeys(problems):
        show_problem(problem, error=error)


def show_cost(budget: Budget) -> None:
    """What the language model has cost this command and this day; nothing where none was asked."""
    own = budget.session
    if not own.requests:
        return
    day = budget.used.input_tokens + budget.used.output_tokens
    most = f" of {budget.daily_tokens:,}" if budget.daily_tokens else ""
    price = f"${own.cost:.4f}" + (f" and {own.unpriced} unpriced" if own.unpriced else "")
    requests = f"{own.requests} request" + ("" if own.requests == 1 else "s")
    click.echo(
        f"language model: {requests}, {own.input_tokens:,} tokens in and "
        f"{own.output_tokens:,} out, {price}; today {day:,}{most} tokens, "
        f"${budget.used.cost:.2f}"
        + (f" of ${budget.daily_cost:.2f}." if budget.daily_cost else "."),
        err=True,
    )


def save_results(
    flags: Mapping[str, Any], value: Any, page: Callable[[], str] | None = None
) -> None:
    """Write what `--json` and `--html` ask for: the figures, and a report of them.

    Raises `CitewellError` when a file cannot be written.
    """
    import msgspec

    from citewell_lab.evaluation.results import write_atomically

    if path := flags["json_path"]:
        write_atomically(path, msgspec.json.format(msgspec.json.encode(value), indent=1))
    if page is not None and (path := flags["html_path"]):
        save_report(path, page())


def save_report(path: Path, page: str) -> None:
    """Write a report where `--html` says.

    Raises `CitewellError` when the file cannot be written.
    """
    from citewell_lab.evaluation.results import write_atomically

    write_atomically(path, page.encode("utf-8"))
    click.echo(f"page: {path}", err=True)


def write_json(value: Any) -> None:
    """`value` (structs included) as indented UTF-8 JSON on standard output."""
    import msgspec

    from citewell.model.display_text import visible_json

    data = msgspec.json.format(msgspec.json.encode(value, enc_hook=_encode), indent=2)
    click.echo(visible_json(data.decode("utf-8")))


def _encode(value: Any) -> Any:
    from pathlib import PurePath

    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(f"{type(value)} has no JSON form")
