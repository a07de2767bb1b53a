"""Actions for a key that no .bib defines: another key, or the missing entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from citewell.documents.keys.pattern import check_key
from citewell.documents.project.paper_project import Project
from citewell.features.action import QUICK_FIX, SOURCE, Action, ActionPlan
from citewell.features.actions.placeholder import Choice, joined
from citewell.features.citing.completion import entry_candidate, work_candidate
from citewell.features.citing.insert import CitationWriter, entry_of, plan_insert, taken_keys
from citewell.features.citing.undefined_key import KeyMeaning, Meaning, fit
from citewell.model import Problem, Work
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.document import Document, KeyUse, Span
from citewell.model.titles import fold
from citewell.options import Options

CODE = "undefined-key"
MAX_SIMILAR = 2
"""Number of defined keys suggested for an undefined one."""
_NEAR = 0.78
"""Minimum similarity of two keys, one of which may be a misspelling of the other."""
_TWIN = 0.87
_DIGITS = re.compile(r"\d+")


class Similar(msgspec.Struct, frozen=True):
    """A key in the paper's .bib files that may be meant."""

    key: str
    entry: BibEntry
    likeness: float
    """1 for keys that differ only in case or punctuation."""
    certain: bool = False


def may_be_a_key(key: str) -> bool:
    """True for a valid key of an entry."""
    return check_key(key) is None


def similar_keys(meaning: KeyMeaning, entries: Iterable[tuple[str, BibEntry]]) -> list[Similar]:
    """The defined keys that an undefined one may have been meant to be, best first.

    Misspelt keys have the same numbers: `blei-03` is no typo of `blei-06`. An entry of the same
    author and year is also near if nothing in the key contradicts it.
    """
    from rapidfuzz.distance import OSA

    key = meaning.key
    bare, numbers = _bare(key), _DIGITS.findall(key)
    found: list[Similar] = []
    for _, entry in entries:
        if not entry.key or entry.key == key:
            continue
        other = _bare(entry.key)
        if other == bare:
            found.append(Similar(entry.key, entry, 1.0, certain=True))
            continue
        if _DIGITS.findall(entry.key) == numbers:
            likeness = OSA.normalized_similarity(bare, other, score_cutoff=_NEAR)
            if likeness and min(len(bare), len(other)) >= 4:
                found.append(Similar(entry.key, entry, likeness, certain=likeness >= _TWIN))
                continue
        year = entry.body.year
        if meaning.year is None or year is None or abs(year - meaning.year) > 1:
            continue
        if len(meaning.surname) < 3:
            continue
        fits = fit(meaning, _work(entry))
        if fits.surname >= 0.9 and fits.contradicts < 0.3:
            whole = fits.title * fits.title_detail >= 0.9 and fits.year == 1.0
            found.append(Similar(entry.key, entry, 0.8 + 0.1 * whole, certain=whole))
    found.sort(key=lambda one: (-one.likeness, one.key))
    first = [one for one in found if one.certain]
    # Two equal matches: neither is certain.
    if len(first) > 1 and first[0].likeness - first[1].likeness < 0.02:
        found = [msgspec.structs.replace(one, certain=False) for one in found]
    return found[:MAX_SIMILAR]


def _bare(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", fold(key))


def _work(entry: BibEntry) -> Work:
    return Work(
        id=f"bib:{entry.key}",
        title=entry.get("title"),
        authors=entry.body.authors,
        year=entry.body.year,
        booktitle=entry.get("booktitle"),
        journal=entry.get("journal"),
    )


def library_action(use: KeyUse) -> Action:
    """The action for a key in the author's Zotero."""
    return Action(
        title=f"Add `{use.key}` from Zotero",
        kind=QUICK_FIX,
        name="shelf",
        arguments={"start": use.span.start, "key": use.key},
        fixes=(CODE,),
        span=use.span,
        is_preferred=True,
    )


def undefined_actions(
    use: KeyUse, similar: Sequence[Similar], meaning: Meaning | None, project: Project
) -> list[Action]:
    """The actions for an undefined key, the likeliest first; at most one is preferred. A paper in a
    .bib of the project under another key is not added again."""
    found: list[Action] = []
    offered: set[str] = set()
    where: dict[str, str | int | bool] = {"start": use.span.start, "key": use.key}

    def change(key: str, shown: str, preferred: bool) -> None:
        if key in offered:
            return
        offered.add(key)
        found.append(
            Action(
                title=f"Change to `{key}`{f' ({shown})' if shown else ''}",
                kind=QUICK_FIX,
                name="change",
                arguments={**where, "new": key},
                fixes=(CODE,),
                span=use.span,
                is_preferred=preferred,
            )
        )

    for one in similar:
        if one.certain:
            change(one.key, _shown_entry(one.entry), not found)
    for rank, work in enumerate(() if meaning is None else meaning.offered):
        sure = meaning is not None and meaning.is_sure and rank == 0 and not found
        known = entry_of(project, work)
        if known is not None:
            change(known[1].key, _shown_entry(known[1]), sure)
        elif may_be_a_key(use.key):
            found.append(
                Action(
                    title=f"Add {_shown_work(work)} as `{use.key}`",
                    kind=QUICK_FIX,
                    name="add",
                    arguments={**where, "work": work.id},
                    fixes=(CODE,),
                    span=use.span,
                    is_preferred=sure,
                )
            )
    for one in similar:
        change(one.key, _shown_entry(one.entry), False)
    return found


def worth_a_search(use: KeyUse) -> bool:
    """False for a mark or a piece of LaTeX instead of a key."""
    return bool(use.key) and "\\" not in use.key and len(use.key) <= 200


def _shown_work(work: Work) -> str:
    shown = work_candidate(work, "", "")
    return Choice("", work, shown.authors, shown.year, shown.title).shown


def _shown_entry(entry: BibEntry) -> str:
    shown = entry_candidate(entry, "", "")
    return Choice(entry.key, None, shown.authors, shown.year, shown.title).shown


def use_near(document: Document, start: int, key: str) -> KeyUse | None:
    """The use of a key at `start`, or the nearest one; None when the key is no longer used."""
    uses = [u for c in document.citations for u in c.keys if u.key == key]
    return min(uses, key=lambda use: abs(use.span.start - start), default=None)


def plan_change(documents: Iterable[Document], key: str, new: str) -> ActionPlan:
    """Plan the replacement of an undefined key by another one throughout the paper."""
    edits: list[tuple[Path, tuple[TextEdit, ...], str]] = []
    for document in documents:
        changes = tuple(
            TextEdit(Span(use.span.start, use.span.end), new)
            for citation in document.citations
            for use in citation.keys
            if use.key == key
        )
        if changes:
            edits.append((Path(document.path), changes, document.text))
    return ActionPlan(
        edits=tuple(FileEdit(str(path), changes) for path, changes, _ in edits),
        texts={path: text for path, _, text in edits},
        label=f"Change {key} to {new}",
    )


def plan_addition(
    project: Project, document: Document, use: KeyUse, work: Work, options: Options
) -> ActionPlan:
    """Add the entry of a paper under exactly the cited key."""
    path = Path(document.path)
    plan = plan_insert(project, work, options, for_path=path, key=use.key)
    if not plan.key:
        return ActionPlan(problems=plan.problems)
    texts = {path: document.text, **{Path(name): text for name, text in plan.texts.items()}}
    edits = plan.edits
    if plan.key != use.key:
        # It was added meanwhile under another key.
        edits = joined(edits, path, (TextEdit(use.span, plan.key),))
    return ActionPlan(edits=edits, texts=texts, label=f"Add {plan.key}")


# Adding entries for all undefined keys of a paper in one step.

NAMED = 8
"""Number of keys named in a message; further ones are counted."""


class Missing(msgspec.Struct, frozen=True):
    """A key without an entry, and its first citation."""

    document: Document
    use: KeyUse

    @property
    def key(self) -> str:
        return self.use.key


class Settled(msgspec.Struct, frozen=True):
    """A missing key with the source of its entry: one of the two, or neither if it is unsure."""

    missing: Missing
    work: Work | None = None
    """The paper that the key certainly means."""
    copy_of: BibFile | None = None
    """A bibliography of another program with the key."""


def missing_keys(project: Project) -> list[Missing]:
    """Each undefined key that the paper cites, in reading order."""
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
    """Add the entries of all `count` missing keys: a quick fix `at` one of them, else a source
    action."""
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
    """Write the entries of the settled keys, each under the cited key; no citation changes. A paper
    in a .bib under another key is not entered again: its citation is left alone."""
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
