"""The implementation of `citewell library fetch` and `refresh`."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.model.display_text import visible
from citewell.model.document import PAPER_SUFFIXES
from citewell.model.identifiers import identifier_of
from citewell.model.work import Work
from citewell.options import Options
from citewell.options.folders import private_writes
from citewell.sources.contract import SourceQuery
from citewell_corpus.cli.library_group import show_problem, write_json
from citewell_corpus.fetching.contract import Selection
from citewell_corpus.fetching.feeds import FEEDS

if TYPE_CHECKING:
    from citewell.sources.contract import Source
    from citewell.sources.web.client import Web
    from citewell_corpus.coverage import Coverage, Share
    from citewell_corpus.fetching.harvest import HarvestReport

FETCHED = ".fetched"
"""Folder next to the libraries for fetched works."""
ASK_ABOVE = 20_000
"""Number of works above which a terminal asks for confirmation."""
_MANY: dict[str, Any] = {"multiple": True, "metavar": "NAME"}


def fetch_options(command: Any) -> Any:
    """The options of `fetch`, as decorators."""
    decorators: tuple[Callable[[Any], Any], ...] = (
        click.argument("source", type=click.Choice(list(FEEDS)), required=False),
        click.option(
            "--for",
            "paper",
            metavar="PAPER",
            help="Plan the selection from what a paper or a folder cites, a .bib or another export "
            "holds, or zotero:COLLECTION.",
        ),
        click.option("--query", default="", help="Words of title and abstract."),
        click.option("--topic", "topics", help="Topic of OpenAlex; repeatable.", **_MANY),
        click.option("--venue", "venues", help="Journal or conference; repeatable.", **_MANY),
        click.option("--author", "authors", help="Author; repeatable.", **_MANY),
        click.option("--institution", "institutions", help="Repeatable.", **_MANY),
        click.option("--category", "categories", help="arXiv: cs.CL; repeatable.", **_MANY),
        click.option("--since", type=click.IntRange(1500, 2100), help="First year."),
        click.option("--until", type=click.IntRange(1500, 2100), help="Last year."),
        click.option(
            "--cited-at-least",
            type=click.IntRange(0),
            default=0,
            metavar="N",
            help="Fewest citations.",
        ),
        click.option("--max", "most", type=click.IntRange(1), help="Maximum number of works."),
        click.option(
            "--max-megabytes",
            type=click.IntRange(1),
            default=200,
            help="With --for: maximum size on disk.",
        ),
        click.option(
            "--max-minutes",
            type=click.IntRange(1),
            default=30,
            help="With --for: maximum time of requests.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the estimated amount; fetch one page."),
        click.option("--yes", "-y", is_flag=True, help="Do not ask before a large fetch."),
        click.option("--restart", is_flag=True, help="Discard earlier fetches of this selection."),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def fetch_into(
    options: Options, library: Path, source: str, selection: Selection, flags: dict[str, Any]
) -> tuple[Any, Path | None]:
    """Fetch a selection into its own folder.

    Returns the report, or the estimate of a dry run, and the folder to build from, or None. Raises
    `LibraryError`.
    """
    from citewell.sources.registry import may_download
    from citewell_corpus.fetching.run import FetchFolder, folder_name

    see_permission(options, may_download(options.sources.allow, source), source)
    path = library.parent / FETCHED / folder_name(source, selection)
    if flags.get("restart") and path.is_dir():
        shutil.rmtree(path)
    from citewell_corpus.fetching.feeds import feed_named

    feed = feed_named(source, selection)
    folder = FetchFolder(path, feed.extension)
    # An estimate leaves nothing behind.
    with nullcontext() if flags.get("dry_run") else private_writes(library.parent):
        outcome = asyncio.run(_fetch(options, feed, selection, folder, flags))
    return outcome, path if getattr(outcome, "records", 0) else None


def web_of(source: type[Source], options: Options) -> Web:
    """A client that asks one source, patiently and at the pace of all processes."""
    from citewell.options.folders import sources_folder
    from citewell.sources.web.client import Web, WebOptions

    own = options.sources
    timeout = max(own.timeout_s, 60.0)
    return Web(
        [source],
        WebOptions(
            contact=own.contact, base_url=own.base_url, pace=sources_folder(), timeout=timeout
        ),
    )


async def _fetch(
    options: Options, feed: Any, selection: Selection, folder: Any, flags: dict[str, Any]
) -> Any:
    from citewell_corpus.cli.bars import bars
    from citewell_corpus.fetching.run import FetchRun

    web = web_of(feed.source, options)
    try:
        fetching = FetchRun(feed, selection, folder, web)
        estimate = await fetching.begin(refresh=flags.get("refresh", False))
        if flags.get("dry_run"):
            return estimate
        if not flags.get("as_json") and not selection.works:
            click.echo(_words(estimate), err=True)
        many = min(estimate.works or 0, flags.get("most") or ASK_ABOVE + 1) > ASK_ABOVE
        if many and not flags.get("yes") and not selection.works and sys.stdin.isatty():
            click.confirm("Fetch them?", abort=True, err=True)
        with bars() as progress:
            return await fetching.run(flags.get("most"), progress)
    finally:
        await web.aclose()


def _words(estimate: Any) -> str:
    """ "openalex: 12,345 works to fetch, about 21 MB and 3 min"."""
    if estimate.about:
        return f"{estimate.source}: {estimate.about}."
    if estimate.works is None:
        return f"{estimate.source}: the source does not report the number of works."
    minutes = max(1, round((estimate.seconds or 0) / 60))
    return (
        f"{estimate.source}: {estimate.works:,} works to fetch, "
        f"about {max(1, round(estimate.megabytes or 0)):,} MB and {minutes:,} min"
    )


def show(outcome: Any, *, as_json: bool, dry_run: bool) -> None:
    """Print an estimate or a report, and the problem of an interrupted fetch."""
    if as_json:
        write_json(outcome)
        return
    if dry_run:
        click.echo(_words(outcome))
        return
    click.echo(f"{outcome.new:,} works fetched from {outcome.source}; {outcome.records:,} in all.")
    if outcome.problem is not None:
        show_problem(outcome.problem)


def fetched_folders(library: Path) -> list[tuple[str, Selection, Path]]:
    """Source, selection and folder of each fetch among the library's sources."""
    from citewell_corpus.fetching.run import STATE, FetchFolder
    from citewell_corpus.sources import read_sources

    found = []
    for source in read_sources(library).values():
        path = Path(source.path)
        if (path / STATE).is_file():
            state = FetchFolder(path, "").state()
            if state is not None and state.source in FEEDS:
                found.append((state.source, state.selection, path))
    return found


def see_permission(options: Options, is_allowed: bool, source: str) -> None:
    """Raise `CitewellError` unless the source is allowed and its packages are installed."""
    from citewell.engine.online import missing_package
    from citewell.model import CitewellError, Problem

    if (problem := missing_package()) is not None:
        raise CitewellError(problem)
    if not is_allowed:
        raise CitewellError(
            Problem(
                "sources-off",
                f"The source {source} is not allowed: nothing was sent.",
                f"Run `citewell sources allow {source}`.",
            )
        )


# The implementation of `citewell library harvest`.

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
    wanted: list[SourceQuery] = []
    queries: list[str] = []
    for seed in seeds:
        path = Path(seed)
        if path.suffix.lower() in _FILES and path.is_file():
            wanted += source_queries(path.absolute(), options)
        elif (found := identifier_of(seed)) is not None and (found.doi or found.arxiv):
            wanted.append(SourceQuery(doi=found.doi if not found.arxiv else "", arxiv=found.arxiv))
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
    wanted: list[SourceQuery],
    queries: list[str],
    limits: dict[str, int],
) -> HarvestReport:
    from citewell.sources.registry import source_named
    from citewell_corpus.cli.bars import bars
    from citewell_corpus.fetching.harvest import Harvest, OpenAlexGraph, SourceGraph

    kind = source_named(source)
    web = web_of(kind, options)
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


def source_queries(path: Path, options: Options) -> list[SourceQuery]:
    """The works in a `.bib` or another export, or those that a paper cites, as queries to a
    source."""
    return [
        SourceQuery(
            doi=work.doi,
            arxiv=work.arxiv,
            title=work.title,
            authors=tuple(author.family for author in work.authors[:3]),
            year=work.year,
        )
        for work in _cited_works(path, options)
    ]


def _cited_works(path: Path, options: Options) -> Iterator[Work]:
    from citewell_corpus.coverage import references_of
    from citewell_corpus.importers import find_importer
    from citewell_corpus.importers.contract import ImportReport

    is_written = path.is_dir() or path.suffix.lower() in (*PAPER_SUFFIXES, ".bib")
    importer = None if is_written else find_importer(path)
    if importer is not None:
        yield from importer.read(path, ImportReport())
    else:
        yield from (work for _, work in references_of(path, options))


# Output of a coverage.

MOST_VENUES = 15
MOST_MISSING = 20


def show_coverage(found: Coverage) -> None:
    """Print totals, tables by venue and year, missing references, and commands that fetch them."""
    if not found.references:
        click.echo("No references in these files.")
        return
    share = 100 * found.held / found.references
    click.echo(f"The library holds {found.held} of {found.references} references ({share:.0f}%).")
    _table("venue", found.by_venue[:MOST_VENUES], len(found.by_venue))
    _table("year", found.by_year, len(found.by_year))
    _table("kind", found.by_kind, len(found.by_kind))
    if found.missing:
        click.echo("\nMissing:")
        for one in found.missing[:MOST_MISSING]:
            year = one.year or "no year"
            click.echo(visible(f"  {one.key}: {one.title} ({one.venue}, {year})"))
        if len(found.missing) > MOST_MISSING:
            click.echo(f"  and {len(found.missing) - MOST_MISSING} more (--json lists all)")
    if found.commands:
        click.echo("\nTo fetch what is missing:")
        for command in found.commands:
            click.echo(f"  {visible(command)}")


def _table(name: str, shares: tuple[Share, ...], total: int) -> None:
    click.echo(f"\n{'held':>6} {'of':>5}  {name}")
    for share in shares:
        click.echo(f"{share.held:>6} {share.references:>5}  {visible(share.name)}")
    if total > len(shares):
        click.echo(f"{'':>12}  and {total - len(shares)} more")
