"""`citewell library build --to`: writes a library into a back end."""

from __future__ import annotations

import click

from citewell.options import Options
from citewell_corpus.cli.library_group import OK, path_to_read
from citewell_corpus.cli.output import write_json

_REPORTED = 50_000


def write_and_show(options: Options, name: str, address: str, as_json: bool) -> int:
    """Write the library and show what was written. The exit code."""
    from citewell.corpus.library import Library
    from citewell.retrieval.backend.address import open_backend
    from citewell.retrieval.backend.write import write_library
    from citewell.retrieval.dense import open_dense
    from citewell.retrieval.opening import Opening

    done = 0

    def report(rows: int) -> None:
        nonlocal done
        done += rows
        if not as_json and done // _REPORTED > (done - rows) // _REPORTED:
            click.echo(f"{done:,} papers read", err=True)

    backend = open_backend(address)
    with Library.open(path_to_read(options, name)) as library:
        dense = open_dense(Opening(library, Options()))
        written = write_library(library, dense, backend, report)
    if as_json:
        write_json(written)
    else:
        click.echo(
            f"{written.works:,} papers written, {written.removed:,} removed; {address} holds "
            f"{written.points:,}."
        )
    return OK
