"""`citewell library quarantine`: the papers with malformed author names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from citewell.model.display_text import visible
from citewell_corpus.cli.library_group import (
    JSON,
    NAME,
    library,
    library_path_of,
    options_of,
    write_json,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from citewell_corpus.status import QuarantinedWork


@library.command("quarantine", short_help="Show papers with malformed author names.")
@click.option(
    "--release",
    "ids",
    multiple=True,
    metavar="ID",
    help="Let searches find this paper; repeatable.",
)
@click.option("--release-all", is_flag=True, help="Let searches find all of them.")
@NAME
@JSON
@click.pass_context
def quarantine_command(
    ctx: click.Context, ids: tuple[str, ...], release_all: bool, name: str, as_json: bool
) -> None:
    """Show the papers of a library that searches leave out because an author's name is none: an
    e-mail address, markup, an affiliation, several people in one, "et al.".

    They stay in the library: `citewell library explain` shows them, and checks know them. A paper
    leaves the quarantine when a record with sound names is merged with it, or with --release, which
    holds for later builds, too.
    """
    from citewell.corpus.library import Library
    from citewell_corpus.status import quarantined_works, release

    path = library_path_of(options_of(ctx), name)
    with Library.open(path) as opened:
        found = quarantined_works(opened)
        known = {one for work in opened.works(opened.quarantined_rows()) for one in work.same_as}
    if unknown := [one for one in ids if one not in known | {work.id for work in found}]:
        raise click.UsageError(f"Not in quarantine: {', '.join(unknown)}.")
    released = release(path, None if release_all else ids) if ids or release_all else []
    kept = [one for one in found if one not in released]
    if as_json:
        write_json({"quarantined": kept, "released": released})
        return
    if ids or release_all:
        _show("Released", released)
    _show("In quarantine", kept)


def _show(heading: str, works: Sequence[QuarantinedWork]) -> None:
    papers = "1 paper" if len(works) == 1 else f"{len(works):,} papers"
    click.echo(f"{heading}: {papers}")
    for one in works:
        click.echo(visible(f"{one.id}  {one.title}"))
        click.echo(visible(f"    {one.reason}: {one.name}"))
