"""The group `citewell library`, and the options, build and report that its commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click
import msgspec
from msgspec.structs import replace

from citewell.model import Problem
from citewell.model.display_text import visible, visible_json
from citewell.model.languages import language_code
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.corpus.library import Library
    from citewell_corpus.sources import FileSource

# Output of results and problems in the terminal.


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


OK = 0
FINDINGS = 1
MOST_PAIRS = 5
"""Number of pairs of sources with merges listed in a report."""
NAME = click.option("--name", default="", help="Name of the library; default: from the settings.")
JSON = click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")


class _Loaded(Protocol):
    options: Options


class _Session(Protocol):
    """The context that the root command `citewell` passes to its commands."""

    def load(self) -> _Loaded: ...


@click.group("library", short_help="Build and manage libraries of papers.")
def library() -> None:
    """Build and manage libraries of papers.

    Citewell searches the starter library and the library that you build with these commands.
    """


def options_of(ctx: click.Context) -> Options:
    session: _Session | None = ctx.find_root().obj
    if session is not None:
        return session.load().options
    from citewell.options.merge import load

    loaded = load(None)
    for problem in loaded.problems:
        show_problem(problem)
    return loaded.options


def with_grobid(options: Options, address: str) -> Options:
    """The options with a GROBID server. Raises `click.UsageError` for an invalid address."""
    if not re.fullmatch(r"https?://[^\s/@]+(?:/\S*)?", address):
        raise click.UsageError(
            f"--grobid takes an address, such as http://localhost:8070, not {address!r}."
        )
    return replace(options, pdf=replace(options.pdf, grobid=address))


def library_path_of(options: Options, name: str) -> Path:
    from citewell.corpus.layout import library_path

    return library_path(options.library.path, name or options.library.name)


def path_to_read(options: Options, name: str) -> Path:
    """The folder of a library, or of the installed starter library if it replaces one that does not
    exist."""
    from citewell.corpus.layout import STARTER, installed_starter, is_begun
    from citewell.engine.which_library import DEFAULT

    path = library_path_of(options, name)
    if is_begun(path) or path.name not in (DEFAULT, STARTER):
        return path
    return installed_starter() or path


def library_to_read(options: Options, name: str) -> Library:
    """The library used by searches, on top of the starter library if that is searched too.

    Raises `LibraryError` as `Library.open` does.
    """
    from msgspec.structs import replace

    from citewell.engine.which_library import open_library

    own = replace(options.library, name=name or options.library.name)
    library, problems = open_library(replace(options, library=own))
    for problem in problems:
        show_problem(problem)
    return library


def build_and_show(
    options: Options,
    name: str,
    as_json: bool,
    *,
    online: bool = False,
    outcome: Any = None,
    write: Callable[[], Any] | None = None,
    ray: str = "",
    **how: Any,
) -> int:
    """Build a library, and show the report; as JSON in the field `built` of an `outcome`, which led
    to the build. `ray` is the address of a cluster (`on_ray`). With `online`, sources may identify
    PDFs. `write` is called after a successful build; its result is the field `written`. Return the
    exit code."""
    import msgspec

    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.cli.bars import bars
    from citewell_corpus.pdf_reading import PdfReading, sources_lookup
    from citewell_corpus.ray_encoder import on_ray

    path = library_path_of(options, name)
    look = sources_lookup(options) if online else None
    with (
        on_ray(default_builders(options), ray) as builders,
        bars() as progress,
        PdfReading(options.pdf, look) as pdf,
    ):
        report = build_library(path, builders=builders, progress=progress, pdf=pdf, **how)
    if not as_json:
        _show_report(report)
        for problem in report.problems:
            show_problem(problem)
    empty = any(problem.code == "source-empty" for problem in report.problems)
    code = FINDINGS if empty or not report.works else OK
    before = {} if outcome is None else msgspec.to_builtins(outcome)
    if write is not None and code == OK:
        before["written"] = write()
    if as_json:
        write_json({**before, "built": report} if before else report)
    return code


def _show_report(report: Any) -> None:
    for source in report.sources:
        skipped = sum(source.skipped.values())
        notes = [citing_words(source.lists, source.passages)] if source.lists else []
        if source.texts:
            notes.append(f"the full text of {source.texts:,}")
        notes += [f"{source.bad:,} bad"] if source.bad else []
        if source.malformed:
            notes.append(f"{source.malformed:,} with damaged author lists")
        notes += [f"{skipped:,} left out ({', '.join(source.skipped)})"] if skipped else []
        name = visible(source.name)
        click.echo(f"{name}: {source.records:,} records{in_brackets(notes)}")
    if report.up_to_date:
        click.echo("Nothing has changed.")
    else:
        merged = report.by_identifier + report.by_title
        click.echo(
            f"{report.added:,} papers added, {report.updated:,} changed, "
            f"{report.removed:,} removed; {merged:,} duplicates merged."
        )
        for pair in report.pairs[:MOST_PAIRS]:
            between = pair.first if pair.first == pair.second else f"{pair.first} and {pair.second}"
            examples = "; ".join(work.title for work in pair.examples)
            click.echo(visible(f"  merged in {between}: {pair.works:,} papers, such as {examples}"))
        if len(report.pairs) > MOST_PAIRS:
            rest = len(report.pairs) - MOST_PAIRS
            click.echo(f"  and {rest:,} more pairs of sources (--json lists all)")
    if report.quarantined:
        click.echo(quarantine_words(report.quarantined))
    click.echo(f"{report.works:,} papers in {report.library}")


def quarantine_words(count: int) -> str:
    """The number of quarantined papers and the command that lists them, for a message."""
    papers = "1 paper" if count == 1 else f"{count:,} papers"
    return (
        f"{papers} with malformed author names are left out of searches: see "
        "`citewell library quarantine`."
    )


def citing_words(lists: int, passages: int) -> str:
    """The number of papers with references, for a message."""
    papers = f"what {lists:,} {'papers cite' if lists > 1 else 'paper cites'}"
    return papers + (f", in {passages:,} passages" if passages else "")


def in_brackets(notes: list[str]) -> str:
    """The notes in parentheses after a space; empty without notes."""
    return f" ({', '.join(notes)})" if notes else ""


# The options for filtering the records of a source: by kind and by language.

ANY = "any"
"""The value that removes a filter."""


def record_filters(command: Any) -> Any:
    """The options `--kind`, `--language`, `--strict-language` and `--with-abstract`, as
    decorators."""
    decorators: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--kind",
            "kinds",
            multiple=True,
            metavar="KIND",
            help="Read only works of this kind: article, book ... (repeatable).",
        ),
        click.option(
            "--language",
            "languages",
            multiple=True,
            metavar="LANGUAGE",
            help="Read only works in this language, or without a stated one (repeatable).",
        ),
        click.option(
            "--strict-language",
            is_flag=True,
            help="With --language: leave out works without a stated language.",
        ),
        click.option(
            "--with-abstract/--any-abstract",
            default=None,
            help="Leave out works without an abstract, or read them again.",
        ),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def language_of(name: str) -> str:
    """The code of a language. Raises `click.UsageError` for an unknown name."""
    code = language_code(name)
    if not code:
        raise click.UsageError(f"--language takes a code or name, such as en or German: {name!r}.")
    return code


def filtered(
    source: FileSource,
    kinds: Sequence[str],
    languages: Sequence[str],
    *,
    strict: bool,
    with_abstract: bool | None = None,
) -> FileSource:
    """The source with these filters; `ANY` among the values removes one, none leaves it as it is.

    Raises `click.UsageError` for an unknown language.
    """
    if with_abstract is not None:
        source = replace(source, with_abstract=with_abstract)
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
