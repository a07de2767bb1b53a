"""All cited keys of a paper that no .bib defines, given their entries in one step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.documents.project.paper_project import Project
from citewell.features.action import QUICK_FIX, SOURCE, Action, ActionPlan
from citewell.features.actions.undefined import CODE, may_be_a_key, worth_a_search
from citewell.features.citing.insert import taken_keys
from citewell.features.citing.writer import CitationWriter
from citewell.model import Problem, Work
from citewell.model.bib import BibFile
from citewell.model.document import Document, KeyUse
from citewell.options import Options

NAMED = 8
"""Keys that a message names; further ones are counted."""


class Missing(msgspec.Struct, frozen=True):
    """A key without an entry, and where it is cited first."""

    document: Document
    use: KeyUse

    @property
    def key(self) -> str:
        return self.use.key


class Settled(msgspec.Struct, frozen=True):
    """A missing key with what gives it its entry: one of the two, or neither where it is unsure."""

    missing: Missing
    work: Work | None = None
    """The paper that the key surely means."""
    copy_of: BibFile | None = None
    """A bibliography of another program that has the key."""


def missing_keys(project: Project) -> list[Missing]:
    """Each key that the paper cites and nothing defines, in reading order."""
    taken = taken_keys(project)
    found: dict[str, Missing] = {}
    for document in project.documents.values():
        for citation in document.citations:
            for use in citation.keys:
                known = use.key == "*" or use.key in taken or use.key in found
                if not known and worth_a_search(use):
                    found[use.key] = Missing(document, use)
    return list(found.values())


def missing_action(count: int, at: KeyUse | None = None) -> Action:
    """Add the entries of all `count` missing keys: a quick fix `at` one of them, elsewhere an
    action on the source."""
    what = f"all {count} missing entries" if count > 1 else "the missing entry"
    return Action(
        title=f"Add {what} of this paper",
        kind=f"{SOURCE}.addMissingEntries" if at is None else QUICK_FIX,
        name="add-all",
        fixes=() if at is None else (CODE,),
        span=None if at is None else at.span,
        slow=True,
    )


def plan_missing(project: Project, found: Sequence[Settled], options: Options) -> ActionPlan:
    """Write the entries of the settled keys, each under the key that is cited; no citation changes.

    A paper that a .bib has under another key is not entered again: its citation is left alone.
    """
    writer = CitationWriter(project, options)
    added: list[str] = []
    left: list[str] = []
    for one in found:
        path, key = Path(one.missing.document.path), one.missing.key
        done = False
        if one.copy_of is not None:
            done = writer.copy(path, one.copy_of, key)
        elif one.work is not None and may_be_a_key(key):
            done = writer.enter(path, one.work, key)
        (added if done else left).append(key)
    edits, _ = writer.finish()
    problems = list(dict.fromkeys(writer.problems))
    if left:
        problems.append(_left(left, len(found)))
    names = ", ".join(dict.fromkeys(Path(edit.path).name for edit in edits))
    count = f"{len(added)} entries were" if len(added) != 1 else "1 entry was"
    return ActionPlan(
        edits=edits,
        texts={Path(edit.path): writer.texts[Path(edit.path)].original for edit in edits},
        label=f"Add {len(added)} missing entries",
        message="" if left or not edits else f"{count} added to {names}.",
        problems=tuple(problems),
    )


def _left(keys: Sequence[str], of: int) -> Problem:
    shown = ", ".join(f"`{key}`" for key in keys[:NAMED])
    more = f" and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return Problem(
        "entries-left-missing",
        f"{of - len(keys)} of {of} missing entries were added. It is unclear which paper is "
        f"meant by {shown}{more}.",
        "Open the quick fixes at such a key, or search with `citewell find`.",
    )
