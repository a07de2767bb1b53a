"""The plan of `citewell library fetch --for PAPER`, and the yes that it needs."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from citewell.corpus.errors import LibraryError
from citewell.model import Problem
from citewell.options import Options
from citewell.options.folders import private_writes
from citewell.sources.contract import SourceQuery
from citewell_corpus.cli.fetch import FETCHED, see_permission, show, source_queries, web_of
from citewell_corpus.fetching.contract import Selection
from citewell_corpus.segment_writer import write_whole
from citewell_corpus.sources import ZOTERO_FOLDER, ZOTERO_PREFIX, fetch_zotero

if TYPE_CHECKING:
    from citewell_corpus.fetching.paper_plan import Limits, PaperPlan

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
