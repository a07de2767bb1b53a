"""All output to the terminal, with the log and progress bars: no control character of a foreign
text gets through.

Commands print with `echo` and `console`. What other programs read (a diff for `patch`,
entries, a report) is escaped only on a terminal; see `echo_exact`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.model.bib import BibFile
    from citewell.model.llm import Budget
    from citewell.model.problem import Problem
    from citewell.options.merge import Loaded


def echo(text: str, *, err: bool = False) -> None:
    """Print one line."""
    from citewell.model.display_text import visible

    click.echo(visible(text), err=err)


def echo_exact(text: str) -> None:
    """Print a text for a program, byte for byte; in a terminal, with control characters as
    escapes."""
    from citewell.model.display_text import visible

    # Without `color`, click removes colours from output that goes to no terminal: they may be the
    # text's.
    click.echo(visible(text) if sys.stdout.isatty() else text, nl=False, color=True)


def visible_console() -> type[Console]:
    """A rich console that alone sets colours and moves the cursor; the printed text cannot."""
    from rich.console import Console
    from rich.segment import Segment

    from citewell.model.display_text import visible

    class VisibleConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                if segment.control:
                    yield segment
                else:
                    yield Segment(visible(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            # Rich would end the process and its standard output, a language server's included, when
            # its log is closed.
            self.quiet = True
            if not self.stderr:
                raise BrokenPipeError

    return VisibleConsole


PIPE_WIDTH = 120
"""Columns of a table in a file or a pipe, unless `COLUMNS` is set."""


def console(*, err: bool = False) -> Console:
    """A rich console that does not break lines in a file or a pipe.

    `COLUMNS` is the width everywhere; with `NO_COLOR` there are no styles.
    """
    made_of = visible_console()
    plain = no_color()
    system: Literal["auto"] | None = None if plain else "auto"
    made = made_of(stderr=err, highlight=False, color_system=system, no_color=plain)
    if not made.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        made = made_of(
            stderr=err, highlight=False, color_system=system, no_color=plain, width=PIPE_WIDTH
        )
    return made


def no_color() -> bool:
    """Whether the user wants no colours (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


def set_up_logging(verbosity: int) -> None:
    """Log to standard error: errors with -q, else warnings; -v adds information, -vv debugging."""
    level = {-1: logging.ERROR, 0: logging.WARNING, 1: logging.INFO}.get(verbosity, logging.DEBUG)
    root = logging.getLogger()
    root.setLevel(level)
    for handler in list(root.handlers):
        if isinstance(handler, _LateHandler):
            root.removeHandler(handler)
    root.addHandler(_LateHandler())


class _LateHandler(logging.Handler):
    """Imports rich at the first record: most runs log nothing."""

    inner: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.inner is None:
            from rich.logging import RichHandler

            self.inner = RichHandler(console=console(err=True), show_path=False)
        self.inner.emit(record)


class Bars:
    """Progress bars of a measurement or a build; nothing without a terminal."""

    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console(err=True),
            transient=True,
        )
        self._task: Any = None

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def stage(self, name: str, total: int) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(name, total=total or None)

    def advance(self, steps: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, steps)


# Printing of problems on standard error, with code and hint, never a traceback.

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
    """Print each distinct problem once, in order."""
    for problem in dict.fromkeys(problems):
        show_problem(problem, error=error)


no_model = click.option(
    "--no-model", is_flag=True, help="Send nothing to the language model."
)  # fmt: skip


def show_cost(budget: Budget) -> None:
    """Print the cost of the language model for this command and this day; nothing if it was not
    used."""
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
    """Write the files of `--json` and `--html`: the figures, and a report of them.

    Raises `CitewellError` when a file cannot be written.
    """
    import msgspec

    from citewell_lab.evaluation.results import write_atomically

    if path := flags["json_path"]:
        write_atomically(path, msgspec.json.format(msgspec.json.encode(value), indent=1))
    if page is not None and (path := flags["html_path"]):
        save_report(path, page())


def save_report(path: Path, page: str) -> None:
    """Write a report to the path of `--html`.

    Raises `CitewellError` when the file cannot be written.
    """
    from citewell_lab.evaluation.results import write_atomically

    write_atomically(path, page.encode("utf-8"))
    click.echo(f"page: {path}", err=True)


def write_json(value: Any) -> None:
    """Print `value` (structs included) as indented UTF-8 JSON on standard output."""
    import msgspec

    from citewell.model.display_text import visible_json

    data = msgspec.json.format(msgspec.json.encode(value, enc_hook=_encode), indent=2)
    click.echo(visible_json(data.decode("utf-8")))


def _encode(value: Any) -> Any:
    if isinstance(value, PurePath):
        return str(value)
    raise NotImplementedError(f"{type(value)} has no JSON form")


# The global flags, and the objects that every command derives from them.


@dataclass
class Session:
    """The global flags. `click.pass_obj` hands it to each command."""

    library: str = ""
    """A library's name, or the folder of one."""
    config: Path | None = None
    overrides: tuple[str, ...] = ()
    """`NAME=VALUE`, as given to --set."""
    verbosity: int = 0

    def load(self, document: Path | None = None) -> Loaded:
        """Load the settings for a document (or the current folder); problems go to stderr.

        An invalid flag is a usage error: a run with another model than requested must not happen.
        """
        from citewell.options.folders import working_folder
        from citewell.options.merge import load, wrong_flags

        flags = self.flags()
        if wrong := wrong_flags(flags):
            hint = f"\n{wrong[0].hint}" if wrong[0].code == "settings-unknown" else ""
            raise click.UsageError(f"--set: {wrong[0].message}{hint}")
        loaded = load(
            None, overrides=flags, document=document or working_folder(), user_file=self.config
        )
        if self.verbosity >= 0:
            show_problems(loaded.problems)
        return loaded

    def flags(self) -> dict[str, Any]:
        """The flags as settings by dotted name; a usage error for `--set` without `=`."""
        from citewell.options.merge import library_settings

        found: dict[str, Any] = {}
        for text in self.overrides:
            name, equals, value = text.partition("=")
            if not equals:
                raise click.UsageError(f"--set takes NAME=VALUE, not `{text}`.")
            found[name.strip()] = value.strip()
        return found | library_settings(self.library)


def read_environment(path: Path) -> None:
    """Set the variables of a file such as `.env` that this process lacks. No value is expanded.
    Raises `CitewellError` for a file that cannot be read."""
    from io import StringIO

    from dotenv import dotenv_values

    from citewell.documents.textfile import read_text

    found = dotenv_values(stream=StringIO(read_text(path).text), interpolate=False)
    for name, value in found.items():
        os.environ.setdefault(name, value or "")


# The .bib files with keys that name papers on the command line.

BIB = click.Path(path_type=Path, exists=True, dir_okay=False)


def own_bibs(paths: Sequence[Path]) -> list[BibFile]:
    """These .bib files; without one, the only one of the folder, if it is readable. Raises
    `CitewellError`."""
    from citewell.documents.bib.reader import parse_bib
    from citewell.documents.project.declared_bibs import lone_bib
    from citewell.documents.textfile import read_text
    from citewell.model import CitewellError
    from citewell.options.folders import working_folder

    if paths:
        return [parse_bib(read_text(path).text, str(path)) for path in paths]
    own = lone_bib(working_folder())
    try:
        return [] if own is None else [parse_bib(read_text(own).text, str(own))]
    except CitewellError as error:
        show_problems([error.problem])
        return []


def _weights(ctx: click.Context, parameter: click.Parameter, text: str) -> str:
    from citewell.model import CitewellError
    from citewell.usecases.weights import order_weights

    try:
        order_weights(text)
    except CitewellError as error:
        raise click.BadParameter(f"{error.problem.message} {error.problem.hint}") from error
    return text


WEIGHTS = click.option(
    "--weights", default="", metavar="WEIGHTS", callback=_weights,
    help="Order the 100 most relevant papers by relevance=1,authority=.3,recent=.2 (an example).",
)  # fmt: skip
