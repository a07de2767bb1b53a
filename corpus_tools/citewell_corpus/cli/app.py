"""The root of `citewell-corpus`: the commands of `citewell library`, error handling, and `starter`,
which makes the data of the distribution citewell-starter.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from citewell import __version__
from citewell.model import CitewellError
from citewell.model.cancel import was_interrupted
from citewell_corpus.cli.library import library
from citewell_corpus.cli.library_group import human_size, show_problem, write_json

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command("starter", short_help="Make the starter library from records.")
@click.argument("records", nargs=-1, required=True, type=_FILE, metavar="RECORDS...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of the library; it is replaced.",
)
@click.option(
    "--agreed",
    multiple=True,
    type=_FILE,
    help="Works on which several bibliographies agree (repeatable).",
)
@click.option("--wanted", type=_FILE, help="Table of works that are often cited.")
@click.option(
    "--citations",
    multiple=True,
    type=_FILE,
    help="Citations with their raw entries, in which wanted works are looked for (repeatable).",
)
@click.option(
    "--versions",
    multiple=True,
    type=_FILE,
    help="Journal versions and books that are cited for works of the records (repeatable).",
)
@click.option("--until", default=2025, show_default=True, help="Newest year that is taken.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the full library, with abstracts, to compare with.",
)
@click.option(
    "--vectors",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with the transformer's vectors of works: codes.npy and ids.txt.gz.",
)
@click.option("--json", "as_json", is_flag=True, help="Write the outcome as JSON.")
def starter(
    records: tuple[Path, ...],
    out: Path,
    agreed: tuple[Path, ...],
    wanted: Path | None,
    citations: tuple[Path, ...],
    versions: tuple[Path, ...],
    until: int,
    keep: Path | None,
    vectors: Path | None,
    as_json: bool,
) -> None:
    """Make the starter library from records (JSON Lines, plain, .gz or .zst).

    It keeps bibliographic facts alone. Of an abstract it keeps numbers: a quantised vector and
    the hashes of its telling words. The same records give the same bytes.
    """
    from citewell_corpus.cli.bars import bars
    from citewell_corpus.starter_data.make import StarterSources, make_starter

    sources = StarterSources(
        records=records,
        agreed=agreed,
        wanted=wanted,
        citations=citations,
        versions=versions,
        until=until,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with bars() as progress:
        report = make_starter(sources, out.absolute(), progress, keep=keep, vectors=vectors)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if as_json:
        write_json(report)
        return
    click.echo(f"{report.works:,} works, {report.abstracts:,} of them with what their abstract")
    click.echo(f"is worth; {human_size(size)} in {out}")


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
