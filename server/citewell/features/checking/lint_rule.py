"""Rules of the lint, their context, and the list of all rules."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import msgspec

from citewell.documents.keys.table import folds_case, reads_biblatex
from citewell.documents.project.paper_project import Project
from citewell.model.bib import BibEntry, BibFile, TextEdit
from citewell.model.cancel import cooperative
from citewell.model.document import Diagnostic, Document, Format, Level, RelatedLocation, Span

LINKS = ("crossref", "xdata", "xref", "related", "entryset")
"""Fields that name other entries: a used entry makes these used."""
_LINKS = frozenset(LINKS)


class LintFinding(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One finding of a rule at a place; the rule has the level."""

    span: Span
    message: str
    related: tuple[RelatedLocation, ...] = ()
    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    code: str = ""
    """Code, if one rule reports several."""
    level: Level | None = None
    """Level, if it is lower than that of other cases of the code."""


DocumentRule = Callable[[Document, "LintPaper"], Iterator[LintFinding]]
BibRule = Callable[[BibFile, "LintPaper"], Iterator[LintFinding]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: a code, its level, and the function that finds violations."""

    code: str
    level: Level
    unnecessary: bool = False
    in_document: DocumentRule | None = None
    in_bib: BibRule | None = None


RULES: list[Rule] = []
"""Every rule, in the order in which they run. A module with rules is imported in
`features/checking/lint.py`; a code has a section in docs/diagnostics.md.
"""


def document_rule(code: str, level: Level) -> Callable[[DocumentRule], DocumentRule]:
    """Put a rule about manuscripts into the list."""

    def register(function: DocumentRule) -> DocumentRule:
        RULES.append(Rule(code=code, level=level, in_document=function))
        return function

    return register


def bib_rule(code: str, level: Level, *, unnecessary: bool = False) -> Callable[[BibRule], BibRule]:
    """Put a rule about bibliographies into the list."""

    def register(function: BibRule) -> BibRule:
        RULES.append(Rule(code=code, level=level, unnecessary=unnecessary, in_bib=function))
        return function

    return register


class LintPaper:
    """The context of rules: the projects of the file.

    For a manuscript these are the projects that contain it; for a .bib, all that use it, so that an
    entry counts as used when any paper cites it. Computed on demand.
    """

    def __init__(self, projects: Sequence[Project]) -> None:
        self.projects = tuple(projects)
        self.documents: dict[Path, Document] = {}
        self.bibs: dict[Path, BibFile] = {}
        for project in projects:
            self.documents.update(project.documents)
            self.bibs.update(project.bibs)

    @cached_property
    def manuscripts(self) -> tuple[Document, ...]:
        """The documents that can contain citations."""
        return tuple(d for d in self.documents.values() if d.format is not Format.BIBTEX)

    @cached_property
    def cited(self) -> frozenset[str]:
        """All cited keys, including by `\nocite`; also in lower case if BibTeX reads them."""
        keys = {u.key for d in self.manuscripts for c in d.citations for u in c.keys}
        return frozenset(self._forms(keys))

    @cached_property
    def nocite_all(self) -> bool:
        """True when a document has `\nocite{*}`."""
        return any(document.nocite_all for document in self.manuscripts)

    @cached_property
    def is_biblatex(self) -> bool:
        """True when biblatex, not BibTeX, reads the bibliographies."""
        return reads_biblatex(self.manuscripts)

    @cached_property
    def folds_case(self) -> bool:
        """True when keys that differ only in case are one key, as in BibTeX."""
        return folds_case(self.manuscripts)

    @cached_property
    def defined(self) -> frozenset[str]:
        """Every key that can be cited."""
        keys = {item.key for document in self.manuscripts for item in document.bibitems}
        for bib in self.bibs.values():
            keys.update(bib.by_key)
            keys.update(
                alias for entry in cooperative(bib.entries) for alias in _named(entry, ("ids",))
            )
        return frozenset(self._forms(keys))

    @cached_property
    def used(self) -> frozenset[str]:
        """The cited keys, and those that a used entry names in `crossref` and the like."""
        links: dict[str, list[str]] = {}
        for bib in self.bibs.values():
            for entry in cooperative(bib.entries):
                if not _LINKS.isdisjoint(entry.body.names):
                    keys = [entry.key, *_named(entry, ("ids",))]
                    for key in self._forms(keys):
                        links.setdefault(key, []).extend(self._forms(_named(entry, LINKS)))
        used = set(self.cited)
        waiting = [key for key in used if key in links]
        while waiting:
            for key in links[waiting.pop()]:
                if key not in used:
                    used.add(key)
                    if key in links:
                        waiting.append(key)
        return frozenset(used)

    def is_used(self, entry: BibEntry) -> bool:
        """True when a paper cites the entry by its key or an alias, directly or through another."""
        used = self.used
        if entry.key in used or (self.folds_case and entry.key.lower() in used):
            return True
        return "ids" in entry.body.names and any(key in used for key in _named(entry, ("ids",)))

    def companions(self, path: Path) -> dict[Path, BibFile]:
        """The bibliographies that a paper reads together with this one, in order, itself
        included."""
        return {
            other: bib
            for project in self.projects
            if path in project.bibs
            for other, bib in project.bibs.items()
        }

    def _forms(self, keys: Iterator[str] | set[str] | list[str]) -> Iterator[str]:
        folds = self.folds_case
        for key in keys:
            yield key
            if folds:
                yield key.lower()


def _named(entry: BibEntry, fields: Sequence[str]) -> Iterator[str]:
    for name in fields:
        if name in entry.body.names:
            for key in entry.get(name).split(","):
                if key.strip():
                    yield key.strip()


# Diagnostics that the author suppresses, by magic comments and by levels per code.
#
# `% citewell: ignore` applies to its own line or, alone on a line, to the next one. In a .bib it
# applies to the whole entry that begins there. Codes may follow ("undefined-key", or "author" for
# all codes with that prefix), then a reason after a colon or dash. `ignore-file` applies to the
# file.

_WORDS = r"[ \t]*citewell:[ \t]*(?P<what>ignore-file|ignore)\b(?P<codes>[^\n}>]*)"
_LATEX = re.compile(rf"(?<!\\)%+{_WORDS}")
_BIB = re.compile(rf"(?:%+|@comment[ \t]*\{{){_WORDS}\}}?", re.IGNORECASE)
_MARKDOWN = re.compile(rf"<!--{_WORDS}-?-?>")
_FORMS = {
    Format.LATEX: "% citewell: {}",
    Format.MARKDOWN: "<!-- citewell: {} -->",
    Format.BIBTEX: "% citewell: {}",
}
_CODE = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]")
_REASON = re.compile(r"[:(]|--|—|–")


class Ignored(msgspec.Struct, frozen=True):
    """The scope of one suppressing comment."""

    span: Span
    codes: tuple[str, ...]
    """The suppressed codes; empty for all."""

    def covers(self, code: str, at: int) -> bool:
        """Whether a finding at an offset is suppressed."""
        if not self.span.start <= at < max(self.span.end, self.span.start + 1):
            return False
        return not self.codes or any(code == c or code.startswith(c + "-") for c in self.codes)


def ignored_in(text: str, kind: Format, bib: BibFile | None = None) -> list[Ignored]:
    """The suppressing comments of a text."""
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


def silencing_comment(one: Diagnostic, kind: Format) -> str:
    """The comment that silences a finding; one without a place of its own, in the whole file."""
    return _FORMS[kind].format(f"ignore{'' if one.span.end else '-file'} {one.code}")


def silencing_edit(one: Diagnostic, source: Document | BibFile) -> TextEdit | None:
    """The edit that silences a finding by a comment: above its line or entry, in Markdown at the
    end of the line. None in front matter, which has no such comments."""
    text, at = source.text, one.span.start
    start = text.rfind("\n", 0, at) + 1
    if isinstance(source, BibFile):
        entry = next((e for e in source.entries if e.start <= at < e.end), None)
        at = start if entry is None else entry.start
    elif source.format is Format.MARKDOWN:
        front = source.front_matter
        if front is not None and front.start <= at < front.end:
            return None
        end = start + len(text[start : _line_end(text, at)].rstrip())
        return TextEdit(Span(end, end), f" {silencing_comment(one, source.format)}")
    else:
        at = start + len(text[start:at]) - len(text[start:at].lstrip())
    kind = Format.BIBTEX if isinstance(source, BibFile) else source.format
    ending = "\r\n" if "\r\n" in text else "\n"
    line = text[text.rfind("\n", 0, at) + 1 : at]
    before, indent = (ending, "") if line.strip() else ("", line)
    comment = silencing_comment(one, kind)
    return TextEdit(Span(at, at), f"{before}{comment}{ending}{indent}")


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
    """The diagnostics at the levels in the settings, without suppressed ones."""
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
        if level == "off" or any(rule.covers(one.code, one.span.start) for rule in ignored):
            continue
        yield msgspec.structs.replace(one, level=Level(level)) if level else one


def unknown_codes(levels: Mapping[str, str], codes: Sequence[str]) -> list[str]:
    """The names in the settings that are neither a code nor a prefix of one."""
    return [
        name
        for name in levels
        if not any(code == name or code.startswith(name + "-") for code in codes)
    ]
