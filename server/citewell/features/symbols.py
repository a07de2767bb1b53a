"""The outline of a .bib, and entries by key, title or author anywhere in the workspace."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from citewell.documents.keys.index import KeyIndex
from citewell.model.bib import BibBlock, BibEntry, BibFile
from citewell.model.bib_body import BibBody
from citewell.model.document import Span

MAX_AUTHORS = 8
"""Names that a workspace symbol shows: an editor hides one that does not hold what was typed."""


class SymbolKind(StrEnum):
    ARTICLE = "article"
    BOOK = "book"
    PAPER = "paper"
    OTHER = "other"
    MACRO = "macro"


_KINDS = {
    **dict.fromkeys(("article", "suppperiodical", "review"), SymbolKind.ARTICLE),
    **dict.fromkeys(
        ("book", "mvbook", "collection", "mvcollection", "proceedings", "mvproceedings", "booklet",
         "manual", "thesis", "phdthesis", "mastersthesis", "periodical", "report", "techreport"),
        SymbolKind.BOOK,
    ),
    **dict.fromkeys(
        ("inproceedings", "conference", "incollection", "inbook", "inreference"), SymbolKind.PAPER
    ),
}  # fmt: skip


class Symbol(msgspec.Struct, frozen=True):
    """One thing in a file."""

    name: str
    detail: str
    kind: SymbolKind
    span: Span
    name_span: Span
    path: str = ""


def outline(bib: BibFile) -> list[Symbol]:
    """Every entry and @string, in the order of the file."""
    found = [_entry(entry) for entry in bib.entries]
    macros = [_macro(bib, one) for one in bib.blocks if one.type == "string" and one.body.names]
    return sorted([*found, *macros], key=lambda symbol: symbol.span) if macros else found


def _macro(bib: BibFile, block: BibBlock) -> Symbol:
    marks = block.body.marks
    place = Span(block.start + marks[0], block.start + marks[1])
    shown = bib.text[place.start : place.end]
    value = block.body.get(block.body.names[0])
    return Symbol(shown, value, SymbolKind.MACRO, block.span, place)


def _entry(entry: BibEntry) -> Symbol:
    place = entry.key_span if entry.key else Span(entry.start, entry.start + 1)
    kind = _KINDS.get(entry.type, SymbolKind.OTHER)
    return Symbol(_title(entry), byline(entry.body), kind, entry.span, place)


def _title(entry: BibEntry) -> str:
    """Key and title: some editors show and search the name of a symbol alone."""
    name, title = entry.key or f"@{entry.type}", entry.body.get("title")
    return f"{name} · {title}" if title else name


def byline(body: BibBody) -> str:
    """ "Vaswani et al. 2017", "Kipf and Welling 2017", as far as it is known."""
    names = [author.family or author.given for author in body.first_authors(3)]
    shown = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
    year = body.year
    return f"{shown} {year}" if shown and year else shown or str(year or "")


def workspace_symbols(index: KeyIndex, query: str, limit: int = 128) -> list[Symbol]:
    """The entries that fit a query by key, title, author or year, best first.

    A symbol's name holds all of that, because editors filter what they get by its name.
    """
    found = []
    for match in index.search(query, limit):
        entry = match.entry
        authors = [
            author.family or author.given for author in entry.body.first_authors(MAX_AUTHORS)
        ]
        shown = ", ".join(authors)
        parts = (entry.key, entry.get("title"), shown, str(entry.body.year or ""))
        found.append(
            Symbol(
                " · ".join(part for part in parts if part),
                "",
                _KINDS.get(entry.type, SymbolKind.OTHER),
                entry.span,
                entry.key_span,
                match.path,
            )
        )
    return found
