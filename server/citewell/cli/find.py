"""`citewell find` and `citewell related`: papers for a text, and those linked to papers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from citewell.cli.terminal import (
    BIB,
    BROKEN,
    FINDINGS,
    OK,
    WEIGHTS,
    Session,
    console,
    echo,
    echo_exact,
    no_model,
    own_bibs,
    show_cost,
    show_problems,
    write_json,
)
from citewell.model import CitewellError, Query, SearchResult
from citewell.model.display_text import shorten
from citewell.model.venues import shown_venue

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.model import Query, SearchResult, Work
    from citewell.model.query import Direction
    from citewell.options.tree import BibOptions
    from citewell.usecases.find import Found, Neighbour

_WORDS = re.compile(r"-[^\W\d].*\s")
"""A quoted argument such as "-irrigation of orchards", unlike any option."""


class TypedWordsCommand(click.Command):
    """Takes a quoted text that starts with a dash as words; for a single word it explains how to
    write it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises `click.UsageError` for an option that the command lacks."""
        end = args.index("--") if "--" in args else len(args)
        words = [one for one in args[:end] if _WORDS.match(one)]
        if words:
            others = [one for one in args[:end] if not _WORDS.match(one)]
            args = [*others, "--", *words, *args[end + 1 :]]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name.startswith("--"):
                raise
            message = f"{error.message} Write `--` before words that start with a dash."
            raise click.UsageError(message, ctx) from error


_BROKEN = ("library-", "engine-", "index-", "sources-")
"""Prefixes of the codes of problems that prevent a search."""


@click.command("find", cls=TypedWordsCommand, short_help="Find papers for a text.")
@click.argument("text", nargs=-1)
@click.option(
    "-k", "--limit", "count", default=10, type=click.IntRange(1, 1000), help="Number of papers."
)
@click.option("--year", type=int, metavar="YEAR", help="Only papers from this year.")
@click.option("--year-from", type=int, metavar="YEAR", help="Only papers from this year or later.")
@click.option("--year-to", type=int, metavar="YEAR", help="Only papers from this year or earlier.")
@click.option(
    "--author",
    default="",
    metavar="NAME",
    help="Only papers by this author.",
)
@click.option(
    "--venue",
    default="",
    metavar="NAME",
    help="Only papers from this venue.",
)
@click.option(
    "--kind",
    default="",
    metavar="KIND",
    help="Only papers of this kind: article, book ..., or survey, dataset, benchmark by title.",
)
@click.option(
    "--language",
    default="",
    metavar="LANGUAGE",
    help="Only papers in this language (a code or name), or without a stated one.",
)
@click.option(
    "--strict-language",
    is_flag=True,
    help="With --language: leave out works without a stated language.",
)
@click.option(
    "--file", "file", type=click.File(encoding="utf-8"), metavar="FILE",
    help="Search for each line of FILE (- for standard input) instead of TEXT.",
)  # fmt: skip
@WEIGHTS
@click.option("--online", is_flag=True, help="Also ask the allowed sources (`citewell sources`).")
@click.option("--pick", is_flag=True, help="Let the language model put a paper first.")
@no_model
@click.option("--explain", is_flag=True, help="Show how TEXT was understood.")
@click.option("-v", "--verbose", is_flag=True, help="Show the retrievers and ranks of each paper.")
@click.option("--bibtex", is_flag=True, help="Write the papers as BibTeX entries.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def find(
    ctx: click.Context,
    text: tuple[str, ...],
    count: int,
    year: int | None,
    year_from: int | None,
    year_to: int | None,
    author: str,
    venue: str,
    kind: str,
    language: str,
    strict_language: bool,
    file: IO[str] | None,
    weights: str,
    online: bool,
    pick: bool,
    no_model: bool,
    explain: bool,
    verbose: bool,
    bibtex: bool,
    as_json: bool,
) -> None:
    """Find papers for a text.

    TEXT is a title, a topic, a query such as "papers by Ruiz on parsing since 2019", or a sentence
    that needs a citation. An identifier or address names one paper or none. --online sends TEXT to
    the allowed sources.

    A pipe gets key, title, authors, year, venue and reason, separated by tabs. With --file, each
    answer follows a line with # and its text. Exits with 1 if nothing is found.
    """
    from citewell.features.text.evidence import understood_text
    from citewell.usecases.find import Found
    from citewell.usecases.library import Library

    if bibtex and as_json:
        raise click.UsageError("--bibtex and --json exclude each other.")
    if strict_language and not language:
        raise click.UsageError("--strict-language needs --language.")
    if file is not None and text:
        raise click.UsageError("--file takes the place of TEXT.")
    texts = _lines(file) if file else [" ".join(text)]
    wanted = Query(
        text=next(iter(texts), ""),
        author=author,
        venue=venue,
        kind=kind,
        language=language,
        year_from=year_from,
        year_to=year_to,
    )
    query = _query(wanted, year)
    session: Session = ctx.obj
    options = session.load().options
    entries = ""
    try:
        with Library(options, online=online) as library:
            answers = library.find_many(
                texts,
                count,
                author=author,
                venue=venue,
                kind=kind,
                language=language,
                strict_language=strict_language,
                year_from=query.year_from,
                year_to=query.year_to,
                weights=weights,
                pick=pick,
                model=not no_model,
            )
            for who in dict.fromkeys(one.who for one in answers if one.who):
                echo(who, err=True)
            show_cost(library.engine.status().budget)
            works = list({hit.work.id: hit.work for one in answers for hit in one.hits}.values())
            ids = [work.id for work in works]
            cited = dict(zip(ids, library.engine.citations(ids), strict=True))
            if bibtex:
                entries = library.bibtex(works)
                show_problems(library.accept(works))
    except CitewellError as error:
        if not as_json:
            raise
        failed, cited = SearchResult(problems=(error.problem,)), {}
        answers = [Found(query=replace(query, text=one), result=failed) for one in texts]
    if as_json:
        results = [_to_json(one, _keys(one.result, options.bib)) for one in answers]
        write_json(results if file else results[0])
    elif bibtex:
        echo_exact(entries)
    verbose = verbose or session.verbosity > 0
    for one, found in zip(texts, answers, strict=True):
        if explain:
            understood = understood_text(found.result.understood)
            more = [f"Also searched for: {other}" for other in found.queries[1:]]
            field = f"Field: {found.field}."
            echo("\n".join((understood or "Understood: words alone.", field, *more)), err=True)
        if not (as_json or bibtex):
            _show_found(found, cited, options.bib, f"# {one}" if file else "", verbose=verbose)
        show_problems(found.problems, error=_is_broken(found.result))
    ctx.exit(_status_of(answers))


def _lines(file: IO[str]) -> list[str]:
    """The lines with words. Raises `click.UsageError` where there is none."""
    lines = [line.strip() for line in file if line.strip()]
    if not lines:
        raise click.UsageError("FILE has no line with words.")
    return lines


def _status_of(answers: Sequence[Found]) -> int:
    if any(found.hits for found in answers):
        return OK
    return BROKEN if any(_is_broken(found.result) for found in answers) else FINDINGS


def _is_broken(result: SearchResult) -> bool:
    """Whether nothing could be searched."""
    return not result.hits and any(p.code.startswith(_BROKEN) for p in result.problems)


def _show_found(
    found: Found, cited: Mapping[str, int], bib: BibOptions, heading: str, *, verbose: bool
) -> None:
    from citewell.features.text.evidence import reason, why

    if _is_broken(found.result):
        return
    if heading:
        echo(heading)
    whys = [
        why(hit) if verbose else reasoned(reason(hit, found.query.text), cited[hit.work.id])
        for hit in found.hits
    ]
    _show(found.result, _keys(found.result, bib), whys)


def _query(query: Query, year: int | None) -> Query:
    """The query with its years. Raises `click.UsageError` if it is empty or contradictory."""
    low, high = query.year_from, query.year_to
    if year is not None:
        if low is not None or high is not None:
            raise click.UsageError("--year excludes --year-from and --year-to.")
        low = high = year
    if low is not None and high is not None and low > high:
        raise click.UsageError(f"--year-from {low} is after --year-to {high}.")
    given = (query.text, query.author, query.venue, query.kind, query.language)
    if low is None and high is None and not any(one.strip() for one in given):
        raise click.UsageError("Missing argument 'TEXT...'.")
    return replace(query, year_from=low, year_to=high)


def _keys(result: SearchResult, options: BibOptions) -> list[str]:
    """The key of each paper: the existing one, else a suggested one; all distinct."""
    from citewell.documents.keys.pattern import make_key

    taken: set[str] = set()
    keys = []
    for hit in result.hits:
        key = hit.key or make_key(hit.work, options.key_pattern, taken)
        taken |= {key, key.lower()}
        keys.append(key)
    return keys


def _to_json(found: Found, keys: Sequence[str]) -> dict[str, Any]:
    """The result for programs: `hits` and `problems` are always present."""
    import msgspec

    result = found.result
    return {
        "hits": [
            {
                "key": key,
                "score": hit.score,
                "confidence": hit.confidence,
                "work": record_of(hit.work),
                "evidence": msgspec.to_builtins(hit.evidence),
            }
            for hit, key in zip(result.hits, keys, strict=True)
        ],
        "understood": msgspec.to_builtins(result.understood),
        "field": found.field,
        "problems": msgspec.to_builtins(tuple(dict.fromkeys(found.problems))),
        "queries": found.queries,
        "variant": result.variant,
        "timings": result.timings,
    }


def _show(result: SearchResult, keys: Sequence[str], whys: Sequence[str]) -> None:
    """Print a table in a terminal; elsewhere a tab-separated line for each paper."""

    if not result.hits:
        click.echo("No papers found.", err=True)
        return
    out = console()
    if out.is_terminal:
        show_table(out, [hit.work for hit in result.hits], keys, whys)
        return
    for hit, key, why in zip(result.hits, keys, whys, strict=True):
        click.echo(tabbed(key, hit.work, why))


# `citewell related`: the neighbours of papers in the citation graph.

_RELATED_WORDS: dict[Direction, str] = {
    "cites": "cited by",
    "cited_by": "cites",
    "cocited": "cited together with",
}


@click.command("related", short_help="List papers linked to others by citations.")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option(
    "--direction", "directions", multiple=True,
    type=click.Choice(["cites", "cited_by", "cocited"]),
    help="What they cite, what cites them, or what is cited with them (repeatable). Default: all.",
)  # fmt: skip
@click.option("-k", "--limit", "count", default=20, show_default=True,
              type=click.IntRange(1, 1000), help="Number of papers.")  # fmt: skip
@click.option(
    "--bib", "bibs", type=BIB, multiple=True, metavar="FILE",
    help="A .bib with keys for ID (repeatable). Default: the only .bib here.",
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

    An ID is an id or key of a search, a key of your .bib, a DOI or an arXiv id. Papers linked to
    most of them come first. Lines have id, title, authors, year and links, separated by tabs. Exits
    with 1 if nothing is found.
    """
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
        parts.append(f"{_RELATED_WORDS[link.direction]} {link.id}{times}")
    return "; ".join(parts)


# Papers in a terminal.

MAX_AUTHORS = 3
VENUE_CHARACTERS = 48


def authors_of(work: Work) -> str:
    """The first three family names."""
    names = [author.family or author.given for author in work.authors]
    if len(names) > MAX_AUTHORS:
        return ", ".join(names[:MAX_AUTHORS]) + " et al."
    return ", ".join(names)


def record_of(work: Work) -> dict[str, Any]:
    """The record as JSON of the command line, with authors as display names."""
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(work)
    return {**found, "authors": [author.display for author in work.authors]}


def venue_of(work: Work) -> str:
    """The shortest name of the venue in the record, at most `VENUE_CHARACTERS`."""
    name = shown_venue(work.venue or work.booktitle or work.journal or work.publisher)
    return shorten(name, VENUE_CHARACTERS)


def line_of(work: Work) -> str:
    """One line: authors, year, title, venue."""
    year = f" ({work.year})" if work.year else ""
    name = venue_of(work)
    venue = f" {name}{'' if name.endswith('…') else '.'}" if name else ""
    return f"{authors_of(work)}{year}. {work.title}.{venue}"


def show_table(
    out: Console,
    works: Sequence[Work],
    keys: Sequence[str],
    whys: Sequence[str],
    *,
    best_last: bool = False,
) -> None:
    """Print papers in a terminal: authors and year, title and key, venue, and the reason."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", justify="right", style="dim")
    table.add_column("paper", ratio=5, overflow="fold")
    table.add_column("venue", ratio=2, overflow="fold")
    table.add_column("why", ratio=3, overflow="fold", style="dim")
    rows = list(enumerate(zip(works, keys, whys, strict=True), start=1))
    for rank, (work, key, why) in reversed(rows) if best_last else rows:
        paper = Text(f"{authors_of(work)} {work.year or ''}".strip())
        paper.append(f"\n{work.title}", style="bold")
        paper.append(f"\n{key}", style="cyan")
        if work.retracted:
            paper.append("\nretracted", style="bold red")
        table.add_row(str(rank), paper, Text(venue_of(work)), Text(why))
    out.print(table)


def reasoned(reason: str, times: int) -> str:
    """The reason for a paper, and its number of citations."""
    from citewell.features.text.evidence import cited_text

    return "; ".join(part for part in (reason, cited_text(times)) if part)


def tabbed(first: str, work: Work, last: str) -> str:
    """The line of a paper in a pipe: `first`, title, authors, year, venue, `last`."""
    name = work.venue or work.booktitle or work.journal or work.publisher
    title = f"{work.title} [retracted]" if work.retracted else work.title
    fields = (first, title, authors_of(work), str(work.year or ""), name, last)
    return "\t".join(" ".join(field.split()) for field in fields)
