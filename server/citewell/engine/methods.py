"""The methods of the engine as calls of another process: one row per method.

Names and types of what is sent and answered come from the signatures in `engine.contract`. To add a
method: its signature there, its row here, its work in `LocalEngine`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

import msgspec

from citewell.engine import protocol
from citewell.engine.contract import Checks, Engine, EngineStatus, RelatedWorks, SourcesFound
from citewell.model import CitewellError, Problem, SearchResult
from citewell.model.cancel import Cancel
from citewell.model.llm import Interpreted, Picked, SuggestedQueries, Supported
from citewell.model.overview import Summary
from citewell.options import Options

BATCH = 32
"""Items that travel in one frame; a method with `split` cuts longer lists."""
SECONDS_PER_QUERY = 5.0

Lane = Literal["quick", "fast", "full", "batch", "deep", "check", "online", "llm"]
"""Which of the worker's queues a call waits in, so that none waits behind a slower kind."""

P = ParamSpec("P")
R = TypeVar("R")


class Caller(Protocol):
    """Sends calls to another process."""

    def call(self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        """The answer. Raises `Cancelled`, or `CitewellError` with the reason."""
        ...

    async def call_async(
        self, method: Method[Any, R], arguments: msgspec.Struct, cancel: Cancel | None
    ) -> R:
        """The answer, awaited. Raises `Cancelled`, or `CitewellError` with the reason."""
        ...


class Method(Generic[P, R]):
    """A method of the engine. On an instance of `RemoteMethods` it is a callable with the same
    signature that another process answers."""

    def __init__(
        self,
        signature: Callable[Concatenate[Engine, P], R],
        lane: Lane | Callable[[Any], Lane],
        *,
        failed: Callable[[Problem, Any], R] | None = None,
        retried: bool = False,
        split: str = "",
        seconds: Callable[[Any, Options], float] | None = None,
    ) -> None:
        """`failed` makes an answer that reports a problem; without it the problem is raised.

        A method that is `retried` is sent to the next child when the first one dies. `split` names
        the list argument that is sent in parts of `BATCH`, whose answers are joined. `seconds` are
        added to the time limit of the lane. Functions receive the call's arguments.
        """
        self.name = signature.__name__
        self.retried = retried
        self._signature = signature
        self._lane = lane
        self._failed = failed
        self._split = split
        self._seconds = seconds

    @overload
    def __get__(self, engine: None, owner: type) -> Method[P, R]: ...
    @overload
    def __get__(self, engine: RemoteMethods, owner: type) -> Callable[P, R]: ...
    def __get__(self, engine: RemoteMethods | None, owner: type) -> Method[P, R] | Callable[P, R]:
        if engine is None:
            return self
        caller = engine.caller

        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            cancel = typing.cast(Cancel | None, kwargs.pop("cancel", None))
            arguments = self.arguments(*args, **kwargs)
            if not self._split:
                return self._answer(caller, arguments, cancel)
            joined: Any = []
            for part in self._parts(arguments):
                joined += self._answer(caller, part, cancel)
            return typing.cast(R, joined)

        return call

    async def call_async(self, caller: Caller, *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer without blocking the loop. Cancelling the task cancels the call in the child;
        of `cancel` only its deadline counts."""
        cancel = typing.cast(Cancel | None, kwargs.pop("cancel", None))
        arguments = self.arguments(*args, **kwargs)
        try:
            return await caller.call_async(self, arguments, cancel)
        except CitewellError as error:
            return self._failure(error, arguments)

    @cached_property
    def arguments(self) -> type[msgspec.Struct]:
        """What a call sends: the parameters of the signature without `cancel`."""
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
    def takes_cancel(self) -> bool:
        """Whether the engine's method takes a `cancel` that signals an abandoned call."""
        return "cancel" in inspect.signature(self._signature).parameters

    @cached_property
    def decode_arguments(self) -> Callable[[msgspec.Raw], Any]:
        """Reads what a call sent. Raises `protocol.BrokenFrameError`."""
        return protocol.decoder(self.arguments)

    @cached_property
    def decode_result(self) -> Callable[[msgspec.Raw], R]:
        """Reads an answer. Raises `protocol.BrokenFrameError`."""
        return protocol.decoder(typing.get_type_hints(self._signature)["return"])

    def lane(self, arguments: Any) -> Lane:
        """The queue of the call."""
        return self._lane(arguments) if callable(self._lane) else self._lane

    def seconds(self, arguments: Any, options: Options) -> float:
        """What the call may take beyond the limit of its lane."""
        return 0.0 if self._seconds is None else self._seconds(arguments, options)

    def _parts(self, arguments: msgspec.Struct) -> list[msgspec.Struct]:
        items = getattr(arguments, self._split)
        return [
            msgspec.structs.replace(arguments, **{self._split: items[start : start + BATCH]})
            for start in range(0, len(items), BATCH)
        ]

    def _answer(self, caller: Caller, arguments: msgspec.Struct, cancel: Cancel | None) -> R:
        try:
            return caller.call(self, arguments, cancel)
        except CitewellError as error:
            return self._failure(error, arguments)

    def _failure(self, error: CitewellError, arguments: msgspec.Struct) -> R:
        if self._failed is None:
            raise error
        return self._failed(error.problem, arguments)


class AsyncMethod(Generic[P, R]):
    """A method of the engine for an event loop."""

    def __init__(self, method: Method[P, R]) -> None:
        self._method = method

    def __get__(self, engine: RemoteMethods, owner: type) -> Callable[P, Coroutine[Any, Any, R]]:
        def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
            return self._method.call_async(engine.caller, *args, **kwargs)

        return call


def _searches(arguments: Any, options: Options) -> float:
    """What the language model may take for an explicit search."""
    own = options.llm
    if own.provider == "none" or arguments.tier != "deep":
        return 0.0
    return ((own.rerank != "none") + own.reformulate) * own.timeout_ms / 1e3


def _batch(arguments: Any, options: Options) -> float:
    return len(arguments.queries) * (_searches(arguments, options) + SECONDS_PER_QUERY)


def _one_question(arguments: Any, options: Options) -> float:
    return options.llm.timeout_ms / 1e3


class RemoteMethods:
    """What another process answers for the engine."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    find = Method(
        Engine.find,
        lambda arguments: arguments.tier,
        failed=lambda problem, arguments: SearchResult(problems=(problem,)),
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
    search_sources = Method(
        Engine.search_sources,
        "online",
        failed=lambda problem, arguments: SourcesFound(problems=(problem,)),
    )
    follow_citations = Method(
        Engine.follow_citations,
        "online",
        failed=lambda problem, arguments: SourcesFound(problems=(problem,)),
    )
    works = Method(Engine.works, "quick", retried=True)
    lookup = Method(Engine.lookup, "quick", retried=True)
    related = Method(
        Engine.related,
        "quick",
        failed=lambda problem, arguments: RelatedWorks(problems=(problem,)),
        retried=True,
    )
    citations = Method(
        Engine.citations,
        "quick",
        failed=lambda problem, arguments: [0] * len(arguments.ids),
        retried=True,
    )
    cluster = Method(
        Engine.cluster,
        "quick",
        failed=lambda problem, arguments: [-1] * len(arguments.ids),
        retried=True,
    )
    check = Method(
        Engine.check,
        lambda arguments: "online" if arguments.online else "check",
        failed=lambda problem, arguments: Checks(problems=(problem,)),
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
    verify = Method(
        Engine.verify,
        "llm",
        failed=lambda problem, arguments: Supported(problem=problem),
        seconds=_one_question,
    )
    summarize = Method(
        Engine.summarize,
        "llm",
        failed=lambda problem, arguments: Summary(problem=problem),
        seconds=_one_question,
    )
    suggest_queries = Method(
        Engine.suggest_queries,
        "llm",
        failed=lambda problem, arguments: SuggestedQueries(problem=problem),
        seconds=_one_question,
    )
    interpret = Method(
        Engine.interpret,
        "llm",
        failed=lambda problem, arguments: Interpreted(problem=problem),
        seconds=_one_question,
    )
    status = Method(
        Engine.status,
        "quick",
        failed=lambda problem, arguments: EngineStatus(problems=(problem,)),
        retried=True,
    )

    learn_async = AsyncMethod(learn)
    verify_async = AsyncMethod(verify)
    status_async = AsyncMethod(status)


METHODS: dict[str, Method[Any, Any]] = {
    name: row for name, row in vars(RemoteMethods).items() if isinstance(row, Method)
}
