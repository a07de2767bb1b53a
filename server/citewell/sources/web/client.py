"""The HTTP client of the sources: cache above, wire below, retries around."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

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

from citewell import __version__
from citewell.options.folders import make_private_file
from citewell.sources import contract
from citewell.sources.contract import (
    Ask,
    Failed,
    NoMatch,
    NonsenseError,
    Reason,
    Source,
    SourcePolicy,
)
from citewell.sources.web.keys import Key, key_of
from citewell.sources.web.shared_pace import Breaker, SharedPace, Trouble

# The last step to the network, below the cache: rate limits, keys, size limits, and validation of
# answers.
#
# Everything but a valid answer is raised as `Trouble`, so that the cache above never sees it: it
# stores only bodies that were decoded once, with a freshness.

# Rate limit of a source: evenly spaced requests, and few concurrent ones.

_INTERVAL = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*s?\s*$")
SLOWEST = 60.0
"""Maximum number of seconds between two requests that a server's headers can impose."""
RESERVATIONS = 3
"""Maximum number of turns that a request reserves if it comes too late for each."""


class RateLimiter:
    """The rate limit of one source. For one event loop.

    There are no bursts: they would keep to the average and still be refused. `shared` holds the
    rate for other processes, too; without it, the rate is that of this limiter alone.
    """

    def __init__(self, per_second: float, at_once: int, shared: SharedPace | None = None) -> None:
        self._own_interval = self._interval = 1 / per_second
        self._open = asyncio.Semaphore(at_once)
        self._shared = shared
        self._waiting = asyncio.Lock()
        """Held by the request that waits for its turn: one at a time, in order of arrival."""
        self._next = 0.0
        """Earliest time of the next request, in seconds of the event loop's clock."""
        self._reserved: float | None = None
        """A reserved turn that is unused; a cancelled request leaves it to the next one."""

    @property
    def interval(self) -> float:
        """Seconds between two requests."""
        return self._interval

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of one request, and keep its slot until it ends. Raises `Trouble`
        during a pause that the source asked for."""
        async with self._open:
            async with self._waiting:
                await self._wait()
            yield

    def learn(self, headers: Mapping[str, str]) -> None:
        """Apply the rate in Crossref's headers if it is below our own."""
        found = _INTERVAL.match(headers.get("x-rate-limit-interval", ""))
        limit = headers.get("x-rate-limit-limit", "").strip()
        if found is None or not limit.isdigit() or int(limit) == 0:
            return
        stated = min(SLOWEST, float(found[1]) / int(limit))
        self._interval = max(self._own_interval, stated)
        if self._shared is not None:
            self._shared.state(stated if stated > self._own_interval else 0.0)

    async def rest(self, seconds: float) -> None:
        """Record, for the other processes too, that the source asks for a pause of `seconds`."""
        if self._shared is not None:
            await self._shared.rest(seconds)

    async def _wait(self) -> None:
        """Wait until a request may go out."""
        loop = asyncio.get_running_loop()
        for _ in range(RESERVATIONS):
            if self._reserved is None or self._is_late(loop.time()):
                self._reserved = await self._reserve(loop)
            seconds = self._reserved - loop.time()
            await asyncio.sleep(seconds)
            if seconds > 0 and self._shared is not None:
                await self._shared.check()
            if not self._is_late(loop.time()):
                break
        self._reserved = None
        self._next = loop.time() + self._interval

    async def _reserve(self, loop: asyncio.AbstractEventLoop) -> float:
        after = max(0.0, self._next - loop.time())
        seconds = None
        if self._shared is not None:
            unused = self._reserved is not None
            seconds = await self._shared.reserve(self._interval, after=after, unused=unused)
        return loop.time() + (after if seconds is None else seconds)

    def _is_late(self, now: float) -> bool:
        """True when another process may be about to send a request, since its turn is next."""
        late = max(0.05, self._interval / 10)
        return self._reserved is not None and now > self._reserved + late


logger = logging.getLogger(__name__)

ASKING = "citewell"
"""Name of the request extension with an `Asking`."""
MAX_HOPS = 5
ABSENT = frozenset({404, 410})
_REDIRECT = frozenset({301, 302, 303, 307, 308})
_KEPT = frozenset({"content-type", "etag", "last-modified", "date", "age", "expires", "vary"})


class Asking(msgspec.Struct, frozen=True):
    """Data of a request that the wire needs."""

    source: type[Source]
    decode: Callable[[bytes], Any]
    absent: bool


class Gate:
    """The state of a source between requests."""

    def __init__(
        self, source: type[Source], key: Key | None, shared: SharedPace | None = None
    ) -> None:
        policy = source.policy
        faster = policy.per_second_with_key if key is not None else 0.0
        self.key = key
        self.rate_limiter = RateLimiter(faster or policy.per_second, policy.at_once, shared)
        self.breaker = Breaker(source.title)


class Wire(httpx2.AsyncBaseTransport):
    """Sends one request and returns a valid answer, or raises `Trouble`."""

    def __init__(
        self,
        gates: Mapping[str, Gate],
        *,
        contact: str = "",
        base_url: str = "",
        fresh_seconds: int = 0,
        seconds: float = 20.0,
    ) -> None:
        self._gates = gates
        self._contact = contact
        self._base_url = httpx2.URL(base_url) if base_url else None
        self._fresh_seconds = fresh_seconds
        self._seconds = seconds
        self._transports: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer to a request with an `Asking`."""
        asking: Asking = request.extensions[ASKING]
        gate = self._gates[asking.source.name]
        gate.breaker.enter()
        try:
            response = await self._answer(request, asking, gate)
        except Trouble as trouble:
            if trouble.reason is Reason.RESTING:  # nothing was sent
                gate.breaker.withdrawn()
                raise
            reached = trouble.reason is not Reason.UNREACHABLE
            gate.breaker.failed(trouble.wait, "" if reached else trouble.message)
            if trouble.wait:
                await gate.rate_limiter.rest(trouble.wait)
            raise
        except BaseException:
            gate.breaker.withdrawn()
            raise
        gate.breaker.succeeded()
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._transports.values():
            await transport.aclose()

    async def _answer(self, request: httpx2.Request, asking: Asking, gate: Gate) -> httpx2.Response:
        name = asking.source.title
        url = request.url
        for _ in range(MAX_HOPS):
            async with gate.rate_limiter.turn():
                try:
                    async with asyncio.timeout(self._seconds):
                        status, headers, body = await self._exchange(request, url, asking, gate)
                except (TimeoutError, httpx2.TimeoutException):
                    raise Trouble(
                        Reason.UNREACHABLE, f"{name} did not answer in time.", again=True
                    ) from None
                except (httpx2.RemoteProtocolError, httpx2.DecodingError, httpx2.ReadError):
                    raise Trouble(
                        Reason.NONSENSE, f"{name} closed the connection early.", again=True
                    ) from None
                except httpx2.TransportError as error:
                    kind = type(error).__name__
                    raise Trouble(
                        Reason.UNREACHABLE, f"{name} cannot be reached ({kind}).", again=True
                    ) from None
            gate.rate_limiter.learn(headers)
            if status not in _REDIRECT:
                return self._judged(request, asking, status, headers, body)
            url = self._followed(url, headers.get("location", ""), asking.source)
        raise Trouble(Reason.REFUSED, f"{name} redirects in a loop.")

    async def _exchange(
        self, request: httpx2.Request, url: httpx2.URL, asking: Asking, gate: Gate
    ) -> tuple[int, httpx2.Headers, bytes]:
        """Send one request; return the status, the headers and the body, decoded and bounded."""
        sent = self._signed(request, url, asking.source.policy, gate.key)
        response = await self._transport(url).handle_async_request(sent)
        response.request = sent
        limit = asking.source.policy.max_bytes
        parts: list[bytes] = []
        size = 0
        try:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > limit:
                    message = f"{asking.source.title} sent more than {limit:,} bytes."
                    raise Trouble(Reason.NONSENSE, message)
                parts.append(part)
        finally:
            await response.aclose()
        return response.status_code, response.headers, b"".join(parts)

    def _signed(
        self, request: httpx2.Request, url: httpx2.URL, policy: SourcePolicy, key: Key | None
    ) -> httpx2.Request:
        """The outgoing request with its User-Agent, and with the key if it goes to the source's own
        host."""
        headers = httpx2.Headers(
            [
                (name, value)
                for name, value in request.headers.multi_items()
                if name in ("accept", "content-type", "if-none-match", "if-modified-since")
            ]
        )
        who = f" (mailto:{self._contact})" if self._contact else ""
        headers["user-agent"] = f"citewell/{__version__}{who}"
        headers["accept-encoding"] = "gzip"
        headers["host"] = url.netloc.decode("ascii")
        at_home = url.host == request.url.host
        if self._contact and policy.contact_parameter and at_home:
            url = url.copy_merge_params({policy.contact_parameter: self._contact})
        if key is not None and at_home:
            if policy.key_header:
                headers[policy.key_header] = f"{policy.key_prefix}{key.value}"
            else:
                url = url.copy_merge_params({policy.key_parameter: key.value})
        if request.method == "POST":
            headers["content-length"] = str(len(request.content))
        timeout = {"connect": 8.0, "read": self._seconds, "write": 8.0, "pool": self._seconds}
        return httpx2.Request(
            request.method,
            url,
            headers=headers,
            content=request.content or None,
            extensions={"timeout": timeout},
        )

    def _transport(self, url: httpx2.URL) -> httpx2.AsyncHTTPTransport:
        """A direct connection, or the proxy that the environment names for this host."""
        proxies = getproxies()
        proxy = "" if proxy_bypass(url.host) else proxies.get(url.scheme) or proxies.get("all", "")
        if self._is_override(url):
            proxy = ""
        # Certificates are loaded only for https addresses: that takes a quarter of a second.
        name = f"{url.scheme} {proxy}"
        if name not in self._transports:
            verify = url.scheme == "https" or bool(proxy)
            self._transports[name] = httpx2.AsyncHTTPTransport(proxy=proxy or None, verify=verify)
        return self._transports[name]

    def _is_override(self, url: httpx2.URL) -> bool:
        base = self._base_url
        return base is not None and (url.scheme, url.host, url.port) == (
            base.scheme, base.host, base.port,
        )  # fmt: skip

    def _followed(self, url: httpx2.URL, location: str, source: type[Source]) -> httpx2.URL:
        """The target of a redirect, if it is allowed."""
        try:
            target = url.join(location)
        except (httpx2.InvalidURL, ValueError):
            target = None
        if target is not None and location:
            if target.scheme == "http" and target.host in source.policy.hosts:
                target = target.copy_with(scheme="https", port=None)
            ours = target.host in source.policy.hosts and target.port in (None, 443)
            if (ours and target.scheme == "https") or self._is_override(target):
                return target.copy_with(userinfo=b"")
        message = f"{source.title} redirects to a host that is not allowed."
        raise Trouble(Reason.REFUSED, message)

    def _judged(
        self,
        request: httpx2.Request,
        asking: Asking,
        status: int,
        headers: httpx2.Headers,
        body: bytes,
    ) -> httpx2.Response:
        """A valid answer with its freshness; raises `Trouble` otherwise."""
        name = asking.source.title
        if status == 304 and _conditional(request):
            return httpx2.Response(304, headers=self._fresh(headers), request=request)
        if status in ABSENT and asking.absent:
            return httpx2.Response(status, headers={"cache-control": "no-store"}, request=request)
        if status == 200:
            try:
                asking.decode(body)
            except NonsenseError as error:
                message = f"{name} sent an unreadable answer: {error}."
                raise Trouble(Reason.NONSENSE, message, again=True) from None
            return httpx2.Response(200, headers=self._fresh(headers), content=body, request=request)
        wait = retry_after(headers.get("retry-after", ""))
        if status == 429 or (status == 503 and wait is not None):
            message = f"{name} limits the request rate (HTTP {status})."
            raise Trouble(Reason.THROTTLED, message, again=True, wait=wait)
        if status >= 500 or status == 408:
            raise Trouble(
                Reason.UNREACHABLE, f"{name} reports a server error (HTTP {status}).", again=True
            )
        raise Trouble(Reason.REFUSED, f"{name} refused the request (HTTP {status}).")

    def _fresh(self, headers: httpx2.Headers) -> dict[str, str]:
        """The headers for the cache; our own freshness if the source states none."""
        kept = {name: value for name, value in headers.items() if name in _KEPT}
        if kept.get("vary", "").strip() == "*":
            kept["cache-control"] = "no-store"
            return kept
        # Only the encoding of the body varies, and it is stored decoded.
        kept.pop("vary", None)
        kept.setdefault("date", email.utils.formatdate(usegmt=True))
        stated = headers.get("cache-control", "")
        if self._fresh_seconds <= 0:
            kept["cache-control"] = "no-store"
        elif stated:
            kept["cache-control"] = stated
        elif "expires" not in kept:
            kept["cache-control"] = f"max-age={self._fresh_seconds}"
        return kept


def _conditional(request: httpx2.Request) -> bool:
    return "if-none-match" in request.headers or "if-modified-since" in request.headers


def retry_after(value: str) -> float | None:
    """Seconds in a Retry-After header, a number or a date; None without one."""
    value = value.strip()
    if value.isdigit():
        return float(value[:9])
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return None
    return max(0.0, moment.timestamp() - time.time())


T = TypeVar("T")

TRIES = 3
PATIENCE = 12.0
"""Seconds; a source that asks to be left alone for longer is not waited for."""
CACHE_FILE = "answers-1.sqlite"
CACHE_BYTES = 500_000_000
MAX_URL = 6_000
_DAY = 86_400


class WebOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the client; times in seconds."""

    contact: str = ""
    base_url: str = ""
    """Queried in place of the sources, as BASE/NAME/...: a proxy, or a test."""
    cache: Path | None = None
    """Folder of the cache; None: no cache."""
    pace: Path | None = None
    """Folder for the rate shared between processes; None: each has its own."""
    cache_days: float = 7.0
    timeout: float = 20.0
    backoff: float = 0.7
    """First wait before a retry; it doubles, with jitter."""


class Web:
    """Sends the requests of some sources. For one event loop; close it there."""

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
                # Hishel would create one that others can read.
                make_private_file(kept.with_name(".gitignore"))
            transport = AsyncCacheTransport(
                wire,
                AsyncSqliteStorage(database_path=kept, max_size=CACHE_BYTES),
                # A private cache: answers to this user's own questions.
                rfc=CacheOptions(shared=False),
            )
        # The wire uses the environment's proxies: a proxy set on the client would bypass cache,
        # rate limit and keys.
        self._client = httpx2.AsyncClient(transport=transport, trust_env=False, timeout=None)

    async def __call__(
        self, source: type[Source], ask: Ask, decode: Callable[[bytes], T]
    ) -> T | NoMatch | Failed:
        """Send a request of a source, with retries. Raises only `CancelledError`."""
        outcome: contract.Outcome = "failed"
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
            contract.count(source.name, outcome)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def aclose(self) -> None:
        """Close connections and cache."""
        with contextlib.suppress(Exception):
            await self._client.aclose()

    def _shared_pace(self, source: type[Source]) -> SharedPace | None:
        """The shared rate of a source, by name: a source with several addresses (arXiv) limits them
        as one."""
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
        self, source: type[Source], ask: Ask, request: httpx2.Request, decode: Callable[[bytes], T]
    ) -> tuple[T | NoMatch, contract.Outcome]:
        response = await self._client.send(request, follow_redirects=False)
        outcome = _outcome(response)
        if response.status_code in ABSENT and ask.absent:
            return NoMatch(source.name), outcome
        try:
            return decode(response.content), outcome
        except NonsenseError as error:
            # Only an answer stored by another version of the program causes this.
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


def _outcome(response: httpx2.Response) -> contract.Outcome:
    """The origin of the response according to the cache."""
    status: CacheStatus | None = response.extensions.get("caching")
    if status is None or response.request.method != "GET":
        return "uncached"
    if status["from_cache"]:
        return "revalidated" if status["revalidated"] else "hit"
    return "miss"


def _worth_another_try(error: BaseException) -> bool:
    return isinstance(error, Trouble) and error.again and (error.wait or 0.0) <= PATIENCE
