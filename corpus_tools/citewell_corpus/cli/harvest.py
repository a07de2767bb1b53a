"""The implementation of `citewell library harvest`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.model.flavours import PAPER_SUFFIXES
from citewell.model.identifiers import identifier_of
from citewell.options import Options
from citewell.sources.answers import Wanted
from citewell_corpus.cli.fetch import FETCHED, see_permission
from citewell_corpus.cli.output import show_problem, write_json

if TYPE_CHECKING:
    from citewell_corpus.fetching.harvest import HarvestReport

HARVESTED = ("openalex", "semantic-scholar", "crossref")
"""Sources that list references, those with the fewest requests first."""
_FILES = (".bib", *PAPER_SUFFIXES)


def harvest_into(
    options: Options,
    library: Path,
    seeds: Sequence[str],
    source: str | None,
    limits: dict[str, int],
) -> HarvestReport:
    """Harvest from seeds into a folder next to the library. Raises `CitewellError`."""
    from citewell.sources.registry import allowed

    names, _ = allowed(options.sources.allow)
    chosen = source or next((name for name in HARVESTED if name in names), HARVESTED[0])
    see_permission(options, chosen in names, chosen)
    wanted: list[Wanted] = []
    queries: list[str] = []
    for seed in seeds:
        path = Path(seed)
        if path.suffix.lower() in _FILES and path.is_file():
            wanted += _references(path.absolute(), options)
        elif (found := identifier_of(seed)) is not None and (found.doi or found.arxiv):
            wanted.append(Wanted(doi=found.doi if not found.arxiv else "", arxiv=found.arxiv))
        else:
            queries.append(seed)
    digest = hashlib.blake2b("\0".join((chosen, *seeds)).encode(), digest_size=6).hexdigest()
    folder = library.parent / FETCHED / f"harvest-{chosen}-{digest}"
    return asyncio.run(
        _harvest(options, folder, chosen, list(dict.fromkeys(wanted)), queries, limits)
    )


async def _harvest(
    options: Options,
    folder: Path,
    source: str,
    wanted: list[Wanted],
    queries: list[str],
    limits: dict[str, int],
) -> HarvestReport:
    from citewell.options.folders import sources_folder
    from citewell.sources.registry import source_named
    from citewell.sources.web.client import Web, WebOptions
    from citewell_corpus.cli.bars import bars
    from citewell_corpus.fetching.graphs import OpenAlexGraph, SourceGraph
    from citewell_corpus.fetching.harvest import Harvest

    own, kind = options.sources, source_named(source)
    web = Web(
        [kind],
        WebOptions(
            contact=own.contact,
            base_url=own.base_url,
            pace=sources_folder(),
            timeout=max(own.timeout_s, 60.0),
        ),
    )
    try:
        graph = OpenAlexGraph(web) if source == "openalex" else SourceGraph(kind(web))
        with bars() as progress:
            return await Harvest(folder, graph).run(
                wanted, queries, depth=limits["depth"], most=limits["most"], progress=progress
            )
    finally:
        await web.aclose()


def show_harvest(report: HarvestReport, *, as_json: bool) -> None:
    """Print the works and edges of each level, and the problem of an incomplete harvest."""
    if as_json:
        write_json(report)
        return
    click.echo(f"{'level':>5} {'works':>8} {'edges':>8}")
    for number, level in enumerate(report.levels):
        click.echo(f"{number:>5} {level.works:>8,} {level.edges:>8,}")
    click.echo(f"{report.works:,} works and {report.edges:,} references between them.")
    if report.missing_seeds:
        click.echo(f"{report.missing_seeds:,} seeds were not found.")
    if report.problem is not None:
        show_problem(report.problem)


def _references(path: Path, options: Options) -> list[Wanted]:
    """The entries of a `.bib`, or those that a paper cites, as queries to a source."""
    from citewell_corpus.coverage import references_of

    return [
        Wanted(
            doi=work.doi,
            arxiv=work.arxiv,
            title=work.title,
            authors=tuple(author.family for author in work.authors[:3]),
            year=work.year,
        )
        for _, work in references_of(path, options)
    ]
