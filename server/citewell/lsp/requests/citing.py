"""From a place in a document to papers and entries: the features, with data from projects and
engine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from citewell.lsp.state.memory import RETRIES
from citewell.model import Problem, Query, SearchResult, Work
from citewell.model.bib import BibFile, FileEdit
from citewell.model.cancel import Cancel
from citewell.model.document import Placeholder, PlaceholderKind, Span

if TYPE_CHECKING:
    from citewell.engine.worker_client import WorkerEngine
    from citewell.features.citing.complete import Own
    from citewell.features.citing.completion import Candidate, Completion
    from citewell.features.citing.insert import Found, InsertPlan
    from citewell.lsp.documents.buffers import Snapshot
    from citewell.lsp.documents.projects import Projects
    from citewell.lsp.state.checking import ReferenceChecks
    from citewell.lsp.state.memory import SearchPrefetch, Shown, ShownLists
    from citewell.lsp.state.zotero import Zotero
    from citewell.options import Options

logger = logging.getLogger(__name__)

T = TypeVar("T")
Entries = tuple["list[Own]", "list[Own]", "list[Found]"]
"""The author's entries before the papers of the library, those after them, and those of the
reference manager."""

MAX_KEYS = 50
"""Maximum number of keys listed inside a citation."""
KEY_SECONDS = 0.5
"""Seconds that keys already found wait for papers."""


class Insertion(Struct, frozen=True, eq=False):
    """The edits of an insertion, and the texts that they refer to."""

    edits: tuple[FileEdit, ...]
    texts: dict[Path, str]
    key: str
    problems: tuple[Problem, ...]
    snapshot: Snapshot


class CitationService(Struct, frozen=True, eq=False):
    """The citation at a place, and its edits. For the event loop."""

    projects: Projects
    engine: WorkerEngine
    checks: ReferenceChecks
    zotero: Zotero
    lists: ShownLists
    prefetch: SearchPrefetch
    prepared: SearchPrefetch
    """The search for the place at which a cite command is being typed."""

    async def complete(
        self, snapshot: Snapshot, cursor: int, *, keys: bool = True, papers: bool = True
    ) -> Completion | None:
        """The completion list at a cursor; None outside citations and, without `keys` or `papers`,
        for these.

        The author's own entries are looked up on the reader thread, the papers in the worker; when
        the client cancels, both are.
        """
        from citewell.documents.context import query_for
        from citewell.features.citing.complete import complete as make_list
        from citewell.features.citing.complete import own_entries, search_words, wanted

        options, state = snapshot.options, snapshot.state
        zotero_library = self.zotero.zotero_library
        command = options.documents.default_command
        at = wanted(snapshot.document, cursor, command)
        if at is None or (at.unless_key and at.unless_key in state.taken):
            return None
        if not (keys if at.key_like else papers):
            return None
        limit = MAX_KEYS if at.key_like else options.completion.limit

        def find_zotero(work: Work) -> Work | None:
            return zotero_library.find(work, state.taken) if zotero_library is not None else None

        def listed(own: Entries, result: SearchResult) -> Completion:
            found, more, shelved = own
            return make_list(
                at,
                own=found,
                hits=result.hits,
                more=more,
                shelved=shelved,
                find_work=state.find_work,
                new_key=state.new_key,
                find_zotero=find_zotero,
                check_of=self.checks.answers.find_check(state.index),
                limit=limit,
                default_command=command,
                problems=() if at.key_like else _worth_telling(result),
            )

        def own_of() -> Entries:
            mine, more = own_entries(at, state.index, limit)
            shelved: list[Found] = []
            if zotero_library is not None:
                shelved = zotero_library.entries_for(
                    at, limit, state.taken, state.find_work, guess=not mine
                )
            return mine, more, shelved

        def to_query() -> Query:
            query = query_for(snapshot.document, at.placeholder, paper=state.citing)
            return msgspec.structs.replace(
                query,
                text=search_words(at.placeholder),
                unfinished=_is_unfinished(at.placeholder, snapshot.document.text, cursor),
            )

        def look_up() -> tuple[Entries, Completion | Query]:
            own = own_of()
            if not papers or not at.asks_library(len(own[0]) + len(own[2])):
                return own, listed(own, SearchResult())
            return own, to_query()

        async def read(work: Callable[[], T]) -> T:
            return work() if state.is_quick else await self.projects.read(work)

        def wake(own: Entries) -> None:
            self.zotero.wake(at.placeholder.query if not own[0] and not own[2] else "")

        if papers and not at.key_like and at.asks_library(0):
            # Papers are always listed, too: both are looked up concurrently.
            query = await read(to_query)
            search = asyncio.ensure_future(self._search(query, options))
            try:
                await asyncio.sleep(0)  # lets the request be sent
                own = await read(own_of)
                wake(own)
                result = await search
            finally:
                search.cancel()
        else:
            own, found = await read(look_up)
            wake(own)
            if not isinstance(found, Query):
                return found
            query = found
            # A library that is loading or missing must not delay the keys.
            seconds = KEY_SECONDS if at.key_like and (own[0] or own[2]) else None
            result = await self._search(query, options, seconds=seconds, is_key=at.key_like)
        if state.is_quick and state.is_prepared:
            shown = listed(own, result)
        else:
            shown = await self.projects.read(lambda: listed(own, result))
        return msgspec.structs.replace(shown, query=query, variant=result.variant)

    async def _search(
        self, query: Query, options: Options, *, seconds: float | None = None, is_key: bool = False
    ) -> SearchResult:
        """The library's results for a query, within `seconds`."""
        result = self.prefetch.of(query)
        if result is not None:
            return result
        engine, count = self.engine, options.completion.limit
        # A search that still runs is not waited for where the time is limited.
        result = self.prepared.of(query) if seconds else await self.prepared.wait(query)
        if result is None:
            result = await engine.find_async(query, count, cancel=Cancel(seconds))
        if options.retrieval.cross_encoder and not is_key:
            self.prefetch.seek(query, lambda: engine.find_async(query, count, tier="full"))
        return result

    async def prepare(self, uri: str, command: Span) -> None:
        """Search for the place of a cite command without keys, before its list is asked for."""
        place = Span(command.end, command.end)
        marker = Placeholder(PlaceholderKind.MARKER, command, "", place, "")
        try:
            snapshot = await self.projects.snapshot(uri)
            if snapshot is not None:
                query = await self.make_query(snapshot, marker)
                count = snapshot.options.completion.limit
                self.prepared.seek(query, lambda: self.engine.find_async(query, count))
        except Exception:
            logger.exception("Preparing a list in %s failed", uri)

    async def make_query(self, snapshot: Snapshot, placeholder: Placeholder) -> Query:
        """The query of a placeholder with its context in the paper."""
        from citewell.documents.context import query_for

        return await self.projects.read(
            lambda: query_for(snapshot.document, placeholder, paper=snapshot.state.citing)
        )

    async def entry_text(self, shown: Shown, candidate: Candidate) -> str:
        """The new entry for an accepted candidate."""
        from citewell.features.citing.insert import key_of

        work = candidate.work
        if work is None:
            return ""
        if key := key_of(work.id):
            return self.zotero.entry_text(key)
        return await self.projects.read(
            lambda: shown.snapshot.state.entry_text(work, candidate.key)
        )

    async def find_work(self, work_id: str) -> Work | None:
        """A paper by its id: from a displayed list, else from the library."""
        from citewell.features.citing.insert import key_of

        work = self.lists.work(work_id)
        if work is not None:
            return work
        if key := key_of(work_id):
            zotero_library = self.zotero.zotero_library
            entry = zotero_library.entry(key) if zotero_library is not None else None
            return (
                zotero_library.work(entry)
                if zotero_library is not None and entry is not None
                else None
            )
        found = await asyncio.to_thread(self.engine.works, [work_id])
        return found[0] if found else None

    async def plan_insertion(self, uri: str, work: Work, key: str) -> Insertion | None:
        """The edits that add a paper to the bibliography of an open document, for its current text.
        None when the document is no longer open, or changes too fast."""
        from citewell.features.citing.insert import key_of

        plan_one = partial(_plan, work=work, key=key)
        if shelved := key_of(work.id):
            bib = await self.zotero.fresh_entry(shelved)
            plan_one = partial(_plan_copy, bib=bib, key=shelved)
        for _ in range(RETRIES):
            snapshot = await self.projects.snapshot(uri, fresh=True)
            if snapshot is None:
                return None
            plan = await self.projects.read(partial(plan_one, snapshot))
            texts = {Path(path): text for path, text in plan.texts.items()}
            texts[snapshot.path] = snapshot.document.text
            if await self.projects.is_current(snapshot, texts):
                return Insertion(plan.edits, texts, plan.key, plan.problems, snapshot)
        return None


def _is_unfinished(placeholder: Placeholder, text: str, cursor: int) -> bool:
    """Whether the cursor is right after the words, so that the last one may be incomplete."""
    words = placeholder.query
    return bool(words) and (placeholder.query_span.end == cursor or text.endswith(words, 0, cursor))


def _worth_telling(result: SearchResult) -> tuple[Problem, ...]:
    """Problems that degrade the list; not the lack of results for an incomplete text."""
    return result.problems if result.hits else (*result.failed, *result.dropped)


def _plan_copy(snapshot: Snapshot, bib: BibFile | None, key: str) -> InsertPlan:
    from citewell.features.citing.insert import InsertPlan, plan_copy

    if bib is None or bib.by_key.get(key) is None:
        message = f"The entry for `{key}` was not added: Zotero no longer has it."
        return InsertPlan(problems=(Problem("zotero-gone", message, "Complete the key again."),))
    return plan_copy(snapshot.state.project, bib, key, for_path=snapshot.path)


def _plan(snapshot: Snapshot, work: Work, key: str) -> InsertPlan:
    from citewell.features.citing.insert import plan_insert

    return plan_insert(
        snapshot.state.project, work, snapshot.options, for_path=snapshot.path, key=key
    )
