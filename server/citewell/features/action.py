"""What a code action is as plain data: a title at once, its edits when it is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from citewell.model import Problem
from citewell.model.bib import FileEdit
from citewell.model.document import Span
from citewell.model.feedback import Feedback

QUICK_FIX = "quickfix"
REWRITE = "refactor.rewrite"
SOURCE = "source"


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be done at a place. Making its edits is left to `plan`s, by name."""

    title: str
    kind: str
    """In the protocol's words: "quickfix", "refactor.rewrite", "source.sortBib"."""
    name: str
    """Which plan makes the edits."""
    arguments: Mapping[str, str | int | bool] = msgspec.field(default_factory=dict)
    """What that plan needs beside the document. Travels through the editor and back."""
    fixes: tuple[str, ...] = ()
    """Codes of the diagnostics that it takes away."""
    span: Span | None = None
    """Where those stand; None: wherever the editor asked."""
    is_preferred: bool = False
    """True for the one action that an author would want without looking."""
    slow: bool = False
    """True when making its edits may take a second: then it runs with progress, and can be
    cancelled."""
    asks: bool = False
    """True when it answers a question and edits nothing, so that no edit need wait for it."""


class ActionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The edits of a chosen action, all in one undoable step."""

    edits: tuple[FileEdit, ...] = ()
    """One per file."""
    texts: Mapping[Path, str] = msgspec.field(default_factory=dict)
    """The text to which the edits of each file refer."""
    label: str = ""
    """What the editor calls the change."""
    message: str = ""
    """The message shown to the author: the answer to a question."""
    report: Mapping[str, object] = msgspec.field(default_factory=dict)
    """What was done, as plain data, for a client that shows it in a list of its own; the problem
    `placeholders-left-open` says the same."""
    problems: tuple[Problem, ...] = ()
    """Why there is nothing, or less than was asked for."""
    feedback: tuple[Feedback, ...] = ()
    """What the author is known to have chosen once the edits are made."""
