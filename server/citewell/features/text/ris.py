"""A paper in RIS, the format that reference managers and screening tools read."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.model import Work

TYPES = {
    "article": "JOUR", "inproceedings": "CONF", "conference": "CONF", "book": "BOOK",
    "incollection": "CHAP", "inbook": "CHAP", "phdthesis": "THES", "mastersthesis": "THES",
    "techreport": "RPRT", "unpublished": "UNPB", "dataset": "DATA", "online": "ELEC",
}  # fmt: skip
"""By BibTeX entry type; any other is "GEN"."""


def ris_of_work(work: Work) -> str:
    """The record, one tag a line, lines ended by CR LF as the format has them."""
    return "".join(f"{tag}  - {value}\r\n" for tag, value in _fields(work)) + "ER  - \r\n\r\n"


def _fields(work: Work) -> Iterator[tuple[str, str]]:
    yield "TY", TYPES.get(work.kind, "GEN")
    first, _, last = work.pages.replace("–", "-").replace("--", "-").partition("-")
    fields = [
        ("ID", work.id),
        ("TI", work.title),
        *(("AU", _author(one.family, one.given, one.suffix)) for one in work.authors),
        ("AU", "others" if work.others else ""),
        ("PY", str(work.year or "")),
        ("T2", work.journal or work.booktitle or work.venue),
        ("VL", work.volume),
        ("IS", work.issue),
        ("SP", first),
        ("EP", last),
        ("PB", work.publisher),
        ("DO", work.doi),
        ("UR", work.url),
        ("AB", work.abstract),
        ("DB", ", ".join(dict.fromkeys(one.source for one in work.provenance))),
    ]
    for tag, value in fields:
        # A line break would begin another tag.
        if line := " ".join(value.split()):
            yield tag, line


def _author(family: str, given: str, suffix: str) -> str:
    return ", ".join(part for part in (family, given, suffix) if part)
