"""What an evaluation measures, and where it says how far it is."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from citewell.evaluation.methods import Method
from citewell.evaluation.results import Setting


class Reporter(Protocol):
    """Where the long parts of an evaluation say how far they are."""

    def begin(self, what: str, total: int) -> None: ...

    def advance(self, n: int) -> None: ...


class Silent:
    """A reporter that says nothing."""

    def begin(self, what: str, total: int) -> None: ...

    def advance(self, n: int) -> None: ...


class Plan(Struct, frozen=True, kw_only=True):
    """How the questions are put."""

    methods: tuple[Method, ...]
    settings: tuple[Setting, ...] = ("cold", "warm")
    depth: int = 100
    limit: int | None = None
    """Sample this many answerable questions at random, and the others in proportion."""
    seed: int = 0
    jobs: int = 1
    latency_calls: int = 100
    threshold: float | None = None
    """The threshold of `fill` that is measured beside the fixed ones; default: the setting's."""
    compare: tuple[tuple[str, str], ...] = ()
    """Pairs of methods, or of `method:setting`; empty: the last method against the others."""
    misses: int = 20
    finds: int = 5
    abstain: bool = True
    """Also ask what the library cannot answer, of methods that state a confidence."""
