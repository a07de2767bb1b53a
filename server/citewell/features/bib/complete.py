"""Completion in a .bib: entry types, fields, names of venues, macros, other keys."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path, PurePath

import msgspec

from citewell.documents.bib.work import known_venues
from citewell.model.bib import MONTHS, BibEntry, BibFile, literal_end, literal_value
from citewell.model.document import Document, Format, Span
from citewell.model.fields import BIB_FIELDS, ENTRY_TYPES, VENUE_FIELDS, missing_fields, with_trait
from citewell.model.titles import fold

# The completion site at a place in a .bib: an entry type, a field name or a value.
#
# The entry is parsed forwards from its head to the cursor, because the text after the cursor is
# malformed while the author types.

_HEAD = re.compile(r"@[ \t]*([A-Za-z]*)[ \t]*([{(])?")
_NAME = re.compile(r"\s*([^\s={},\"#%()]*)\s*(=)?\s*")
_WORD_END = re.compile(r"[\w:.+/-]*")
_KEY_FIELDS = with_trait("names_entries")
MAX_ENTRY = 200_000
"""Maximum distance in characters of the entry's head."""


class SiteKind(StrEnum):
    TYPE = "type"
    """After an @."""
    NAME = "name"
    """At a field name."""
    TEXT = "text"
    """Inside the braces or quotes of a value."""
    BARE = "bare"
    """At the start of a value, or inside a macro's name."""


class BibSite(msgspec.Struct, frozen=True):
    """A place that can be completed."""

    kind: SiteKind
    span: Span
    """Range to replace: from the start of the word or value to the cursor, or to the end of the
    word around the cursor."""
    typed: str
    """The text from there to the cursor."""
    entry_type: str = ""
    field: str = ""
    """Lower-case name of the field at the cursor."""
    present: frozenset[str] = frozenset()
    """Other fields of the entry."""
    start: int = 0
    """Offset of the entry."""


def site_at(bib: BibFile, cursor: int) -> BibSite | None:
    """The site at the cursor; None if nothing can be completed there: a key, a comment, a
    number."""
    text = bib.text
    head = _head_before(text, cursor)
    if head is None:
        return None
    opened = head.start(2)
    if opened < 0 or cursor <= opened:
        if not head.start() < cursor <= head.end(1):
            return None
        return BibSite(
            SiteKind.TYPE, Span(head.start(1), head.end(1)), text[head.start(1) : cursor]
        )
    kind = head[1].lower()
    if kind in ("comment", "preamble"):
        return None
    return _within(text, cursor, _Entry(head.start(), opened + 1, kind, head[2]))


class _Entry(msgspec.Struct, frozen=True):
    start: int
    inside: int
    """Offset after the opening delimiter."""
    kind: str
    opener: str

    @property
    def closer(self) -> str:
        return "}" if self.opener == "{" else ")"


def _head_before(text: str, cursor: int) -> re.Match[str] | None:
    """The last @ that begins a line, or directly precedes the word being typed."""
    low = max(0, cursor - MAX_ENTRY)
    at = cursor
    while (at := text.rfind("@", low, at)) >= 0:
        line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if not text[line:at].strip():
            return _HEAD.match(text, at)
    return None


def _within(text: str, cursor: int, entry: _Entry) -> BibSite | None:
    position = entry.inside
    if entry.kind != "string":
        comma = text.find(",", position, cursor)
        if comma < 0 or entry.closer in text[position:comma]:
            return None  # the key
        position = comma + 1
    names: list[str] = []
    while True:
        name = _NAME.match(text, position)
        assert name is not None
        if name[2] is None or cursor <= name.start(2):
            return _name_site(text, cursor, entry, name, names)
        field = name[1].lower()
        # The cursor may be in the blanks between the = and the value.
        end = _value_end(text, min(name.end(), cursor), cursor, entry.closer)
        if isinstance(end, BibSite):
            return _with(end, entry, field, frozenset([*names, *_later(text, cursor)]))
        if text[end : end + 1] != ",":
            return None  # after the entry, or in an unknown construct
        names.append(field)
        position = end + 1


def _name_site(
    text: str, cursor: int, entry: _Entry, name: re.Match[str], names: list[str]
) -> BibSite | None:
    before = cursor < name.start(1) or not name[1]
    end = name.end() if before else name.end(1)
    if entry.kind == "string" or not name.start() <= cursor <= end:
        return None
    later = _later(text, cursor)
    if before:
        # In the blanks before the next field: a new one is typed.
        present = frozenset([*names, *later])
        return BibSite(
            SiteKind.NAME, Span(cursor, cursor), "", entry.kind, "", present, entry.start
        )
    present = frozenset([*names, *later]) - {name[1].lower() if name[2] else ""}
    span = Span(name.start(1), name.end(1))
    typed = text[span.start : cursor]
    return BibSite(SiteKind.NAME, span, typed, entry.kind, "", present, entry.start)


def _value_end(text: str, position: int, cursor: int, closer: str) -> BibSite | int:
    """The site in a value at the cursor, or the offset at which the value ends before it."""
    while True:
        while position < cursor and (text[position].isspace() or text[position] == "#"):
            position += 1
        if position >= cursor:
            return _bare(text, cursor, cursor)
        char = text[position]
        if char in '{"':
            end = literal_end(text, position, cursor)
            if end < 0:
                begin = position + 1
                return BibSite(SiteKind.TEXT, Span(begin, cursor), text[begin:cursor])
            position = end
        elif char in (",", closer):
            return position
        else:
            begin = position
            while position < cursor and text[position] not in f" \t\r\n,#{closer}":
                position += 1
            if position >= cursor:
                return _bare(text, begin, cursor)


def _bare(text: str, begin: int, cursor: int) -> BibSite:
    rest = _WORD_END.match(text, cursor)
    end = rest.end() if rest is not None else cursor
    return BibSite(SiteKind.BARE, Span(begin, end), text[begin:cursor])


_LATER = re.compile(r"^[ \t]*([A-Za-z][\w-]*)[ \t]*=", re.MULTILINE)


def _later(text: str, cursor: int) -> list[str]:
    """Names of the fields after the cursor's line, up to the next entry."""
    line = text.find("\n", cursor)
    if line < 0:
        return []
    end = text.find("\n@", line, line + 20_000)
    close = text.find("\n}", line, line + 20_000)
    ends = [place for place in (end, close) if place >= 0]
    return [name.lower() for name in _LATER.findall(text, line, min(ends, default=line + 20_000))]


def _with(site: BibSite, entry: _Entry, field: str, present: frozenset[str]) -> BibSite:
    span, typed = site.span, site.typed
    if field in _KEY_FIELDS and site.kind is SiteKind.TEXT and "," in typed:
        typed = typed.rpartition(",")[2].lstrip()
        span = Span(span.end - len(typed), span.end)
    return BibSite(site.kind, span, typed, entry.kind, field, present, entry.start)


MAX_ITEMS = 100


class ItemKind(StrEnum):
    TYPE = "type"
    FIELD = "field"
    VALUE = "value"
    MACRO = "macro"
    KEY = "key"
    FILE = "file"


class BibItem(msgspec.Struct, frozen=True):
    """One completion for the site's range."""

    label: str
    text: str
    kind: ItemKind
    detail: str = ""
    snippet: str = ""
    """The text as a snippet with tab stops, for an editor that supports them."""


def complete_bib(
    site: BibSite,
    bibs: Sequence[BibFile],
    values: Callable[[BibFile, str], Counter[str]],
    text: str,
    more: Iterable[str] = (),
) -> list[BibItem]:
    """The items for a site, best first. `bibs` begins with the edited file, `values` counts a
    field's values, `more` are further names of venues, `text` is the file's."""
    if site.kind is SiteKind.TYPE:
        found: Iterable[BibItem] = _types(site, text)
    elif site.kind is SiteKind.NAME:
        found = _fields(site, text)
    elif site.field in _KEY_FIELDS:
        keys = _keys(site, bibs)
        return list(_braced(keys) if site.kind is SiteKind.BARE else keys)[:MAX_ITEMS]
    elif site.kind is SiteKind.BARE:
        # Without a brace so far: macros without braces, other values with them.
        found = chain(_macros(site, bibs), _braced(_values(site, bibs, values, more)))
    else:
        found = _values(site, bibs, values, more)
    return _matching(found, site.typed)[:MAX_ITEMS]


def _braced(items: Iterable[BibItem]) -> Iterator[BibItem]:
    """The items with braces around their values, for a value without a delimiter."""
    for item in items:
        yield msgspec.structs.replace(item, text=f"{{{item.text}}}")


def _matching(items: Iterable[BibItem], typed: str) -> list[BibItem]:
    """Items that begin with the typed text, then those with a word that does."""
    words_typed = fold(typed).split()
    if not words_typed:
        return list(items)
    ranked: list[tuple[int, int, BibItem]] = []
    for number, item in enumerate(items):
        label = fold(item.label)
        words = label.replace("-", " ").split()
        if label.startswith(" ".join(words_typed)):
            ranked.append((0, number, item))
        elif all(any(word.startswith(piece) for word in words) for piece in words_typed):
            ranked.append((1, number, item))
        elif len(words_typed) == 1 and words_typed[0] in label:
            ranked.append((2, number, item))
    return [item for _, _, item in sorted(ranked, key=lambda one: one[:2])]


def _types(site: BibSite, text: str) -> Iterator[BibItem]:
    opened = text[site.span.end : site.span.end + 1] in ("{", "(")
    for name, one in ENTRY_TYPES.items():
        snippet = ""
        if not opened and name not in ("string", "preamble", "comment"):
            fields = one.required.split() or ["title"]
            lines = "".join(f",\n  {f} = {{${{{n}}}}}" for n, f in enumerate(fields, 2))
            snippet = f"{name}{{${{1:key}}{lines},\n}}$0"
        yield BibItem(name, name if opened else name + "{", ItemKind.TYPE, one.description, snippet)


def field_names(site: BibSite) -> Iterator[tuple[str, bool]]:
    """The fields that the entry lacks, and whether they are required."""
    missing = missing_fields(site.entry_type, site.present)
    likely = ENTRY_TYPES[site.entry_type].likely.split() if site.entry_type in ENTRY_TYPES else ()
    for name in dict.fromkeys((*missing, *likely, *with_trait("offered"))):
        if name not in site.present:
            yield name, name in missing


def _fields(site: BibSite, text: str) -> Iterator[BibItem]:
    rest = text[site.span.end : site.span.end + 40].lstrip(" \t")
    for name, required in field_names(site):
        detail = f"required in @{site.entry_type}" if required else ""
        if rest.startswith("="):
            yield BibItem(name, name, ItemKind.FIELD, detail)
        else:
            yield BibItem(
                name, f"{name} = {{", ItemKind.FIELD, detail, snippet=f"{name} = {{$1}},$0"
            )


def _values(
    site: BibSite,
    bibs: Sequence[BibFile],
    values: Callable[[BibFile, str], Counter[str]],
    more: Iterable[str],
) -> Iterator[BibItem]:
    sources = BIB_FIELDS[site.field].values_of.split() if site.field in BIB_FIELDS else ()
    if not sources:
        return
    counts: Counter[str] = Counter()
    for bib in bibs:
        for name in sources:
            counts.update(values(bib, name))
    seen: set[str] = set()
    for value, count in counts.most_common():
        if value and value != site.typed:
            seen.add(fold(value))
            yield BibItem(value, value, ItemKind.VALUE, f"{count} in this project")
    is_venue = site.field in VENUE_FIELDS
    known = _known_venues(site.field) if is_venue else ()
    for detail, names in (("", known), ("library", more)):
        for value in names:
            if fold(value) not in seen:
                seen.add(fold(value))
                yield BibItem(value, value, ItemKind.VALUE, detail)


def _known_venues(field: str) -> Iterator[str]:
    for venue in known_venues():
        if venue.journal == field.startswith("journal"):
            yield venue.name


def count_values(bib: BibFile, field: str) -> Counter[str]:
    """Number of occurrences of each value of a field in a file; values keep their LaTeX markup, but
    not their delimiters. Only raw values are read, which takes a microsecond per entry."""
    raw: Counter[str] = Counter(
        body.raw(body.names.index(field))
        for entry in bib.entries
        if field in (body := entry.body).names
    )
    found: Counter[str] = Counter()
    for text, count in raw.items():
        found[" ".join(literal_value(text, bib.strings).split())] += count
    return found


def _macros(site: BibSite, bibs: Sequence[BibFile]) -> Iterator[BibItem]:
    months = [BibItem(name, name, ItemKind.MACRO, full) for name, full in MONTHS.items()]
    if site.field == "month":
        yield from months
    for name, raw in bibs[0].strings.items() if bibs else ():
        yield BibItem(name, name, ItemKind.MACRO, literal_value(raw, bibs[0].strings))
    if site.field != "month" and site.typed:
        yield from months


def _keys(site: BibSite, bibs: Sequence[BibFile]) -> Iterator[BibItem]:
    """Entries that another may refer to: those of this file, as BibTeX requires, volumes first."""
    typed = fold(site.typed).strip()
    volumes: list[BibEntry] = []
    others: list[BibEntry] = []
    for entry in bibs[0].entries if bibs else ():
        if entry.start == site.start or not entry.key:
            continue
        if site.field == "xdata" and entry.type != "xdata":
            continue
        if typed and typed not in fold(entry.key) and typed not in fold(entry.get("title")):
            continue
        is_volume = entry.type in ("proceedings", "collection", "book", "mvbook", "xdata")
        (volumes if is_volume else others).append(entry)
        if len(volumes) >= MAX_ITEMS:
            break
    for entry in (*volumes, *others):
        yield BibItem(entry.key, entry.key, ItemKind.KEY, _title(entry))


def _title(entry: BibEntry) -> str:
    return entry.get("title") or entry.get("booktitle") or entry.type


# Completion of bibliographies in a document: in `\bibliography{`, `\addbibresource{`, YAML.

_LATEX = re.compile(
    r"\\(?P<name>(?:no)?bibliography|add(?:global)?bibresource|addglobalbib|addsectionbib)\s*"
    r"(?:\[[^\]\n]{0,200}\])?\s*\{(?P<before>[^{}\n%]*,)?\s*(?P<typed>[^{},\n%]*)$"
)
_YAML = re.compile(
    r"\s*bibliography\s*:\s*(?:\[(?:[^\]\n]*,)?\s*)?[\"']?(?P<typed>[^\"'\[\],\n]*)$"
)
_YAML_ITEM = re.compile(r"\s*-\s+[\"']?(?P<typed>[^\"'\[\],\n]*)$")
_YAML_KEY = re.compile(r"^([A-Za-z_-]+)\s*:", re.MULTILINE)


def path_at(document: Document, cursor: int) -> tuple[Span, bool] | None:
    """The name being typed as a range, and whether it is written with its suffix; else None."""
    text = document.text
    line = max(text.rfind("\n", 0, cursor), text.rfind("\r", 0, cursor)) + 1
    head = text[line:cursor]
    if document.format is Format.LATEX:
        found = _LATEX.search(head)
        if found is None or re.search(r"(?<!\\)%", head[: found.start()]):
            return None
        return Span(line + found.start("typed"), cursor), found["name"].startswith("add")
    front = document.front_matter
    if front is None or cursor not in front:
        return None
    found = _YAML.match(head)
    if found is None and (found := _YAML_ITEM.match(head)) is not None:
        keys = _YAML_KEY.findall(text[front.start : line])
        found = found if keys and keys[-1] == "bibliography" else None
    return (Span(line + found.start("typed"), cursor), True) if found is not None else None


def complete_paths(
    document: Document, place: Span, with_suffix: bool, root: Path, bibs: Iterable[Path]
) -> list[BibItem]:
    """The bibliographies as named in the document, the nearest first."""
    typed = fold(document.text[place.start : place.end].strip())
    named = {
        b.target for b in document.bibliographies if not place.start <= b.span.start <= place.end
    }
    found: list[tuple[int, str]] = []
    for path in bibs:
        try:
            name = PurePath(os.path.relpath(path, root.parent)).as_posix()
        except ValueError:  # on another drive
            continue
        if not with_suffix:
            name = name.removesuffix(".bib")
        if typed in fold(name) and name not in named and not any(c.isspace() for c in name):
            found.append((name.count("/") + 3 * name.count(".."), name))
    return [BibItem(name, name, ItemKind.FILE) for _, name in sorted(found)]
