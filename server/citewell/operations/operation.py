"""An operation is what a program may ask for: a request, a function and its response.

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
"""For what asks sources or a language model many times."""
MAX_PROBLEMS = 10


PartCallback = Callable[[msgspec.Struct], None]
"""Takes a response that a later one replaces."""


def no_part(part: msgspec.Struct) -> None:
    """Ignores responses that a later one replaces."""


class Service(msgspec.Struct, frozen=True):
    """The context of every operation, shared by all clients except for the callbacks, which are
    called on the thread of the work."""

    options: Options
    engine: Engine
    progress: Progress = no_progress
    on_part: PartCallback = no_part
    """Called with each response of an operation that responds in parts."""


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request that asks for nothing in particular."""


Function = Callable[[Service, Any, Cancel], msgspec.Struct]
"""Runs on a thread. Raises `CitewellError` with the problem for the client. Its docstring describes
the operation."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """A function with what a protocol has to know of it."""

    function: Function
    request: type[msgspec.Struct]
    response: type[msgspec.Struct]
    summary: str
    """One line; the function's docstring says the rest."""
    queue: Kind | Callable[[Any], Kind] = "record"
    """Behind what a request waits; or that, by what it asks for."""
    seconds: float = SHORT_SECONDS
    """How long it may take."""
    schema_keywords: Mapping[str, Any] = {}
    """Keywords of the request's JSON schema beside its fields."""
    in_parts: bool = False
    """Passes responses to `Service.on_part` while it works; the last one is its response, too."""
    at_once: bool = False
    """Needs no engine, so it responds even when the server is busy."""

    @property
    def is_long(self) -> bool:
        """Whether it can send progress events."""
        return self.seconds > SHORT_SECONDS

    def queue_of(self, request: Any) -> Kind:
        """Behind what a request waits."""
        return self.queue if isinstance(self.queue, str) else self.queue(request)


def operation(summary: str, **how: Any) -> Callable[[Function], Operation]:
    """Make an operation of a function, whose annotations are the types of request and response;
    `how` are further fields of `Operation`."""

    def decorated(function: Function) -> Operation:
        types = get_type_hints(function)
        request, response = types["request"], types["return"]
        return Operation(
            function=function, request=request, response=response, summary=summary, **how
        )

    return decorated


def public_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """What went wrong beside a response, each once, without keys and without paths of the server's
    machine."""
    clean = (
        Problem(one.code, without_keys(one.message), without_keys(one.hint), line=one.line)
        for one in problems
    )
    return tuple(dict.fromkeys(clean))[:MAX_PROBLEMS]
