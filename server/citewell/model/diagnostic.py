"""What an editor underlines, as plain data: a place, a code, how bad it is, in words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from citewell.model.document import Span


class Level(StrEnum):
    """How loudly an editor says it, loudest first."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class RelatedLocation(msgspec.Struct, frozen=True):
    """A related place of a diagnostic."""

    path: Path
    span: Span
    message: str


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One finding in one file."""

    code: str
    """Stable and kebab-case; a section of docs/diagnostics.md has it as its heading."""
    span: Span
    message: str
    """One sentence or two; the first names the thing."""
    level: Level
    unnecessary: bool = False
    """An editor may grey it out."""
    related: tuple[RelatedLocation, ...] = ()
    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What a code action needs to know: "key", "nearest", "other", "fields" (with commas)."""
