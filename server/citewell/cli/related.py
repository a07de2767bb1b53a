"""`citewell related`: the papers beside some others in the citation graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.terminal import BIB, FINDINGS, OK, Session, echo, own_bibs, show_problems

if TYPE_CHECKING:
    from citewell.model.query import Direction
    from citewell.usecases.find import Neighbour

_WORDS: dict[Direction, str] = {
    "cites": "cited by",
    "cited_by": "cites",
    "cocited": "cited together with",
}


@click.command("related", short_help="List papers linked to others by citations.")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--direction", "directions", multiple=True,
    type=click.Choice(["cites", "cited_by", "cocited"]),
    help="What IDs cite, what cites them, or what is cited with them (repeatable). Default: all.",
)  # fmt: skip
@click.option("-k", "--limit", "count", default=20, show_default=True,
              type=click.IntRange(1, 1000), help="Number of papers.")  # fmt: skip
@click.option(
    "--bib", "bibs", type=BIB, multiple=True, metavar="FILE",
    help="A .bib whose keys are IDS, too (repeatable). Default: the only .bib of the folder.",
)  # fmt: skip
@click.pass_context
def related(
    ctx: click.Context,
    ids: tuple[str, ...],
    directions: tuple[Direction, ...],
    count: int,
    bibs: tuple[Path, ...],
) -> None:
    """List papers linked to others by citations.

    IDS are ids or keys of a search, keys of your .bib, DOIs or arXiv ids. Papers with links to most
    of them come first. Only the citations that the library's sources record and those that ship
    with Citewell are known. A line has id, title, authors, year and the links, separated by tabs.
    Exits with 1 if nothing is found.
    """
    from citewell.cli.papers import authors_of
    from citewell.features.citing.known_works import all_named
    from citewell.usecases.find import DIRECTIONS, related_works
    from citewell.usecases.library import Library

    session: Session = ctx.obj
    options = session.load().options
    with Library(options) as library:
        pattern = options.bib.key_pattern
        works = all_named(library.engine, ids, pattern, lambda: own_bibs(bibs))
        found = related_works(library.engine, works, count, directions=directions or DIRECTIONS)
    show_problems(found.problems)
    for name in found.unknown:
        echo(f"No citation of {name} is known.", err=True)
    for one in found.papers:
        work = one.work
        fields = (work.id, work.title, authors_of(work), str(work.year or ""), _links(one))
        echo("\t".join(" ".join(field.split()) for field in fields))
    if found.total > len(found.papers):
        echo(f"{len(found.papers)} of {found.total:,} papers; -k lists more.", err=True)
    ctx.exit(OK if found.papers else FINDINGS)


def _links(paper: Neighbour) -> str:
    parts = []
    for link in paper.links:
        times = f" ({link.together}×)" if link.together > 1 else ""
        parts.append(f"{_WORDS[link.direction]} {link.id}{times}")
    return "; ".join(parts)
