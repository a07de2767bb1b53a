"""Which fields an entry must have, by its type: what BibTeX's standard styles warn of when it is
missing, and what the manual of biblatex calls required where that is less.

A group of names is satisfied by any of them. Names of both dialects count in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

_AUTHOR = ("author", "editor", "organization", "institution", "key", "collaboration")
_YEAR = ("year", "date", "pubstate", "eventdate", "urldate")
_JOURNAL = ("journal", "journaltitle", "eprint", "archiveprefix", "shortjournal", "maintitle")
_BOOK = ("booktitle", "maintitle", "eventtitle", "journal", "journaltitle")
_PUBLISHER = ("publisher", "institution", "organization", "school", "howpublished", "isbn")
_SCHOOL = ("school", "institution", "publisher", "organization")
_HOUSE = ("institution", "school", "publisher", "organization")
_PLACE = ("url", "doi", "eprint", "howpublished", "note")
_TITLE = ("title", "maintitle")

Groups = tuple[tuple[str, ...], ...]

BIBTEX: Mapping[str, Groups] = {
    "article": (_AUTHOR, _TITLE, _JOURNAL, _YEAR),
    "book": (_AUTHOR, _TITLE, _PUBLISHER, _YEAR),
    "booklet": (_TITLE,),
    "conference": (_AUTHOR, _TITLE, _BOOK, _YEAR),
    "inbook": (_AUTHOR, _TITLE, _PUBLISHER, _YEAR),
    "incollection": (_AUTHOR, _TITLE, _BOOK, _PUBLISHER, _YEAR),
    "inproceedings": (_AUTHOR, _TITLE, _BOOK, _YEAR),
    "manual": (_TITLE,),
    "mastersthesis": (_AUTHOR, _TITLE, _SCHOOL, _YEAR),
    "phdthesis": (_AUTHOR, _TITLE, _SCHOOL, _YEAR),
    "proceedings": (_TITLE, _YEAR),
    "techreport": (_AUTHOR, _TITLE, _HOUSE, _YEAR),
    "unpublished": (_AUTHOR, _TITLE),
    "online": (_TITLE, _PLACE),
    "thesis": (_AUTHOR, _TITLE, _HOUSE, _YEAR),
    "report": (_AUTHOR, _TITLE, _HOUSE, _YEAR),
    "patent": (_AUTHOR, _TITLE, ("number", "url"), _YEAR),
    "collection": (_TITLE, _YEAR),
    "periodical": (_TITLE, _YEAR),
}
"""The rules that hold where BibTeX reads the file."""

BIBLATEX: Mapping[str, Groups] = {
    **BIBTEX,
    "book": (_AUTHOR, _TITLE, _YEAR),
    "mvbook": (_AUTHOR, _TITLE, _YEAR),
    "inbook": (_AUTHOR, _TITLE, _BOOK, _YEAR),
    "incollection": (_AUTHOR, _TITLE, _BOOK, _YEAR),
    "manual": (_TITLE, _YEAR),
    "unpublished": (_AUTHOR, _TITLE, _YEAR),
    "dataset": (_TITLE,),
    "software": (_TITLE,),
}
"""The rules that hold where biblatex reads it."""


def missing_fields(kind: str, names: Collection[str], *, biblatex: bool = False) -> Iterator[str]:
    """The first name of each group of required fields of which an entry has none."""
    for group in (BIBLATEX if biblatex else BIBTEX).get(kind, ()):
        if not any(name in names for name in group):
            yield group[0]
