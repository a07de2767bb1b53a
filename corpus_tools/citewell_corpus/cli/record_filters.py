"""The options that choose which records of a source are read: by kind and by language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from citewell.model.languages import language_code

if TYPE_CHECKING:
    from citewell_corpus.sources import Source

ANY = "any"
"""The value that removes a filter."""


def record_filters(command: Any) -> Any:
    """The options `--kind`, `--language` and `--strict-language`, as decorators."""
    decorators: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--kind",
            "kinds",
            multiple=True,
            metavar="KIND",
            help="Read only works of this kind: article, inproceedings, book ... (repeatable).",
        ),
        click.option(
            "--language",
            "languages",
            multiple=True,
            metavar="LANGUAGE",
            help="Read only works in this language, a code or name; works without a stated "
            "language are kept (repeatable).",
        ),
        click.option(
            "--strict-language",
            is_flag=True,
            help="With --language: leave out works without a stated language.",
        ),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def language_of(name: str) -> str:
    """The code of a language. Raises `click.UsageError` for a name that is not known."""
    code = language_code(name)
    if not code:
        raise click.UsageError(f"--language takes a code or name, such as en or German: {name!r}.")
    return code


def filtered(
    source: Source, kinds: Sequence[str], languages: Sequence[str], *, strict: bool
) -> Source:
    """The source with these filters; `ANY` among the values removes one, none leaves it as it is.

    Raises `click.UsageError` for an unknown language.
    """
    if kinds:
        wanted = {kind.lower() for kind in kinds}
        source = replace(source, kinds=() if ANY in wanted else tuple(sorted(wanted)))
    if languages:
        codes = () if ANY in languages else tuple(sorted({language_of(one) for one in languages}))
        source = replace(source, languages=codes, strict_language=False)
    if not strict:
        return source
    if not source.languages:
        raise click.UsageError("--strict-language needs --language.")
    return replace(source, strict_language=True)
