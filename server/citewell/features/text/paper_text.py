"""A record as text for another program or a reader: BibTeX, CSL-JSON, or a printed reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from citewell.documents.bib.edit import new_bib_text
from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.reference import style_named
from citewell.model import CitewellError, Problem, Work
from citewell.model.fields import DETAILS
from citewell.model.identifiers import web_address
from citewell.options import Options

Form = Literal["record", "bibtex", "csl", "reference"]


def paper_texts(works: Sequence[Work], form: Form, options: Options, style: str = "") -> list[str]:
    """The text of each work; empty for "record". The keys of BibTeX entries are distinct.

    A `style` that a program asks for is a name: a path is for the settings alone. Raises
    `CitewellError` for a style that is not known.
    """
    if form == "bibtex":
        taken: set[str] = set()
        texts = []
        for work in works:
            text, key = new_bib_text(work, None, options.bib, taken)
            taken |= {key, key.lower()}
            texts.append(text)
        return texts
    if form == "csl":
        return [msgspec.json.encode(csl_of_work(work)).decode() for work in works]
    if form == "reference":
        if style.lower().endswith(".csl"):
            raise CitewellError(
                Problem(
                    "style-unknown",
                    f"{style[:200]!r} is a file; only names of styles are accepted.",
                    "Give a name such as `ieee`; a .csl file can be set in `hover.style`.",
                )
            )
        named = style_named(style or options.hover.style)
        return [named.reference(csl_of_work(work)).text for work in works]
    return [""] * len(works)


# A paper in RIS, the format that reference managers and screening tools read.

TYPES = {
    "article": "JOUR", "inproceedings": "CONF", "conference": "CONF", "book": "BOOK",
    "incollection": "CHAP", "inbook": "CHAP", "phdthesis": "THES", "mastersthesis": "THES",
    "techreport": "RPRT", "unpublished": "UNPB", "dataset": "DATA", "online": "ELEC",
}  # fmt: skip
"""By BibTeX entry type; any other is "GEN"."""


def ris_of_work(work: Work, *, key: str = "", note: str = "") -> str:
    """The record, one tag a line, lines ended by CR LF as the format has them.

    `key` takes the place of the record's id.
    """
    fields = _fields(work, key or work.id, note)
    return "".join(f"{tag}  - {value}\r\n" for tag, value in fields) + "ER  - \r\n\r\n"


def _fields(work: Work, identity: str, note: str) -> Iterator[tuple[str, str]]:
    yield "TY", TYPES.get(work.kind, "GEN")
    first, _, last = work.pages.replace("–", "-").replace("--", "-").partition("-")
    fields = [
        ("ID", identity),
        ("TI", work.title),
        *(("AU", _author(one.family, one.given, one.suffix)) for one in work.authors),
        ("AU", "others" if work.others else ""),
        ("PY", str(work.year or "")),
        ("T2", work.journal or work.booktitle or work.venue),
        *((one.ris, getattr(work, one.record)) for one in DETAILS if one.ris),
        ("SP", first),
        ("EP", last),
        ("PB", work.publisher),
        ("DO", work.doi),
        ("UR", web_address(work.url)),
        ("AB", work.abstract),
        ("N1", note),
        ("DB", ", ".join(dict.fromkeys(one.source for one in work.provenance))),
    ]
    for tag, value in fields:
        # A line break would begin another tag.
        if line := " ".join(value.split()):
            yield tag, line


def _author(family: str, given: str, suffix: str) -> str:
    return ", ".join(part for part in (family, given, suffix) if part)
