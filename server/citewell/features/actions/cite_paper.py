"""Cite a chosen paper at any place, in the form that fits the text there, and add its entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from citewell.documents.project.paper_project import Project
from citewell.features.action import ActionPlan
from citewell.features.actions.placeholder import joined
from citewell.features.citing.citation import citation_edit, default_cite_command
from citewell.features.citing.insert import plan_citable, taken_keys
from citewell.features.citing.site import placeholder_at
from citewell.model import Work
from citewell.model.bib import TextEdit
from citewell.model.document import (
    Citation,
    Document,
    Format,
    KeyUse,
    Placeholder,
    PlaceholderKind,
    Span,
)
from citewell.options import Options

_WORD_BEFORE = re.compile(r"[^\W_]+$")
_WORD_AFTER = re.compile(r"[^\W_]+")
_COMMAND = re.compile(r"\\[A-Za-z@]*$")


class CitePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A citation with the entry of its paper."""

    plan: ActionPlan
    key: str = ""
    """Empty when nothing can be cited; the plan's problems say why."""
    end: int = 0
    """Offset behind the citation in the document, once all edits are made."""


def plan_cite(
    project: Project,
    document: Document,
    at: Span,
    options: Options,
    *,
    work: Work | None = None,
    key: str = "",
) -> CitePlan:
    """Plan the citation of `work`, or of the entry `key`, at a place of the document.

    `document` is the project's own reading of the file.
    """
    citable = plan_citable(project, document, options, work=work, key=key)
    if not citable.key:
        return CitePlan(plan=ActionPlan(problems=citable.problems))
    path, key = Path(document.path), citable.key
    command = options.documents.default_command or usual_command(project, document)
    keys = taken_keys(project)
    change, end = cite_at(document, at, key, command, keys.__contains__)
    changed = joined(citable.edits, path, () if change is None else (change,))
    for edit in changed:
        if Path(edit.path) == path:
            before = (e for e in edit.edits if e != change and e.span.start <= at.start)
            end += sum(len(e.text) - (e.span.end - e.span.start) for e in before)
    made = ActionPlan(
        edits=changed,
        texts={Path(name): text for name, text in citable.texts.items()},
        label=f"Cite {key}",
        problems=citable.problems,
    )
    return CitePlan(plan=made, key=key, end=end)


def cite_at(
    document: Document,
    at: Span,
    key: str,
    command: str = "",
    is_key: Callable[[str], bool] = lambda key: True,
) -> tuple[TextEdit | None, int]:
    """The edit that cites `key` at a place, and the offset behind it once it is made.

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
    """The command that the file cites with most; in a file without citations the project's."""
    others: Iterable[Document] = project.documents.values()
    for one in (document, *others):
        if one.format is document.format and one.citations:
            return default_cite_command(one)
    return default_cite_command(document)


def _placeholder_around(document: Document, at: Span) -> Placeholder | None:
    """The placeholder in which the selection lies, or at whose first letter the cursor stands."""
    around = (p for p in document.placeholders if at.start in p.span and at.end in p.span)
    return next(around, None)


def _behind(text: str, placeholder: Placeholder, change: TextEdit) -> int:
    """Behind the citation that the placeholder becomes: of `[@a; @?]` behind the bracket."""
    end = max(change.span.end, placeholder.span.end)
    last = text[change.span.end : end] or change.text
    markdown = placeholder.command in ("[@]", "@")
    if markdown and not last.endswith("]") and text[end : end + 1] == "]":
        end += 1
    return change.span.start + len(change.text) + end - change.span.end


def _citation_at(document: Document, at: Span) -> Citation | None:
    for citation in document.citations:
        if citation.span.start <= at.start and at.end <= citation.span.end:
            # Before the bare key of a running text stands prose.
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
    """The key behind which another one goes: the one at or before the cursor, else the last."""
    before = [use for use in citation.keys if use.span.start <= cursor]
    inside = before if before and cursor < citation.span.end else citation.keys
    return inside[-1]


def _comma(text: str, citation: Citation) -> str:
    """How the author parts keys."""
    for one, other in zip(citation.keys, citation.keys[1:], strict=False):
        between = text[one.span.end : other.span.start]
        if between.strip() == "," and "\n" not in between:
            return between
    return ","


def _new_citation(document: Document, at: Span, key: str, command: str) -> TextEdit:
    """A citation where there is none: behind the word at the cursor, tied to it."""
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
    """Where a citation for the word under the cursor goes: behind it, but never into a command."""
    word = _WORD_BEFORE.search(text, max(0, cursor - 100), cursor)
    start = word.start() if word else cursor
    named = _COMMAND.search(text, max(0, start - 100), cursor)
    if named and (named.end() == cursor) and _WORD_AFTER.match(text, cursor):
        return Span(named.start(), named.start())
    rest = _WORD_AFTER.match(text, cursor) if word else None
    place = rest.end() if rest else cursor
    return Span(place, place)
