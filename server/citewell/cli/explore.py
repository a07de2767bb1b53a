"""`citewell explore`: a literature search in passes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from citewell.cli.find import TypedWordsCommand, reasoned, show_table, tabbed
from citewell.cli.terminal import (
    BIB,
    FINDINGS,
    OK,
    WEIGHTS,
    Session,
    console,
    echo,
    no_model,
    own_bibs,
    show_problems,
    write_json,
)
from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from citewell.engine.contract import Engine
    from citewell.model.llm import Overview
    from citewell.options import Options
    from citewell.usecases.explore.contract import (
        Exploration,
        ExploredWork,
        ExploreQuery,
        Form,
        Pass,
    )
    from citewell.usecases.explore.saved import SavedSearch

FILE = click.Path(path_type=Path, dir_okay=False)
"""Path option for files of labelled papers that the library may lack."""
_FORMS: tuple[tuple[Form, str], ...] = (
    ("bibtex", "BibTeX entries"), ("ris", "RIS"), ("csl", "CSL-JSON"), ("csv", "CSV"),
    ("jsonl", "JSON Lines"),
)  # fmt: skip


def _exports(command: Any) -> Any:
    for form, name in reversed(_FORMS):
        option = click.option(
            f"--{form}", type=FILE, metavar="FILE", help=f"Write the papers as {name}."
        )
        command = option(command)
    return command


@click.command("explore", cls=TypedWordsCommand, short_help="Search the literature on a question.")
@click.argument("text", nargs=-1)
@click.option(
    "-k", "--limit", "count", default=20, show_default=True, type=click.IntRange(1, 400),
    help="Number of papers.",
)  # fmt: skip
@click.option("--rounds", default=0, show_default=True, type=click.IntRange(0, 3),
              help="Further rounds of searches with the best papers.")  # fmt: skip
@click.option(
    "--order", type=click.Choice(["auto", "relevance", "recent", "cited"]), default="auto",
    show_default=True, help="Order of about equally relevant papers.",
)  # fmt: skip
@WEIGHTS
@click.option("--year-from", type=int, metavar="YEAR", help="Only papers from this year or later.")
@click.option("--year-to", type=int, metavar="YEAR", help="Only papers from this year or earlier.")
@click.option("--author", default="", metavar="NAME", help="Only papers by this author.")
@click.option("--venue", default="", metavar="NAME", help="Only papers from this venue.")
@click.option(
    "--keep", "kept", multiple=True, metavar="ID",
    help="Find more papers like this one (repeatable).",
)  # fmt: skip
@click.option("--reject", "rejected", multiple=True, metavar="ID",
              help="Leave out this paper, in all editions (repeatable).")  # fmt: skip
@click.option(
    "--bib", "bibs", type=BIB, multiple=True, metavar="FILE",
    help="A .bib with keys for --keep and --reject (repeatable). Default: the only .bib here.",
)  # fmt: skip
@click.option("--online", is_flag=True, help="Also ask the allowed sources (`citewell sources`).")
@no_model
@click.option(
    "--overview", is_flag=True,
    help="Group the first 100 papers by theme.",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Show the rank of each paper in each pass.")
@click.option("--trace", is_flag=True, help="Show what each pass asked, added and cut.")
@_exports
@click.option(
    "--html", "html_path", type=FILE, metavar="FILE",
    help="Write the papers as a web page.",
)  # fmt: skip
@click.option(
    "--save", type=FILE, metavar="FILE", help="Save the search and the ids of its papers."
)
@click.option("--again", type=FILE, metavar="FILE",
              help="Repeat a saved search, and list what it did not list before.")  # fmt: skip
@click.option("--replace", is_flag=True, help="Replace files that exist.")
@click.pass_context
def explore(ctx: click.Context, /, text: tuple[str, ...], **flags: Any) -> None:
    """Search the literature on a question.

    TEXT is a question or a topic. With --rounds, Citewell searches again with the best papers and
    along their citations.

    A terminal lists the best paper last. A pipe gets the best first: id, title, authors, year,
    venue and reason, separated by tabs. Exits with 1 if nothing is found; --again exits with 0 if
    nothing is new.
    """
    from citewell.usecases.explore.saved import databases, new_papers, read_saved, saved_text

    session: Session = ctx.obj
    options = session.load().options
    saved = read_saved(flags["again"]) if flags["again"] else None
    request = _request(" ".join(text), flags, saved)
    files = {form: flags[form] for form, _ in _FORMS if flags[form]}
    _check_targets([*files.values(), flags["html_path"], flags["save"]], flags)
    request, found, library, cited = _explored(options, request, flags)
    papers = found.papers if saved is None else new_papers(found, saved)
    show_problems(found.problems)
    if flags["trace"] or request.online:
        echo(f"Field: {found.field}.", err=True)
    if saved is not None:
        echo(f"{len(papers)} of {len(found.papers)} papers are new since {saved.date}.", err=True)
    nothing_new = saved is not None and bool(found.papers) and not papers
    _write(papers, files, options)
    if flags["html_path"]:
        from citewell.usecases.explore.saved import to_html

        page = to_html(request, found, papers, library)
        _write_file(flags["html_path"], page.encode())
    if flags["save"]:
        searched = databases(options, online=request.online)
        _write_file(flags["save"], saved_text(request, found, searched, saved).encode())
    if found.overview is not None:
        _show_overview(found.overview)
    if not nothing_new:
        verbose = flags["verbose"] or session.verbosity > 0
        _show(papers, cited, options.bib.key_pattern, verbose=verbose)
    ctx.exit(OK if papers or nothing_new else FINDINGS)


def _request(text: str, flags: dict[str, Any], saved: SavedSearch | None) -> ExploreQuery:
    """The request. Raises `click.UsageError` if it is empty or contradictory."""
    from citewell.usecases.explore.contract import ExploreQuery

    low, high = flags["year_from"], flags["year_to"]
    if low is not None and high is not None and low > high:
        raise click.UsageError(f"--year-from {low} is after --year-to {high}.")
    asks = text.strip() or flags["author"] or flags["venue"] or flags["kept"]
    if saved is not None:
        if asks or flags["rejected"] or low is not None or high is not None:
            raise click.UsageError("--again repeats the saved question; give no other one.")
        online = saved.request.online or flags["online"]
        model = saved.request.model and not flags["no_model"]
        return replace(saved.request, online=online, model=model, overview=flags["overview"])
    if not asks:
        raise click.UsageError("Missing argument 'TEXT...'.")
    return ExploreQuery(
        text=text,
        author=flags["author"],
        venue=flags["venue"],
        year_from=low,
        year_to=high,
        kept=flags["kept"],
        rejected=flags["rejected"],
        count=flags["count"],
        rounds=flags["rounds"],
        order=flags["order"],
        weights=flags["weights"],
        online=flags["online"],
        model=not flags["no_model"],
        overview=flags["overview"],
    )


def _explored(
    options: Options, request: ExploreQuery, flags: dict[str, Any]
) -> tuple[ExploreQuery, Exploration, str, dict[str, int]]:
    """The request with ids, the last list, the searched library, and the number of citations of
    each paper."""
    from citewell.usecases.library import Library

    with Library(options, online=request.online) as library:
        request = _with_ids(library.engine, request, options, flags["bibs"])
        found = None
        for found in library.explore(request):
            if flags["trace"]:
                _show_pass(found.passes[-1], request.count)
        assert found is not None
        ids = [one.work.id for one in found.papers]
        cited = dict(zip(ids, library.engine.citations(ids), strict=True))
        return request, found, library.engine.status().library, cited


def _with_ids(
    engine: Engine, request: ExploreQuery, options: Options, bibs: tuple[Path, ...]
) -> ExploreQuery:
    """The request with the ids of kept and rejected papers. Raises `CitewellError` for an unknown
    one."""
    from citewell.features.citing.known_works import all_named

    def ids(names: Sequence[str]) -> tuple[str, ...]:
        works = all_named(engine, names, options.bib.key_pattern, lambda: own_bibs(bibs))
        return tuple(work.id for work in works)

    return replace(request, kept=ids(request.kept), rejected=ids(request.rejected))


def _show_pass(one: Pass, count: int) -> None:
    from citewell.usecases.explore.result_list import HEAD

    head = f"{one.name}{f' (round {one.round})' if one.round > 1 else ''}"
    # In a list of at most 50 papers, all added ones are among the first 50.
    entered = f"{one.entered} among the first {HEAD}, " if count > HEAD else ""
    echo(
        f"{head}: {one.found:,} found, {one.added:,} added, {entered}{one.cut:,} not listed; "
        f"{one.milliseconds:,.0f} ms",
        err=True,
    )
    for text in one.queries:
        echo(f"  {text}", err=True)


def _show_overview(found: Overview) -> None:
    """Print the overview: above the list in a terminal; in a pipe to standard error."""
    from citewell.usecases.explore.contract import overview_text

    echo(overview_text(found), err=not console().is_terminal)


def _check_targets(paths: Sequence[Path | None], flags: dict[str, Any]) -> None:
    """Raise `click.UsageError` before the search if it would overwrite a file unasked, or if its
    folder is missing or not writable."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise click.UsageError(f"{path} cannot be written: there is no folder {path.parent}.")
        if path is not None and not os.access(path.parent, os.W_OK):
            raise click.UsageError(f"{path} cannot be written: {path.parent} is write-protected.")
        own = flags["again"] is not None and path == flags["again"]
        if path is not None and path.is_file() and not own and not flags["replace"]:
            raise click.UsageError(f"{path} exists. Add --replace to replace it.")


def _write(papers: Sequence[ExploredWork], files: dict[Form, Path], options: Options) -> None:
    from citewell.usecases.explore.contract import exported

    for form, path in files.items():
        _write_file(path, exported(papers, form, options))


def _write_file(path: Path, data: bytes) -> None:
    """Replace the file as a whole. Raises `CitewellError` on failure."""
    from citewell.model.system.files import write_atomically

    try:
        write_atomically(path, data)
    except OSError as error:
        raise CitewellError(
            Problem(
                "explore-write",
                f"The file cannot be written: {error.strerror or error}.",
                "Choose another path.",
                str(path),
            )
        ) from error
    echo(f"written: {path}", err=True)


def _show(
    papers: Sequence[ExploredWork], cited: Mapping[str, int], key_pattern: str, *, verbose: bool
) -> None:
    """Print a table in a terminal; elsewhere a tab-separated line for each paper."""
    from citewell.documents.keys.pattern import make_key
    from citewell.usecases.explore.contract import reason_text

    if not papers:
        click.echo("No papers found.", err=True)
        return
    whys = [
        _passes_text(one) if verbose else reasoned(reason_text(one), cited[one.work.id])
        for one in papers
    ]
    out = console()
    if not out.is_terminal:
        for one, why in zip(papers, whys, strict=True):
            echo(tabbed(one.work.id, one.work, why))
        return
    taken: set[str] = set()
    keys = []
    for one in papers:
        key = make_key(one.work, key_pattern, taken)
        taken |= {key, key.lower()}
        editions = len(one.editions)
        keys.append(f"{key} (and {editions} more editions)" if editions else key)
    show_table(out, [one.work for one in papers], keys, whys, best_last=True)
    echo(f"{len(papers)} papers, the best one last." if len(papers) > 1 else "1 paper.", err=True)


def _passes_text(paper: ExploredWork) -> str:
    """The best rank in each pass: "search #4, papers #2"; only the name without a rank."""
    found: dict[str, int] = {}
    for one in paper.reasons:
        found[one.step] = min(one.rank, found.get(one.step, one.rank))
    return ", ".join(f"{name} #{best}" if best else name for name, best in found.items())


# `citewell map`: a picture of a whole library.


@click.command("map", short_help="Draw a library, with its communities and gaps.")
@click.option("--html", "path", type=FILE, metavar="FILE", help="Write the map as a web page.")
@click.option("--replace", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Write the map as JSON, with an SVG picture.")
@click.pass_context
def map_command(ctx: click.Context, path: Path | None, replace: bool, as_json: bool) -> None:
    """Draw a whole library.

    Shows its communities with their key papers, and gaps: works that yours cite and the library
    lacks, as far as citations are known. --html writes them with a picture of at most 5,000 works.
    Exits with 1 for an empty library.
    """
    import msgspec

    from citewell.usecases.library import Library
    from citewell.usecases.library_map import gap_text, library_map, summary, to_html

    if path is not None and path.exists() and not replace:
        raise click.UsageError(f"{path} exists. Add --replace to replace it.")
    session: Session = ctx.obj
    options = session.load().options
    with Library(options) as library:
        found = library_map(library.engine)
    show_problems(found.problems)
    if as_json:
        write_json(msgspec.to_builtins(found))
    else:
        echo(summary(found), err=True)
        for one in found.communities:
            echo(f"{', '.join(one.words)} ({one.works:,} works)")
            for work in one.key_papers:
                echo(f"  {work.id}\t{' '.join(work.title.split())}\t{work.year or ''}")
        for gap in found.gaps:
            work = gap.work
            echo(f"gap\t{work.id}\t{' '.join(work.title.split())}\t{gap_text(gap)}")
    if path is not None and found.works:
        _write_file(path, to_html(found, options.library.name).encode())
    ctx.exit(OK if found.works else FINDINGS)
