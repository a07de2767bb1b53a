"""`citewell check --fix`: corrections as a diff, or written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.session import console
from citewell.cli.terminal import echo

if TYPE_CHECKING:
    from citewell.features.check_fix import FixedEntry
    from citewell.model.check import Check
    from citewell.options import Options


def fix_entries(
    checks: Sequence[Check], options: Options, *, write: bool, unsafe: bool
) -> list[Check]:
    """Show, or write, what corrects the checked entries; the checks that are as before.

    After writing, those of the corrected entries are left out: nothing is wrong with them any more.
    """
    from citewell.cli.diff import show_diff
    from citewell.corpus import Library
    from citewell.engine.records import LibraryRecords
    from citewell.engine.which_library import which_library
    from citewell.features.check_fix import plan_fixes
    from citewell.features.write import write_edits
    from citewell.verification.checker import Checker

    with Library.open(which_library(options)) as library:
        checker = Checker([LibraryRecords(library)])
        plan = plan_fixes(checks, checker.check, unsafe=unsafe, root=Path.cwd())
    out = console()
    if not write:
        for diff in plan.diffs:
            show_diff(out, diff)
    else:
        write_edits(plan.edits, plan.texts)
    for one in plan.left:
        _tell(one, "left as it is")
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


def _tell(one: FixedEntry, what: str) -> None:
    echo(f"{one.path}:{one.line}: {one.key}: {what} ({', '.join(one.codes)})", err=True)
