"""`citewell check --fix`, `--mark`, `--remove` and `--replace`: changes as a diff, or written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.terminal import console, echo, echo_exact

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.features.actions.verification import FixedEntry
    from citewell.model.check import Check
    from citewell.usecases.library import Library

CHANGES = {"mark": "marked as checked", "remove": "removed", "record": "replaced by its record"}


def fix_entries(
    library: Library, checks: Sequence[Check], *, write: bool, unsafe: bool
) -> list[Check]:
    """Show or write the corrections of the checked entries; return the unchanged checks.

    After writing, those of the corrected entries are left out.
    """
    from citewell.features.citing.write import write_plan

    plan = library.fixes(checks, unsafe=unsafe)
    out = console()
    if not write:
        for diff in plan.diffs:
            show_diff(out, diff)
    else:
        plan = write_plan(plan, plan.again)
    for one in plan.left:
        _report(one, "left as it is")
    fixed = "corrected" if write else "can be corrected"
    words = [f"{_entries(len(plan.fixed))} {fixed}"]
    if plan.left:
        words.append(f"{len(plan.left):,} left")
    if plan.fixed and not write:
        words.append("--write applies the diff")
    click.echo("; ".join(words) + ".", err=True)
    if not write:
        return list(checks)
    done = {(one.path, one.key) for one in plan.fixed}
    return [one for one in checks if (one.claim.path, one.claim.key) not in done]


def change_entries(
    library: Library, files: Sequence[Path], changes: Mapping[str, str], *, write: bool
) -> None:
    """Show or write changes of entries by key (`Library.changes`)."""
    from citewell.features.citing.write import write_plan

    plan = library.changes(files, changes)
    if write:
        plan = write_plan(plan, plan.again)
    else:
        out = console()
        for diff in plan.diffs:
            show_diff(out, diff)
    for one in plan.changed:
        words = CHANGES.get(one.change, "replaced")
        if one.citations:
            words += f", {one.citations:,} citation{'s' if one.citations > 1 else ''} left open"
        echo(f"{one.path}:{one.line}: {one.key}: {words}", err=True)
    click.echo(
        f"{_entries(len(plan.changed))} changed."
        if write
        else "Nothing is written yet; --write applies the diff.",
        err=True,
    )


def _entries(count: int) -> str:
    return f"{count:,} entry" if count == 1 else f"{count:,} entries"


def _report(one: FixedEntry, what: str) -> None:
    echo(f"{one.path}:{one.line}: {one.key}: {what} ({', '.join(one.codes)})", err=True)


# A unified diff in colour, or plain without colours.

_STYLES = (("+++", "bold"), ("---", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def show_diff(console: Console, diff: str) -> None:
    """Print a diff: in colour on a terminal, else byte for byte, so that `patch` can read it."""
    if not console.is_terminal:
        echo_exact(diff)
        return
    from rich.text import Text

    for line in diff.split("\n")[:-1]:
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        console.print(Text(line.rstrip("\r"), style=style), soft_wrap=True)
