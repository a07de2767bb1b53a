"""`citewell library`: the commands that build and manage libraries."""

from __future__ import annotations

import math
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.model.display_text import visible
from citewell.options import Options
from citewell_corpus.cli import contents, fetch_commands  # noqa: F401 - add their commands
from citewell_corpus.cli.library_group import (
    FINDINGS,
    JSON,
    NAME,
    OK,
    build_and_show,
    citing_words,
    filtered,
    human_size,
    in_brackets,
    library,
    library_path_of,
    options_of,
    path_to_read,
    record_filters,
    show_problem,
    with_grobid,
    write_json,
)

if TYPE_CHECKING:
    from citewell.retrieval.backend.write import Written

_REPORTED = 50_000


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


__all__ = ["library"]


@library.command("add", short_help="Add papers from files or folders.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_name", default="", help="Format of the files; default: guessed.")
@click.option(
    "--online", is_flag=True,
    help="Also identify PDFs with the allowed sources.",
)  # fmt: skip
@click.option(
    "--grobid", default="", metavar="URL",
    help="GROBID server that receives and reads PDFs.",
)  # fmt: skip
@record_filters
@NAME
@JSON
@click.pass_context
def add(
    ctx: click.Context,
    paths: tuple[str, ...],
    format_name: str,
    online: bool,
    grobid: str,
    kinds: tuple[str, ...],
    languages: tuple[str, ...],
    strict_language: bool,
    with_abstract: bool | None,
    name: str,
    as_json: bool,
) -> None:
    """Add papers and build, from files or folders.

    Formats are detected from the content (`citewell library formats`). Adding a source again
    updates it. Bad records are counted and skipped. --kind, --language and --with-abstract also
    apply to later builds.

    `zotero:` is the library of a running Zotero with Better BibTeX, `zotero:NAME` a collection,
    `zotero:2/NAME` one of group 2. `starter` shows whether the starter library is installed.

    Your own papers (.tex, Markdown, or a folder with `--format manuscripts`) improve the ranking by
    their citations.

    A PDF (extra `pdf`) is identified by its DOI, arXiv id or title.
    """
    from citewell.corpus.layout import STARTER
    from citewell_corpus.sources import ZOTERO_FOLDER, ZOTERO_PREFIX, fetch_zotero, source_at

    options = options_of(ctx)
    if paths == (STARTER,) and not format_name:
        ctx.exit(_show_starter(as_json))
    if grobid:
        options = with_grobid(options, grobid)
    folder = library_path_of(options, name).parent / ZOTERO_FOLDER
    named = [
        str(fetch_zotero(path, options.zotero.url, folder))
        if path.startswith(ZOTERO_PREFIX)
        else path
        for path in paths
    ]
    sources = [
        filtered(
            source_at(path, format_name),
            kinds,
            languages,
            strict=strict_language,
            with_abstract=with_abstract,
        )
        for path in named
    ]
    ctx.exit(build_and_show(options, name, as_json, online=online, add=sources))


@library.command("build", short_help="Update a library from its sources.")
@click.option(
    "--input", "inputs", multiple=True, metavar="PATTERN",
    help="Files of a bulk data set, as 'works/**/*.gz' (repeatable).",
)  # fmt: skip
@click.option(
    "--jobs", default=0, type=click.IntRange(0), metavar="N",
    help="Processes; default: one, with --input one a core.",
)  # fmt: skip
@click.option(
    "--ray", default="", metavar="ADDRESS",
    help="Compute vectors on the Ray cluster at HOST:PORT, or `local`.",
)  # fmt: skip
@click.option(
    "--encode", type=click.Choice(["all", "table"]),
    help="Compute the vectors of works by the transformer, 60 ms each, or by the token table.",
)  # fmt: skip
@click.option("--fresh", is_flag=True, help="Rebuild everything.")
@click.option("--compact", is_flag=True, help="Merge all segments into one.")
@click.option(
    "--to", "address", default="", metavar="ADDRESS",
    help="Write the library into a back end, `edge:FOLDER` or `qdrant://HOST:PORT/NAME`; with "
    "--input once it is built. With --fresh: beside the contents of a server, then in their place.",
)  # fmt: skip
@record_filters
@NAME
@JSON
@click.pass_context
def build(
    ctx: click.Context,
    inputs: tuple[str, ...],
    jobs: int,
    ray: str,
    encode: str | None,
    fresh: bool,
    compact: bool,
    address: str,
    kinds: tuple[str, ...],
    languages: tuple[str, ...],
    strict_language: bool,
    with_abstract: bool | None,
    name: str,
    as_json: bool,
) -> None:
    """Update a library from its sources: read what changed, continue an interrupted build.

    Adds the vectors of configured encoders. --encode all finds more in a library whose works the
    starter library lacks, and holds for later additions, too. --kind, --language and
    --with-abstract become the filters of all sources; `any` removes them. An interrupted build
    with --input continues with the remaining files.
    """
    from citewell.corpus.layout import SOURCES, current_snapshot
    from citewell.retrieval.backend.contract import is_server
    from citewell_corpus.processes import available_cores
    from citewell_corpus.sources import read_sources, source_at

    options = options_of(ctx)
    filters = bool(kinds or languages or strict_language) or with_abstract is not None
    if address and not inputs:
        if fresh and not is_server(address):
            raise click.UsageError("--fresh with --to needs a server: a folder has no second copy.")
        if compact or filters or ray or encode:
            raise click.UsageError(
                "--to takes the library as it is: only --name and --fresh go with it."
            )
        written = write_to(options, name, address, fresh=fresh, quiet=as_json)
        if as_json:
            write_json(written)
        ctx.exit(OK)
    path = library_path_of(options, name)
    add = [source_at(pattern) for pattern in inputs]
    if not add and not (path / SOURCES).is_file():
        # No sources yet: reports the missing library, with a hint.
        current_snapshot(path)
    if filters:
        known = {**read_sources(path), **{source.path: source for source in add}}
        add = [
            filtered(source, kinds, languages, strict=strict_language, with_abstract=with_abstract)
            for source in known.values()
        ]
    jobs = jobs or (available_cores() if inputs else 1)
    how: dict[str, Any] = {"fresh": fresh, "compact": compact, "add": add, "jobs": jobs, "ray": ray}
    how["encode"] = encode or ""
    if address:
        beside = fresh and is_server(address)
        how["write"] = partial(write_to, options, name, address, fresh=beside, quiet=as_json)
    ctx.exit(build_and_show(options, name, as_json, **how))


@library.command("status", short_help="Show the contents and problems of a library.")
@click.option("--verify", is_flag=True, help="Verify the hash of every file.")
@NAME
@JSON
@click.pass_context
def status(ctx: click.Context, verify: bool, name: str, as_json: bool) -> None:
    """Counts, sources, size on disk, indexes, age and problems. Exits with 1 if there is one."""
    from msgspec.structs import replace

    from citewell.corpus.card import read_card
    from citewell.engine.which_library import library_below
    from citewell_corpus.status import library_status

    options = options_of(ctx)
    found = library_status(path_to_read(options, name), verify=verify)
    own = replace(options.library, name=name or options.library.name)
    lower = library_below(replace(options, library=own))
    if lower is not None and str(lower) != found.path:
        found.below = read_card(lower)
    for card in filter(None, (found.card, found.below)):
        found.fields = found.fields or card.fields
    if as_json:
        write_json(found)
    else:
        if not any(problem.code == "library-missing" for problem in found.problems):
            _show_status(found)
        for problem in found.problems:
            show_problem(problem)
    ctx.exit(FINDINGS if found.problems else OK)


@library.command("list", short_help="List the libraries.")
@JSON
@click.pass_context
def list_command(ctx: click.Context, as_json: bool) -> None:
    """List the libraries of the library folder; `*` marks the configured one."""
    from citewell.corpus.layout import default_libraries_dir, installed_starter
    from citewell_corpus.status import libraries, library_status

    options = options_of(ctx)
    folder = options.library.path or default_libraries_dir()
    starter = installed_starter()
    found = [library_status(path) for path in libraries(folder)]
    found += [library_status(starter)] if starter is not None else []
    if as_json:
        write_json(found)
        return
    if not found:
        click.echo(f"No libraries in {folder}.")
        click.echo("Build one with `citewell library add PATH...`.")
    for one in found:
        mark = "*" if one.name == options.library.name else " "
        facts = f"{one.works:>9,} papers  {human_size(one.size):>7}  {one.created[:10]}"
        flaw = f"  {one.problems[0].code}" if one.problems else ""
        click.echo(f"{mark} {one.name:<20} {facts}{flaw}")


@library.command("remove", short_help="Remove a source from a library, or a library.")
@click.option("--source", "names", multiple=True, help="Source to remove (repeatable).")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@NAME
@JSON
@click.pass_context
def remove(ctx: click.Context, names: tuple[str, ...], yes: bool, name: str, as_json: bool) -> None:
    """Remove sources and rebuild without them; without --source, remove the whole library."""
    from citewell_corpus.status import library_status, remove_library

    options = options_of(ctx)
    path = library_path_of(options, name)
    if names:
        ctx.exit(build_and_show(options, name, as_json, remove=_sources_named(path, names)))
    if not yes:
        works = library_status(path).works if path.is_dir() else 0
        click.confirm(f"Delete the library {path} with {works:,} papers?", abort=True, err=True)
    remove_library(path)
    if as_json:
        write_json({"removed": str(path)})
    else:
        click.echo(f"Removed {path}.")


@library.command("formats", short_help="List the supported formats.")
def formats() -> None:
    """List the formats that `add` reads, with their names for --format."""
    from citewell_corpus.importers import IMPORTERS

    for importer in IMPORTERS:
        click.echo(f"{importer.name:<17} {importer.about}")


def _show_starter(as_json: bool) -> int:
    from citewell.corpus.layout import starter_folder
    from citewell_corpus.status import library_status

    found = library_status(starter_folder())
    if as_json:
        write_json(found)
    else:
        click.echo(f"The starter library is installed, in {found.path}: nothing is to be built.")
        click.echo(f"{found.works:,} papers are searched, below those of your own.")
    return FINDINGS if found.problems else OK


def _sources_named(path: Path, names: tuple[str, ...]) -> list[str]:
    from citewell.corpus.errors import library_error
    from citewell.corpus.layout import existing_libraries
    from citewell_corpus.sources import plain_path, read_sources

    if not path.is_dir():
        message = f"No library in this folder.{existing_libraries(path.parent)}"
        raise library_error("library-missing", message, path)
    known = read_sources(path)
    found = []
    for name in names:
        full = name if name in known else str(plain_path(name))
        if full not in known:
            sources = ", ".join(known) or "none"
            raise click.UsageError(f"It has no source {name!r}; its sources: {sources}.")
        found.append(full)
    return found


SECONDS_TO_READ = 0.06
"""Time of the transformer for a work on one core."""
OLD_DAYS = 60
"""Age of a fetch from which the status names the command that renews it."""


_DUMPS = frozenset({"dblp-xml", "openalex", "semantic-scholar", "arxiv", "pubmed-xml"})
"""Formats of whole sources, which keep growing."""


def _days_old(path: Path) -> int:
    try:
        return int((time.time() - path.stat().st_mtime) / 86_400)
    except OSError:
        return 0


def _years(found: Any) -> str:
    years = f"{found.first} to {found.last}" if found.first < found.last else f"{found.last}"
    return f"works of {years}" if found.last else ""


def _show_status(found: Any) -> None:
    from citewell.corpus.card import missing_years, shares_in_words
    from citewell.retrieval.dense_build import READS_ALL
    from citewell.sources.registry import source_title

    rows = {
        "library": found.path,
        "papers": f"{found.works:,}",
        "titles": f"{found.titles:,}" if found.titles else "",
        "merged": f"{found.merged:,} duplicates",
        "quarantine": f"{found.quarantined:,} papers with malformed author names"
        * bool(found.quarantined),
        "built": f"{found.created} by Citewell {found.citewell}" if found.created else "",
        "age": f"{found.age_days:.1f} days" if found.age_days is not None else "",
        "size": human_size(found.size),
        "holds": found.card.summary if found.card else _years(found),
        "below": found.below.summary if found.below else "",
        "few or none": missing_years(found.card) if found.card else "",
        "by field": shares_in_words(found.fields),
        "segments": f"{found.segments} ({found.rows - found.works:,} dead rows)",
        "unfinished": "a build was interrupted; `citewell library build` continues it"
        * found.unfinished,
    }
    if found.indexes.get("dense", {}).get("encoder") == "citation":
        minutes = math.ceil(found.works * SECONDS_TO_READ / 60)
        rows["vectors"] = (
            "by the transformer"
            if found.indexes["dense"].get(READS_ALL)
            else "by the token table; `citewell library build --encode all` reads the works "
            f"with the transformer, in about {minutes:,} minutes"
        )
    rows |= {
        f"index {name}": ", ".join(f"{key} {value}" for key, value in facts.items())
        for name, facts in found.indexes.items()
    }
    lines = [(f"{name}:", text) for name, text in rows.items() if text]
    for name, source in found.sources.items():
        notes = [f"{source.bad:,} bad"] if source.bad else []
        if source.malformed:
            notes.append(f"{source.malformed:,} with damaged author lists")
        if source.citing:
            notes.insert(0, citing_words(source.citing.lists, source.citing.passages))
        if source.format in _DUMPS and (days := _days_old(Path(name))) > OLD_DAYS:
            notes.append(f"{days:,} days old: newer works are missing")
        facts = f"{source.records:,} records{in_brackets(notes)}, {source.format}"
        lines.append(("source:", f"{name}: {facts}"))
    for fetch in found.fetched:
        old = "; `citewell library refresh` adds what is new" * (fetch.age_days > OLD_DAYS)
        about = f"{fetch.works:,} works from {source_title(fetch.source)} on {fetch.date}"
        lines.append(("fetched:", f"{about}, {fetch.age_days:.0f} days ago{old}"))
    for label, text in lines:
        click.echo(f"{click.style(f'{label:<13}', bold=True)} {visible(text)}")
