"""Background checks of references: their order, and their results.

Results are stored by the content of an entry, in memory and on disk, so that only changed entries
are checked again. The worker checks in slices between its searches; a completion never waits.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from functools import cache
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Struct

from citewell.engine.processes import trim_heap
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.progress import DelayedProgress, step_on_thread
from citewell.model import CitewellError
from citewell.model.cancel import cooperative
from citewell.model.check import Check, Verdict
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.documents.keys.index import KeyIndex
    from citewell.engine.check_store import CheckStore
    from citewell.engine.worker_client import WorkerEngine
    from citewell.features.checking.check import EntryBytes
    from citewell.features.citing.completion import CheckOf, FindCheck
    from citewell.model.bib import BibEntry, BibFile
    from citewell.usecases.check import CheckTask

FEW_ENTRIES = 500
"""Number of entries that are parsed as references in a few hundredths of a second."""
_ENCODER = msgspec.msgpack.Encoder()


@cache
def _decoder() -> msgspec.msgpack.Decoder[Check]:
    # Deferred: it takes a millisecond of each start.
    return msgspec.msgpack.Decoder(Check)


class CheckCache:
    """Checks by the digest of their question, encoded: as an object, a result takes several times
    the memory. One thread adds; any thread may read."""

    def __init__(self) -> None:
        self._encoded: dict[bytes, bytes] = {}
        self._quiet: set[bytes] = set()
        """Digests of checks without findings, as most are."""
        self._lines: dict[bytes, str] = {}

    def __len__(self) -> int:
        return len(self._encoded)

    def __contains__(self, digest: object) -> bool:
        return digest in self._encoded

    def get(self, digest: bytes) -> Check | None:
        """The result of a question, or None."""
        encoded = self._encoded.get(digest)
        return None if encoded is None else _decoder().decode(encoded)

    def telling(self, digest: bytes) -> Check | None:
        """The known check if it has anything to report, else None. For loops over many entries."""
        return None if digest in self._quiet else self.get(digest)

    def line(self, digest: bytes) -> str:
        """A lens's line for a result, decoded once; the few different lines are shared."""
        from citewell.features.citing.completion import source_line

        line = self._lines.get(digest)
        if line is None:
            encoded = self._encoded.get(digest)
            if encoded is None:
                return ""
            line = self._lines[digest] = intern(source_line(_decoder().decode(encoded)))
            if self._encoded.get(digest) is not encoded:  # replaced by a newer one meanwhile
                self._lines.pop(digest, None)
        return line

    def check_of(self, bib: BibFile) -> CheckOf:
        """A function that returns the known check of an entry of a .bib, or None. Thread-safe.

        Entries that were not considered yet count as unknown: at first, most of a large file.
        """
        few = len(bib.entries) <= FEW_ENTRIES

        def known(entry: BibEntry) -> Check | None:
            from citewell.features.checking.check import marked, question_digest

            if not few and entry.body.question is msgspec.UNSET:
                return None
            digest = question_digest(bib, entry)
            return marked(self.get(digest) if digest is not None else None, bib, entry)

        return known

    def find_check(self, index: KeyIndex) -> FindCheck:
        """A function that returns the check of an indexed entry, given the path of its file."""
        files = {path: self.check_of(bib) for path, bib in index.files.items()} if self else {}

        def known(path: str, entry: BibEntry) -> Check | None:
            check_of = files.get(path)
            return check_of(entry) if check_of is not None else None

        return known

    def source_of(self, bib: BibFile) -> Callable[[BibEntry], str]:
        """A function that returns one line about the record found for an entry."""
        from citewell.features.checking.check import question_digest

        few = len(bib.entries) <= FEW_ENTRIES

        def line(entry: BibEntry) -> str:
            if not few and entry.body.question is msgspec.UNSET:
                return ""
            digest = question_digest(bib, entry)
            return self.line(digest) if digest is not None else ""

        return line

    def update(self, known: Mapping[bytes, Check]) -> None:
        """Add results, replacing earlier ones."""
        for digest, check in known.items():
            self._encoded[digest] = _ENCODER.encode(check)
            self._lines.pop(digest, None)
            if check.verdict is Verdict.VERIFIED and not check.findings:
                self._quiet.add(digest)
            else:
                self._quiet.discard(digest)


logger = logging.getLogger(__name__)

CHUNK = 400
"""Number of entries whose questions are collected before the first is asked."""
NEWS_SECONDS = 1.0
"""Minimum seconds between two updates of the display."""
PROGRESS_SECONDS = 1.0
RETRY_SECONDS = 60.0
"""Minimum seconds before references are checked again after a failure of the engine."""
MAX_ANSWERS = 300_000
TITLE = "checking references"


class Entries(Struct, frozen=True, eq=False):
    """Entries of one bibliography to check."""

    bib: BibFile
    keys: frozenset[str] | None = None
    """Only these; None for all."""


class ReferenceChecks:
    """The checks of references. All tables belong to the event loop."""

    def __init__(
        self, editor: Editor, buffers: Buffers, engine: WorkerEngine, background: Executor
    ) -> None:
        self._editor = editor
        self._buffers = buffers
        self._engine = engine
        self._background = background
        self.on_news: Callable[[], None] = lambda: None
        """Called when more is known."""
        self.on_settled: Callable[[], None] = lambda: None
        """Called when nothing is being looked up any more."""
        self.answers = CheckCache()
        self._queue: dict[bytes, None] = {}
        """Digests of the references in `_checking`, in order."""
        self._checking: CheckTask | None = None
        self._refused: set[bytes] = set()
        """Digests with a look-up cancelled by the author."""
        self._world: bytes | None = None
        self._store: CheckStore | None = None
        self._task: asyncio.Task[None] | None = None
        self._seen: dict[Path, tuple[BibFile, frozenset[str] | None]] = {}
        self._not_before = 0.0
        self._news_at = 0.0
        self.generation = 0
        """Increases with new results."""

    # -- results --------------------------------------------------------------------------------

    def answer(self, digest: bytes) -> Check | None:
        """The result of a question, or None. Thread-safe."""
        return self.answers.get(digest)

    def telling(self, digest: bytes) -> Check | None:
        """The known check if it has anything to report, else None; faster than `answer`."""
        return self.answers.telling(digest)

    def of(self, bib: BibFile, entry: BibEntry) -> Check | None:
        """The check of an entry; None while it is unknown."""
        from citewell.features.checking.check import marked, question_digest

        digest = question_digest(bib, entry)
        return marked(self.answers.get(digest) if digest is not None else None, bib, entry)

    @property
    def knows_any(self) -> bool:
        """False while there are no results."""
        return len(self.answers) > 0

    async def take(self, snapshot: str, answers: Mapping[bytes, Check]) -> None:
        """Add results from the sources, for a snapshot of the library."""
        from citewell.engine.check_store import world_named

        world = await asyncio.to_thread(world_named, snapshot)
        if world != self._world:
            self._begin(world)
        self._news_at = 0.0
        self._learn(answers)
        await asyncio.to_thread(self._kept().put, world, list(answers.items()))

    # -- questions ------------------------------------------------------------------------------

    async def consider(self, parts: Iterable[Entries]) -> None:
        """Check these entries if their result is unknown."""
        options = self._buffers.workspace_options()
        if time.monotonic() < self._not_before:
            return
        world = await asyncio.to_thread(_world_of, options)
        if world is None:
            return
        if world != self._world:
            self._begin(world)
        for part in parts:
            path = Path(part.bib.path)
            if not self._is_new(path, part):
                continue
            for start in range(0, _size(part), CHUNK):
                await self._want(await self._unknown(part, start))
            self._seen[path] = (part.bib, part.keys)
            if not self._queue:
                self.on_settled()

    def again(self) -> None:
        """Forget cancelled and failed look-ups, so that they are repeated."""
        self._refused.clear()
        self._seen.clear()
        self._not_before = 0.0

    async def settled(self) -> None:
        """Wait until nothing is being looked up."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})

    def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
        if self._store is not None:
            self._store.close()

    def _begin(self, world: bytes) -> None:
        """Start over with another library: earlier results do not apply."""
        self._world = world
        self.answers = CheckCache()
        if self._task is not None:
            self._task.cancel()
            self._task = self._checking = None
        self._queue.clear()
        self._seen.clear()
        self.generation += 1

    def _is_new(self, path: Path, part: Entries) -> bool:
        seen = self._seen.get(path)
        if seen is None or seen[0] is not part.bib:
            return True
        if seen[1] is None:
            return False
        return part.keys is None or not part.keys <= seen[1]

    async def _unknown(self, part: Entries, start: int) -> Sequence[EntryBytes]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._background, lambda: _questions(part, start, self.answers, self._queue)
        )

    async def _want(self, questions: Sequence[EntryBytes]) -> None:
        wanted = {
            one.digest: one.encoded
            for one in questions
            if one.digest not in self._queue and one.digest not in self._refused
        }
        if not wanted or self._world is None:
            return
        world = self._world
        known = await asyncio.to_thread(self._kept().get, world, list(wanted))
        if world != self._world:
            return
        if known:
            # The digests held by the entries, not copies of them.
            self._learn({digest: known[digest] for digest in wanted if digest in known})
        new = {d: c for d, c in wanted.items() if d not in known and d not in self._queue}
        if not new:
            return
        self._queue |= dict.fromkeys(new)
        if self._checking is None:
            from citewell.usecases.check import CheckTask

            self._checking = CheckTask(self._engine, list(new.values()), keep=False)
            self._task = asyncio.ensure_future(self._run(self._checking, world))
        else:
            self._checking.add(list(new.values()))

    def _kept(self) -> CheckStore:
        from citewell.engine.check_store import CheckStore

        if self._store is None:
            self._store = CheckStore()
        return self._store

    def _learn(self, known: Mapping[bytes, Check]) -> None:
        if len(self.answers) + len(known) > MAX_ANSWERS:
            self.answers = CheckCache()
            self._seen.clear()
        self.answers.update(known)
        self.generation += 1
        now = time.monotonic()
        if now - self._news_at > NEWS_SECONDS or not self._queue:
            self._news_at = now
            self.on_news()

    # -- look-ups -------------------------------------------------------------------------------

    async def _run(self, checking: CheckTask, world: bytes) -> None:
        progress = DelayedProgress(self._editor, TITLE, PROGRESS_SECONDS)
        job = asyncio.ensure_future(self._learn_all(checking, world, progress))
        try:
            if await progress.finishes(job):
                job.result()
                await asyncio.to_thread(trim_heap)
            else:
                self._refused.update(self._queue)
                self._end(checking)
        except CitewellError as error:
            logger.info("References are not checked: %s", error.problem)
            self._not_before = time.monotonic() + RETRY_SECONDS
            self._seen.clear()
        except Exception:
            logger.exception("Checking references failed")
            self._not_before = time.monotonic() + RETRY_SECONDS
        finally:
            job.cancel()
            progress.end()
            self._news_at = time.monotonic()
            self.on_news()
            self.on_settled()

    async def _learn_all(
        self, checking: CheckTask, world: bytes, progress: DelayedProgress
    ) -> None:
        """Store each part of the results; return early when the library has changed."""
        from citewell.engine.check_store import world_named

        def show(_stage: str, done: int, total: int) -> None:
            progress.report(f"{done:,} of {total:,}", 100 * done // total)

        try:
            async for checks in checking.parts(step_on_thread, show):
                # The worker may have opened a newer library: then all are checked again.
                if await asyncio.to_thread(world_named, checking.snapshot) != world:
                    self._seen.clear()
                    return
                if checking is not self._checking:
                    return
                answers = dict(zip(list(self._queue), map(_without_path, checks), strict=False))
                for digest in answers:
                    del self._queue[digest]
                self._learn(answers)
                await asyncio.to_thread(self._kept().put, world, list(answers.items()))
        finally:
            self._end(checking)

    def _end(self, checking: CheckTask) -> None:
        """Add no more references to this check."""
        if checking is self._checking:
            self._checking = None
            self._queue.clear()


def _world_of(options: Options) -> bytes | None:
    from citewell.engine.check_store import world_of

    return world_of(options)


def _size(part: Entries) -> int:
    return len(part.bib.entries) if part.keys is None else 1


def _without_path(check: Check) -> Check:
    """The check without the path: it applies to an equal entry of any file."""
    claim = msgspec.structs.replace(check.claim, path="")
    return msgspec.structs.replace(check, claim=claim)


def _questions(
    part: Entries, start: int, known: CheckCache, waiting: Container[bytes]
) -> list[EntryBytes]:
    """The questions of some entries that are neither answered nor pending. For the background
    thread."""
    from citewell.features.checking.check import question, question_digest

    bib = part.bib
    found: Iterable[BibEntry]
    if part.keys is None:
        found = bib.entries[start : start + CHUNK]
    else:
        found = [bib.by_key[key] for key in sorted(part.keys) if key in bib.by_key]
    unknown: list[EntryBytes] = []
    for entry in cooperative(found):
        if entry.body.question is not UNSET:
            digest = question_digest(bib, entry)
            if digest is None or digest in known or digest in waiting:
                continue
        one = question(bib, entry)
        if one is not None and one.digest not in known and one.digest not in waiting:
            unknown.append(one)
    return unknown
