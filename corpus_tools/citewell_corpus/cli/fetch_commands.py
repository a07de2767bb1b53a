"""The commands of `citewell library` that fetch works from sources, and the coverage command."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from citewell.corpus.errors import LibraryError
from citewell.model import Problem
from citewell.options import Options
from citewell.options.folders import private_writes
from citewell.sources.contract import SourceQuery
from citewell_corpus.cli.fetch import (
    FETCHED,
    HARVESTED,
    fetch_into,
    fetch_options,
    fetched_folders,
    harvest_into,
    see_permission,
    show,
    show_coverage,
    show_harvest,
    source_queries,
    web_of,
)
from citewell_corpus.cli.library_group import (
    FINDINGS,
    JSON,
    NAME,
    OK,
    build_and_show,
    filtered,
    library,
    library_path_of,
    library_to_read,
    options_of,
    record_filters,
    write_json,
)
from citewell_corpus.fetching.contract import Selection
from citewell_corpus.segment_writer import write_whole
from citewell_corpus.sources import ZOTERO_FOLDER, ZOTERO_PREFIX, fetch_zotero

if TYPE_CHECKING:
    from citewell_corpus.fetching.paper_plan import Limits, PaperPlan

# The plan of `citewell library fetch --for PAPER`, and the yes that it needs.

_OWN_FIELDS = frozenset({"since", "until"})
_NO_KEY = (
    "No key of OpenAlex is set: it answers few requests a day without one. A key is free "
    "(openalex.org/settings/api); set it in OPENALEX_API_KEY or in the keyring."
)


def agreed_selection(
    options: Options,
    library: Path,
    paper: str,
    source: str | None,
    given: Selection,
    flags: dict[str, Any],
) -> Selection | None:
    """The selection for the literature of a paper; None without a yes, and for a dry run, whose
    estimate is shown.

    Looks up the paper's references at OpenAlex, which must be allowed. The plan is kept, so that
    an interrupted fetch of the same references continues with it. Raises `CitewellError`.
    """
    from citewell.sources.adapters.openalex import OpenAlex
    from citewell.sources.registry import may_download
    from citewell.sources.web.keys import key_of
    from citewell_corpus.fetching.paper_plan import Limits
    from citewell_corpus.fetching.run import FetchEstimate

    if source not in (None, "openalex") or given.used - _OWN_FIELDS:
        raise click.UsageError("--for plans the selection: it takes --since and --until alone.")
    see_permission(options, may_download(options.sources.allow, "openalex"), "openalex")
    if paper.startswith(ZOTERO_PREFIX):
        path = fetch_zotero(paper, options.zotero.url, library.parent / ZOTERO_FOLDER)
    elif not (path := Path(paper).absolute()).exists():
        raise click.UsageError(f"{paper!r} does not exist.")
    references = list(dict.fromkeys(source_queries(path, options)))
    if not references:
        message = f"{paper} cites nothing that a source could look up."
        raise LibraryError(Problem("fetch-selection", message, "Name a topic instead."))
    limits = Limits(megabytes=flags["max_megabytes"], minutes=flags["max_minutes"])
    if flags.get("most"):
        limits = msgspec.structs.replace(limits, works=flags["most"])
    plan = _kept_plan(options, library, references, limits, given, restart=flags["restart"])
    if flags["dry_run"]:
        estimate = FetchEstimate(
            source="openalex",
            works=plan.works,
            megabytes=plan.megabytes,
            seconds=plan.seconds,
            about=plan.words,
        )
        show(estimate, as_json=flags["as_json"], dry_run=True)
        return None
    click.echo(f"{plan.words[0].upper()}{plan.words[1:]}.", err=True)
    if key_of(OpenAlex) is None:
        click.echo(_NO_KEY, err=True)
    # The plan has its own bound, which holds over all runs.
    flags["most"] = None
    if flags["yes"]:
        return plan.selection
    if sys.stdin.isatty():
        return plan.selection if click.confirm("Fetch them?", err=True) else None
    click.echo("Nothing was fetched: add --yes to fetch them.", err=True)
    return None


def _kept_plan(
    options: Options,
    library: Path,
    references: list[SourceQuery],
    limits: Limits,
    given: Selection,
    *,
    restart: bool,
) -> PaperPlan:
    """The plan made before for the same references and bounds, or a new one."""
    from citewell_corpus.fetching.paper_plan import PaperPlan

    parts = msgspec.json.encode((references, limits, given))
    digest = hashlib.blake2b(parts, digest_size=6).hexdigest()
    path = library.parent / FETCHED / f"plan-{digest}.json"
    if not restart:
        try:
            return msgspec.json.decode(path.read_bytes(), type=PaperPlan)
        except (OSError, msgspec.DecodeError):
            pass
    plan = asyncio.run(_plan(options, references, limits, given))
    with private_writes(library.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, msgspec.json.encode(plan))
    return plan


async def _plan(
    options: Options, references: list[SourceQuery], limits: Limits, given: Selection
) -> PaperPlan:
    from citewell.sources.adapters.openalex import OpenAlex
    from citewell_corpus.cli.bars import bars
    from citewell_corpus.fetching.paper_plan import plan_for

    web = web_of(OpenAlex, options)
    try:
        with bars() as progress:
            return await plan_for(
                references,
                web,
                limits,
                since=given.since,
                until=given.until,
                progress=progress,
            )
    finally:
        await web.aclose()


_PATH = click.Path(exists=True, dir_okay=False, path_type=Path)
_PAPER = click.Path(exists=True, path_type=Path)


@library.command("fetch", short_help="Fetch works on your topics from a source.")
@fetch_options
@record_filters
@NAME
@JSON
@click.pass_context
def fetch_command(
    ctx: click.Context,
    /,
    source: str | None,
    paper: str | None,
    name: str,
    as_json: bool,
    dry_run: bool,
    kinds: tuple[str, ...],
    languages: tuple[str, ...],
    strict_language: bool,
    with_abstract: bool | None,
    **flags: Any,
) -> None:
    """Fetch many works of SOURCE and build the library with them.

    --for PAPER selects the literature around a paper, a .bib or a Zotero collection: its
    references, and their references, topics and venues at OpenAlex.

    Shows number, size and duration, and asks before a large fetch (--yes in scripts). The same
    command resumes an interrupted fetch. The source must be allowed, and receives the words of the
    options; with --for, DOIs and titles of references.

    `acl-anthology` is fetched whole. Exits with 1 if the source stopped early.
    """
    from citewell_corpus.sources import FileSource, source_at

    options = options_of(ctx)
    chosen = filtered(
        FileSource(path="", format=""),
        kinds,
        languages,
        strict=strict_language,
        with_abstract=with_abstract,
    )
    fields = set(Selection.__struct_fields__) - {"works", "most"}
    selection = Selection(**{field: flags.pop(field) for field in fields})
    flags |= {"dry_run": dry_run, "as_json": as_json}
    library_folder = library_path_of(options, name)
    if paper is not None:
        found = agreed_selection(options, library_folder, paper, source, selection, flags)
        if found is None:
            ctx.exit(OK if dry_run else FINDINGS)
        source, selection = "openalex", found
    elif source is None:
        raise click.UsageError("Give a SOURCE, or a paper with --for PAPER.")
    outcome, folder = fetch_into(options, library_folder, source, selection, flags)
    if dry_run or folder is None or not as_json:
        show(outcome, as_json=as_json, dry_run=dry_run)
    if dry_run:
        return
    code = OK
    if folder is not None:
        fetched = source_at(str(folder), outcome.format)
        add = [replace(chosen, path=fetched.path, format=fetched.format)]
        code = build_and_show(options, name, as_json, outcome=outcome, add=add)
    ctx.exit(FINDINGS if outcome.problem is not None else code)


@library.command("harvest", short_help="Fetch papers along the references of what you cite.")
@click.argument("seeds", nargs=-1, required=True, metavar="SEED...")
@click.option("--depth", type=click.IntRange(1, 5), default=2, show_default=True, help="Levels.")
@click.option(
    "--max",
    "most",
    type=click.IntRange(1, 1_000_000),
    default=5_000,
    show_default=True,
    help="Maximum number of works, seeds included.",
)
@click.option(
    "--source",
    type=click.Choice(HARVESTED),
    help="Source to query; default: the first one allowed.",
)
@NAME
@JSON
@click.pass_context
def harvest_command(
    ctx: click.Context,
    /,
    seeds: tuple[str, ...],
    source: str | None,
    name: str,
    as_json: bool,
    **limits: int,
) -> None:
    """Fetch the works that SEEDs cite, the works that these cite, and so on.

    A SEED is a DOI, an arXiv id, a .bib file, a paper (LaTeX or Markdown), or search words. The
    same command resumes an interrupted harvest. The source must be allowed, and receives
    identifiers, titles or words of the seeds. Exits with 1 if it stopped early.
    """
    from citewell_corpus.sources import source_at

    options = options_of(ctx)
    report = harvest_into(options, library_path_of(options, name), seeds, source, limits)
    show_harvest(report, as_json=as_json)
    code = FINDINGS
    if report.works:
        code = build_and_show(options, name, False, add=[source_at(report.folder, "harvest")])
    ctx.exit(FINDINGS if report.problem is not None else code)


@library.command("refresh", short_help="Fetch new works and build.")
@NAME
@JSON
@click.pass_context
def refresh(ctx: click.Context, name: str, as_json: bool) -> None:
    """Fetch what is new in the sources of all earlier fetches, and build the library."""
    options = options_of(ctx)
    library_folder = library_path_of(options, name)
    found = fetched_folders(library_folder)
    if not found:
        raise click.UsageError("This library has no fetched works: see `citewell library fetch`.")
    outcomes = []
    for source, selection, _ in found:
        flags = {"refresh": True, "yes": True, "as_json": as_json}
        outcome, _folder = fetch_into(options, library_folder, source, selection, flags)
        outcomes.append(outcome)
        if not as_json:
            show(outcome, as_json=False, dry_run=False)
    if as_json:
        write_json(outcomes)
    code = build_and_show(options, name, False)
    ctx.exit(FINDINGS if any(one.problem is not None for one in outcomes) else code)


@library.command("coverage", short_help="Show how many of your references the library has.")
@click.argument("paths", nargs=-1, required=True, metavar="PAPER...", type=_PAPER)
@NAME
@JSON
@click.pass_context
def coverage_command(
    ctx: click.Context, /, paths: tuple[Path, ...], name: str, as_json: bool
) -> None:
    """Show how many references of PAPER (LaTeX, Markdown or .bib) the library has.

    A folder stands for its papers, and for .bib files that none of them uses.

    Counts by venue and year, lists missing references, and suggests how to fetch them. Exits with 1
    if one is missing.
    """
    from citewell_corpus.coverage import coverage

    options = options_of(ctx)
    with library_to_read(options, name) as opened:
        found = coverage([path.absolute() for path in paths], opened, options)
    if as_json:
        write_json(found)
    else:
        show_coverage(found)
    ctx.exit(FINDINGS if found.missing or not found.references else OK)
