"""Prints results and problems on the terminal."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from citewell.model import Problem
from citewell.model.visible import visible, visible_json


def show_problem(problem: Problem, *, error: bool = False) -> None:
    """Print a problem on standard error: place, message and code, with the hint on its own line."""
    place = f"{problem.path}:{problem.line}" if problem.path and problem.line else problem.path
    head = click.style("error" if error else "note", fg="red" if error else "yellow", bold=True)
    text = visible(f"{place + ': ' if place else ''}{problem.message}")
    click.echo(f"{head}: {text} {click.style(f'[{problem.code}]', dim=True)}", err=True)
    if problem.hint:
        click.echo(f"      {visible(problem.hint)}", err=True)


def write_json(value: Any) -> None:
    """Print a value as indented JSON on standard output."""
    data = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(visible_json(data.decode("utf-8")))


def human_size(count: int) -> str:
    """A number of bytes for display: "151 MB"."""
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
