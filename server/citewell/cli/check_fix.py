"""`citewell check --fix`: corrections as a diff, or written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from citewell.cli.session import console
from citewell.cli.terminal import echo

if TYPE_CHECKING:
    from citewell.features.actions.check_fix import FixedEntry
    from citewell.model.check import Check
    from citewell.usecases.library import Library


def fix_entries(
    library: Library, checks: Sequence[Check], *, write: bool, unsafe: bool
) -> list[Check]:
    """Show, or write, what corrects the checked entries; the checks that are as before.

    After writing, those of the corrected entries are left out: nothing is wrong with them any more.
    """
    from citewell.cli.diff import show_diff

    plan = library.fixes(checks, unsafe=unsafe)
    out = console()
    if not write:
        for diff in plan.diffs:
            show_diff(out, diff)
    else:
        library.write(plan)
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


def _entries(count: int) -> str:
    return f"{count:,} entry" if count == 1 else f"{count:,} entries"


def _report(one: FixedEntry, what: str) -> None:
    echo(f"{one.path}:{one.line}: {one.key}: {what} ({', '.join(one.codes)})", err=True)
