"""Diagnostics that the author suppresses, by magic comments and by levels per code.

`% citewell: ignore` applies to its own line or, alone on a line, to the next one. In a .bib it
applies to the whole entry that begins there. Codes may follow ("undefined-key", or "author" for all
codes with that prefix), then a reason after a colon or dash. `ignore-file` applies to the file.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from citewell.model.bib import BibFile
from citewell.model.diagnostic import Diagnostic, Level
from citewell.model.document import Document, Format, Span

_WORDS = r"[ \t]*citewell:[ \t]*(?P<what>ignore-file|ignore)\b(?P<codes>[^\n}>]*)"
_LATEX = re.compile(rf"(?<!\\)%+{_WORDS}")
_BIB = re.compile(rf"(?:%+|@comment[ \t]*\{{){_WORDS}\}}?", re.IGNORECASE)
_MARKDOWN = re.compile(rf"<!--{_WORDS}-?-?>")
_CODE = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]")
_REASON = re.compile(r"[:(]|--|—|–")


class Ignored(msgspec.Struct, frozen=True):
    """What one comment silences."""

    span: Span
    codes: tuple[str, ...]
    """All when there are none."""


def ignored_in(text: str, kind: Format, bib: BibFile | None = None) -> list[Ignored]:
    """What the magic comments of a text silence."""
    if "citewell:" not in text:
        return []
    pattern = {Format.LATEX: _LATEX, Format.MARKDOWN: _MARKDOWN, Format.BIBTEX: _BIB}[kind]
    entries = bib.entries if bib is not None else ()
    found = []
    for comment in pattern.finditer(text):
        words = _REASON.split(comment["codes"].rstrip("- \t\r"))[0]
        codes = tuple(_CODE.findall(words))
        if comment["what"] == "ignore-file":
            found.append(Ignored(Span(0, len(text)), codes))
            continue
        start = text.rfind("\n", 0, comment.start()) + 1
        end = _line_end(text, comment.end())
        if not text[start : comment.start()].strip() and not text[comment.end() : end].strip():
            end = _line_end(text, end + 1)
            while pattern.search(text, text.rfind("\n", 0, end) + 1, end) and end < len(text):
                end = _line_end(text, end + 1)  # consecutive comments apply to the same line
        place = bisect_left(entries, start, key=lambda entry: entry.start)
        if place < len(entries) and entries[place].start < end:
            end = max(end, entries[place].end)
        found.append(Ignored(Span(start, end), codes))
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def level_of(code: str, levels: Mapping[str, str]) -> str:
    """The level of a code in the settings: its own, else that of its longest prefix."""
    while code:
        if code in levels:
            return levels[code]
        code = code.rpartition("-")[0]
    return ""


def shown_diagnostics(
    found: Iterable[Diagnostic], source: Document | BibFile, levels: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """The diagnostics that the author wants, at the level that the settings give them."""
    bib = source if isinstance(source, BibFile) else None
    kind = source.format if isinstance(source, Document) else Format.BIBTEX
    ignored = ignored_in(source.text, kind, bib)
    if not ignored and not levels:
        yield from found
        return
    known: dict[str, str] = {}
    for one in found:
        level = known.get(one.code)
        if level is None:
            level = known[one.code] = level_of(one.code, levels)
        if level == "off" or any(_silences(rule, one) for rule in ignored):
            continue
        yield msgspec.structs.replace(one, level=Level(level)) if level else one


def _silences(rule: Ignored, one: Diagnostic) -> bool:
    if not rule.span.start <= one.span.start < max(rule.span.end, rule.span.start + 1):
        return False
    return not rule.codes or any(one.code == c or one.code.startswith(c + "-") for c in rule.codes)


def unknown_codes(levels: Mapping[str, str], codes: Sequence[str]) -> list[str]:
    """The names in the settings that are neither a code nor the beginning of one."""
    return [
        name
        for name in levels
        if not any(code == name or code.startswith(name + "-") for code in codes)
    ]
