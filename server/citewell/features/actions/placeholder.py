"""Actions at a placeholder: cite one of the best papers or the best of all, or fill all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from citewell.documents.keys.index import KeyMatch
from citewell.documents.project.paper_project import Project
from citewell.features.action import QUICK_FIX, REWRITE, SOURCE, Action, ActionPlan
from citewell.features.citing.citation import (
    citation_edit,
    default_cite_command,
    extent,
    is_key_like,
    placeholder_at,
    until,
    word_end,
)
from citewell.features.citing.complete import SURE_SCORE, FindWork
from citewell.features.citing.completion import (
    FindCheck,
    doubt,
    entry_candidate,
    is_invented,
    unknown,
    work_candidate,
)
from citewell.features.citing.hover import hovered_placeholder
from citewell.features.citing.insert import CitationWriter, plan_citable, taken_keys
from citewell.features.text.evidence import confidence_of
from citewell.model import Hit, Problem, Query, Work
from citewell.model.bib import BibEntry, FileEdit, TextEdit
from citewell.model.display_text import shorten
from citewell.model.document import (
    Citation,
    Document,
    Format,
    KeyUse,
    Placeholder,
    PlaceholderKind,
    Span,
)
from citewell.model.words import certainty
from citewell.options import Options

CODE = "unresolved-placeholder"
SHOWN = 3
"""Number of papers offered by name."""
_TITLE = 64


class Choice(msgspec.Struct, frozen=True):
    """One paper or entry to cite at the placeholder."""

    key: str = ""
    """Key of an existing entry of the project; empty for a paper of the library."""
    work: Work | None = None
    authors: str = ""
    year: int | None = None
    title: str = ""
    doubt: str = ""
    """A sign and a few words if the entry is in doubt."""
    invented: bool = False
    """Whether the entry is known to describe no work."""

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
    """The actions at a placeholder of a document with `open_places` of them; `variant` is the
    configuration that ordered the choices."""
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
    """The arguments of a choice by rank, as they return through the editor."""
    choice = choices[rank]
    above = [other.work.id for other in choices[:rank] if other.work is not None]
    return {
        "key": choice.key,
        "work": choice.work.id if choice.work else "",
        "above": "\n".join(above),
        "variant": variant,
    }


def fill_action(open_places: int, at: Placeholder | None = None) -> Action:
    """Fill every placeholder of the document with sufficient confidence: a quick fix `at` one of
    them, else a source action."""
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
    """The author's own matching entries, then the papers, each once; entries known to be fabricated
    come last."""
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
    """True when the first hit may be cited unseen."""
    typed = bool(query.text.strip())
    return certainty(confidence_of(query, hits), typed=typed) == "sure"


def placeholder_for(
    document: Document, selection: Span, *, on_character: bool = False
) -> Placeholder | None:
    """The placeholder at a cursor or a selection. An unclosed one ends at the cursor or, with
    `on_character`, after the word at the cursor.

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
    """The placeholder that was at `start`, or the nearest one with the same words. `typed` is the
    length of an unclosed one that ended at a cursor."""
    found = document.placeholders
    if typed:
        found = tuple(until(document, p, p.span.start + typed) for p in found if not p.closed)
    same = [p for p in found if p.query == query]
    return min(same, key=lambda p: abs(p.span.start - start), default=None)


def plan_close(document: Document, placeholder: Placeholder) -> ActionPlan:
    """A `>`, `}` or `]` after the placeholder's words; nothing else changes."""
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
    """Turn the placeholder into a citation; a paper without an entry gets one in the same step.
    `document` is the project's own parse of the file."""
    citable = plan_citable(project, document, options, work=work, key=key)
    if not citable.key:
        return ActionPlan(problems=citable.problems)
    change = citation_edit(document, placeholder, citable.key, options.documents.default_command)
    if placeholder.span.start == placeholder.span.end:
        # No line may break between a word and its citation.
        tie = "~" if document.format is Format.LATEX else " "
        change = TextEdit(change.span, tie + change.text)
    return ActionPlan(
        edits=joined(citable.edits, Path(document.path), (change,)),
        texts={Path(name): text for name, text in citable.texts.items()},
        label=f"Cite {citable.key}",
    )


def joined(edits: Sequence[FileEdit], path: Path, more: Sequence[TextEdit]) -> tuple[FileEdit, ...]:
    """All edits, with those of one file combined, bibliographies first."""
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
    """The actions at the end of a sentence that needs a citation."""
    return [
        Action(
            title=f"Cite {choice.shown} here",
            kind=REWRITE,
            name="cite-here",
            arguments={"at": at, "sentence": sentence[:200], **_chosen(choices, rank, variant)},
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


# Citation of chosen papers at any place, in the form that fits the text, with their entries.

_WORD_BEFORE = re.compile(r"[^\W_]+$")
_WORD_AFTER = re.compile(r"[^\W_]+")
_COMMAND = re.compile(r"\\[A-Za-z@]*$")


class PaperToCite(msgspec.Struct, frozen=True):
    """A paper to cite."""

    work: Work | None = None
    key: str = ""
    """Key of an existing entry; not needed with `work`."""


class CitePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A citation with the entries of its papers."""

    plan: ActionPlan
    keys: tuple[str, ...] = ()
    """In the order of the papers; empty when nothing can be cited, for the reasons in the plan's
    problems."""
    entered: tuple[Work, ...] = ()
    """The works with new entries."""
    end: int = 0
    """Offset after the citation in the document, once all edits are made."""

    @property
    def key(self) -> str:
        """The key of the first paper; empty when nothing can be cited."""
        return self.keys[0] if self.keys else ""


def plan_cite(
    project: Project, document: Document, at: Span, options: Options, chosen: Sequence[PaperToCite]
) -> CitePlan:
    """Plan one citation of all the papers, in order, at a place of the document; if one of them
    cannot be entered, nothing is planned.

    `document` is the project's own parse of the file.
    """
    path = Path(document.path)
    entries = _entries(project, document, options, chosen)
    if not entries.keys:
        return entries
    command = options.documents.default_command or usual_command(project, document)
    known = taken_keys(project)
    change, end = cite_all_at(document, at, entries.keys, command, known.__contains__)
    changed = joined(entries.plan.edits, path, () if change is None else (change,))
    for edit in changed:
        if Path(edit.path) == path:
            before = (e for e in edit.edits if e != change and e.span.start <= at.start)
            end += sum(len(e.text) - (e.span.end - e.span.start) for e in before)
    plan = msgspec.structs.replace(
        entries.plan,
        edits=changed,
        texts={path: document.text, **entries.plan.texts},
        label=f"Cite {', '.join(entries.keys)}",
    )
    return msgspec.structs.replace(entries, plan=plan, end=end)


def _entries(
    project: Project, document: Document, options: Options, chosen: Sequence[PaperToCite]
) -> CitePlan:
    """The edits of bibliographies that make all the papers citable in a document, and the keys;
    without keys if one of them cannot be entered."""
    path = Path(document.path)
    if len(chosen) == 1:
        work = chosen[0].work
        one = plan_citable(project, document, options, work=work, key=chosen[0].key)
        texts = {Path(name): text for name, text in one.texts.items()}
        return CitePlan(
            plan=ActionPlan(edits=one.edits, texts=texts, problems=one.problems),
            keys=(one.key,) if one.key else (),
            entered=(work,) if work is not None and one.edits else (),
        )
    writer = CitationWriter(project, options)
    keys: list[str] = []
    entered: list[Work] = []
    for paper in chosen:
        if paper.work is None:
            keys.append(paper.key)
            continue
        done = writer.enter_work(path, paper.work)
        if not done.key:
            return CitePlan(plan=ActionPlan(problems=tuple(writer.problems)))
        keys.append(done.key)
        entered += [paper.work] if done.is_new else []
    edits, _ = writer.finish()
    return CitePlan(
        plan=ActionPlan(
            edits=edits,
            texts={name: edited.original for name, edited in writer.texts.items()},
            problems=tuple(writer.problems),
        ),
        keys=tuple(dict.fromkeys(keys)),
        entered=tuple(entered),
    )


def cite_all_at(
    document: Document,
    at: Span,
    keys: Sequence[str],
    command: str = "",
    is_key: Callable[[str], bool] = lambda key: True,
) -> tuple[TextEdit | None, int]:
    """The edit for several keys in one citation (see `cite_at`); keys already in it are left
    out."""
    placeholder = placeholder_at(document, at.end) or _placeholder_around(document, at)
    citation = _citation_at(document, at) if placeholder is None else None
    form = command or default_cite_command(document)
    if placeholder is not None:
        form = placeholder.command or form
        keys = [key for key in keys if key not in placeholder.other_keys] or keys[:1]
    elif citation is not None:
        form = citation.command
        there = {use.key for use in citation.keys}
        keys = [key for key in keys if key not in there]
        if not keys:
            return None, citation.span.end
    between = "; @" if form.startswith(("[@]", "@")) else ","
    if citation is not None and between == ",":
        between = _comma(document.text, citation)
    return cite_at(document, at, between.join(keys), command, is_key)


def cite_at(
    document: Document,
    at: Span,
    key: str,
    command: str = "",
    is_key: Callable[[str], bool] = lambda key: True,
) -> tuple[TextEdit | None, int]:
    """The edit that cites `key` at a place, and the offset after the citation once it is made.

    A placeholder at the place becomes the citation; a citation there takes one more key (in place
    of the one at the cursor, if no .bib knows that); anywhere else a citation is inserted, or takes
    the place of what is selected. None when the key is cited there already.
    """
    placeholder = placeholder_at(document, at.end) or _placeholder_around(document, at)
    if placeholder is not None:
        change = citation_edit(document, placeholder, key, command)
        return change, _behind(document.text, placeholder, change)
    citation = _citation_at(document, at)
    if citation is not None:
        return _one_more(document, citation, at.end, key, is_key)
    change = _new_citation(document, at, key, command)
    return change, change.span.start + len(change.text.rstrip())


def usual_command(project: Project, document: Document) -> str:
    """The most frequent cite command of the file; in a file without citations, that of the
    project."""
    others: Iterable[Document] = project.documents.values()
    for one in (document, *others):
        if one.format is document.format and one.citations:
            return default_cite_command(one)
    return default_cite_command(document)


def _placeholder_around(document: Document, at: Span) -> Placeholder | None:
    """The placeholder around the selection, or with its first letter at the cursor."""
    around = (p for p in document.placeholders if at.start in p.span and at.end in p.span)
    return next(around, None)


def _behind(text: str, placeholder: Placeholder, change: TextEdit) -> int:
    """The offset after the new citation: for `[@a; @?]`, after the bracket."""
    end = max(change.span.end, placeholder.span.end)
    last = text[change.span.end : end] or change.text
    markdown = placeholder.command in ("[@]", "@")
    if markdown and not last.endswith("]") and text[end : end + 1] == "]":
        end += 1
    return change.span.start + len(change.text) + end - change.span.end


def _citation_at(document: Document, at: Span) -> Citation | None:
    for citation in document.citations:
        if citation.span.start <= at.start and at.end <= citation.span.end:
            # Before the bare key of running text there is prose.
            if citation.command == "@" and at.end == citation.span.start:
                continue
            return citation
    return None


def _one_more(
    document: Document, citation: Citation, cursor: int, key: str, is_key: Callable[[str], bool]
) -> tuple[TextEdit | None, int]:
    text, end = document.text, citation.span.end
    if any(use.key == key for use in citation.keys):
        return None, end
    touched = next((use for use in citation.keys if cursor in use.span), None)
    if touched is not None and not is_key(touched.key):
        return TextEdit(touched.span, key), end + len(key) - len(touched.key)
    if citation.command == "@":
        change = TextEdit(Span(end, end), f"; @{key}")
    elif citation.command.startswith("[@]"):
        close = end - 1 if text[end - 1] == "]" else end
        change = TextEdit(Span(close, close), f"; @{key}")
    else:
        last = _key_before(citation, cursor)
        change = TextEdit(Span(last.span.end, last.span.end), f"{_comma(text, citation)}{key}")
    return change, end + len(change.text)


def _key_before(citation: Citation, cursor: int) -> KeyUse:
    """The key after which another one goes: the one at or before the cursor, else the last."""
    before = [use for use in citation.keys if use.span.start <= cursor]
    inside = before if before and cursor < citation.span.end else citation.keys
    return inside[-1]


def _comma(text: str, citation: Citation) -> str:
    """The author's separator of keys."""
    for one, other in zip(citation.keys, citation.keys[1:], strict=False):
        between = text[one.span.end : other.span.start]
        if between.strip() == "," and "\n" not in between:
            return between
    return ","


def _new_citation(document: Document, at: Span, key: str, command: str) -> TextEdit:
    """A new citation after the word at the cursor, tied to it."""
    text = document.text
    span = at if at.start < at.end else _beside_word(text, at.start)
    mark = Placeholder(PlaceholderKind.MARKER, span, "", span, "")
    cited = citation_edit(document, mark, key, command).text
    before, after = text[: span.start][-1:], text[span.end : span.end + 1]
    if not before or before.isspace() or before in "([{~–—":
        tie = ""
    elif before in ".!?:;" or document.format is not Format.LATEX:
        tie = " "
    else:
        tie = "~"
    gap = " " if after.isalnum() or after in ("\\", "@") else ""
    return TextEdit(span, f"{tie}{cited}{gap}")


def _beside_word(text: str, cursor: int) -> Span:
    """The place of a citation for the word at the cursor: after it, but never inside a command."""
    word = _WORD_BEFORE.search(text, max(0, cursor - 100), cursor)
    start = word.start() if word else cursor
    named = _COMMAND.search(text, max(0, start - 100), cursor)
    if named and (named.end() == cursor) and _WORD_AFTER.match(text, cursor):
        return Span(named.start(), named.start())
    rest = _WORD_AFTER.match(text, cursor) if word else None
    place = rest.end() if rest else cursor
    return Span(place, place)
