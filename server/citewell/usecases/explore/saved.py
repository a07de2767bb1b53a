"""A saved literature search: a TOML file with the question, the run, and the ids that it listed.

It holds what a report of a systematic search names (PRISMA-S): the databases, the date, the
question and filters as they were asked, the passes, the numbers of records before and after
duplicates were merged, and the earlier runs.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from citewell import __version__
from citewell.corpus.layout import current_snapshot, read_manifest
from citewell.engine.which_library import libraries_below, which_library
from citewell.features.text.evidence import understood_text
from citewell.model import CitewellError, Problem
from citewell.options import Options
from citewell.sources.registry import allowed
from citewell.usecases.explore.contract import Exploration, ExploredWork, ExploreQuery

# What a literature search asked, as a report of a systematic search names it.


class DatabaseSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where records of a library come from."""

    name: str
    """Path or name, as it was given to `citewell library add`."""
    format: str
    records: int
    """Records that were read."""


class Database(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A library, or a source that was asked online."""

    name: str
    kind: str
    """Either "library" or "online"."""
    snapshot: str = ""
    built: str = ""
    """When the snapshot was made, ISO 8601 in UTC; empty if unknown."""
    works: int = 0
    duplicates: int = 0
    """Records that were merged into others when the library was built."""
    sources: tuple[DatabaseSource, ...] = ()


def databases(options: Options, *, online: bool) -> tuple[Database, ...]:
    """The library that the settings name, those that are searched below it, and with `online` the
    allowed sources. A library that cannot be read is left out."""
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
           "rounds", "order", "online")  # fmt: skip


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier run of the search."""

    date: str
    snapshot: str = ""
    papers: int = 0
    """Papers that it listed."""
    since: int = 0
    """Papers that the next run listed and it did not."""


class SavedSearch(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds."""

    request: ExploreQuery
    ids: tuple[str, ...]
    """Of the papers that were listed and of their other editions."""
    papers: int = 0
    """Papers that were listed."""
    date: str
    """ISO 8601."""
    snapshot: str = ""
    """Of the library that was searched."""
    updates: tuple[Update, ...] = ()
    """The runs before, oldest first."""


def saved_text(
    request: ExploreQuery,
    found: Exploration,
    searched: Sequence[Database],
    earlier: SavedSearch | None = None,
) -> str:
    """The file of a search; `searched` is what was asked, and `earlier` the file that this run
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
    """The papers of a list that the saved one has in no edition."""
    known = set(saved.ids)
    return tuple(
        one
        for one in found.papers
        if known.isdisjoint(
            name for work in (one.work, *one.editions) for name in (work.id, *work.same_as)
        )
    )


def _updates(found: Exploration, earlier: SavedSearch | None) -> tuple[Update, ...]:
    """The runs before this one."""
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
