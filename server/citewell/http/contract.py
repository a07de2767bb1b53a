"""What an endpoint is: a request's type, an answer's type, and the function between them.

A new endpoint is one module in `endpoints` that makes an `Endpoint`, and its line in the registry
there. Routes, the checks of what is asked, the OpenAPI document and the tests of the page follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from citewell.engine.contract import Engine
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.serving.problem_json import without_keys
from citewell.serving.queues import Kind

SHORT_SECONDS = 60.0
LONG_SECONDS = 900.0
"""For what asks sources or a language model many times."""
MAX_PROBLEMS = 10


ProgressCallback = Callable[[int, int], None]
"""How far the work is: how much is done, of how much."""


PartCallback = Callable[[msgspec.Struct], None]
"""Takes an answer that a later one replaces."""


def no_progress(done: int, total: int) -> None:
    """Ignores progress."""


def no_part(part: msgspec.Struct) -> None:
    """Ignores answers that a later one replaces."""


class Service(msgspec.Struct, frozen=True):
    """The context of every endpoint, shared by all clients except for the progress callback."""

    options: Options
    engine: Engine
    on_progress: ProgressCallback = no_progress
    """Called on the thread of the work."""
    on_part: PartCallback = no_part
    """Called with each answer of an endpoint that answers in parts, on the thread of the work."""

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report the progress of a use case."""
        self.on_progress(done, total)


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request that asks for nothing in particular."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One address of the API."""

    name: str
    """In the OpenAPI document and for clients that are made from it: "find"."""
    method: Literal["GET", "POST"]
    path: str
    """With `{id}` for a part that is a field of the request; it may hold slashes."""
    summary: str
    """One line; the docstring of `answer` says the rest."""
    request: type[msgspec.Struct]
    response: type[msgspec.Struct]
    answer: Callable[[Service, Any, Cancel], msgspec.Struct]
    """Runs on a thread. Raises `CitewellError` with the problem for the client."""
    queue: Kind | Callable[[Any], Kind] = "record"
    """Behind what a request waits; or that, by what it asks for."""
    seconds: float = SHORT_SECONDS
    """How long it may take."""
    schema_keywords: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Keywords of the request's JSON schema beside its fields."""
    in_parts: bool = False
    """Passes answers to `Service.on_part` while it works; the last one is its answer, too."""
    at_once: bool = False
    """Needs no engine, so it responds even when the server is busy."""

    @property
    def is_long(self) -> bool:
        """Whether it can send progress events."""
        return self.seconds > SHORT_SECONDS


def queue_of(endpoint: Endpoint, payload: Any) -> Kind:
    """Behind what a request waits."""
    return endpoint.queue if isinstance(endpoint.queue, str) else endpoint.queue(payload)


def public_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """What went wrong beside an answer, each once, without keys and without paths of the server's
    machine."""
    clean = (
        Problem(one.code, without_keys(one.message), without_keys(one.hint), line=one.line)
        for one in problems
    )
    return tuple(dict.fromkeys(clean))[:MAX_PROBLEMS]
