"""The layout of a .bib file, detected from its entries, so that new ones match."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import combinations, pairwise
from typing import Literal, TypeVar

import msgspec

from citewell.documents.bib.work import venue_in_file, venue_named
from citewell.documents.latex.plaintext import escape, escape_title
from citewell.model.bib import BibEntry, BibFile
from citewell.model.fields import DETAILS, PRINTED, with_trait
from citewell.model.identifiers import normalise_doi, web_address
from citewell.model.names import in_usual_case
from citewell.model.work import Author, Work

Case = Literal["lower", "title", "upper"]

_T = TypeVar("_T")
_Equals = tuple[int, str, str, int]
_End = tuple[bool, str]

_SAMPLE = 200
"""Number of last entries examined: the newest show the current style."""
_TITLE_CASE = {
    "inproceedings": "InProceedings", "incollection": "InCollection", "phdthesis": "PhdThesis",
    "mastersthesis": "MastersThesis", "techreport": "TechReport", "inbook": "InBook",
    **{name: one.in_title_case for name, one in with_trait("in_title_case").items()},
}  # fmt: skip
_CONTAINER = "booktitle"
_CONTAINERS = dict.fromkeys(with_trait("container"), _CONTAINER)
"""Fields that replace the book title: no entry has two of them."""
_USUAL = tuple(name for name in PRINTED if _CONTAINERS.get(name, name) == name)
_PAPER = {"title", "author", "booktitle", "journal", "year"}


class BibStyle(msgspec.Struct, frozen=True):
    """The layout of entries in one file. The default is that of a file without entries."""

    newline: str = "\n"
    indent: str = "  "
    column: int = 0
    """Width of the name column when the `=` signs are aligned; 0 when they are not."""
    before: str = " "
    """Between name (or column) and `=`."""
    after: str = " "
    """Between `=` and value."""
    value_column: int = 0
    """Width of name, `=` and blanks when values are aligned; 0 when they are not."""
    quotes: bool = False
    """Values in quotes instead of braces."""
    bare_numbers: bool = False
    """`year = 2017`."""
    type_case: Case = "lower"
    field_case: Case = "lower"
    trailing_comma: bool = True
    closer: str = "\n"
    """The text between the last field and the closing brace; "\n" is the file's line end."""
    gap: int = 1
    """Blank lines between entries."""
    order: tuple[str, ...] = ()
    """Field names in the order of the file's entries; empty for the usual order."""
    arxiv_as_journal: bool = False
    """Preprints are `@article` with `journal = {arXiv preprint arXiv:...}`."""

    booktitles: tuple[str, ...] = ()
    """The conferences of the file's entries, as written."""
    journals: tuple[str, ...] = ()
    recorded_venues: bool = False
    """New entries have the venue exactly as in the record."""
    spelling: dict[str, str] = msgspec.field(default_factory=dict)
    """Entry types (after an "@") and field names as spelt in the file, by lower case."""

    def type_name(self, kind: str) -> str:
        """An entry type as spelt in the file, or in the file's case."""
        return self.spelling.get(f"@{kind}") or _cased(kind, self.type_case)

    def field_name(self, name: str) -> str:
        """A field name as spelt in the file, or in the file's case."""
        return self.spelling.get(name) or _cased(name, self.field_case)


def _cased(name: str, case: Case) -> str:
    if case == "title":
        return _TITLE_CASE.get(name, name.capitalize())
    return name.upper() if case == "upper" else name


def detect_style(bib: BibFile) -> BibStyle:
    """The style of most of the last entries of a file; the default for details that they lack."""
    default = BibStyle(newline=_newline(bib.text))
    entries = [entry for entry in bib.entries if entry.names and entry.body.closed][-_SAMPLE:]
    if not entries:
        return default
    layouts = [layout for entry in entries if (layout := _layout(entry)) is not None]
    raws = [_raw_values(entry) for entry in entries]
    numbers = [raw for raw in (values.get("year", "") for values in raws) if raw]
    texts = [raw[0] for values in raws for name, raw in values.items() if raw[:1] in ('"', "{")]
    written = [name for entry in entries[-_SAMPLE // 4 :] for name in _written_names(entry)]
    style = msgspec.structs.replace(
        default,
        quotes=_most(texts, "{") == '"',
        bare_numbers=_most([raw[0].isdigit() for raw in numbers], False),
        type_case=_most([_case(name[1:]) for name in written if name[0] == "@"], "lower"),
        field_case=_most([_case(name) for name in written if name[0] != "@"], "lower"),
        spelling=_spelling(written),
        gap=_gap(bib, entries),
        order=_order(entries),
        arxiv_as_journal=_arxiv_as_journal(entries),
        booktitles=tuple(name for entry in entries if (name := entry.get("booktitle"))),
        journals=tuple(
            name
            for entry in entries
            if (name := entry.get("journal") or entry.get("journaltitle"))
            and "arxiv" not in name.lower()
        ),
    )
    if not layouts:
        return style
    column, before, after, value_column = _most([layout[1] for layout in layouts], (0, " ", " ", 0))
    trailing_comma, closer = _most([layout[2] for layout in layouts], (True, "\n"))
    return msgspec.structs.replace(
        style,
        indent=_most([layout[0] for layout in layouts], "  "),
        column=column,
        before=before,
        after=after,
        value_column=value_column,
        trailing_comma=trailing_comma,
        closer=closer,
    )


def _newline(text: str) -> str:
    windows = text.count("\r\n")
    if windows:
        return "\r\n" if windows * 2 > text.count("\n") else "\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"


def _most(values: Iterable[_T], default: _T) -> _T:
    counted = Counter(values).most_common(1)
    return counted[0][0] if counted else default


def _layout(entry: BibEntry) -> tuple[str, _Equals, _End] | None:
    """Indent, `=` layout and ending of an entry with one field a line; None for any other entry."""
    text = entry.body.text
    names: list[tuple[int, str, str]] = []
    indents: list[str] = []
    end = 0
    for field in entry.fields:
        at, name_end = field.name_span.start - entry.start, field.name_span.end - entry.start
        value = field.value_span.start - entry.start
        line = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        if line == 0 or text[line:at].strip():
            return None
        equals = text.find("=", name_end, value)
        if equals < 0:
            return None
        indents.append(text[line:at])
        names.append((name_end - at, text[name_end:equals], text[equals + 1 : value]))
        end = field.value_span.end - entry.start
    tail = text[end:-1]
    closer = tail.lstrip(" \t").removeprefix(",")
    if closer.strip():
        return None
    closer = closer.replace("\r\n", "\n").replace("\r", "\n").lstrip(" \t")
    ending = ("," in tail, "\n" + closer.rpartition("\n")[2] if "\n" in closer else "")
    return _most(indents, "  "), _equals(names), ending


def _equals(names: list[tuple[int, str, str]]) -> _Equals:
    """The layout of `=` and values, from (length of name, blanks before `=`, blanks after)."""
    widths = {length for length, _, _ in names}
    columns = {length + len(before) for length, before, _ in names if before}
    values = {length + len(before) + len(after) for length, before, after in names}
    before = _most([before for _, before, _ in names], " ")
    after = _most([after for _, _, after in names], " ")
    if "\n" in before or "\n" in after:
        before = after = " "
    # A name too long for the column is followed directly by its `=`.
    long = {length for length, before, _ in names if not before}
    if len(widths - long) > 1 and len(columns) == 1 and min(long, default=99) >= min(columns):
        return columns.pop(), "", after, 0
    if len(widths) > 1 and len(values) == 1:
        return 0, before, "", values.pop() + 1
    return 0, before[:1], after[:1], 0


def _written_names(entry: BibEntry) -> list[str]:
    """The type, after its "@", and the names of the fields, as written."""
    text, start = entry.body.text, entry.start
    names = [
        text[field.name_span.start - start : field.name_span.end - start] for field in entry.fields
    ]
    written = text[1:].lstrip()[: len(entry.type)]
    return [f"@{written}", *names]


def _spelling(written: list[str]) -> dict[str, str]:
    counted: dict[str, Counter[str]] = {}
    for name in written:
        counted.setdefault(name.lower(), Counter())[name] += 1
    return {
        name: spellings.most_common(1)[0][0].removeprefix("@")
        for name, spellings in counted.items()
    }


def _raw_values(entry: BibEntry) -> dict[str, str]:
    return {name: entry.body.raw(index) for index, name in enumerate(entry.names)}


def _case(name: str) -> Case:
    if name.islower():
        return "lower"
    return "upper" if name.isupper() and len(name) > 3 else "title"


def _gap(bib: BibFile, entries: list[BibEntry]) -> int:
    gaps = []
    for one, other in pairwise(entries):
        between = bib.text[one.end : other.start]
        if not between.strip():
            lines = between.count("\n") or between.count("\r")
            gaps.append(max(0, lines - 1))
    return min(_most(gaps, 1), 3)


def _order(entries: list[BibEntry]) -> tuple[str, ...]:
    """All usual names, and those of the file, in the order in which its entries for papers have
    them.

    Names that occur together are ordered as in most entries, the others as usual. An entry written
    in this order does not change it: entries added one after another all get the same order.
    """
    before: Counter[tuple[str, str]] = Counter()
    counts: Counter[str] = Counter()
    for entry in entries:
        if len(_PAPER.intersection(entry.names)) < 3:
            continue
        names = [_CONTAINERS.get(name, name) for name in dict.fromkeys(entry.names)]
        counts.update(names)
        before.update(combinations(names, 2))
    if not counts:
        return ()
    usual = {name: place for place, name in enumerate(_USUAL)}
    order: list[str] = []
    for name in sorted({*counts, *usual}, key=lambda n: (-counts[n], usual.get(n, 99), n)):
        order.insert(_place(name, order, before, usual), name)
    return tuple(
        name for place in order for name in (_CONTAINERS if place == _CONTAINER else (place,))
    )


def _place(
    name: str, order: list[str], before: Counter[tuple[str, str]], usual: dict[str, int]
) -> int:
    """The position with the fewest order violations; the last one on ties."""
    cost = sum(_costs(name, other, before, usual)[0] for other in order)
    best, least = 0, cost
    for index, other in enumerate(order):
        ahead, behind = _costs(name, other, before, usual)
        cost += behind - ahead
        if cost <= least + 1e-9:
            best, least = index + 1, cost
    return best


def _costs(
    name: str, other: str, before: Counter[tuple[str, str]], usual: dict[str, int]
) -> tuple[float, float]:
    """The cost of placing a name before another, and after it."""
    ahead, behind = before[name, other], before[other, name]
    if ahead + behind:
        return behind / (ahead + behind), ahead / (ahead + behind)
    if name in usual and other in usual:
        return (0.0, 0.01) if usual[name] < usual[other] else (0.01, 0.0)
    return 0.0, 0.0


def _arxiv_as_journal(entries: list[BibEntry]) -> bool:
    preprints = [
        entry.type == "article" and "arxiv" in entry.get("journal").lower()
        for entry in entries
        if entry.body.arxiv
    ]
    return sum(preprints) * 2 > len(preprints)


# The .bib entry of a work, written from its record alone.
#
# Details that the record lacks are left out. A work that is only on arXiv becomes the entry that
# arXiv itself exports (`@misc` with `eprint` and `archivePrefix`), unless the file has preprints in
# the style of Google Scholar (`@article`, `journal = {arXiv preprint arXiv:...}`).

_TYPES = frozenset(
    {
        "article", "inproceedings", "incollection", "book", "phdthesis", "mastersthesis",
        "techreport", "misc", "proceedings", "inbook", "booklet", "manual", "unpublished",
    }
)  # fmt: skip
_PREPRINT = re.compile(r"^\s*(?:arxiv\b|corr\b|ar[xχ]iv preprint)", re.IGNORECASE)
_PAGES = re.compile(r"(?<=\w)\s*(?:-+|[–—−‐])\s*(?=\w)")
_AND = re.compile(r"\band\b", re.IGNORECASE)


def entry_text(work: Work, key: str, style: BibStyle, *, abstract: bool = False) -> str:
    """The entry of `work` under `key` in the given style, without a line end after it."""
    kind, fields = entry_content(work, style)
    if abstract and work.abstract:
        fields["abstract"] = escape(work.abstract)
    lines = [f"@{style.type_name(kind)}{{{key},"]
    names = _ordered(fields, style)
    for name in names:
        comma = "," if style.trailing_comma or name != names[-1] else ""
        lines.append(f"{field_start(name, style)}{delimited(name, fields[name], style)}{comma}")
    closer = style.closer.replace("\n", style.newline)
    return style.newline.join(lines) + f"{closer}}}"


def field_start(name: str, style: BibStyle) -> str:
    """The start of a field up to its value in the file's style, with indentation."""
    written = style.field_name(name)
    if style.value_column:
        left = f"{written}{style.before}="
        return style.indent + left.ljust(max(style.value_column, len(left)))
    return f"{style.indent}{written.ljust(style.column)}{style.before}={style.after}"


def delimited(name: str, value: str, style: BibStyle) -> str:
    """A value in the file's style: in braces, in quotes, or bare."""
    if style.bare_numbers and name == "year" and value.isascii() and value.isdigit():
        return value
    if style.quotes:
        # Inside a quoted value, a quotation mark must be enclosed in braces.
        return '"' + value.replace('"', '{"}') + '"'
    return f"{{{value}}}"


def _ordered(fields: dict[str, str], style: BibStyle) -> list[str]:
    """The fields in the file's order; one that the file lacks follows its usual neighbour."""
    place = {name: float(index) for index, name in enumerate(style.order)}
    previous = -1.0
    for name in PRINTED:
        previous = place.setdefault(name, previous + 1e-3)
    return sorted(fields, key=lambda name: place[name])


def entry_content(work: Work, style: BibStyle) -> tuple[str, dict[str, str]]:
    """Entry type and fields of a work as LaTeX text; fields that the record lacks are left out."""
    kind, container = _kind(work)
    if not style.recorded_venues:
        journal = kind == "article"
        held = style.journals if journal else style.booktitles
        container = venue_in_file(container, held, journal=journal)
    fields: dict[str, str] = {"title": escape_title(work.title)}
    names = [name_text(in_usual_case(author)) for author in work.authors]
    fields["author"] = " and ".join([*names, *["others"] * (work.others and bool(names))])
    if kind in ("inproceedings", "incollection"):
        fields["booktitle"] = escape(container)
    elif kind == "article":
        fields["journal"] = escape(container)
    publisher = escape(work.publisher)
    if kind in ("phdthesis", "mastersthesis"):
        fields["school"] = publisher
    elif kind == "techreport":
        fields["institution"] = publisher
    else:
        fields["publisher"] = publisher
    for one in DETAILS:
        text = getattr(work, one.record)
        fields[one.name] = escape(_PAGES.sub("--", text) if one.name == "pages" else text)
    fields["year"] = "" if work.year is None else str(work.year)
    fields["doi"] = _address(work.doi)
    address = web_address(work.url)
    fields["url"] = "" if work.doi and normalise_doi(address) == work.doi else _address(address)
    if kind == "misc" and work.arxiv:
        for name in ("publisher", *(one.name for one in DETAILS)):
            del fields[name]
        if style.arxiv_as_journal:
            kind = "article"
            fields["journal"] = f"arXiv preprint arXiv:{work.arxiv}"
        else:
            fields["eprint"] = work.arxiv
            fields["archiveprefix"] = "arXiv"
            fields["url"] = fields["url"] or f"https://arxiv.org/abs/{work.arxiv}"
    return kind, {name: value for name, value in fields.items() if value}


def _kind(work: Work) -> tuple[str, str]:
    """Entry type, and the name of the volume or journal."""
    kind = work.kind if work.kind in _TYPES else "misc"
    booktitle, journal = work.booktitle, work.journal
    if _PREPRINT.match(journal) and work.arxiv:
        journal = ""
    if _PREPRINT.match(booktitle) and work.arxiv:
        booktitle = ""
    if not booktitle and not journal and work.venue and not _PREPRINT.match(work.venue):
        venue = venue_named(work.venue)
        if kind == "article" or (venue is not None and venue.journal):
            journal = venue.name if venue is not None else work.venue
        elif kind == "inproceedings" or venue is not None:
            booktitle = venue.name if venue is not None else work.venue
    if kind in ("article", "inproceedings", "incollection", "misc"):
        if journal and (kind == "article" or not booktitle):
            return "article", journal
        if booktitle:
            return ("incollection" if kind == "incollection" else "inproceedings"), booktitle
        return "misc", ""
    return kind, ""


def name_text(author: Author) -> str:
    """A name in BibTeX's sorting form; an organisation, and a name that contains "and", in
    braces."""
    family, given = escape(author.family), escape(author.given)
    whole = not given and not author.suffix and " " in family
    if whole or _AND.search(family) or "," in family:
        family = f"{{{family}}}"
    if author.suffix:
        return f"{family}, {escape(author.suffix)}, {given}"
    return f"{family}, {given}" if given else family


def _address(text: str) -> str:
    """A link or identifier unchanged; "" if it has unbalanced braces or blanks."""
    text = text.strip()
    return "" if any(char in "{}\\ \t\r\n" for char in text) else text
