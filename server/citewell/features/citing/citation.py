"""How a placeholder becomes a citation: the smallest edit that writes a key in its place."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from citewell.model.bib import TextEdit
from citewell.model.document import Document, Format, Placeholder, PlaceholderKind, Span

_WORD = re.compile(r"\w+")


def citation_edit(
    document: Document, placeholder: Placeholder, key: str, default_command: str = ""
) -> TextEdit:
    """The edit that turns the placeholder into a citation of `key`.

    Commands, notes and keys around it stay as they are typed: `\\citep[p.~5]{a, neural nets}`
    changes inside the braces only. `default_command` is what a mark such as `[CITATION]` becomes;
    empty: the document's own most used command. Words that may be prose are never removed: of a
    placeholder whose words are not `certain` only the beginning is replaced.
    """
    if not placeholder.certain:
        placeholder = _begun(placeholder)
    if placeholder.kind is not PlaceholderKind.MARKER:
        if placeholder.command in ("[@]", "@"):
            return _markdown(document.text, placeholder, key)
        edit = _angle(document.text, placeholder, key) or _braces(document.text, placeholder, key)
        if edit is not None:
            return edit
    return TextEdit(placeholder.span, _whole(document, placeholder, key, default_command))


def default_cite_command(document: Document) -> str:
    """The command that the document cites with most ("[@]" in Markdown without LaTeX commands)."""
    counts = Counter(
        citation.command
        for citation in document.citations
        if not citation.command.startswith(("nocite", "cites", "@"))
    )
    counts.update(
        p.command for p in document.placeholders if p.command and not p.command.startswith("@")
    )
    if counts:
        return counts.most_common(1)[0][0]
    return "cite" if document.format is Format.LATEX else "[@]"


def extent(placeholder: Placeholder) -> int:
    """The last cursor offset that counts as inside the placeholder."""
    return max(placeholder.span.end, placeholder.reach)


def word_end(document: Document, offset: int) -> int:
    """The end of the word at an offset; the offset itself where there is none."""
    word = _WORD.match(document.text, offset)
    return word.end() if word else offset


def until(document: Document, placeholder: Placeholder, cursor: int) -> Placeholder:
    """The placeholder as far as it is typed.

    Without a closing mark, only the text before the cursor belongs to it: what follows may be
    prose. A closed placeholder, or one whose words the cursor is not in, is returned unchanged.
    """
    start = placeholder.query_span.start
    if placeholder.closed or not start <= cursor <= extent(placeholder):
        return placeholder
    return msgspec.structs.replace(
        placeholder,
        span=Span(placeholder.span.start, cursor),
        query=" ".join(document.text[start:cursor].split()),
        query_span=Span(start, cursor),
        reach=cursor,
        certain=True,
    )


def _begun(placeholder: Placeholder) -> Placeholder:
    """The placeholder without its words."""
    place = placeholder.query_span.start
    return msgspec.structs.replace(
        placeholder,
        span=Span(placeholder.span.start, place),
        query="",
        query_span=Span(place, place),
        certain=True,
    )


def _angle(text: str, placeholder: Placeholder, key: str) -> TextEdit | None:
    """`\\cite<words>` and the unfinished `\\cite<words`; None for other forms."""
    open_at = _before(text, placeholder.query_span.start, placeholder.span.start)
    if open_at < placeholder.span.start or text[open_at] != "<":
        return None
    end = placeholder.span.end
    if not placeholder.closed:
        return TextEdit(Span(open_at, end), f"{{{key}}}")
    close_at = text.find(">", placeholder.query_span.end, end)
    notes = text[close_at + 1 : end].strip() if close_at >= 0 else ""
    if notes.endswith("}") and "{" in notes:  # `\cite<words>[p. 5]{}`
        notes = notes[: notes.rindex("{")].rstrip()
    return TextEdit(Span(open_at, end), f"{notes}{{{key}}}")


def _braces(text: str, placeholder: Placeholder, key: str) -> TextEdit | None:
    """The edit in `\\cite{words}`, `\\cite{a, }`, `\\cite{?}`; None when the words are not among
    the keys."""
    words = placeholder.query_span
    before = _before(text, words.start, placeholder.span.start)
    after = _after(text, words.end, placeholder.span.end)
    if before < placeholder.span.start or text[before] not in "{,":
        return None
    if placeholder.closed and (after is None or text[after] not in "},"):
        return None
    return TextEdit(words, key if placeholder.closed else f"{key}}}")


def _markdown(text: str, placeholder: Placeholder, key: str) -> TextEdit:
    """`[@words]`, `[@?]`, `[@a; @]`, `@?`: the key goes directly behind its `@`."""
    at = text.rfind("@", placeholder.span.start, max(placeholder.query_span.start, 1))
    if at < 0:
        return TextEdit(placeholder.span, f"[@{key}]")
    end = placeholder.query_span.end
    if placeholder.closed or placeholder.command == "@":
        return TextEdit(Span(at + 1, end), key)
    return TextEdit(Span(at + 1, placeholder.span.end), f"{key}]")


def _whole(document: Document, placeholder: Placeholder, key: str, default: str) -> str:
    command = placeholder.command or default or default_cite_command(document)
    if command.startswith(("[@]", "@")):
        return f"[@{key}]"
    keys = ",".join((*placeholder.other_keys, key))
    return f"\\{command.removeprefix(chr(92))}{placeholder.prefix}{{{keys}}}"


def _before(text: str, position: int, limit: int) -> int:
    """Index of the last character before `position` that is no white space; limit - 1 if none."""
    position -= 1
    while position >= limit and text[position].isspace():
        position -= 1
    return position


def _after(text: str, position: int, limit: int) -> int | None:
    while position < limit:
        if not text[position].isspace():
            return position
        position += 1
    return None
