"""What becomes of each placeholder of a project, the edits that make it so, and what that says."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from pathlib import Path

import msgspec

from citewell.engine.contract import Engine
from citewell.features.citing.writer import CitationWriter
from citewell.model import Hit, Problem, Query, SearchResult
from citewell.model.bib import FileEdit
from citewell.model.display_text import shorten
from citewell.model.document import Placeholder
from citewell.model.feedback import Feedback, Through, name_of, passed_over
from citewell.model.llm import Picked, Supported

NAMED = 3
"""Candidates of an open placeholder that a report names."""
MOST_NAMED = 8
"""Open placeholders that a summary names."""
NOT_CLOSED = (
    "it is not closed, so its words cannot be separated from the text after it: add "
    "the closing bracket"
)
"""Why no paper is written there, however sure it is."""
UNTYPED = "it has no words that identify a paper"
"""Why a placeholder without words is left open."""
UNCERTAIN = "the best paper is not certain enough"
LEFT = "left open, as you chose"


class PlaceholderFill(msgspec.Struct, frozen=True, kw_only=True):
    """One placeholder and what it becomes."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in code points."""
    text: str
    """The text of the placeholder in the file."""
    placeholder: Placeholder
    sentence: str = ""
    """The sentence around it, for a reader who chooses."""
    candidates: tuple[Hit, ...] = ()
    """Best first."""
    hit: Hit | None = None
    """What is cited; None when the placeholder is left open."""
    key: str = ""
    reused: bool = False
    """The work stood in the bibliography before; no entry is added."""
    confidence: float = 0.0
    """How likely the author would cite the hit here; of the best candidate if left open."""
    reason: str = ""
    """Why the placeholder is left open."""
    query: Query = Query()
    """What was asked."""
    variant: str = ""
    """What made the order of the candidates."""
    picked: Picked | None = None
    """What the language model chose, where one is named; its choice is the first candidate."""
    supported: Supported | None = None
    """Its opinion of the cited paper's abstract, if requested; for information only."""

    @property
    def advice(self) -> str:
        """The reason for a program, which may send its own choice where there are candidates."""
        waits = self.reason.startswith((UNTYPED, UNCERTAIN))
        return f"{self.reason}; choose yourself" if waits else self.reason


class FillPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to a project's placeholders, and the edits that make it so."""

    fills: tuple[PlaceholderFill, ...] = ()
    """In reading order."""
    edits: tuple[FileEdit, ...] = ()
    """One per file, bibliographies first: a citation is never written before its entry."""
    diffs: tuple[str, ...] = ()
    """A unified diff per edit, in the same order, with paths relative to the project's root."""
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text to which the edits of that file refer."""
    problems: tuple[Problem, ...] = ()
    results: tuple[SearchResult, ...] = ()
    """Of the search for each placeholder."""
    root: Path = Path()
    """Folder of the project."""
    again: Callable[[], FillPlan] | None = None
    """Makes the plan for the files as they are then, where they are on the disk."""

    @property
    def filled(self) -> tuple[PlaceholderFill, ...]:
        return tuple(found for found in self.fills if found.hit is not None)

    @property
    def open(self) -> tuple[PlaceholderFill, ...]:
        return tuple(found for found in self.fills if found.hit is None)


def named(fill: PlaceholderFill) -> str:
    """A placeholder by its words: "`graph attention`", or "`?`" where it has none."""
    words = fill.placeholder.query or ("?" if "?" in fill.text else fill.text)
    return f"`{shorten(words, 40).replace('`', '')}`"


def summary_of(plan: FillPlan) -> str:
    """ "3 of 5 filled; 2 left open: `graph attention`, `?`"."""
    text = f"{len(plan.filled)} of {len(plan.fills)} filled"
    if not plan.open:
        return text
    names = [named(one) for one in plan.open[:MOST_NAMED]]
    more = len(plan.open) - len(names)
    shown = ", ".join(names) + (f" and {more} more" if more else "")
    return f"{text}; {len(plan.open)} left open: {shown}"


def detail_of(fill: PlaceholderFill) -> str:
    """Why a placeholder is open, and its best papers."""
    best = ", ".join(f"“{shorten(hit.work.title, 60)}”" for hit in fill.candidates[:NAMED])
    return f"{fill.reason}; best: {best}" if best else fill.reason


def left_open(plan: FillPlan) -> Problem:
    """Which placeholders are open and why, with the best papers of the first ones."""
    details = [f"line {one.line}, {named(one)}: {detail_of(one)}." for one in plan.open]
    return Problem(
        "placeholders-left-open",
        "\n".join([f"{summary_of(plan)}.", *details[:MOST_NAMED]]),
        "Choose from the list at the placeholder, or type words into it.",
    )


def learn_fill(
    engine: Engine, plan: FillPlan, through: Through, chosen: Container[int] | None = None
) -> tuple[Problem, ...]:
    """Have the engine learn from a plan that was written (`fill_feedback`); what went wrong."""
    reports = fill_feedback(plan, through, chosen)
    return tuple(problem for feedback in reports for problem in engine.learn(feedback))


def fill_feedback(
    plan: FillPlan, through: Through, chosen: Container[int] | None = None
) -> tuple[Feedback, ...]:
    """The feedback of writing the plan: the papers added to the project's bibliography.

    Where an author chose among the candidates (`picker`), those above the chosen one were passed
    over; a program looks at none. `chosen` are the numbers, from 1, of the placeholders whose paper
    was chosen; None: all of them. The others took the best one unattended, which is kept as `fill`.
    """
    return tuple(
        Feedback(
            accepted=name_of(found.hit.work),
            dismissed=passed_over([hit.work for hit in found.candidates], found.hit.work.id)
            if through == "picker"
            else (),
            query=found.query,
            project=str(plan.root),
            through=through if chosen is None or number in chosen else "fill",
            variant=found.variant,
        )
        for number, found in enumerate(plan.fills, 1)
        if found.hit is not None and not found.reused
    )


def why_none(result: SearchResult) -> str:
    """Why a search that was made found nothing."""
    for problem in result.problems:
        if problem not in result.failed:
            return problem.message[:1].lower() + problem.message[1:].rstrip(".")
    return "no papers found"


def cited(found: PlaceholderFill, writer: CitationWriter) -> PlaceholderFill:
    """The placeholder with the key that cites its paper, or open with the reason."""
    change = msgspec.structs.replace
    if found.hit is None:
        return found
    done = writer.cite(Path(found.path), found.placeholder, found.hit.work)
    if not done.key:
        return change(found, hit=None, reason=done.reason)
    return change(found, key=done.key, reused=not done.is_new)
