"""Code actions as plain data: the title at once, the edits when the action is chosen."""

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
    """An action at a place. Its edits are made by the plan with its name."""

    title: str
    kind: str
    """In LSP terms: "quickfix", "refactor.rewrite", "source.sortBib"."""
    name: str
    """Name of the plan that makes the edits."""
    arguments: Mapping[str, str | int | bool] = msgspec.field(default_factory=dict)
    """Arguments of the plan beside the document. They travel through the editor and back."""
    fixes: tuple[str, ...] = ()
    """Codes of the diagnostics that it resolves."""
    span: Span | None = None
    """Range of these diagnostics; None: wherever the editor asked."""
    is_preferred: bool = False
    """Whether it is the one action that an author would choose without looking."""
    slow: bool = False
    """Whether making its edits may take a second: it then runs with progress, and can be
    cancelled."""
    asks: bool = False
    """Whether it answers a question and edits nothing, so that no edit need wait for it."""


class ActionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The edits of a chosen action, in one undoable step."""

    edits: tuple[FileEdit, ...] = ()
    """One for each file."""
    texts: Mapping[Path, str] = msgspec.field(default_factory=dict)
    """The text that the edits of each file refer to."""
    label: str = ""
    """The editor's label of the change."""
    message: str = ""
    """The message shown to the author: the answer to a question."""
    report: Mapping[str, object] = msgspec.field(default_factory=dict)
    """The result as plain data, for a client that shows its own list; the problem
    `placeholders-left-open` has the same content."""
    problems: tuple[Problem, ...] = ()
    """The reasons for an empty or incomplete result."""
    feedback: tuple[Feedback, ...] = ()
    """The author's choices, known once the edits are made."""
