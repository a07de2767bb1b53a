"""The root of `citewell-corpus`, with the commands of `citewell library`; error handling."""

from __future__ import annotations

from collections.abc import Sequence

import click

from citewell import __version__
from citewell.model import CitewellError
from citewell.model.cancel import was_interrupted
from citewell_corpus.cli.library import library
from citewell_corpus.cli.library_group import show_problem
from citewell_corpus.cli.starter import starter

BROKEN = 2
INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="citewell-corpus", message="%(prog)s %(version)s")
def root() -> None:
    """Builds libraries of papers for Citewell."""


root.add_command(library)
root.add_command(starter)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return the exit code; errors become messages with a hint."""
    try:
        code = root.main(args=list(arguments), prog_name="citewell-corpus", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return BROKEN
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, click.Abort) or was_interrupted(error):
            click.echo("Interrupted; run the same command again to continue.", err=True)
            return INTERRUPTED
        if not isinstance(error, CitewellError):
            raise
        show_problem(error.problem, error=True)
        return BROKEN
    return code if isinstance(code, int) else 0
