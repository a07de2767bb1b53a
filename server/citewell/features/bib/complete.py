"""What can be typed in a .bib: entry types, fields, names of venues, macros, other keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain

import msgspec

from citewell.documents.bib.venues import known_venues
from citewell.features.bib.site import KEY_FIELDS, BibSite, SiteKind
from citewell.features.checking.required_fields import BIBTEX
from citewell.model.bib import BibEntry, BibFile
from citewell.model.bib_value import MONTHS, literal_value
from citewell.model.titles import fold

_OPTIONAL = (
    "author", "title", "subtitle", "year", "date", "journal", "journaltitle", "booktitle", "editor",
    "volume", "number", "issue", "pages", "series", "publisher", "institution", "school",
    "organization", "address", "location", "edition", "chapter", "month", "doi", "url", "urldate",
    "eprint", "archiveprefix", "primaryclass", "eprinttype", "eprintclass", "isbn", "issn", "eid",
    "type", "howpublished", "note", "abstract", "keywords", "file", "language", "crossref",
    "translator", "eventtitle", "shorttitle", "maintitle", "pubstate", "version", "annote", "key",
)  # fmt: skip
"""Fields in the order in which they are offered; what an entry's type makes likely comes first."""
_LIKELY: Mapping[str, tuple[str, ...]] = {
    "article": ("volume", "number", "pages", "doi", "month", "url"),
    "inproceedings": ("pages", "publisher", "address", "doi", "url", "editor", "month"),
    "incollection": ("editor", "pages", "publisher", "address", "doi", "chapter"),
    "inbook": ("chapter", "pages", "publisher", "address", "doi"),
    "book": ("publisher", "address", "edition", "isbn", "doi", "volume", "series"),
    "misc": ("author", "title", "year", "howpublished", "eprint", "archiveprefix", "url", "note"),
    "online": ("author", "title", "url", "urldate", "year", "organization"),
    "phdthesis": ("address", "month", "url", "type"),
    "mastersthesis": ("address", "month", "url", "type"),
    "techreport": ("number", "type", "address", "url", "month"),
}
TYPES: Mapping[str, str] = {
    "article": "a paper in a journal", "inproceedings": "a paper in proceedings",
    "book": "a book", "incollection": "a titled part of a book", "inbook": "a part of a book",
    "misc": "a preprint, or anything else", "phdthesis": "a PhD thesis",
    "mastersthesis": "a master's thesis", "techreport": "a report", "proceedings": "a volume",
    "online": "a web page", "unpublished": "a manuscript", "manual": "a manual",
    "booklet": "printed without a publisher", "conference": "a paper in proceedings",
    "thesis": "a thesis (biblatex)", "report": "a report (biblatex)",
    "collection": "a collection (biblatex)", "dataset": "a data set (biblatex)",
    "software": "software (biblatex)", "patent": "a patent (biblatex)",
    "periodical": "an issue of a journal (biblatex)", "mvbook": "a book in volumes (biblatex)",
    "inreference": "an article in a reference work (biblatex)",
    "suppbook": "a preface or similar (biblatex)", "xdata": "shared fields (biblatex)",
    "string": "a macro for use in fields", "preamble": "LaTeX code", "comment": "left out",
}  # fmt: skip
VENUE_FIELDS = ("journal", "journaltitle", "booktitle")
_SHARED = {
    "journal": ("journal", "journaltitle"), "journaltitle": ("journal", "journaltitle"),
    "publisher": ("publisher",), "booktitle": ("booktitle",), "series": ("series",),
    "institution": ("institution", "school"), "school": ("institution", "school"),
    "organization": ("organization",), "address": ("address", "location"),
    "location": ("address", "location"), "howpublished": ("howpublished",), "type": ("type",),
    "archiveprefix": ("archiveprefix",), "primaryclass": ("primaryclass",),
    "eprinttype": ("eprinttype", "archiveprefix"), "language": ("language", "langid"),
    "keywords": ("keywords",), "editor": ("editor",), "author": (),
}  # fmt: skip
"""Fields whose values repeat, with the fields to take them from."""
MAX_ITEMS = 100


class ItemKind(StrEnum):
    TYPE = "type"
    FIELD = "field"
    VALUE = "value"
    MACRO = "macro"
    KEY = "key"
    FILE = "file"


class BibItem(msgspec.Struct, frozen=True):
    """One thing to write in place of the site's range."""

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
    """The items for a place, best first. `bibs` begins with the file that is edited, `values`
    counts what a field holds, `more` are names of venues from elsewhere, `text` is the file's."""
    if site.kind is SiteKind.TYPE:
        found: Iterable[BibItem] = _types(site, text)
    elif site.kind is SiteKind.NAME:
        found = _fields(site, text)
    elif site.field in KEY_FIELDS:
        keys = _keys(site, bibs)
        return list(_braced(keys) if site.kind is SiteKind.BARE else keys)[:MAX_ITEMS]
    elif site.kind is SiteKind.BARE:
        # Without a brace yet: macros as they are, other values with theirs.
        found = chain(_macros(site, bibs), _braced(_values(site, bibs, values, more)))
    else:
        found = _values(site, bibs, values, more)
    return _matching(found, site.typed)[:MAX_ITEMS]


def _braced(items: Iterable[BibItem]) -> Iterator[BibItem]:
    """The items with braces around their values, for a value without a delimiter."""
    for item in items:
        yield msgspec.structs.replace(item, text=f"{{{item.text}}}")


def _matching(items: Iterable[BibItem], typed: str) -> list[BibItem]:
    """Those that begin with what is typed, then those with words that begin so."""
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
    for name, about in TYPES.items():
        snippet = ""
        if not opened and name not in ("string", "preamble", "comment"):
            fields = [group[0] for group in BIBTEX.get(name, ())] or ["title"]
            lines = "".join(f",\n  {f} = {{${{{n}}}}}" for n, f in enumerate(fields, 2))
            snippet = f"{name}{{${{1:key}}{lines},\n}}$0"
        yield BibItem(name, name if opened else name + "{", ItemKind.TYPE, about, snippet)


def field_names(site: BibSite) -> Iterator[tuple[str, bool]]:
    """The fields that the entry has not, and whether they are required."""
    required = BIBTEX.get(site.entry_type, ())
    missing = [group[0] for group in required if site.present.isdisjoint(group)]
    likely = _LIKELY.get(site.entry_type, ())
    for name in dict.fromkeys((*missing, *likely, *_OPTIONAL)):
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
    sources = _SHARED.get(site.field)
    if sources is None:
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
    """How often a field has each value in a file; values keep their LaTeX markup, but not their
    delimiters. Only the raw values are read, which takes a microsecond per entry."""
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
    """Entries that another may refer to: of this file, volumes first; BibTeX wants them in it."""
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
