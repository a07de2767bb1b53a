"""Writes the reference page of the commands: `python -m citewell.cli.reference > docs/commands.md`.

A test keeps the page in step with the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from citewell.cli.app import root

HEAD = """\
# Commands

<!-- Written by `make docs`; edit the commands' own help instead. -->

Global options come before the command. Problems are written to standard error, with a code
([problems.md](problems.md)) and a hint; results are written to standard output.

| exit code | meaning |
|---|---|
| 0 | success, nothing to report |
| 1 | success with findings: no papers found, an open placeholder, a problem that `doctor` reports |
| 2 | usage error, or an environment in which the command cannot work |
| 130 | interrupted |
"""


def commands(
    group: click.Command = root, name: str = "citewell"
) -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, groups before what they hold."""
    yield name, group
    if isinstance(group, click.Group):
        context = click.Context(group, info_name=name)
        for child_name in group.list_commands(context):
            child = group.get_command(context, child_name)
            if child is not None and not child.hidden:
                yield from commands(child, f"{name} {child_name}")


def page() -> str:
    """The reference page as Markdown: the help of each command."""
    parts = [HEAD]
    for name, command in commands():
        context = click.Context(
            command, info_name=name, terminal_width=100, help_option_names=["-h", "--help"]
        )
        parts.append(f"\n## {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode("utf-8"))
