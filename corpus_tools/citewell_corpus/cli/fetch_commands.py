"""The commands of `citewell library` that fetch works from sources, and the coverage command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from citewell_corpus.cli.fetch import (
    HARVESTED,
    fetch_into,
    fetch_options,
    fetched_folders,
    harvest_into,
    show,
    show_coverage,
    show_harvest,
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
    from citewell_corpus.cli.paper_fetch import agreed_selection
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
