"""The HTTP client of the sources: cache above, wire below, retries around."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import msgspec
from hishel import AsyncSqliteStorage, CacheOptions, CacheStatus
from hishel.httpx2 import AsyncCacheTransport
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)

from citewell.options.folders import make_private_file
from citewell.sources import answers
from citewell.sources.answers import Failed, NoMatch, Reason
from citewell.sources.contract import Ask, NonsenseError, Source
from citewell.sources.web.keys import key_of
from citewell.sources.web.shared_pace import SharedPace, Trouble
from citewell.sources.web.wire import ABSENT, ASKING, Asking, Gate, Wire

logger = logging.getLogger(__name__)

T = TypeVar("T")

TRIES = 3
PATIENCE = 12.0
"""Seconds; a source that asks to be left alone for longer is not waited for."""
CACHE_FILE = "answers-1.sqlite"
CACHE_BYTES = 500_000_000
MAX_URL = 6_000
_DAY = 86_400


class WebOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the client works; times in seconds."""

    contact: str = ""
    base_url: str = ""
    """Asked instead of the sources themselves, as BASE/NAME/...: a proxy, or a test."""
    cache: Path | None = None
    """Folder of the cache; None: no cache."""
    pace: Path | None = None
    """Folder in which processes agree on the pace; None: each has its own."""
    cache_days: float = 7.0
    timeout: float = 20.0
    backoff: float = 0.7
    """First wait before another try; it doubles, with jitter."""


class Web:
    """Carries the requests of some sources. For one event loop; close it there."""

    def __init__(self, sources: Sequence[type[Source]], options: WebOptions) -> None:
        self._options = options
        self._gates = {
            source.name: Gate(source, key_of(source), self._shared_pace(source))
            for source in sources
        }
        wire = Wire(
            self._gates,
            contact=options.contact,
            base_url=options.base_url,
            fresh_seconds=round(options.cache_days * _DAY),
            seconds=options.timeout,
        )
        transport: httpx2.AsyncBaseTransport = wire
        if options.cache is not None and options.cache_days > 0:
            kept = options.cache / CACHE_FILE
            with contextlib.suppress(OSError):
                make_private_file(kept)
                # Hishel would write one that others can read.
                make_private_file(kept.with_name(".gitignore"))
            transport = AsyncCacheTransport(
                wire,
                AsyncSqliteStorage(database_path=kept, max_size=CACHE_BYTES),
                # A private cache: answers to this user's own questions.
                rfc=CacheOptions(shared=False),
            )
        # The environment's proxies are heeded by the wire: a proxy that the client mounts itself
        # would lead around cache, pace and keys.
        self._client = httpx2.AsyncClient(transport=transport, trust_env=False, timeout=None)

    async def __call__(
        self, source: type[Source], ask: Ask, decode: Callable[[bytes], T]
    ) -> T | NoMatch | Failed:
        """Send a request of a source, as often as it takes. Raises only `CancelledError`."""
        outcome: answers.Outcome = "failed"
        try:
            request = self._request(source, ask, decode)
            async for attempt in self._retrying():
                with attempt:
                    answer, outcome = await self._once(source, ask, request, decode)
                    return answer
        except Trouble as trouble:
            logger.info("%s", trouble.message)
            return Failed(source.name, trouble.reason, trouble.message)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # The text of an unknown exception may contain an address; its type is enough.
            kind = type(error).__name__
            logger.warning("Asking %s failed: %s", source.title, kind)
            message = f"{source.title} could not be queried ({kind})."
            return Failed(source.name, Reason.UNREACHABLE, message)
        finally:
            answers.count(source.name, outcome)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def aclose(self) -> None:
        """Close connections and cache."""
        with contextlib.suppress(Exception):
            await self._client.aclose()

    def _shared_pace(self, source: type[Source]) -> SharedPace | None:
        """By name: what a source offers at several addresses (arXiv) it limits as one."""
        if self._options.pace is None:
            return None
        address = f"{self._options.base_url.rstrip('/')}/{source.name}".lstrip("/")
        return SharedPace(self._options.pace, address, source.title)

    def _request(
        self, source: type[Source], ask: Ask, decode: Callable[[bytes], Any]
    ) -> httpx2.Request:
        base = source.policy.base
        if self._options.base_url:
            base = f"{self._options.base_url.rstrip('/')}/{source.name}"
        url = httpx2.URL(base + ask.path, params=list(ask.params) or None)
        if len(str(url)) > MAX_URL:
            raise Trouble(Reason.UNABLE, f"The query is too long for {source.title}.")
        headers = {"accept": ask.accept}
        if ask.body is not None:
            headers["content-type"] = "application/json"
        return self._client.build_request(
            "GET" if ask.body is None else "POST",
            url,
            headers=headers,
            content=ask.body,
            extensions={ASKING: Asking(source, decode, ask.absent)},
        )

    async def _once(
        self,
        source: type[Source],
        ask: Ask,
        request: httpx2.Request,
        decode: Callable[[bytes], T],
    ) -> tuple[T | NoMatch, answers.Outcome]:
        response = await self._client.send(request, follow_redirects=False)
        outcome = _outcome(response)
        if response.status_code in ABSENT and ask.absent:
            return NoMatch(source.name), outcome
        try:
            return decode(response.content), outcome
        except NonsenseError as error:
            # Only an answer stored by another version of the program comes here.
            message = f"{source.title}: the stored answer cannot be read ({error})."
            raise Trouble(Reason.NONSENSE, message) from None

    def _retrying(self) -> AsyncRetrying:
        first = self._options.backoff
        jitter = wait_exponential(multiplier=first, max=8.0) + wait_random(0, first)

        def wait(state: RetryCallState) -> float:
            error = state.outcome.exception() if state.outcome is not None else None
            retry_after = error.wait if isinstance(error, Trouble) else None
            return jitter(state) if retry_after is None else retry_after + first / 10

        return AsyncRetrying(
            retry=retry_if_exception(_worth_another_try),
            stop=stop_after_attempt(TRIES),
            wait=wait,
            reraise=True,
        )


def _outcome(response: httpx2.Response) -> answers.Outcome:
    """Whence the response came, by what the cache says of it."""
    status: CacheStatus | None = response.extensions.get("caching")
    if status is None or response.request.method != "GET":
        return "uncached"
    if status["from_cache"]:
        return "revalidated" if status["revalidated"] else "hit"
    return "miss"


def _worth_another_try(error: BaseException) -> bool:
    return isinstance(error, Trouble) and error.again and (error.wait or 0.0) <= PATIENCE
