"""The table of the fields and types of .bib entries, one row each.

A new field needs a row here and, if records have it, an attribute of `Work`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from citewell.model.identifiers import arxiv_id, identifier_of, normalise_doi
from citewell.model.titles import normalise_title, title_key


class FieldSpec(msgspec.Struct, frozen=True):
    """One field. Attributes that list other fields hold their names, separated by blanks."""

    name: str
    """Lower case."""
    biblatex: str = ""
    """Its name in biblatex."""
    also: str = ""
    """Synonyms, tried in this order when the field is missing."""
    instead: str = ""
    """Fields that satisfy an entry type's requirement in its place."""
    shown_at: str = ""
    """Fields at which a finding is shown when the field is missing."""

    offered: bool = True
    """Offered in completion of field names."""
    values_of: str = ""
    """Fields with the values offered in completion, since they repeat."""
    names_entries: bool = False
    """The value is a list of keys."""

    record: str = ""
    """Attribute of `Work` with the same content."""
    detail: bool = False
    """Locates the work within a volume: copied from the record, and left out for a preprint."""
    csl: str = ""
    """CSL variable."""
    ris: str = ""
    """RIS tag."""

    printed: int = 0
    """Position in a new entry; 0 for a field that is not written."""
    in_title_case: str = ""
    """The name in a file that capitalises field names, if more than the first letter is a capital.
    """
    container: bool = False
    """Names the container of the work; an entry has one of these fields."""
    label: str = ""
    """Name in messages, if different."""

    form: Callable[[str], str] = normalise_title
    """Normal form for comparing values."""
    distinguishes: bool = False
    """Works with equal titles but different values are different works."""
    inherited: Literal["always", "xdata", "never"] = "always"
    """Whether an entry inherits it from all parents, or only from `xdata`: a field such as `title`
    describes the volume, not the paper in it."""
    merged: bool = False
    """Copied from the other entries of a work when they are merged."""
    of_work: bool = False
    """Unreliable if the reference is fabricated."""
    private: bool = False
    """A note by the author or a program, not part of the reference."""

    verbatim: bool = False
    """An address: `~` and `_` in it are literal."""
    link: str = ""
    """Target of its link: "doi", "arxiv", "file", "database" (an identifier of PubMed, ADS or
    RePEc), or "address" (in the text)."""


def _first_four(text: str) -> str:
    return text[:4]


def _with_hyphen(text: str) -> str:
    return re.sub(r"\s*(?:-+|[–—−‐])\s*", "-", text)


def _arxiv(text: str) -> str:
    return arxiv_id(text) or text


_F = FieldSpec
BIB_FIELDS: Mapping[str, FieldSpec] = {
    one.name: one
    for one in (
        _F("author", instead="editor organization institution key collaboration", printed=2,
           shown_at="editor", label="authors", inherited="xdata", merged=True),
        _F("title", instead="maintitle", printed=1, form=title_key, inherited="xdata", merged=True),
        _F("subtitle", inherited="xdata"),
        _F("year", "date", "date", "date pubstate eventdate urldate", "date", printed=10,
           form=_first_four, merged=True),
        _F("date", merged=True),
        _F("journal", "journaltitle", "journaltitle",
           "journaltitle eprint archiveprefix shortjournal maintitle",
           "booktitle journaltitle howpublished", values_of="journal journaltitle",
           record="journal", printed=4, container=True, label="venue", merged=True),
        _F("journaltitle", values_of="journal journaltitle", container=True, label="venue",
           merged=True),
        _F("booktitle", instead="maintitle eventtitle journal journaltitle",
           shown_at="journal journaltitle maintitle howpublished", values_of="booktitle",
           record="booktitle", printed=3, container=True, label="venue", merged=True),
        _F("editor", values_of="editor", merged=True, of_work=True),
        _F("volume", record="volume", detail=True, csl="volume", ris="VL", printed=7,
           distinguishes=True, merged=True, of_work=True),
        _F("number", also="issue", instead="url", shown_at="issue", record="issue", detail=True,
           csl="issue", ris="IS", printed=8, distinguishes=True, merged=True, of_work=True),
        _F("issue", of_work=True),
        _F("pages", record="pages", detail=True, csl="page", printed=9, form=_with_hyphen,
           inherited="xdata", merged=True, of_work=True),
        _F("series", values_of="series", csl="collection-title", merged=True, of_work=True),
        _F("publisher", also="institution school organization",
           instead="institution organization school howpublished isbn", values_of="publisher",
           record="publisher", csl="publisher", ris="PB", printed=11, merged=True, of_work=True),
        _F("institution", instead="school publisher organization",
           values_of="institution school", printed=6, container=True, of_work=True),
        _F("school", "institution", instead="institution publisher organization",
           values_of="institution school", printed=5, container=True, of_work=True),
        _F("organization", values_of="organization", of_work=True),
        _F("address", also="location", values_of="address location", merged=True, of_work=True),
        _F("location", values_of="address location", of_work=True),
        _F("edition", csl="edition", distinguishes=True, of_work=True),
        _F("chapter", csl="chapter-number", distinguishes=True),
        _F("month", merged=True, of_work=True),
        _F("doi", shown_at="url", record="doi", csl="DOI", ris="DO", printed=14,
           in_title_case="DOI", label="DOI", form=normalise_doi, inherited="xdata", merged=True,
           of_work=True, verbatim=True, link="doi"),
        _F("url", instead="doi eprint howpublished note", record="url", csl="URL", printed=15,
           in_title_case="URL", inherited="xdata", merged=True, of_work=True, verbatim=True,
           link="address"),
        _F("urldate"),
        _F("eprint", shown_at="arxivid url journal", printed=12, label="arXiv identifier",
           form=_arxiv, inherited="xdata", merged=True, of_work=True, verbatim=True, link="arxiv"),
        _F("archiveprefix", values_of="archiveprefix", printed=13, in_title_case="ArchivePrefix",
           merged=True, of_work=True),
        _F("primaryclass", values_of="primaryclass", merged=True, of_work=True),
        _F("eprinttype", values_of="eprinttype archiveprefix"),
        _F("eprintclass"),
        _F("isbn", csl="ISBN", merged=True, of_work=True),
        _F("issn", csl="ISSN", merged=True, of_work=True),
        _F("eid", of_work=True),
        _F("type", values_of="type"),
        _F("howpublished", values_of="howpublished", link="address"),
        _F("note", csl="note", merged=True, link="address"),
        _F("abstract", record="abstract", csl="abstract", ris="AB", printed=16, inherited="xdata",
           merged=True, private=True),
        _F("keywords", values_of="keywords", merged=True, private=True),
        _F("file", merged=True, private=True, verbatim=True, link="file"),
        _F("language", values_of="language langid"),
        _F("crossref", names_entries=True, inherited="never"),
        _F("translator"),
        _F("eventtitle", csl="event"),
        _F("shorttitle", csl="title-short"),
        _F("maintitle"),
        _F("pubstate", csl="status"),
        _F("version", csl="version", distinguishes=True),
        _F("annote", private=True, link="address"),
        _F("key", inherited="never"),
        # Known, but not offered.
        _F("xdata", offered=False, names_entries=True, inherited="never"),
        _F("xref", offered=False, names_entries=True, inherited="never"),
        _F("entryset", offered=False, names_entries=True, inherited="never"),
        _F("related", offered=False, names_entries=True),
        _F("ids", offered=False, inherited="never"),
        _F("options", offered=False, inherited="never"),
        _F("venue", csl="event-place", offered=False),
        _F("part", distinguishes=True, offered=False),
        _F("numpages", of_work=True, offered=False),
        _F("addendum", link="address", offered=False),
        _F("arxivid", link="arxiv", offered=False),
        _F("pmid", link="database", offered=False),
        _F("pmcid", link="database", offered=False),
        _F("adsurl", link="database", verbatim=True, offered=False),
        _F("bibcode", link="database", verbatim=True, offered=False),
        _F("handle", link="database", verbatim=True, offered=False),
        _F("slaccitation", private=True, offered=False),
        _F("pdf", offered=False, verbatim=True, link="file"),
        _F("local-url", offered=False, verbatim=True, link="file"),
        _F("howpublishedurl", verbatim=True, offered=False),
    )
}  # fmt: skip
"""By name, in the order of completion after the likely ones."""

VENUE_FIELDS = ("booktitle", "journal", "journaltitle")
"""Fields that name a venue, in order of preference."""
JOURNAL_FIELDS = VENUE_FIELDS[1:]
ARXIV_FIELDS = ("eprint", "arxivid", "url", "journal", "note", "doi", "volume")
"""Fields that may hold an arXiv identifier, in order of preference."""


def with_trait(trait: str) -> dict[str, FieldSpec]:
    """The fields with a true attribute `trait` of `FieldSpec`, by name."""
    return {name: one for name, one in BIB_FIELDS.items() if getattr(one, trait)}


PRINTED = tuple(sorted(with_trait("printed"), key=lambda name: BIB_FIELDS[name].printed))
"""Fields of a new entry in their usual order."""
DETAILS = tuple(with_trait("detail").values())
RECORDED = tuple(with_trait("record").values())


def value_of(values: Mapping[str, str], name: str) -> str:
    """The value of a field, or of its first synonym with one, or ""."""
    names = (name, *BIB_FIELDS[name].also.split())
    return next((value for one in names if (value := values.get(one))), "")


def database_address(name: str, values: Mapping[str, str]) -> str:
    """The address of the work in the database that a field names, or ""."""
    text = values.get(name, "")
    named = identifier_of(text) or identifier_of(f"{values.get(f'{name}type', name)} {text}")
    return named.value if named is not None and named.kind == "url" else ""


class EntryType(msgspec.Struct, frozen=True):
    """One entry type; its attributes list fields, separated by blanks."""

    name: str
    description: str
    required: str = ""
    """Fields that BibTeX's standard styles warn about when they are missing."""
    biblatex: str | None = None
    """Fields that the manual of biblatex requires, if different."""
    likely: str = ""
    """Fields offered after the required ones."""


_PAPER = "author title booktitle year"
_THESIS = "author title school year"
_REPORT = "author title institution year"
_OF_BOOK = "author title publisher year"
_T = EntryType
ENTRY_TYPES: Mapping[str, EntryType] = {
    one.name: one
    for one in (
        _T("article", "a paper in a journal", "author title journal year",
           likely="volume number pages doi month url"),
        _T("inproceedings", "a paper in proceedings", _PAPER,
           likely="pages publisher address doi url editor month"),
        _T("book", "a book", _OF_BOOK, "author title year",
           "publisher address edition isbn doi volume series"),
        _T("incollection", "a titled part of a book", "author title booktitle publisher year",
           _PAPER, "editor pages publisher address doi chapter"),
        _T("inbook", "a part of a book", _OF_BOOK, _PAPER, "chapter pages publisher address doi"),
        _T("misc", "a preprint, or anything else",
           likely="author title year howpublished eprint archiveprefix url note"),
        _T("phdthesis", "a PhD thesis", _THESIS, likely="address month url type"),
        _T("mastersthesis", "a master's thesis", _THESIS, likely="address month url type"),
        _T("techreport", "a report", _REPORT, likely="number type address url month"),
        _T("proceedings", "a volume", "title year"),
        _T("online", "a web page", "title url",
           likely="author title url urldate year organization"),
        _T("unpublished", "a manuscript", "author title", "author title year"),
        _T("manual", "a manual", "title", "title year"),
        _T("booklet", "printed without a publisher", "title"),
        _T("conference", "a paper in proceedings", _PAPER),
        _T("thesis", "a thesis (biblatex)", _REPORT),
        _T("report", "a report (biblatex)", _REPORT),
        _T("collection", "a collection (biblatex)", "title year"),
        _T("dataset", "a data set (biblatex)", "", "title"),
        _T("software", "software (biblatex)", "", "title"),
        _T("patent", "a patent (biblatex)", "author title number year"),
        _T("periodical", "an issue of a journal (biblatex)", "title year"),
        _T("mvbook", "a book in volumes (biblatex)", "", "author title year"),
        _T("inreference", "an article in a reference work (biblatex)"),
        _T("suppbook", "a preface or similar (biblatex)"),
        _T("xdata", "shared fields (biblatex)"),
        _T("string", "a macro for use in fields"),
        _T("preamble", "LaTeX code"),
        _T("comment", "left out"),
    )
}  # fmt: skip
"""By name, in the order of completion."""
NO_WORKS = frozenset({"comment", "set", "xdata"})
"""Entry types that describe no work."""


@lru_cache(maxsize=128)
def _required(kind: str, biblatex: bool) -> tuple[tuple[str, ...], ...]:
    """The required fields of an entry type, each with its alternatives."""
    one = ENTRY_TYPES.get(kind, EntryType(kind, ""))
    required = one.required if one.biblatex is None or not biblatex else one.biblatex
    return tuple((name, *BIB_FIELDS[name].instead.split()) for name in required.split())


def missing_fields(kind: str, names: Collection[str], *, biblatex: bool = False) -> list[str]:
    """The required fields that an entry lacks, alternatives considered."""
    return [
        group[0] for group in _required(kind, biblatex) if not any(name in names for name in group)
    ]
