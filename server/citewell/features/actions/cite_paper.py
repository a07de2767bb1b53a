"""Cite chosen papers at any place, in the form that fits the text there, and add their entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from citewell.documents.project.paper_project import Project
from citewell.features.action import ActionPlan
from citewell.features.actions.placeholder import joined
from citewell.features.citing.citation import citation_edit, default_cite_command, placeholder_at
from citewell.features.citing.insert import CitationWriter, plan_citable, taken_keys
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


class PaperToCite(msgspec.Struct, frozen=True):
    """A paper to cite."""

    work: Work | None = None
    key: str = ""
    """Of an entry that a .bib has already; not needed with `work`."""


class CitePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A citation with the entries of its papers."""

    plan: ActionPlan
    keys: tuple[str, ...] = ()
    """In the order of the papers; none when nothing can be cited, and the plan's problems say
    why."""
    entered: tuple[Work, ...] = ()
    """The works whose entries are added."""
    end: int = 0
    """Offset behind the citation in the document, once all edits are made."""

    @property
    def key(self) -> str:
        """Of the first paper; empty when nothing can be cited."""
        return self.keys[0] if self.keys else ""


def plan_cite(
    project: Project, document: Document, at: Span, options: Options, chosen: Sequence[PaperToCite]
) -> CitePlan:
    """Plan one citation of all the papers, in their order, at a place of the document; where one
    of them cannot be entered, nothing is planned.

    `document` is the project's own reading of the file.
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
    """What makes all the papers citable in a document: the edits of bibliographies, and the keys;
    without keys where one of them cannot be."""
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
    """As `cite_at` for several keys in one citation; those that it has already are left out."""
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
