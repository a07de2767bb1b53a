"""What can be done at a placeholder: cite one of the best papers, the best of all, or fill all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from citewell.documents.keys.index import KeyMatch
from citewell.documents.project.paper_project import Project
from citewell.features.action import QUICK_FIX, REWRITE, SOURCE, Action, ActionPlan
from citewell.features.citing.citation import citation_edit, extent, is_key_like, until, word_end
from citewell.features.citing.complete import SURE_SCORE, FindWork
from citewell.features.citing.completion import entry_candidate, work_candidate
from citewell.features.citing.confidence import confidence_of
from citewell.features.citing.hover import hovered_placeholder
from citewell.features.citing.insert import plan_citable
from citewell.features.text.entry_state import FindCheck, doubt, is_invented, unknown
from citewell.model import Hit, Problem, Query, Work
from citewell.model.bib import BibEntry, FileEdit, TextEdit
from citewell.model.display_text import shorten
from citewell.model.document import Document, Format, Placeholder, Span
from citewell.model.words import certainty
from citewell.options import Options

CODE = "unresolved-placeholder"
SHOWN = 3
"""Papers that are offered by name."""
_TITLE = 64


class Choice(msgspec.Struct, frozen=True):
    """One thing that may be cited at the placeholder."""

    key: str = ""
    """Of an entry that the project has already; empty for a paper of the library."""
    work: Work | None = None
    authors: str = ""
    year: int | None = None
    title: str = ""
    doubt: str = ""
    """A sign and a few words where the entry is in doubt."""
    invented: bool = False
    """The entry is known to describe no work."""

    @property
    def shown(self) -> str:
        """ "Vaswani et al. 2017: Attention is all you need"."""
        who = " ".join(part for part in (self.authors, str(self.year or "")) if part)
        shown = ": ".join(part for part in (who, shorten(self.title, _TITLE)) if part)
        return f"{shown} ({self.doubt})" if self.doubt else shown


def placeholder_actions(
    placeholder: Placeholder,
    choices: Sequence[Choice],
    *,
    sure: bool,
    open_places: int,
    variant: str = "",
) -> list[Action]:
    """The actions at a placeholder of a document that has `open_places` of them; `variant` names
    what made the order of the choices."""
    where = _where(placeholder)
    if not placeholder.certain:
        return [_close_action(placeholder)]
    found = [
        Action(
            title=f"Cite {choice.shown}",
            kind=QUICK_FIX,
            name="cite",
            arguments={**where, **_chosen(choices, rank, variant)},
            fixes=(CODE,),
            span=placeholder.span,
            is_preferred=sure and rank == 0,
        )
        for rank, choice in enumerate(choices[:SHOWN])
    ]
    if choices:
        found.append(
            Action(
                title="Cite the best paper (searches longer)",
                kind=QUICK_FIX,
                name="best",
                arguments=where,
                fixes=(CODE,),
                span=placeholder.span,
                slow=True,
            )
        )
    if open_places > 1:
        found.append(fill_action(open_places, placeholder))
    return found


def _where(placeholder: Placeholder) -> dict[str, str | int | bool]:
    """The arguments that locate the placeholder again in a text that may have changed."""
    at_cursor = placeholder.certain and not placeholder.closed
    typed = placeholder.span.end - placeholder.span.start if at_cursor else 0
    return {"start": placeholder.span.start, "query": placeholder.query, "typed": typed}


def _close_action(placeholder: Placeholder) -> Action:
    """Close a placeholder that has no closing mark: only the author knows where its words end."""
    return Action(
        title=f"End the placeholder after “{shorten(placeholder.query, _TITLE)}”",
        kind=QUICK_FIX,
        name="close",
        arguments=_where(placeholder),
        fixes=(CODE,),
        span=placeholder.span,
    )


def _chosen(choices: Sequence[Choice], rank: int, variant: str) -> dict[str, str]:
    """The arguments of a choice at a place, as they return through the editor."""
    choice = choices[rank]
    above = [other.work.id for other in choices[:rank] if other.work is not None]
    return {
        "key": choice.key,
        "work": choice.work.id if choice.work else "",
        "above": "\n".join(above),
        "variant": variant,
    }


def fill_action(open_places: int, at: Placeholder | None = None) -> Action:
    """Fill every placeholder of the document that is certain enough: a quick fix `at` one of them,
    elsewhere an action on the source."""
    what = f"all {open_places} placeholders" if open_places > 1 else "the placeholder"
    return Action(
        title=f"Fill {what} in this file",
        kind=f"{SOURCE}.fillCitations" if at is None else QUICK_FIX,
        name="fill",
        fixes=() if at is None else (CODE,),
        span=None if at is None else at.span,
        slow=True,
    )


def choices_at(
    placeholder: Placeholder,
    own: Sequence[KeyMatch],
    hits: Sequence[Hit],
    find_work: FindWork,
    check_of: FindCheck = unknown,
) -> list[Choice]:
    """The author's own entries that fit, then the papers, each once; entries that are known to be
    invented come last."""
    found: list[Choice] = []
    seen = set(placeholder.other_keys)
    for match in own:
        if not is_key_like(placeholder) and match.score < SURE_SCORE:
            continue
        if match.entry.key not in seen:
            seen.add(match.entry.key)
            found.append(_own(match.entry, match.path, check_of))
    for hit in hits:
        known = find_work(hit.work)
        if known is None:
            shown = work_candidate(hit.work, "", "")
            found.append(Choice("", hit.work, shown.authors, shown.year, shown.title))
        elif known[1].key not in seen:
            seen.add(known[1].key)
            found.append(_own(known[1], known[0], check_of))
    return sorted(found, key=lambda choice: choice.invented)


def _own(entry: BibEntry, path: str, check_of: FindCheck) -> Choice:
    check = check_of(path, entry)
    shown = entry_candidate(entry, path, "", check=check)
    return Choice(
        shown.key, None, shown.authors, shown.year, shown.title, doubt(check), is_invented(check)
    )


def is_sure(query: Query, hits: Sequence[Hit]) -> bool:
    """True when the first hit may be cited without a look."""
    typed = bool(query.text.strip())
    return certainty(confidence_of(query, hits), typed=typed) == "sure"


def placeholder_for(
    document: Document, selection: Span, *, on_character: bool = False
) -> Placeholder | None:
    """The placeholder at a cursor or a selection. One that nothing closes ends at the cursor; with
    `on_character` behind the word on which the cursor stands.

    A selection of a whole placeholder is what an editor gives for its diagnostic: no cursor.
    """
    placeholder = hovered_placeholder(document, selection.start)
    if placeholder is None or placeholder.closed:
        return placeholder
    for one in document.placeholders:
        if one.span.start == placeholder.span.start:
            if selection.start < selection.end == one.span.end:
                return one
            at_letter = on_character and selection.start == selection.end
            end = word_end(document, selection.end) if at_letter else selection.end
            return until(document, one, min(end, extent(one)))
    return placeholder


def placeholder_near(
    document: Document, start: int, query: str, typed: int = 0
) -> Placeholder | None:
    """The placeholder that stood at `start`: still there, or the nearest with the same words.

    `typed` is the length of one that nothing closes and that ended at a cursor.
    """
    found = document.placeholders
    if typed:
        found = tuple(until(document, p, p.span.start + typed) for p in found if not p.closed)
    same = [p for p in found if p.query == query]
    return min(same, key=lambda p: abs(p.span.start - start), default=None)


def plan_close(document: Document, placeholder: Placeholder) -> ActionPlan:
    """A `>`, `}` or `]` behind the placeholder's words; nothing else changes."""
    opened = document.text[placeholder.span.start : placeholder.query_span.start].rstrip("@?")
    closing = {"<": ">", "{": "}", "[": "]"}
    mark = next((closing[c] for c in reversed(opened) if c in closing), "")
    end = placeholder.query_span.end
    change = FileEdit(document.path, (TextEdit(Span(end, end), mark),))
    return ActionPlan(
        edits=(change,), texts={Path(document.path): document.text}, label="End the placeholder"
    )


def plan_citation(
    project: Project,
    document: Document,
    placeholder: Placeholder,
    options: Options,
    *,
    work: Work | None = None,
    key: str = "",
) -> ActionPlan:
    """The placeholder becomes a citation; a paper that no .bib holds is entered in the same step.

    `document` is the project's own reading of the file.
    """
    citable = plan_citable(project, document, options, work=work, key=key)
    if not citable.key:
        return ActionPlan(problems=citable.problems)
    change = citation_edit(document, placeholder, citable.key, options.documents.default_command)
    if placeholder.span.start == placeholder.span.end:
        # Behind a word: no line may break between it and its citation.
        tie = "~" if document.format is Format.LATEX else " "
        change = TextEdit(change.span, tie + change.text)
    return ActionPlan(
        edits=joined(citable.edits, Path(document.path), (change,)),
        texts={Path(name): text for name, text in citable.texts.items()},
        label=f"Cite {citable.key}",
    )


def joined(edits: Sequence[FileEdit], path: Path, more: Sequence[TextEdit]) -> tuple[FileEdit, ...]:
    """All edits with those of one file in one piece, bibliographies first."""
    found: list[FileEdit] = []
    own = FileEdit(str(path), tuple(more))
    for edit in edits:
        if Path(edit.path) == path:
            own = msgspec.structs.replace(edit, edits=(*edit.edits, *own.edits))
        else:
            found.append(edit)
    if own.edits:
        ordered = tuple(sorted(own.edits, key=lambda change: change.span))
        found.append(msgspec.structs.replace(own, edits=ordered))
    return tuple(found)


def sentence_actions(
    at: int, sentence: str, choices: Sequence[Choice], variant: str = ""
) -> list[Action]:
    """The actions at the end of a sentence that wants a citation and has none."""
    return [
        Action(
            title=f"Cite {choice.shown} here",
            kind=REWRITE,
            name="cite-here",
            arguments={
                "at": at,
                "sentence": sentence[:200],
                **_chosen(choices, rank, variant),
            },
        )
        for rank, choice in enumerate(choices[:SHOWN])
    ]


def nothing_found(placeholder: Placeholder) -> Problem:
    """The problem shown to an author when the search for a placeholder finds no paper."""
    words = f"“{shorten(placeholder.query, 60)}”" if placeholder.query else "this place"
    return Problem(
        "no-paper-found",
        f"No papers found for {words}.",
        "Use other words, or add the paper to the library with `citewell library add`.",
    )
