"""The root command: global flags, the list of commands, and where every error ends."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell import __version__
from citewell.cli.terminal import (
    BROKEN,
    INTERRUPTED,
    OK,
    Session,
    no_color,
    set_up_logging,
    show_problem,
)

if TYPE_CHECKING:
    from citewell.model.problem import Problem

# A click group that knows its commands by name and imports one only to run it or show its help.


class LazyGroup(click.Group):
    """`commands_by_name` maps a name to ("module:attribute", short help).

    The short help is also here, so that listing the commands imports none of them.
    """

    def __init__(
        self, *args: Any, commands_by_name: Mapping[str, tuple[str, str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.commands_by_name = dict(commands_by_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands_by_name:
            return None
        module, _, attribute = self.commands_by_name[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.commands_by_name and not name.startswith("-"):
            from citewell.options.values import nearest

            close = nearest(name, list(self.commands_by_name))
            hint = f" Did you mean `{close}`?" if close else ""
            ctx.fail(f"Unknown command `{name}`.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.commands_by_name.items()])


COMMANDS = {
    "demo": (
        "citewell.cli.demo:demo",
        "Fill the citations of a bundled paper from real ones, and compile it.",
    ),
    "find": ("citewell.cli.find:find", "Find papers for a text."),
    "explore": ("citewell.cli.explore:explore", "Search the literature on a question."),
    "related": ("citewell.cli.find:related", "List papers linked to others by citations."),
    "map": (
        "citewell.cli.explore:map_command",
        "Draw a library, with its communities and gaps.",
    ),
    "fill": ("citewell.cli.fill:fill", "Fill every citation placeholder of a paper."),
    "check": ("citewell.cli.check:check", "Check that references exist and are correct."),
    "review": ("citewell.cli.review:review", "Review the citations of a whole paper."),
    "support": (
        "citewell.cli.support:support",
        "Ask a language model whether papers support the sentences.",
    ),
    "sources": (
        "citewell.cli.privacy:sources",
        "List scholarly sources, and allow or forbid them.",
    ),
    "llm": (
        "citewell.cli.privacy:llm",
        "Show the configured language model, what it receives and what it has cost.",
    ),
    "history": (
        "citewell.cli.privacy:history",
        "Show or erase what was learned from your choices.",
    ),
    "library": ("citewell_corpus.cli.library:library", "Build and manage libraries of papers."),
    "lsp": ("citewell.cli.serve:lsp", "Serve an editor over the Language Server Protocol."),
    "mcp": ("citewell.cli.serve:mcp", "Serve an agent over the Model Context Protocol."),
    "serve": ("citewell.cli.serve:serve", "Serve a web page, and programs over HTTP."),
    "eval": ("citewell.cli.evaluation.eval:eval_command", "Measure how well citations are found."),
    "tune": ("citewell.cli.evaluation.prompts:tune", "Improve the prompts of the language model."),
    "prompts": (
        "citewell.cli.evaluation.prompts:prompts",
        "List, compare and choose prompt versions.",
    ),
    "compare-models": (
        "citewell.cli.evaluation.prompts:compare_models",
        "Compare language models on the same passages.",
    ),
    "doctor": (
        "citewell.cli.doctor:doctor",
        "Check the installation, the services and their speed.",
    ),
}

EPILOG = "Exit codes: 0 success; 1 success with findings; 2 usage error or broken environment."


@click.group(
    cls=LazyGroup,
    commands_by_name=COMMANDS,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--library",
    metavar="NAME|FOLDER",
    default="",
    help="Library to search: its name or its folder.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Settings file in place of the user's.",
)
@click.option(
    "--set",
    "overrides",
    metavar="NAME=VALUE",
    multiple=True,
    help="Change a setting for this run: retrieval.dense=false (repeatable).",
)
@click.option(
    "--env-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="File of environment variables, such as .env; those of the process come first.",
)
@click.option("-v", "--verbose", count=True, help="Log more; -vv shows tracebacks too.")
@click.option("-q", "--quiet", is_flag=True, help="Log errors only, and no notes on settings.")
@click.version_option(__version__, prog_name="citewell", message="%(prog)s %(version)s")
@click.pass_context
def root(
    ctx: click.Context,
    library: str,
    config: Path | None,
    overrides: tuple[str, ...],
    env_file: Path | None,
    verbose: int,
    quiet: bool,
) -> None:
    """Finds, inserts and verifies citations of real papers while you write LaTeX or Markdown."""
    if no_color():
        ctx.color = False
    verbosity = -1 if quiet else verbose
    set_up_logging(verbosity)
    if env_file is not None:
        from citewell.cli.terminal import read_environment

        read_environment(env_file)
    ctx.obj = Session(library, config, overrides, verbosity)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code; errors become messages with a hint."""
    _tolerant_streams()
    try:
        code = root.main(args=list(arguments), prog_name="citewell", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return _ended(error, arguments)
    return code if isinstance(code, int) else OK


def _ended(error: BaseException, arguments: Sequence[str]) -> int:
    """Report the error that ended a command; return the exit code."""
    if isinstance(error, click.ClickException):
        from citewell.model.display_text import visible

        vars(error)["message"] = visible(error.message)
        error.show()
        return BROKEN
    from citewell.model.cancel import was_interrupted

    if isinstance(error, click.Abort) or was_interrupted(error):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The reader of the output is gone (`citewell find ... | head`): print nothing more.
        _discard_output()
        return OK
    if isinstance(error, OSError) and _is_of_output(error):
        _discard_output()
        click.echo(f"error: The output cannot be written: {error.strerror}.", err=True)
        return BROKEN
    _traceback(arguments)
    show_problem(_problem_of(error), error=True)
    return BROKEN


def _discard_output() -> None:
    """Discard buffered output: Python would write it at exit, and fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _is_of_output(error: OSError) -> bool:
    """True if standard output failed: an error of a command's own file names that file."""
    failures = {errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
    return error.filename is None and error.errno in failures


def _problem_of(error: BaseException) -> Problem:
    from citewell.model.problem import CitewellError, Problem

    if isinstance(error, CitewellError):
        return error.problem
    words = str(error).strip().splitlines()
    return Problem(
        code="internal-error",
        message=f"Internal error: {type(error).__name__}{': ' + words[0] if words else ''}.",
        hint="Rerun as `citewell -vv COMMAND` and report the output.",
    )


def _traceback(arguments: Sequence[str]) -> None:
    wanted = sum(a.count("v") for a in arguments if a.startswith("-v")) + list(arguments).count(
        "--verbose"
    )
    if wanted >= 2:
        import traceback

        traceback.print_exc()


def _tolerant_streams() -> None:
    """Print a question mark for a character that the terminal lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
