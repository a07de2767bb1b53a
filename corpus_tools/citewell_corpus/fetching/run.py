"""A fetch from its first page to its last: estimated in advance, rate-limited, and resumable."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from citewell.corpus.errors import LibraryError, library_error
from citewell.model import Problem
from citewell.sources.contract import Ask, Failed, Fetch, NoMatch, Reason, Source
from citewell.sources.values import today
from citewell_corpus.fetching.contract import Feed, FetchedPage, Selection
from citewell_corpus.processes import Progress
from citewell_corpus.segment_writer import write_whole

# The folder of a fetch: a file per page, and the state of the fetch.
#
# A page is written before the state that counts it, each by an atomic rename: a killed fetch
# resumes at its last page.

T = TypeVar("T")
STATE = "fetch.json"
_FORMAT = 1


class FetchState(msgspec.Struct, kw_only=True):
    """The state of a fetch."""

    format: int = _FORMAT
    source: str
    selection: Selection
    resolved: Selection
    """The selection in the source's own identifiers."""
    cursor: str = ""
    """Cursor of the next page."""
    taken: int = 0
    """Number of works of that page that are written already."""
    pages: int = 0
    """Number of files written."""
    records: int = 0
    before: int = 0
    """Records of the rounds before."""
    total: int | None = None
    changed_since: str = ""
    """The date of the previous round; empty in the first round."""
    begun: str
    """ISO 8601 date on which this round began."""
    done: bool = False


class FetchFolder:
    """One fetch on disk."""

    def __init__(self, path: Path, extension: str) -> None:
        self.path = path
        self._extension = extension

    def state(self) -> FetchState | None:
        """The state of the fetch; None before its first page.

        Raises `LibraryError` "source-unreadable" for a state that cannot be read.
        """
        path = self.path / STATE
        try:
            state = msgspec.json.decode(path.read_bytes(), type=FetchState)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError):
            message = "The state of this fetch cannot be read."
            raise library_error("source-unreadable", message, path) from None
        if state.format != _FORMAT:
            message = "The fetch was begun by another version of Citewell."
            raise library_error("source-unreadable", message, path)
        return state

    def write_page(self, number: int, records: tuple[bytes, ...]) -> int:
        """Write the records of a page, numbered from 0; return the bytes on disk."""
        self.path.mkdir(parents=True, exist_ok=True)
        data = b"".join(line + b"\n" for line in records)
        if self._extension != ".bib":
            data = gzip.compress(data, 6, mtime=0)
        write_whole(self._page(number), data)
        return len(data)

    def write_state(self, state: FetchState) -> None:
        """Store the state, which counts the pages written."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / STATE, msgspec.json.format(msgspec.json.encode(state)))

    def drop_pages_from(self, number: int) -> None:
        """Remove the pages from `number` on, to be fetched again."""
        while (path := self._page(number)).exists():
            path.unlink()
            number += 1

    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.path.glob("page-*"))

    def _page(self, number: int) -> Path:
        packed = "" if self._extension == ".bib" else ".gz"
        return self.path / f"page-{number:06d}{self._extension}{packed}"


def folder_name(source: str, selection: Selection) -> str:
    """The name of the folder of a selection: equal for equal selections."""
    words = "-".join(str(getattr(selection, name)) for name in sorted(selection.used))
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in words.lower())
    short = "-".join(part for part in plain.split("-") if part)[:40].rstrip("-")
    digest = hashlib.blake2b(msgspec.json.encode(selection), digest_size=4).hexdigest()
    return "-".join(part for part in (source, short, digest) if part)


WAITS = (5.0, 15.0, 30.0, 60.0, 120.0)
"""Seconds before a page is requested again, after the retries of the client itself."""
_PASSING = frozenset({Reason.THROTTLED, Reason.UNREACHABLE, Reason.NONSENSE, Reason.RESTING})


class FetchEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The estimated size of a fetch, from its first page."""

    source: str
    works: int | None
    """None: not reported by the source."""
    megabytes: float | None
    """Size on disk, compressed."""
    seconds: float | None
    about: str = ""
    """The selection in words, where it was planned."""


class FetchReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a fetch."""

    source: str
    folder: str
    format: str
    records: int
    """In all rounds."""
    new: int
    """In this round."""
    total: int | None
    done: bool
    problem: Problem | None = None


class FetchRun:
    """One selection of one source."""

    def __init__(
        self,
        feed: Feed,
        selection: Selection,
        folder: FetchFolder,
        request: Fetch,
        *,
        waits: tuple[float, ...] = WAITS,
    ) -> None:
        self._feed, self._selection, self._folder = feed, selection, folder
        self._request, self._waits = request, waits
        missing = selection.used - feed.fields
        if missing:
            message = f"{feed.name} cannot select by {_options(missing)}."
            raise LibraryError(Problem("fetch-selection", message, _takes(feed)))
        if feed.needs and not selection.used & feed.needs:
            message = f"{feed.name} has too many works to fetch them all."
            raise LibraryError(Problem("fetch-selection", message, _takes(feed)))

    async def begin(self, *, refresh: bool = False) -> FetchEstimate:
        """Resolve the names, fetch the first page of the round, and estimate the rest from it.

        Resumes an interrupted fetch; a finished one starts a new round only with `refresh`, for new
        works. Raises `LibraryError`.
        """
        state = self._folder.state()
        if state is None or (state.done and refresh):
            resolved = await self._feed.resolved(self._selection, self._request)
            if state is not None and resolved.works:
                # The named works are no news, and new ones may be in any venue.
                resolved = msgspec.structs.replace(resolved, works=(), venues=())
            self.state = FetchState(
                source=self._feed.name,
                selection=self._selection,
                resolved=resolved,
                begun=today(),
                changed_since=state.begun if state else "",
                pages=state.pages if state else 0,
                records=state.records if state else 0,
                before=state.records if state else 0,
            )
        else:
            self.state = state
        self._before, self._first = self.state.records, self.state.pages
        if self.state.done:
            return FetchEstimate(source=self._feed.name, works=0, megabytes=0.0, seconds=0.0)
        started = time.monotonic()
        self._page = await self._next()
        took = time.monotonic() - started
        total = self._page.total
        works = None if total is None else max(0, total - self._round_records())
        if works is None:
            return FetchEstimate(source=self._feed.name, works=None, megabytes=None, seconds=None)
        held = len(self._page.records) or 1
        size = sum(map(len, self._page.records)) / held * PACKED
        rest = works / self._feed.page_size
        pace = max(took, 1 / self._feed.source.policy.per_second)
        return FetchEstimate(
            source=self._feed.name,
            works=works,
            megabytes=round(works * size / 1e6, 1),
            seconds=round(rest * pace, 1),
        )

    async def run(self, most: int | None = None, progress: Progress | None = None) -> FetchReport:
        """Write the first page and fetch the others, at most `most` works in this round.

        A source that stops responding ends the round with a problem; fetched pages are kept, and
        the next call resumes. Call `begin` before.
        """
        state, problem = self.state, None
        if progress is not None and not state.done:
            numbers = (self._page.total, most, state.selection.most - state.records + state.before)
            wanted = [number for number in numbers if number and number > 0]
            progress.stage("fetch", min(wanted, default=0))
        restarted = False
        while not state.done:
            page = self._page
            left = None if most is None else most - (state.records - self._before)
            before = state.records
            more = self._keep(page, left)
            if progress is not None:
                progress.advance(state.records - before)
            if not more or (most is not None and state.records - self._before >= most):
                break
            try:
                self._page = await self._next()
            except LibraryError as error:
                if error.problem.code == "fetch-refused" and not restarted:
                    # The source has forgotten the cursor: the round starts again.
                    restarted = True
                    self._restart()
                    try:
                        self._page = await self._next()
                        continue
                    except LibraryError as again:
                        error = again
                problem = error.problem
                break
        return FetchReport(
            source=self._feed.name,
            folder=str(self._folder.path),
            format=self._feed.format,
            records=state.records,
            new=state.records - self._before,
            total=state.total,
            done=state.done,
            problem=problem,
        )

    def _keep(self, page: FetchedPage, left: int | None) -> bool:
        """Write a page, at most `left` works of it, and count it; True when there is more. The rest
        of a page is written when it is fetched again."""
        state = self.state
        rest = page.records[state.taken :]
        records = rest[:left]
        if records:
            self._folder.write_page(state.pages, records)
            state.pages += 1
            state.records += len(records)
        if page.total is not None:
            state.total = page.total
        is_whole = len(records) == len(rest)
        state.taken = 0 if is_whole else state.taken + len(records)
        if is_whole:
            state.cursor = page.cursor
        most = state.selection.most
        state.done = (is_whole and not page.cursor) or 0 < most <= state.records - state.before
        self._folder.write_state(state)
        return not state.done

    def _restart(self) -> None:
        self._folder.drop_pages_from(self._first)
        self.state.pages, self.state.records = self._first, self._before
        self.state.cursor, self.state.taken = "", 0

    def _round_records(self) -> int:
        return self.state.records - self.state.before

    async def _next(self) -> FetchedPage:
        state = self.state
        ask = self._feed.ask(state.resolved, state.cursor, state.changed_since)
        decode = partial(self._feed.page, state.resolved, state.cursor)
        page = await patient(self._request, self._feed.source, ask, decode, self._waits)
        return FetchedPage((), "", 0) if page is None else page


async def patient(
    request: Fetch,
    source: type[Source],
    ask: Ask,
    decode: Callable[[bytes], T],
    waits: tuple[float, ...] = WAITS,
) -> T | None:
    """The answer to a request, which is sent again after a failure that may pass; None where the
    source has nothing. Raises `LibraryError` "fetch-refused" or "fetch-stopped"."""
    failed: Failed | None = None
    for wait in (0.0, *waits):
        await asyncio.sleep(wait)
        answer = await request(source, ask, decode)
        if isinstance(answer, NoMatch):
            return None
        if not isinstance(answer, Failed):
            return answer
        failed = answer
        if failed.reason not in _PASSING:
            break
    assert failed is not None
    code = "fetch-refused" if failed.reason is Reason.REFUSED else "fetch-stopped"
    hint = "What was fetched is kept: run the same command again to go on."
    raise LibraryError(Problem(code, failed.message, hint))


PACKED = 0.35
"""Bytes on disk for one byte of JSON."""


def _takes(feed: Feed) -> str:
    return f"It takes {_options(feed.fields - {'works'})}."


def _options(fields: Collection[str]) -> str:
    """The options of `library fetch` that set these fields of a selection."""
    names = (name.replace("ies", "y").rstrip("s").replace("_", "-") for name in sorted(fields))
    return ", ".join(f"--{name}" for name in names)


def unknown_name(feed: str, kind: str, name: str) -> LibraryError:
    """The error for a name that a source does not know."""
    message = f"{feed} knows no {kind} named {name!r}."
    return LibraryError(
        Problem("fetch-unknown", message, "Check the name, or give its identifier.")
    )
