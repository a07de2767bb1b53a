"""The memory of one connection: lists, displayed papers, hover cards, queued edits."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.edit_applier import StaleEditError
from citewell.lsp.protocol.editor import Editor
from citewell.model import CitewellError, Problem, Query, SearchResult, Work
from citewell.model.bib import BibBody, BibEntry, BibFile
from citewell.model.document import Diagnostic, Document, Span
from citewell.model.feedback import Feedback, Named, PaperName, Through, name_of, passed_over

if TYPE_CHECKING:
    from citewell.engine.contract import Engine
    from citewell.features.action import ActionPlan
    from citewell.features.citing.complete import PaperRow
    from citewell.features.citing.completion import Completion
    from citewell.lsp.documents.buffers import Snapshot

MAX_LISTS = 16
"""Number of completion lists kept for resolution."""


class Shown(Struct, frozen=True, eq=False):
    """A completion list kept for requests of the client."""

    snapshot: Snapshot
    completion: Completion


class ShownLists:
    """The last lists. For the event loop."""

    def __init__(self) -> None:
        self._lists: OrderedDict[int, Shown] = OrderedDict()
        self._numbers = itertools.count(1)

    def remember(self, snapshot: Snapshot, completion: Completion) -> int:
        """Store a list for resolution; return its number."""
        number = next(self._numbers)
        self._lists[number] = Shown(snapshot, completion)
        while len(self._lists) > MAX_LISTS:
            self._lists.popitem(last=False)
        return number

    def recall(self, number: object) -> Shown | None:
        """The list with that number, unless it is too old."""
        return self._lists.get(number) if isinstance(number, int) else None

    def work(self, work_id: str) -> Work | None:
        """A paper of a stored list."""
        for shown in reversed(self._lists.values()):
            for candidate in shown.completion.candidates:
                if candidate.work is not None and candidate.work.id == work_id:
                    return candidate.work
        return None


# The findings of reviews, for as long as the text at their places stays.


class ReviewedFiles:
    """Findings of the last review of each file, where they stand now. For any thread."""

    def __init__(self) -> None:
        self.on_news: Callable[[], None] = lambda: None
        self.generation = 0
        """Increases with each review."""
        self._found: dict[Path, tuple[str, tuple[Diagnostic, ...]]] = {}
        self._lock = threading.Lock()

    def take(self, found: Mapping[Path, tuple[str, tuple[Diagnostic, ...]]]) -> None:
        """Store the findings of a review by file, with the text that it read."""
        with self._lock:
            self._found.update(found)
            self.generation += 1
        self.on_news()

    def of(self, source: Document | BibFile) -> tuple[Diagnostic, ...]:
        """The findings in the current text of a file."""
        path = Path(source.path)
        with self._lock:
            if path not in self._found:
                return ()
            text, found = self._found[path]
            if text != source.text:
                found = tuple(_moved(found, text, source.text))
                self._found[path] = source.text, found
            return found


def _moved(found: Sequence[Diagnostic], old: str, new: str) -> Iterator[Diagnostic]:
    """The findings in a changed text, without those at which it changed."""
    start = _common(old, new)
    end = len(old) - _common(old[start:][::-1], new[start:][::-1])
    for one in found:
        if one.span.end < start:
            yield one
        elif one.span.start > end:
            shift = len(new) - len(old)
            yield replace(one, span=Span(one.span.start + shift, one.span.end + shift))


def _common(one: str, other: str) -> int:
    """The length of the common beginning of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# Feedback to the engine on accepted suggestions.

PICKER_LISTS = 16
"""Number of lists of the picker in memory."""


class PickerHistory:
    """The last lists of the picker, for its choices. For one event loop."""

    def __init__(self) -> None:
        self._lists: deque[tuple[Query, str, tuple[Named | None, ...]]] = deque(maxlen=PICKER_LISTS)

    def add(self, query: Query, variant: str, rows: Sequence[PaperRow]) -> None:
        """Store a list; papers already in a .bib of the paper are no suggestions."""
        shown = tuple(None if row.known or not row.id else row for row in rows)
        self._lists.append((query, variant, shown))

    def taken(self, project: Path, work: Work) -> Feedback:
        """The feedback of choosing a work from the last list that contained it."""
        for query, variant, shown in reversed(self._lists):
            if any(row is not None and row.id == work.id for row in shown):
                return Feedback(
                    accepted=name_of(work),
                    dismissed=passed_over(shown, work.id),
                    query=query,
                    project=str(project),
                    through="picker",
                    variant=variant,
                )
        return Feedback(accepted=name_of(work), project=str(project), through="picker")


def feedback_on(shown: Shown | None, snapshot: Snapshot, work: Work) -> Feedback:
    """Feedback on a paper accepted from a completion list; without the list, only its
    acceptance."""
    listed = shown.completion if shown is not None else None
    if listed is None or listed.query is None:
        return taken(snapshot, work, None)
    works = [candidate.work for candidate in listed.candidates]
    return taken(
        snapshot, work, listed.query, dismissed=passed_over(works, work.id), variant=listed.variant
    )


def taken(
    snapshot: Snapshot,
    work: Work,
    query: Query | None,
    *,
    dismissed: Sequence[PaperName] = (),
    variant: str = "",
    through: Through = "completion",
) -> Feedback:
    """Feedback on a paper with a new entry in the bibliography of a document's project."""
    return Feedback(
        accepted=name_of(work),
        dismissed=tuple(dismissed),
        query=query or Query(),
        project=str(snapshot.state.project.root.parent),
        through=through,
        variant=variant,
    )


def adds_entry(plan: ActionPlan) -> bool:
    """True when the plan writes into a bibliography."""
    return any(Path(edit.path).suffix.lower() == ".bib" for edit in plan.edits)


# Searches that are made before they are asked for: for the place at which a cite command is being
# typed, and for a better list of a placeholder that is complete, while the author reads the first.
#
# That first list is that of the fast tier (words, meaning, citations, ranker). If a cross-encoder
# is set, the full tier meanwhile reads the best papers. The next request for the same words,
# which an editor sends at the closing bracket or when completion is invoked again, gets the
# better order.

logger = logging.getLogger(__name__)

PAUSE = 0.5
"""Seconds without another letter before the longer search begins: many authors take up to half a
second for a letter, and its own search would wait for this one."""

Search = Callable[[], Awaitable[SearchResult]]


class SearchPrefetch:
    """The one search that is running or has finished ahead of its request. For one event loop."""

    def __init__(self, pause: float = PAUSE) -> None:
        self._pause = pause
        self._query: Query | None = None
        self._task: asyncio.Task[SearchResult] | None = None

    def of(self, query: Query) -> SearchResult | None:
        """The result for exactly this query, or None."""
        task = self._task
        if query != self._query or task is None or not task.done() or task.cancelled():
            return None
        if task.exception() is not None:
            return None
        result = task.result()
        return result if result.hits and not result.problems else None

    async def wait(self, query: Query) -> SearchResult | None:
        """As `of`, at the end of the search for this query. To cancel the wait does not stop
        it."""
        if query == self._query and self._task is not None:
            await asyncio.wait([self._task])
        return self.of(query)

    def seek(self, query: Query, search: Search) -> None:
        """Start the search, unless it is already for this query; cancel an older one."""
        if query == self._query and self._task is not None:
            return
        self.stop()
        self._query = query
        self._task = asyncio.ensure_future(self._later(search))

    def stop(self) -> None:
        """Cancel the running search, if any, including in the worker."""
        if self._task is not None:
            self._task.cancel()
        self._query = self._task = None

    async def _later(self, search: Search) -> SearchResult:
        await asyncio.sleep(self._pause)
        with contextlib.suppress(Exception):
            return await search()
        logger.info("A search ahead of its request failed")
        return SearchResult()


# The author's edits, one at a time, and the engine's learning from them.

RETRIES = 5
"""Maximum number of plans of an edit if a document changes meanwhile."""


class EditQueue:
    """Edits planned and applied one after the other. For the event loop."""

    def __init__(self, editor: Editor, buffers: Buffers, engine: WorkerEngine) -> None:
        self._editor = editor
        self._buffers = buffers
        self._engine = engine
        self.lock = asyncio.Lock()
        """Held from planning an edit to its end, so that two never work from the same text."""

    async def run(
        self,
        edit: Callable[[list[Feedback]], Awaitable[dict[str, Any]]],
        failed: Callable[[Exception], Problem],
    ) -> dict[str, Any]:
        """Make an edit while no other one is being made; returns what `edit` returns.

        An error is shown to the author; nothing was changed then, and `applied` is False. Feedback
        that `edit` adds to its list is learned once the editor has applied the edit.
        """
        learned: list[Feedback] = []
        done: dict[str, Any] = {"applied": False}
        async with self.lock:
            try:
                done = await edit(learned)
            except CitewellError as error:
                self._editor.show_problems([error.problem], again=True)
            except Exception as error:
                logger.exception("An edit failed")
                self._editor.show_problems([failed(error)], again=True)
        if done["applied"]:
            await self.learn(learned)
        return done

    async def learn(self, feedback: Sequence[Feedback]) -> None:
        """Have the engine store accepted and dismissed papers, unless that is off."""
        options = self._buffers.workspace_options()
        if not (options.learning.enabled or (options.sources.keep and options.sources.allow)):
            return
        for one in feedback:
            self._editor.show_problems(await self._engine.learn_async(one))


async def replanned(
    edit: Callable[[], Awaitable[dict[str, Any]]], learned: list[Feedback]
) -> dict[str, Any]:
    """Plan and apply again, a few times, while the author types faster than the editor applies."""
    for _ in range(RETRIES - 1):
        try:
            return await edit()
        except StaleEditError:
            learned.clear()
    return await edit()


# Cached data about entries beyond their fields.
#
# Renderings and records are cached by the entry's body, which stays the same as long as the entry
# does: a repeated hover costs only the look-up of its citations.

DEFAULT_STYLE = "apa"
MAX_KNOWN = 4096
RECORD_SECONDS = 0.15
"""Seconds that a card waits for the library, which answers in milliseconds once it is open."""
V = TypeVar("V")


class ByBody(Generic[V]):
    """Values by entry body; the least recently used are dropped first."""

    def __init__(self) -> None:
        # The body is kept alive, so that its `id` is not reused for another one.
        self._values: OrderedDict[tuple[int, object], tuple[BibBody, V]] = OrderedDict()

    def get(self, body: BibBody, about: object = None) -> V | None:
        """The value, if known."""
        found = self._values.get((id(body), about))
        if found is None:
            return None
        self._values.move_to_end((id(body), about))
        return found[1]

    def put(self, body: BibBody, value: V, about: object = None) -> V:
        """Store a value."""
        self._values[id(body), about] = (body, value)
        while len(self._values) > MAX_KNOWN:
            self._values.popitem(last=False)
        return value


class Cards:
    """References in the author's style, and the library's records of entries. For the event
    loop."""

    def __init__(self, show_problems: Callable[[list[Problem]], None]) -> None:
        self._show_problems = show_problems
        self._references: ByBody[str] = ByBody()
        self._records: ByBody[tuple[Work | None]] = ByBody()
        self._asking: dict[int, asyncio.Task[Work | None]] = {}

    def forget_records(self) -> None:
        """Drop the records: the library may have changed."""
        self._records = ByBody()

    async def reference(
        self, bib: BibFile, entry: BibEntry, style: str, folders: tuple[Path, ...]
    ) -> str:
        """The entry in a style, as Markdown; "" without a processor."""
        inherits = "crossref" in entry.names or "xdata" in entry.names
        about = (style, bib.text if inherits else None)
        known = self._references.get(entry.body, about)
        if known is not None:
            return known
        rendered, problem = await asyncio.to_thread(render, bib, entry, style, folders)
        if problem is not None:
            self._show_problems([problem])
        return self._references.put(entry.body, rendered, about)

    async def record(self, engine: Engine, entry: BibEntry) -> Work | None:
        """The library's record of an entry's work, if it is known in time. A look-up that takes
        longer continues, so that the next card has its result."""
        body = entry.body
        asking = self._asking.get(id(body))
        if asking is None:
            known = self._records.get(body)
            if known is not None:
                return known[0]
            asking = asyncio.ensure_future(self._look_up(engine, entry))
            self._asking[id(body)] = asking
            asking.add_done_callback(lambda _: self._asking.pop(id(body), None))
        try:
            return await asyncio.wait_for(asyncio.shield(asking), RECORD_SECONDS)
        except TimeoutError:
            return None

    async def _look_up(self, engine: Engine, entry: BibEntry) -> Work | None:
        from citewell.features.checking.support import find_record

        try:
            found = await asyncio.to_thread(find_record, engine, entry)
        except CitewellError as error:
            logger.info("No record of %s: %s", entry.key, error)
            return None
        self._records.put(entry.body, (found,))
        return found


def render(
    bib: BibFile, entry: BibEntry, style: str, folders: tuple[Path, ...]
) -> tuple[str, Problem | None]:
    """The entry in a style, as Markdown, and the problem if another style was used."""
    problem = None
    for name in dict.fromkeys((style, DEFAULT_STYLE)):
        try:
            from citewell.features.text.csl_item import csl_of_entry
            from citewell.features.text.reference import style_named

            chosen = style_named(name, folders)
            return chosen.reference(csl_of_entry(bib, entry)).markdown, problem
        except CitewellError as error:
            problem = problem or error.problem
        except ImportError as error:
            logger.warning("References are not rendered: %s", error)
            break
    return "", problem
