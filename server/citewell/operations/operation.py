"""An operation for programs: a request, a function and its response.

A new one is a request, a response and a decorated function in a module here, and a line in the
table of each protocol that offers it: addresses in `http.endpoints`, tools in `mcp.server`.
Parameters, their bounds and their descriptions come from the request's type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_type_hints

import msgspec

from citewell.engine.contract import Engine
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.serving.problem_json import without_keys
from citewell.serving.queues import Kind
from citewell.usecases.find import Progress, no_progress

SHORT_SECONDS = 60.0
LONG_SECONDS = 900.0
"""Limit for operations with many queries to sources or a language model."""
MAX_PROBLEMS = 10


PartCallback = Callable[[msgspec.Struct], None]
"""Takes a response that a later one replaces."""


def no_part(part: msgspec.Struct) -> None:
    """Ignore responses that a later one replaces."""


class Service(msgspec.Struct, frozen=True):
    """The context of every operation, shared by all clients except for the callbacks, which are
    called on the thread of the work."""

    options: Options
    engine: Engine
    progress: Progress = no_progress
    on_part: PartCallback = no_part
    """Called with each response of an operation that responds in parts."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request without parameters."""


Function = Callable[[Service, Any, Cancel], msgspec.Struct]
"""Runs on a thread. Raises `CitewellError` with the problem for the client. Its docstring describes
the operation."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A function with its properties for protocols."""

    function: Function
    request: type[msgspec.Struct]
    response: type[msgspec.Struct]
    summary: str
    """One line; the function's docstring has the details."""
    queue: Kind | Callable[[Any], Kind] = "record"
    """The queue of a request, or a function that chooses it."""
    seconds: float = SHORT_SECONDS
    """Time limit in seconds."""
    schema_keywords: Mapping[str, Any] = {}
    """Keywords of the request's JSON schema beside its fields."""
    in_parts: bool = False
    """Passes responses to `Service.on_part` while it works; the last one is its response, too."""
    at_once: bool = False
    """Whether it needs no engine, so that it responds even when the server is busy."""

    @property
    def is_long(self) -> bool:
        """Whether it can send progress events."""
        return self.seconds > SHORT_SECONDS

    def queue_of(self, request: Any) -> Kind:
        """The queue of a request."""
        return self.queue if isinstance(self.queue, str) else self.queue(request)


def operation(summary: str, **how: Any) -> Callable[[Function], Operation]:
    """Turn a function into an operation; its annotations are the types of request and response, and
    `how` are further fields of `Operation`."""

    def decorated(function: Function) -> Operation:
        types = get_type_hints(function)
        request, response = types["request"], types["return"]
        return Operation(
            function=function, request=request, response=response, summary=summary, **how
        )

    return decorated


def public_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems beside a response, each once, without keys and without paths on the server's
    machine."""
    clean = (
        Problem(one.code, without_keys(one.message), without_keys(one.hint), line=one.line)
        for one in problems
    )
    return tuple(dict.fromkeys(clean))[:MAX_PROBLEMS]
