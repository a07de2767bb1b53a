"""The .bib entry of a work, written from its record alone.

What the record does not say, the entry does not say. A work that only arXiv has becomes the entry
that arXiv itself exports (`@misc` with `eprint` and `archivePrefix`), unless the file writes its
preprints as Google Scholar does (`@article`, `journal = {arXiv preprint arXiv:...}`).
"""

from __future__ import annotations

import re

from citewell.documents.bib.style import BibStyle
from citewell.documents.bib.venues import venue_in_file, venue_named
from citewell.documents.latex.escape import escape, escape_title
from citewell.model.fields import DETAILS, PRINTED
from citewell.model.identifiers import normalise_doi, web_address
from citewell.model.names import in_usual_case
from citewell.model.work import Author, Work

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
    """A field up to its value, as the file writes it, indentation included."""
    written = style.field_name(name)
    if style.value_column:
        left = f"{written}{style.before}="
        return style.indent + left.ljust(max(style.value_column, len(left)))
    return f"{style.indent}{written.ljust(style.column)}{style.before}={style.after}"


def delimited(name: str, value: str, style: BibStyle) -> str:
    """A value as the file writes it: in braces, in quotes, or bare."""
    if style.bare_numbers and name == "year" and value.isascii() and value.isdigit():
        return value
    if style.quotes:
        # Inside a quoted value, a quotation mark must be enclosed in braces.
        return '"' + value.replace('"', '{"}') + '"'
    return f"{{{value}}}"


def _ordered(fields: dict[str, str], style: BibStyle) -> list[str]:
    """The fields in the file's order; one that the file never has follows its usual neighbour."""
    place = {name: float(index) for index, name in enumerate(style.order)}
    previous = -1.0
    for name in PRINTED:
        previous = place.setdefault(name, previous + 1e-3)
    return sorted(fields, key=lambda name: place[name])


def entry_content(work: Work, style: BibStyle) -> tuple[str, dict[str, str]]:
    """Entry type and fields of a work as LaTeX text; no field that the record leaves empty."""
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
    """Entry type, and the name of the volume or journal that it appeared in."""
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
    """A name as BibTeX sorts it; an organisation, and a name that holds "and", in braces."""
    family, given = escape(author.family), escape(author.given)
    whole = not given and not author.suffix and " " in family
    if whole or _AND.search(family) or "," in family:
        family = f"{{{family}}}"
    if author.suffix:
        return f"{family}, {escape(author.suffix)}, {given}"
    return f"{family}, {given}" if given else family


def _address(text: str) -> str:
    """A link or identifier as it is; with braces that do not pair, or blanks, it is left out."""
    text = text.strip()
    return "" if any(char in "{}\\ \t\r\n" for char in text) else text
