"""The place of a citation at a cursor, and the smallest edit that writes a key there."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from citewell.documents.latex.commands import CITE_COMMANDS, looks_like_cite
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
    """The most frequent cite command of the document ("[@]" in Markdown without LaTeX commands)."""
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
    """The end of the word at an offset, or the offset itself."""
    word = _WORD.match(document.text, offset)
    return word.end() if word else offset


def until(document: Document, placeholder: Placeholder, cursor: int) -> Placeholder:
    """The placeholder up to the typed text.

    Without a closing mark, only the text before the cursor belongs to it, since prose may follow. A
    closed placeholder, or one without the cursor in its words, is returned unchanged.
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
    r"""The edit in `\cite<words>` and the unfinished `\cite<words`; None for other forms."""
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
    """The edit in `[@words]`, `[@?]`, `[@a; @]`, `@?`: the key goes directly after its `@`."""
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
    """Index of the last character before `position` other than white space; limit - 1 if none."""
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


# The placeholder, or the key of a citation, at a place in a document.

_LINE = 300
_KEYS = 4_000
_BEHIND_KEY = re.compile(
    r"\[(?:[^\[\]\n]*[;\s])?-?@(?P<words>(?P<key>[^\s\[\];@,{}]+)[ \t][^\[\];@,\n]*)\Z"
)
_BEHIND_TEX_KEY = re.compile(r"[{,]\s*(?P<words>(?P<key>[^\s{}\\%,]+)[ \t]+)\Z")
_IN_KEYS = re.compile(
    r"\\(?P<name>[A-Za-z@]*[cC]it[A-Za-z@]*\*?)\s*(?:\[[^\[\]{}]*\]\s*){0,2}"
    r"\{(?P<others>(?:[^{}\\%,]*,)*)\s*(?P<key>[^{}\\%,\s]*)\Z"
)
_REST_OF_KEY = re.compile(r"[^{}\\%,\s]*")


def placeholder_at(document: Document, cursor: int) -> Placeholder | None:
    """The placeholder at the cursor, its end included, up to the typed text."""
    found: Placeholder | None = None
    for placeholder in document.placeholders:
        if placeholder.span.start >= cursor:
            break
        if cursor <= extent(placeholder):
            found = placeholder  # the words of an unclosed one may extend over the next one
    return None if found is None else _at_cursor(document, until(document, found, cursor), cursor)


def _at_cursor(document: Document, placeholder: Placeholder, cursor: int) -> Placeholder:
    """The placeholder extended by the blanks up to the cursor. In `{a, |}` the key belongs at the
    cursor, even on the next line; in `[@two words |]` it replaces the last blank."""
    words = placeholder.query_span
    gap = document.text[words.end : cursor]
    if not gap or not gap.isspace() or not cursor <= placeholder.span.end:
        return placeholder
    if words.start == words.end:
        return msgspec.structs.replace(placeholder, query_span=Span(cursor, cursor))
    if "\n" in gap or "\r" in gap:
        return placeholder
    return msgspec.structs.replace(placeholder, query_span=Span(words.start, cursor))


def key_at(document: Document, cursor: int) -> tuple[Citation, KeyUse] | None:
    """The key that the cursor touches, with its citation."""
    for citation in document.citations:
        if citation.span.start <= cursor <= citation.span.end:
            for use in citation.keys:
                if use.span.start <= cursor <= use.span.end:
                    return citation, use
    return None


def wanted_at(document: Document, cursor: int) -> Placeholder | None:
    """The citation wanted at the cursor: a placeholder, or a key being typed. A key is returned as
    a placeholder with the text before the cursor as its words."""
    placeholder = placeholder_at(document, cursor)
    found = key_at(document, cursor)
    if placeholder is not None and (found is None or cursor in placeholder.query_span):
        return placeholder
    if found is None:
        return open_key_at(document, cursor)
    citation, use = found
    ended = document.text[citation.span.end - 1 : citation.span.end] in ("}", "]")
    return Placeholder(
        kind=PlaceholderKind.FREE_TEXT,
        span=citation.span,
        query=document.text[use.span.start : cursor],
        query_span=use.span,
        command=citation.command,
        closed=ended or use != citation.keys[-1],
        other_keys=tuple(other.key for other in citation.keys if other != use),
    )


def words_at(document: Document, cursor: int) -> tuple[str, Placeholder] | None:
    r"""The apparent key before the cursor, in `[@word |]`, `[@LeNet training|]` and `\cite{a |}`,
    and the placeholder that all the words form if no entry has that key; None without an apparent
    key. If an entry has it, the words after it are the citation's notes."""
    head = document.text[max(0, cursor - _LINE) : cursor]
    is_markdown = document.format is Format.MARKDOWN
    match = (_BEHIND_KEY if is_markdown else _BEHIND_TEX_KEY).search(head)
    if match is None:
        return None
    start = cursor - len(head) + match.start("key")
    for citation in document.citations:
        for use in citation.keys:
            if use.span.start == start:
                closed = citation.command == "[@]" or not is_markdown
                placeholder = Placeholder(
                    kind=PlaceholderKind.QUERY if is_markdown else PlaceholderKind.FREE_TEXT,
                    span=Span(citation.span.start, citation.span.end if closed else cursor),
                    query=" ".join(match["words"].split()),
                    query_span=Span(start, cursor),
                    command="[@]" if is_markdown else citation.command,
                    closed=closed,
                    other_keys=tuple(other.key for other in citation.keys if other != use),
                )
                return use.key, placeholder
    return None


def open_key_at(document: Document, cursor: int) -> Placeholder | None:
    """The key being typed at a cursor outside placeholders: in `\nocite{a, |}`, which has none, and
    on an empty line of a key list, which for TeX ends the paragraph."""
    head = document.text[max(0, cursor - _KEYS) : cursor]
    match = _IN_KEYS.search(head)
    name = match["name"].rstrip("*") if match is not None else ""
    if match is None or not (name in CITE_COMMANDS or looks_like_cite(name)):
        return None
    if any(span.start < cursor <= span.end for span in document.blanked):
        return None
    start = cursor - len(head) + match.start("key")
    rest = _REST_OF_KEY.match(document.text, cursor)
    end = rest.end() if rest else cursor
    behind = document.text[end : end + 200].lstrip()[:1]
    is_nocite = "nocite" in match["name"]
    if behind not in ("}", ",") and not is_nocite:
        return None
    return Placeholder(
        kind=PlaceholderKind.FREE_TEXT if start < cursor else PlaceholderKind.EMPTY,
        span=Span(cursor - len(head) + match.start(), end + 200),
        query=document.text[start:cursor],
        query_span=Span(start, end),
        command=match["name"],
        closed=behind in ("}", ",") and behind != "",
        other_keys=tuple(key.strip() for key in match["others"].split(",") if key.strip()),
    )


def is_key_like(placeholder: Placeholder) -> bool:
    """True when the words may be the start of a key: one word, in braces or after an @."""
    return (
        placeholder.kind is not PlaceholderKind.MARKER
        and placeholder.kind is not PlaceholderKind.QUERY
        and " " not in placeholder.query
    )
