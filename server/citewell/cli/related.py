"""`citewell related`: the papers beside some others in the citation graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.report import FINDINGS, OK, show_problems
from citewell.cli.session import Session
from citewell.cli.terminal import echo

if TYPE_CHECKING:
    from citewell.model.bib import BibFile
    from citewell.model.direction import Direction
    from citewell.usecases.related import Neighbour

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
    "--bib", "bibs", multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False), metavar="FILE",
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
    from citewell.features.citing.named_works import all_named
    from citewell.usecases.library import Library
    from citewell.usecases.related import DIRECTIONS, related_works

    session: Session = ctx.obj
    options = session.load().options
    with Library(options) as library:
        pattern = options.bib.key_pattern
        works = all_named(library.engine, ids, pattern, lambda: _read(bibs))
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


def _read(paths: Sequence[Path]) -> list[BibFile]:
    """These .bib files; without one, the only one of the folder, if it can be read. Raises
    `CitewellError`."""
    from citewell.documents.bib.reader import parse_bib
    from citewell.documents.project.declared_bibs import lone_bib
    from citewell.documents.textfile import read_text
    from citewell.model import CitewellError

    if paths:
        return [parse_bib(read_text(path).text, str(path)) for path in paths]
    own = lone_bib(Path.cwd())
    try:
        return [] if own is None else [parse_bib(read_text(own).text, str(own))]
    except CitewellError as error:
        show_problems([error.problem])
        return []


def _links(paper: Neighbour) -> str:
    parts = []
    for link in paper.links:
        times = f" ({link.together}×)" if link.together > 1 else ""
        parts.append(f"{_WORDS[link.direction]} {link.id}{times}")
    return "; ".join(parts)
