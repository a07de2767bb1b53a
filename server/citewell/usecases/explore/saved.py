"""A saved literature search: a TOML file with the question, the run, and the listed ids.

It contains the items of a systematic search's report (PRISMA-S): the databases, the date, the
question and filters, the passes, the numbers of records before and after merging duplicates, and
the earlier runs.
"""

from __future__ import annotations

import datetime
import html
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from citewell import __version__
from citewell.corpus.layout import current_snapshot, read_manifest
from citewell.engine.which_library import libraries_below, which_library
from citewell.features.checking.page import POLICY
from citewell.features.text.evidence import understood_text
from citewell.model import CitewellError, Problem, Work
from citewell.model.llm import CitedSentence, Overview
from citewell.options import Options
from citewell.sources.registry import allowed
from citewell.usecases.explore.contract import (
    NOTHING_QUOTED,
    Exploration,
    ExploredWork,
    ExploreQuery,
    Pass,
    reason_text,
)

# The databases of a literature search, as named in a report of a systematic search.


class DatabaseSource(msgspec.Struct, frozen=True, kw_only=True):
    """The origin of records of a library."""

    name: str
    """Path or name, as given to `citewell library add`."""
    format: str
    records: int
    """Number of records read."""


class Database(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A library, or a source queried online."""

    name: str
    kind: str
    """Either "library" or "online"."""
    snapshot: str = ""
    built: str = ""
    """Creation time of the snapshot, ISO 8601 in UTC; empty if unknown."""
    works: int = 0
    duplicates: int = 0
    """Number of records merged into others when the library was built."""
    sources: tuple[DatabaseSource, ...] = ()


def databases(options: Options, *, online: bool) -> tuple[Database, ...]:
    """The configured library, those below it, and with `online` the allowed sources. An unreadable
    library is left out."""
    found = []
    for folder in (which_library(options), *libraries_below(options)):
        with suppress(CitewellError):
            snapshot = current_snapshot(folder)
            manifest = read_manifest(folder, snapshot)
            sources = tuple(
                DatabaseSource(name=name, format=one.format, records=one.records)
                for name, one in manifest.sources.items()
            )
            found.append(
                Database(
                    name=folder.name,
                    kind="library",
                    snapshot=snapshot,
                    built=manifest.created,
                    works=manifest.works,
                    duplicates=manifest.merged,
                    sources=sources,
                )
            )
    names = allowed(options.sources.allow)[0] if online else ()
    return (*found, *(Database(name=name, kind="online") for name in names))


FORMAT = 1
MAX_BYTES = 4_000_000
_SEARCH = ("text", "author", "venue", "year_from", "year_to", "kept", "rejected", "count",
           "rounds", "order", "weights", "online")  # fmt: skip


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier run of the search."""

    date: str
    snapshot: str = ""
    papers: int = 0
    """Number of papers listed."""
    since: int = 0
    """Number of papers new in the next run."""


class SavedSearch(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file."""

    request: ExploreQuery
    ids: tuple[str, ...]
    """Ids of the listed papers and of their other editions."""
    papers: int = 0
    """Number of papers listed."""
    date: str
    """ISO 8601."""
    snapshot: str = ""
    """Snapshot of the searched library."""
    updates: tuple[Update, ...] = ()
    """The earlier runs, oldest first."""


def saved_text(
    request: ExploreQuery,
    found: Exploration,
    searched: Sequence[Database],
    earlier: SavedSearch | None = None,
) -> str:
    """The file of a search; `searched` are its databases, and `earlier` is the file that this run
    repeats."""
    import tomlkit

    document = tomlkit.document()
    document.add(
        tomlkit.comment("A saved search: `citewell explore --again FILE` lists what is new.")
    )
    document["format"] = FORMAT
    values = msgspec.to_builtins(request)
    document["search"] = {
        name: values[name] for name in _SEARCH if values[name] not in (None, "", (), False)
    }
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    duplicates = sum(len(one.editions) for one in found.papers)
    cut = found.passes[-1].cut if found.passes else 0
    document["run"] = {
        "date": datetime.date.today().isoformat(),
        "finished": now.isoformat(),
        "citewell": __version__,
        "library": searched[0].name if searched else "",
        "snapshot": found.snapshot,
        "understood": understood_text(found.understood),
        "records": len(found.papers) + duplicates + cut,
        "duplicates": duplicates,
        "not_listed": cut,
        "papers": len(found.papers),
    }
    document["databases"] = _tables(searched)
    if updates := _updates(found, earlier):
        document["updates"] = _tables(updates)
    passes = tomlkit.aot()
    for one in found.passes:
        table = tomlkit.table()
        for name, value in msgspec.to_builtins(one).items():
            if name != "milliseconds":
                table[name] = value
        passes.append(table)
    document["passes"] = passes
    ids = tomlkit.array()
    ids.multiline(True)
    ids.extend(work.id for one in found.papers for work in (one.work, *one.editions))
    document["result"] = {"ids": ids}
    return tomlkit.dumps(document)


def read_saved(path: Path) -> SavedSearch:
    """The search that a file holds. Raises `CitewellError` where it cannot be read."""
    try:
        data = path.read_bytes()
        if len(data) > MAX_BYTES:
            raise CitewellError(_unreadable(path, "it is too large"))
        content: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
        if content.get("format") != FORMAT:
            raise CitewellError(_unreadable(path, "it is no saved search"))
        search = {name: content["search"][name] for name in _SEARCH if name in content["search"]}
        request = msgspec.convert(search, ExploreQuery, strict=True)
        run = content["run"]
        return SavedSearch(
            request=request,
            ids=msgspec.convert(content["result"]["ids"], tuple[str, ...]),
            papers=msgspec.convert(run.get("papers", 0), int),
            updates=msgspec.convert(content.get("updates", []), tuple[Update, ...]),
            date=msgspec.convert(run["date"], str),
            snapshot=msgspec.convert(run.get("snapshot", ""), str),
        )
    except OSError as error:
        raise CitewellError(_unreadable(path, error.strerror or str(error))) from error
    except (ValueError, TypeError, KeyError) as error:
        raise CitewellError(_unreadable(path, str(error)[:200])) from error


def new_papers(found: Exploration, saved: SavedSearch) -> tuple[ExploredWork, ...]:
    """The papers of a list with no edition in the saved one."""
    known = set(saved.ids)
    return tuple(
        one
        for one in found.papers
        if known.isdisjoint(
            name for work in (one.work, *one.editions) for name in (work.id, *work.same_as)
        )
    )


def _updates(found: Exploration, earlier: SavedSearch | None) -> tuple[Update, ...]:
    """The earlier runs."""
    if earlier is None:
        return ()
    last = Update(
        date=earlier.date,
        snapshot=earlier.snapshot,
        papers=earlier.papers,
        since=len(new_papers(found, earlier)),
    )
    return (*earlier.updates, last)


def _tables(values: Sequence[msgspec.Struct]) -> Any:
    import tomlkit

    tables = tomlkit.aot()
    for one in values:
        table = tomlkit.table()
        for name, value in msgspec.to_builtins(one).items():
            table[name] = value
        tables.append(table)
    return tables


def _unreadable(path: Path, reason: str) -> Problem:
    return Problem(
        "explore-unreadable",
        f"The saved search cannot be read: {reason}.",
        "Give a file that `citewell explore --save` wrote.",
        str(path),
    )


# A literature search as a standalone page: the list with reasons, the passes, and the overview.
#
# It contains no script and loads nothing. All text from records and the question is escaped.

_STYLE = """
:root{color-scheme:light dark;font-family:system-ui,sans-serif;line-height:1.5}
body{max-width:54rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{line-height:1.2}h3{margin:.2rem 0;font-size:1.05rem}p{margin:.3rem 0}
ol.papers{padding-left:2.4rem}ol.papers>li{margin:1.2rem 0;break-inside:avoid}
li:target{outline:.15rem solid;outline-offset:.4rem}
small,.reasons{opacity:.8}.retracted{color:#c0392b;font-weight:bold}
blockquote{margin:.4rem 0;padding-left:.8rem;border-left:.25rem solid #8888}
.wide{overflow-x:auto}table{border-collapse:collapse;margin:.6rem 0}
th,td{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}
td.number,th.number{text-align:right;white-space:nowrap}
summary{cursor:pointer;margin:.4rem 0}
a:focus-visible,summary:focus-visible{outline:.15rem solid;outline-offset:.15rem}
@media(prefers-color-scheme:dark){.retracted{color:#ff8a7a}}
@media print{body{margin:0}a{color:inherit}}
"""
_NUMBERS = ("found", "new in the list", "new among the first 50", "not listed")


def to_html(
    request: ExploreQuery, found: Exploration, papers: Sequence[ExploredWork], library: str
) -> str:
    """The page of a search with these papers; `library` is the name of the searched library."""
    place: dict[str, int] = {}
    for rank, paper in enumerate(papers, start=1):
        place |= {work.id: rank for work in (paper.work, *paper.editions)}
    name = _title(request)
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    facts = [
        f"{len(papers):,} papers, listed by Citewell {_text(__version__)} on {day}.",
        f"Library: {_text(library)}, snapshot {_text(found.snapshot)}.",
    ]
    if understood := understood_text(found.understood):
        facts.append(f"Understood: {_text(understood)}.")
    problems = "".join(f"<p>{_text(one.message)} {_text(one.hint)}</p>" for one in found.problems)
    parts = [_overview(found.overview, place), _papers(papers), _passes(found.passes)]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n"
        f"<body><header><h1>{name}</h1><p>{' '.join(facts)}</p>{problems}</header>\n"
        f"<main>{''.join(parts)}</main></body></html>\n"
    )


def _title(request: ExploreQuery) -> str:
    words = " ".join(request.text.split())
    filters = [
        f"{label} {value}"
        for label, value in (
            ("author", request.author), ("venue", request.venue),
            ("from", request.year_from), ("until", request.year_to),
        )
        if value
    ]  # fmt: skip
    return _text("; ".join(part for part in (words, *filters) if part) or "Papers like those kept")


def _papers(papers: Sequence[ExploredWork]) -> str:
    if not papers:
        return "<h2>Papers</h2><p>No papers found.</p>\n"
    rows = "".join(_paper(rank, one) for rank, one in enumerate(papers, start=1))
    return f'<h2>Papers</h2>\n<ol class="papers">{rows}</ol>\n'


def _paper(rank: int, paper: ExploredWork) -> str:
    work = paper.work
    authors = ", ".join(author.display for author in work.authors)
    where = work.venue or work.booktitle or work.journal or work.publisher
    facts = " · ".join(_text(str(one)) for one in (authors, work.year or "", where) if one)
    retracted = ' <span class="retracted">retracted</span>' if work.retracted else ""
    judged = "" if paper.relevance is None else f"relevance {paper.relevance:.2f}, "
    editions = ""
    if paper.editions:
        ids = ", ".join(f"<code>{_text(one.id)}</code>" for one in paper.editions)
        editions = f"<p><small>Other editions: {ids}</small></p>"
    abstract = ""
    if work.abstract:
        abstract = f"<details><summary>Abstract</summary><p>{_text(work.abstract)}</p></details>"
    return (
        f'<li id="paper-{rank}"><h3>{_linked(work)}{retracted}</h3><p>{facts}</p>'
        f'<p class="reasons"><small><code>{_text(work.id)}</code> {judged}because: '
        f"{_text(reason_text(paper))}</small></p>{editions}{abstract}</li>\n"
    )


def _linked(work: Work) -> str:
    """The title, linked if the record has an http or https address."""
    address = f"https://doi.org/{work.doi}" if work.doi else work.url
    if not address and work.arxiv:
        address = f"https://arxiv.org/abs/{work.arxiv}"
    title = _text(work.title or work.id)
    if not address.startswith(("https://", "http://")):
        return title
    return f'<a href="{_text(address)}" rel="noreferrer">{title}</a>'


def _passes(passes: Sequence[Pass]) -> str:
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for name in _NUMBERS)
    rows = []
    for one in passes:
        name = one.name + (f" (round {one.round})" if one.round > 1 else "")
        numbers = "".join(
            f'<td class="number">{value:,}</td>'
            for value in (one.found, one.added, one.entered, one.cut)
        )
        items = "".join(f"<li>{_text(query)}</li>" for query in one.queries)
        queries = f"<details><summary>{len(one.queries)}</summary><ul>{items}</ul></details>"
        rows.append(f'<tr><th scope="row">{name}</th>{numbers}<td>{queries}</td></tr>')
    return (
        '<h2>Passes</h2>\n<div class="wide"><table><thead><tr><th scope="col">pass</th>'
        f'{heads}<th scope="col">questions</th></tr></thead><tbody>{"".join(rows)}</tbody>'
        "</table></div>\n"
    )


def _overview(overview: Overview | None, place: dict[str, int]) -> str:
    """The model's text, if there is one, and the themes; each sentence links to its papers."""
    if overview is None or not (overview.themes or overview.summary):
        return ""
    parts = ["<h2>Overview</h2>\n"]
    summary = overview.summary
    if summary is not None and summary.sentences:
        written = " ".join(_sentence(one, place) for one in summary.sentences)
        parts.append(
            f"<p>{written}</p><p><small>Written by {_text(summary.model)} "
            f"({_text(summary.program)}); every sentence is supported by an abstract.</small></p>\n"
        )
    for theme in overview.themes:
        name = _text(", ".join(theme.words) or "others")
        items = "".join(f"<li>{_sentence(one, place)}</li>" for one in theme.sentences)
        quoted = f"<ul>{items}</ul>" if items else f"<p>{NOTHING_QUOTED}</p>"
        links = " ".join(_link(name, place) for name in theme.ids)
        parts.append(
            f"<h3>{name} ({len(theme.ids)})</h3>{quoted}<p><small>Papers: {links}</small></p>\n"
        )
    return f"<section>{''.join(parts)}</section>\n"


def _sentence(sentence: CitedSentence, place: dict[str, int]) -> str:
    return f"{_text(sentence.text)} {' '.join(_link(name, place) for name in sentence.ids)}"


def _link(name: str, place: dict[str, int]) -> str:
    """The number of a paper in the list, linked to it; its id if it is not listed."""
    rank = place.get(name)
    if rank is None:
        return f"<code>{_text(name)}</code>"
    return f'<a href="#paper-{rank}" title="{_text(name)}">[{rank}]</a>'


def _text(text: str) -> str:
    return html.escape(text, quote=True)
