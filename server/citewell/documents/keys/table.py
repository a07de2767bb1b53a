"""An immutable table of each place where a key of a project is cited, defined and named.

The keys of a file are cached with it: a new table reads only what changed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import msgspec

from citewell.model.bib import BibBody, BibEntry, BibFile, literal_end
from citewell.model.document import Document, Format, Span

# Whether keys that differ only in case are equal: in BibTeX, not in biblatex and Pandoc.


def reads_biblatex(documents: Iterable[Document]) -> bool:
    """True when biblatex, not BibTeX, reads the bibliographies of these documents."""
    return any(
        "biblatex" in d.packages or any(b.command == "addbibresource" for b in d.bibliographies)
        for d in documents
    )


def folds_case(documents: Collection[Document]) -> bool:
    """True when keys of these documents that differ only in case are one key."""
    return not reads_biblatex(documents) and all(d.format is Format.LATEX for d in documents)


def by_lower_case(keys: Iterable[str]) -> dict[str, list[str]]:
    """The distinct keys by their lower case."""
    found: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        found.setdefault(key.lower(), []).append(key)
    return found


LINK_FIELDS = frozenset({"crossref", "xref", "xdata", "related", "entryset"})
"""Fields that name other entries."""
ALIAS_FIELD = "ids"
"""The biblatex field for further keys of an entry."""
_NAMING = LINK_FIELDS | {ALIAS_FIELD}
_NAMES = attrgetter("body.names")
_PIECE = re.compile(r"[^\s,{}\"]+(?:[^,{}\"]*[^\s,{}\"])?")
_CITED = re.compile(
    r"\\[a-zA-Z]{0,30}[cC]ite[a-zA-Z]{0,30}\*?(?:\[[^\]{}]{0,300}\]){0,2}\{([^{}]{0,2000})\}"
)


class PlaceKind(StrEnum):
    CITATION = "citation"
    NOCITE = "nocite"
    ENTRY = "entry"
    """Definition: the key of a .bib entry."""
    BIBITEM = "bibitem"
    r"""Definition: `\bibitem{key}`."""
    ALIAS = "alias"
    """Definition: a further key of an entry, in its `ids` field."""
    LINK = "link"
    r"""Reference from another entry: crossref, xdata, related ... or a `\cite` in a field."""


DEFINING = frozenset({PlaceKind.ENTRY, PlaceKind.BIBITEM, PlaceKind.ALIAS})


class KeyPlace(msgspec.Struct, frozen=True):
    """One occurrence of a key."""

    key: str
    path: Path
    span: Span
    kind: PlaceKind
    entry: BibEntry | None = None
    """The .bib entry with this key, alias or field."""

    @property
    def defines(self) -> bool:
        return self.kind in DEFINING


class DocumentKeys:
    """The keys of one manuscript."""

    def __init__(self, path: Path, source: Document, held: BibFile | None = None) -> None:
        self.path = path
        self.source = source
        self.held = held
        """The bibliography inside the document."""
        self.bib = None if held is None else BibKeys(path, held)
        self.cited: dict[str, list[KeyPlace]] = {}
        for citation in source.citations:
            kind = PlaceKind.NOCITE if citation.command == "nocite" else PlaceKind.CITATION
            for use in citation.keys:
                place = KeyPlace(use.key, path, use.span, kind)
                self.cited.setdefault(use.key, []).append(place)
        self.defined: dict[str, list[KeyPlace]] = {}
        for item in source.bibitems:
            place = KeyPlace(item.key, path, item.span, PlaceKind.BIBITEM)
            self.defined.setdefault(item.key, []).append(place)

    @cached_property
    def spellings(self) -> Mapping[str, Sequence[str]]:
        """All keys of the document, by lower case."""
        own = by_lower_case((*self.cited, *self.defined))
        return own if self.bib is None else {**self.bib.spellings, **own}

    def uses(self, key: str) -> Sequence[KeyPlace]:
        """The places that cite the key, in order."""
        named = self.bib.uses(key) if self.bib is not None else ()
        return (*self.cited.get(key, ()), *named)

    def definitions(self, key: str) -> Sequence[KeyPlace]:
        r"""The `\bibitem`s of the key, and its entries inside the document."""
        entries = self.bib.definitions(key) if self.bib is not None else ()
        return (*self.defined.get(key, ()), *entries)

    def at(self, offset: int) -> KeyPlace | None:
        """The key that a cursor at the offset touches, or None."""
        if self.bib is not None and (place := self.bib.at(offset)) is not None:
            return place
        return next(
            (
                place
                for places in (*self.cited.values(), *self.defined.values())
                for place in places
                if offset in place.span
            ),
            None,
        )


class BibKeys:
    """The keys of one .bib file."""

    def __init__(self, path: Path, source: BibFile) -> None:
        self.path = path
        self.source = source

    @cached_property
    def spellings(self) -> Mapping[str, Sequence[str]]:
        """All keys of the file, by lower case."""
        return by_lower_case((*self.source.by_key, *self._named[0], *self._named[1]))

    def uses(self, key: str) -> Sequence[KeyPlace]:
        """The places where other entries name the key."""
        return self._named[0].get(key, ())

    def definitions(self, key: str) -> Sequence[KeyPlace]:
        """The entries with this key or alias, in order."""
        first = self.source.by_key.get(key)
        entries = self._repeated.get(key) or (() if first is None else (first,))
        found = [KeyPlace(key, self.path, e.key_span, PlaceKind.ENTRY, e) for e in entries if key]
        return [*found, *self._named[1].get(key, ())]

    @property
    def aliases(self) -> Mapping[str, Sequence[KeyPlace]]:
        """Further keys of entries, from their `ids` fields."""
        return self._named[1]

    def at(self, offset: int) -> KeyPlace | None:
        """The key that a cursor at the offset touches, or None."""
        entry = self.entry_at(offset)
        if entry is None:
            return None
        if offset in entry.key_span and entry.key:
            return KeyPlace(entry.key, self.path, entry.key_span, PlaceKind.ENTRY, entry)
        return next((p for p in named_keys(self.path, entry) if offset in p.span), None)

    def entry_at(self, offset: int) -> BibEntry | None:
        """The entry around the offset, its end included."""
        entries = self.source.entries
        at = bisect_right(entries, offset, key=lambda entry: entry.start) - 1
        return entries[at] if at >= 0 and offset <= entries[at].end else None

    @cached_property
    def _repeated(self) -> dict[str, list[BibEntry]]:
        entries, first = self.source.entries, self.source.by_key
        found: dict[str, list[BibEntry]] = {}
        if len(entries) != len(first):
            for entry in entries:
                if first[entry.key] is not entry:
                    found.setdefault(entry.key, [first[entry.key]]).append(entry)
        return found

    @cached_property
    def _named(self) -> tuple[dict[str, list[KeyPlace]], dict[str, list[KeyPlace]]]:
        """The links and the aliases by key."""
        links: dict[str, list[KeyPlace]] = {}
        aliases: dict[str, list[KeyPlace]] = {}
        entries = self.source.entries
        # All entries share a few tuples of field names.
        naming = {names for names in set(map(_NAMES, entries)) if not _NAMING.isdisjoint(names)}
        found = {entry.start: entry for entry in self._citing()}
        if naming:
            found.update((e.start, e) for e in entries if e.body.names in naming)
        for start in sorted(found):
            for place in named_keys(self.path, found[start]):
                table = aliases if place.kind is PlaceKind.ALIAS else links
                table.setdefault(place.key, []).append(place)
        return links, aliases

    def _citing(self) -> Iterator[BibEntry]:
        r"""Entries that contain a word such as `\cite`."""
        text = self.source.text
        for word in ("cite", "Cite"):
            at = text.find(word)
            while at >= 0:
                entry = self.entry_at(at)
                if entry is not None:
                    yield entry
                at = text.find(word, max(at + 1, entry.end if entry is not None else 0))


FileKeys = DocumentKeys | BibKeys


def named_keys(path: Path, entry: BibEntry) -> Iterator[KeyPlace]:
    """The keys in an entry's fields: links, aliases, and citations within a text."""
    text = entry.body.text
    cites = "cite" in text or "Cite" in text
    if not cites and _NAMING.isdisjoint(entry.body.names):
        return
    for field in entry.fields:
        start = field.value_span.start
        if field.name in _NAMING:
            kind = PlaceKind.ALIAS if field.name == ALIAS_FIELD else PlaceKind.LINK
            if "#" not in field.raw:
                for piece in _PIECE.finditer(field.raw):
                    span = Span(start + piece.start(), start + piece.end())
                    yield KeyPlace(piece[0], path, span, kind, entry)
        elif cites:
            for found in _CITED.finditer(field.raw):
                for piece in _PIECE.finditer(found[1]):
                    at = start + found.start(1) + piece.start()
                    span = Span(at, at + len(piece[0]))
                    yield KeyPlace(piece[0], path, span, PlaceKind.LINK, entry)


class KeyTable:
    """The keys of some files at one moment. Immutable and thread-safe."""

    def __init__(
        self, files: Mapping[Path, FileKeys], groups: Iterable[Iterable[Path]] = ()
    ) -> None:
        """`groups` lists the files of each project; a .bib may belong to several. Without groups,
        all files are one project."""
        self.files = files
        self.groups = tuple(frozenset(group) for group in groups) or (frozenset(files),)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The documents' number of citations of each key, `\nocite` included."""
        counts: Counter[str] = Counter()
        for file in self.documents:
            counts.update({key: len(places) for key, places in file.cited.items()})
        return counts

    # Queries

    def count(self, key: str) -> int:
        """The documents' number of citations of a key."""
        return sum(self.counts.get(form, 0) for form in self.spellings(key))

    def uses(self, key: str, within: Collection[Path] | None = None) -> list[KeyPlace]:
        """The places where a key is cited, or named by another entry, file by file."""
        return [
            place
            for path, file in self.files.items()
            if within is None or path in within
            for place in file.uses(key)
        ]

    def definitions(self, key: str, within: Collection[Path] | None = None) -> list[KeyPlace]:
        r"""The entries and `\bibitem`s of a key; the first is the effective one. An entry comes
        before a `\bibitem`, a key before an alias."""
        found = [
            place
            for path, file in self.files.items()
            if within is None or path in within
            for place in file.definitions(key)
        ]
        order = (PlaceKind.ENTRY, PlaceKind.ALIAS, PlaceKind.BIBITEM)
        return sorted(found, key=lambda place: order.index(place.kind))

    def definition(self, key: str) -> KeyPlace | None:
        """The entry or `\\bibitem` of a key."""
        return next((p for form in self.spellings(key) for p in self.definitions(form)), None)

    def is_defined(self, key: str) -> bool:
        return any(
            file.definitions(form) for file in self.files.values() for form in self.spellings(key)
        )

    def spellings(self, key: str) -> tuple[str, ...]:
        """The key and, for BibTeX, its other spellings: keys that differ only in case are equal."""
        if not self._folds_case:
            return (key,)
        folded = key.lower()
        found = {form for file in self.files.values() for form in file.spellings.get(folded, ())}
        return (key, *sorted(found - {key}))

    @cached_property
    def _folds_case(self) -> bool:
        return folds_case([file.source for file in self.documents])

    def at(self, path: Path, offset: int) -> KeyPlace | None:
        """The key that a cursor touches."""
        file = self.files.get(path)
        return file.at(offset) if file is not None else None

    @property
    def bibs(self) -> tuple[BibKeys, ...]:
        """The bibliographies."""
        own = (f.bib if isinstance(f, DocumentKeys) else f for f in self.files.values())
        return tuple(keys for keys in own if keys is not None)

    @property
    def documents(self) -> tuple[DocumentKeys, ...]:
        """The manuscripts."""
        return tuple(file for file in self.files.values() if isinstance(file, DocumentKeys))

    @property
    def nocite_all(self) -> bool:
        """True when a document has `\nocite{*}`."""
        return any(keys.source.nocite_all for keys in self.documents)

    def near(self, path: Path) -> frozenset[Path]:
        """The files of the projects that contain a file."""
        return frozenset({path}).union(*(group for group in self.groups if path in group))

    def reach(self, path: Path, key: str) -> frozenset[Path]:
        """The files in which a key that occurs in `path` means the same work. These are the files
        of its projects, and of every other project with a .bib that defines the key."""
        reached = set(self.near(path))
        waiting = [group for group in self.groups if path not in group]
        while True:
            defining = [
                file.path for file in self.bibs if file.path in reached and file.definitions(key)
            ]
            more = [group for group in waiting if any(p in group for p in defining)]
            if not more:
                return frozenset(reached)
            reached.update(*more)
            waiting = [group for group in waiting if group not in more]


# The @string macros of a .bib, their definitions and uses.

_NAME = re.compile(r"[^\s\d={},\"#%()'@][^\s={},\"#%()']*+")
_SKIP = re.compile(r"[\s#]*+\d*+")


class MacroPlace(msgspec.Struct, frozen=True):
    """One occurrence of a macro."""

    name: str
    """Lower case: macro names ignore case."""
    span: Span
    whole: Span
    """The @string or entry around it."""
    defines: bool


def macro_at(bib: BibFile, offset: int) -> MacroPlace | None:
    """The macro that a cursor at the offset touches."""
    for block in bib.blocks:
        if offset in block.span:
            return next(
                (
                    p
                    for p in _in_body(block.body, block.start, block.type == "string")
                    if offset in p.span
                ),
                None,
            )
    entry = BibKeys(Path(bib.path), bib).entry_at(offset)
    if entry is None:
        return None
    return next((p for p in _in_body(entry.body, entry.start) if offset in p.span), None)


def macro_places(bib: BibFile, name: str) -> list[MacroPlace]:
    """All occurrences of a macro, in the order of the file."""
    found: list[MacroPlace] = []
    for block in bib.blocks:
        found += _in_body(block.body, block.start, block.type == "string")
    for entry in bib.entries:
        found += _in_body(entry.body, entry.start)
    return sorted((p for p in found if p.name == name.lower()), key=lambda place: place.span)


def _in_body(body: BibBody, start: int, is_string: bool = False) -> Iterator[MacroPlace]:
    text, marks = body.text, body.marks
    whole = Span(start, start + len(text))
    for index in range(len(body.names)):
        name_start, name_end, begin, end = marks[4 * index : 4 * index + 4]
        if is_string:
            span = Span(start + name_start, start + name_end)
            yield MacroPlace(body.names[index], span, whole, defines=True)
        first = text[begin : begin + 1]
        if first.isdigit() or (first in '{"' and "#" not in text[begin:end]):
            continue
        for at, name in _names_in(text, begin, end):
            span = Span(start + at, start + at + len(name))
            yield MacroPlace(name.lower(), span, whole, defines=False)


def _names_in(text: str, at: int, end: int) -> Iterator[tuple[int, str]]:
    while at < end:
        skipped = _SKIP.match(text, at, end)
        at = skipped.end() if skipped is not None else at
        if at < end and text[at] in '{"':
            at = literal_end(text, at, end)
            if at < 0:
                return
        elif (found := _NAME.match(text, at, end)) is not None:
            yield at, found[0]
            at = found.end()
        else:
            at += 1
