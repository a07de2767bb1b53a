"""`citewell library build --to`: writes a library into a back end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from citewell.options import Options
from citewell_corpus.cli.library_group import OK, path_to_read, write_json

if TYPE_CHECKING:
    from citewell.retrieval.backend.write import Written

_REPORTED = 50_000


def write_and_show(
    options: Options, name: str, address: str, as_json: bool, *, fresh: bool = False
) -> int:
    """Write the library and show what was written. The exit code."""
    written = write_to(options, name, address, fresh=fresh, quiet=as_json)
    if as_json:
        write_json(written)
    return OK


def write_to(options: Options, name: str, address: str, *, fresh: bool, quiet: bool) -> Written:
    """Write the library into the back end; the counts, printed unless `quiet`."""
    from citewell.corpus.library import Library
    from citewell.retrieval.backend.connection import open_target
    from citewell.retrieval.backend.write import empty_state, write_library
    from citewell.retrieval.dense import open_dense
    from citewell.retrieval.opening import Opening

    done = 0

    def report(rows: int) -> None:
        nonlocal done
        done += rows
        if not quiet and done // _REPORTED > (done - rows) // _REPORTED:
            click.echo(f"{done:,} papers read", err=True)

    with Library.open(path_to_read(options, name)) as library:
        dense = open_dense(Opening(library, Options()))
        target = open_target(address, empty_state(library, dense), fresh=fresh)
        written = write_library(library, dense, target.backend, report)
        target.publish()
    if not quiet:
        click.echo(
            f"{written.works:,} papers written, {written.removed:,} removed; {address} holds "
            f"{written.points:,}."
        )
    return written
