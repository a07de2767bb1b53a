"""What the author took of what was shown, as feedback to the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.model.feedback import Feedback, Named, PaperName, Through, name_of, passed_over

if TYPE_CHECKING:
    from citewell.features.action import ActionPlan
    from citewell.features.citing.picker_rows import PaperRow
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.lsp.state.shown import Shown
    from citewell.model import Query, Work

MAX_LISTS = 16
"""Lists of the picker that are remembered."""


class PickerHistory:
    """The last lists of the picker, for what is chosen from them. For one event loop."""

    def __init__(self) -> None:
        self._lists: deque[tuple[Query, str, tuple[Named | None, ...]]] = deque(maxlen=MAX_LISTS)

    def add(self, query: Query, variant: str, rows: Sequence[PaperRow]) -> None:
        """Remember a list; what a .bib of the paper holds is no suggestion."""
        shown = tuple(None if row.known or not row.id else row for row in rows)
        self._lists.append((query, variant, shown))

    def taken(self, project: Path, work: Work) -> Feedback:
        """The feedback of choosing a work from the last list that contained it."""
        for query, variant, shown in reversed(self._lists):
            if any(row is not None and row.id == work.id for row in shown):
                return Feedback(
                    accepted=name_of(work),
                    dismissed=passed_over(shown, work.id),
                    query=query,
                    project=str(project),
                    through="picker",
                    variant=variant,
                )
        return Feedback(accepted=name_of(work), project=str(project), through="picker")


def feedback_on(shown: Shown | None, snapshot: Snapshot, work: Work) -> Feedback:
    """A paper taken from a completion list; without the list only that it was taken."""
    listed = shown.completion if shown is not None else None
    if listed is None or listed.query is None:
        return taken(snapshot, work, None)
    works = [candidate.work for candidate in listed.candidates]
    return taken(
        snapshot,
        work,
        listed.query,
        dismissed=passed_over(works, work.id),
        variant=listed.variant,
    )


def taken(
    snapshot: Snapshot,
    work: Work,
    query: Query | None,
    *,
    dismissed: Sequence[PaperName] = (),
    variant: str = "",
    through: Through = "completion",
) -> Feedback:
    """A paper whose entry is written into the bibliography of a document's project."""
    from citewell.model import Query

    return Feedback(
        accepted=name_of(work),
        dismissed=tuple(dismissed),
        query=query or Query(),
        project=str(snapshot.state.project.root.parent),
        through=through,
        variant=variant,
    )


def adds_entry(plan: ActionPlan) -> bool:
    """True when the plan writes into a bibliography."""
    return any(Path(edit.path).suffix.lower() == ".bib" for edit in plan.edits)
