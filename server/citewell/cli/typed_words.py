"""A command whose arguments are typed words, which may start with a dash as "-irrigation" does."""

from __future__ import annotations

import re

import click

_WORDS = re.compile(r"-[^\W\d].*\s")
"""A quoted argument such as "-irrigation of orchards", which no option looks like."""


class TypedWordsCommand(click.Command):
    """Takes a quoted text that starts with a dash as words; for a single such word it says how to
    write it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises `click.UsageError` for an option that the command lacks."""
        end = args.index("--") if "--" in args else len(args)
        words = [one for one in args[:end] if _WORDS.match(one)]
        if words:
            others = [one for one in args[:end] if not _WORDS.match(one)]
            args = [*others, "--", *words, *args[end + 1 :]]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name.startswith("--"):
                raise
            message = f"{error.message} Write `--` before words that start with a dash."
            raise click.UsageError(message, ctx) from error
