"""The protocol of a front end and its worker process: numbered calls of the engine's methods as
typed frames over two pipes.

A frame is a length (4 bytes, big-endian) and that many bytes of msgpack. Every call has a number;
its one reply carries the same number. A frame that is too large, truncated or of another type ends
the connection: nothing is guessed, and nothing executed.

What a method takes and returns follows from its signature in `engine.contract`. To add a method:
its signature there, its row in `RemoteEngine`, its work in `LocalEngine`.
"""

from __future__ import annotations

import inspect
import struct
import typing
from collections.abc import Callable, Coroutine
from functools import cache, cached_property
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

import msgspec

from citewell.engine.contract import (
    Authority,
    Checks,
    Engine,
    EngineStatus,
    LibraryGraph,
    RelatedWorks,
    SourcesFound,
)
from citewell.model import CitewellError, Problem, SearchResult
from citewell.model.cancel import Cancel
from citewell.model.llm import Interpreted, Picked, SuggestedQueries, Summary, Supported
from citewell.options import Options
from citewell.sources.contract import Outcome

VERSION = 4
MAX_FRAME = 64 * 1024 * 1024
"""Bytes. Twenty hits with abstracts need 50 kB; a frame near this size is an error."""
BATCH = 32
"""Number of items in one frame; a method with `split` cuts longer lists."""
SECONDS_PER_QUERY = 5.0

P = ParamSpec("P")
R = TypeVar("R")

_LENGTH = struct.Struct(">I")


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first frame to the worker, with the settings of its engine."""

    version: int
    options: Options
    verify: bool = False
    """Whether to verify the checksums of the library first, since the previous child crashed."""


class Call(msgspec.Struct, frozen=True, tag="call", omit_defaults=True):
    """Call a method of the engine."""

    id: int
    method: str
    arguments: msgspec.Raw
    seconds: float | None = None
    """Seconds until the caller's deadline."""


class CancelRequest(msgspec.Struct, frozen=True, tag="cancel"):
    """Cancel call `id`; its reply is still sent, as `CancelledReply` or as its result."""

    id: int


Request = Hello | Call | CancelRequest


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """The value that the method returned."""

    id: int
    result: msgspec.Raw


class CancelledReply(msgspec.Struct, frozen=True, tag="cancelled"):
    id: int


class FailedReply(msgspec.Struct, frozen=True, tag="failed"):
    id: int
    problem: Problem


class CacheLookUp(msgspec.Struct, frozen=True, tag="cache"):
    """A request to a source was answered from the cache, or not; it has no reply. Sent before the
    reply of the call that waited for it, and only to a server with metrics."""

    source: str
    outcome: Outcome


Reply = Answer | CancelledReply | FailedReply
FromWorker = Reply | CacheLookUp


class BrokenFrameError(Exception):
    """The other side sent an invalid frame."""


def _encode_extra(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"cannot send {type(value).__name__}")


def _decode_extra(kind: type, value: Any) -> Any:
    if issubclass(kind, Path):
        return kind(value)
    raise NotImplementedError(f"cannot receive {kind.__name__}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_extra)


def encode(message: Request | FromWorker) -> bytes:
    """The frame of a message. Raises `BrokenFrameError` when it is larger than `MAX_FRAME`."""
    body = _ENCODER.encode(message)
    if len(body) > MAX_FRAME:
        raise BrokenFrameError(f"a message of {len(body)} bytes is larger than {MAX_FRAME}")
    return _LENGTH.pack(len(body)) + body


def packed(value: Any) -> msgspec.Raw:
    """The arguments or the result of a method, encoded for a frame."""
    return msgspec.Raw(_ENCODER.encode(value))


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind, dec_hook=_decode_extra)


def decode(kind: Any, body: bytes | msgspec.Raw) -> Any:
    """Decode a value of this type. Raises `BrokenFrameError` for any other."""
    try:
        return _decoder(kind).decode(body)
    except msgspec.MsgspecError as error:
        raise BrokenFrameError(str(error)) from error


def read_frame(stream: BinaryIO) -> bytes | None:
    """The body of the next frame of a buffered stream; None at its end, however it ended."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME:
        raise BrokenFrameError(f"a frame of {size} bytes is larger than {MAX_FRAME}")
    body = stream.read(size)
    return body if len(body) == size else None


# The methods of the engine as calls: one row per method.

Lane = Literal["quick", "fast", "full", "batch", "deep", "check", "online", "llm"]
"""The worker's queue for a call, so that none waits behind a slower kind."""


class Method(Generic[P, R]):
    """A method of the engine. On an instance of `RemoteEngine`, it is a callable with the same
    signature, answered by another process."""

    def __init__(
        self,
        signature: Callable[Concatenate[Engine, P], R],
        lane: Lane | Callable[[Any], Lane],
        *,
        failed: Callable[[Problem, Any], R] | None = None,
        retried: bool = False,
        split: str = "",
        seconds: Callable[[Any, Options], float] = lambda arguments, options: 0.0,
    ) -> None:
        """`failed` returns an answer that reports a problem; without it, the problem is raised.

        A method that is `retried` is sent to the next child when the first one dies. `split` names
        the list argument that is sent in parts of `BATCH`, whose answers are joined. `seconds` are
        added to the time limit of the lane. Functions receive the call's arguments.
        """
        self.name = signature.__name__
        self.retried = retried
        self.seconds = seconds
        self._signature = signature
        self._lane = lane
        self._failed = failed
        self._split = split

    @overload
    def __get__(self, engine: None, owner: type) -> Method[P, R]: ...
    @overload
    def __get__(self, engine: RemoteEngine, owner: type) -> Callable[P, R]: ...
    def __get__(self, engine: RemoteEngine | None, owner: type) -> Method[P, R] | Callable[P, R]:
        if engine is None:
            return self

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            cancel = typing.cast(Cancel | None, kwargs.pop("cancel", None))
            arguments = self.arguments(*args, **kwargs)
            if not self._split:
                return self._answer(engine, arguments, cancel)
            items, joined = getattr(arguments, self._split), typing.cast(Any, [])
            for start in range(0, len(items), BATCH):
                part = {self._split: items[start : start + BATCH]}
                part_arguments = msgspec.structs.replace(arguments, **part)
                joined += self._answer(engine, part_arguments, cancel)
            return typing.cast(R, joined)

        return call

    def awaited(self) -> Callable[Concatenate[RemoteEngine, P], Coroutine[Any, Any, R]]:
        """The method for an event loop. Cancelling the task cancels the call in the child; only the
        deadline of `cancel` counts."""

        async def call(engine: RemoteEngine, /, *args: P.args, **kwargs: P.kwargs) -> R:
            cancel = typing.cast(Cancel | None, kwargs.pop("cancel", None))
            arguments = self.arguments(*args, **kwargs)
            try:
                return await engine.call_async(self, arguments, cancel)
            except CitewellError as error:
                return self._failure(error, arguments)

        return call

    @cached_property
    def arguments(self) -> type[msgspec.Struct]:
        """The type of a call's arguments: the parameters of the signature without `cancel`."""
        types = typing.get_type_hints(self._signature)
        fields: list[Any] = []
        for name, parameter in list(inspect.signature(self._signature).parameters.items())[1:]:
            if name == "cancel":
                continue
            default = parameter.default
            is_required = default is inspect.Parameter.empty
            fields.append((name, types[name]) if is_required else (name, types[name], default))
        return msgspec.defstruct(self.name, fields, frozen=True, omit_defaults=True)

    @cached_property
    def result(self) -> Any:
        """The type of a call's result."""
        return typing.get_type_hints(self._signature)["return"]

    @cached_property
    def takes_cancel(self) -> bool:
        """Whether the engine's method takes a `cancel` that signals an abandoned call."""
        return "cancel" in inspect.signature(self._signature).parameters

    def lane(self, arguments: Any) -> Lane:
        """The queue of the call."""
        return self._lane(arguments) if callable(self._lane) else self._lane

    def _answer(self, engine: RemoteEngine, arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        try:
            return engine.call(self, arguments, cancel)
        except CitewellError as error:
            return self._failure(error, arguments)

    def _failure(self, error: CitewellError, arguments: msgspec.Struct) -> R:
        if self._failed is None:
            raise error
        return self._failed(error.problem, arguments)


def _problems(kind: Callable[..., R]) -> Callable[[Problem, Any], R]:
    return lambda problem, arguments: kind(problems=(problem,))


def _problem(kind: Callable[..., R]) -> Callable[[Problem, Any], R]:
    return lambda problem, arguments: kind(problem=problem)


def _searches(arguments: Any, options: Options) -> float:
    """Seconds of the language model in an explicit search."""
    own = options.llm
    if own.provider == "none" or arguments.tier != "deep":
        return 0.0
    return ((own.rerank != "none") + own.reformulate) * own.timeout_ms / 1e3


def _batch(arguments: Any, options: Options) -> float:
    return len(arguments.queries) * (_searches(arguments, options) + SECONDS_PER_QUERY)


def _one_question(arguments: Any, options: Options) -> float:
    return options.llm.timeout_ms / 1e3


class RemoteEngine:
    """The methods of an engine in another process; a subclass sends the calls."""

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """The answer. Raises `Cancelled`, or `CitewellError` with the reason."""
        raise NotImplementedError

    async def call_async(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> R:
        """The answer, awaited. Raises `Cancelled`, or `CitewellError` with the reason."""
        raise NotImplementedError

    find = Method(
        Engine.find,
        lambda arguments: arguments.tier,
        failed=_problems(SearchResult),
        seconds=_searches,
    )
    find_batch = Method(
        Engine.find_batch,
        "batch",
        failed=lambda problem, arguments: (
            [SearchResult(problems=(problem,))] * len(arguments.queries)
        ),
        seconds=_batch,
        split="queries",
    )
    ask_sources = Method(
        Engine.ask_sources,
        "online",
        failed=lambda problem, arguments: [
            msgspec.structs.replace(result, dropped=(*result.dropped, problem))
            for result in arguments.results
        ],
    )
    search_sources = Method(Engine.search_sources, "online", failed=_problems(SourcesFound))
    follow_citations = Method(Engine.follow_citations, "online", failed=_problems(SourcesFound))
    works = Method(Engine.works, "quick", retried=True)
    lookup = Method(Engine.lookup, "quick", retried=True)
    related = Method(Engine.related, "quick", failed=_problems(RelatedWorks), retried=True)
    citations = Method(
        Engine.citations,
        "quick",
        failed=lambda problem, arguments: [0] * len(arguments.ids),
        retried=True,
    )
    library_graph = Method(
        Engine.library_graph, "quick", failed=_problems(LibraryGraph), retried=True
    )
    authority = Method(
        Engine.authority,
        "quick",
        failed=lambda problem, arguments: [Authority() for _ in arguments.ids],
        retried=True,
    )
    suggest = Method(Engine.suggest, "quick", failed=lambda problem, arguments: [], retried=True)
    expected = Method(
        Engine.expected,
        "quick",
        failed=lambda problem, arguments: [None] * len(arguments.names),
        retried=True,
    )
    cluster = Method(
        Engine.cluster,
        "quick",
        failed=lambda problem, arguments: [-1] * len(arguments.ids),
        retried=True,
    )
    likeness = Method(
        Engine.likeness,
        "quick",
        failed=lambda problem, arguments: [0.0] * len(arguments.ids),
        retried=True,
    )
    check = Method(
        Engine.check,
        lambda arguments: "online" if arguments.online else "check",
        failed=_problems(Checks),
    )
    learn = Method(Engine.learn, "quick", failed=lambda problem, arguments: (problem,))
    pick = Method(
        Engine.pick,
        "llm",
        failed=lambda problem, arguments: Picked(
            work=arguments.works[0].id if arguments.works else "", problem=problem
        ),
        seconds=_one_question,
    )
    verify = Method(Engine.verify, "llm", failed=_problem(Supported), seconds=_one_question)
    summarize = Method(Engine.summarize, "llm", failed=_problem(Summary), seconds=_one_question)
    suggest_queries = Method(
        Engine.suggest_queries, "llm", failed=_problem(SuggestedQueries), seconds=_one_question
    )
    interpret = Method(Engine.interpret, "llm", failed=_problem(Interpreted), seconds=_one_question)
    status = Method(Engine.status, "quick", failed=_problems(EngineStatus), retried=True)

    find_async = find.awaited()
    learn_async = learn.awaited()
    verify_async = verify.awaited()
    status_async = status.awaited()


METHODS: dict[str, Method[Any, Any]] = {
    name: row for name, row in vars(RemoteEngine).items() if isinstance(row, Method)
}
