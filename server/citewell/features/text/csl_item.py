"""A paper or an entry as CSL-JSON, the input of every CSL processor.

The names of types and variables are those of the CSL 1.0.2 specification, appendices III and IV.
"""

from __future__ import annotations

import re
from typing import Any

from citewell.documents.bib.work import inherited, venue_named
from citewell.model import Author, Work
from citewell.model.bib import MONTHS, BibEntry, BibFile, literal_value
from citewell.model.fields import BIB_FIELDS, DETAILS, value_of
from citewell.model.identifiers import web_address
from citewell.model.names import ends_with_others, split_authors

CslItem = dict[str, Any]

TYPES = {
    "article": "article-journal", "suppperiodical": "article-journal", "review": "review",
    "inproceedings": "paper-conference", "conference": "paper-conference",
    "incollection": "chapter", "inbook": "chapter", "suppbook": "chapter",
    "suppcollection": "chapter", "inreference": "entry-encyclopedia",
    "book": "book", "mvbook": "book", "booklet": "book", "collection": "book", "manual": "book",
    "mvcollection": "book", "reference": "book", "mvreference": "book", "bookinbook": "book",
    "proceedings": "book", "mvproceedings": "book", "periodical": "book",
    "phdthesis": "thesis", "mastersthesis": "thesis", "thesis": "thesis",
    "techreport": "report", "report": "report", "patent": "patent",
    "unpublished": "manuscript", "online": "webpage", "electronic": "webpage", "www": "webpage",
    "dataset": "dataset", "software": "software", "movie": "motion_picture",
    "video": "motion_picture", "audio": "song", "music": "song", "artwork": "graphic",
    "image": "graphic", "letter": "personal_communication", "legislation": "legislation",
    "jurisdiction": "legal_case", "misc": "document",
}  # fmt: skip
"""BibTeX and biblatex entry types; any other is a "document"."""

_THESES = {"phdthesis": "PhD thesis", "mastersthesis": "Master's thesis"}
_GENRES = {
    "phdthesis": "PhD thesis", "mathesis": "Master's thesis", "mastersthesis": "Master's thesis",
    "bathesis": "Bachelor's thesis", "techreport": "Technical report",
    "resreport": "Research report",
}  # fmt: skip
"""The terms of biblatex's localised `type` keys."""
_ORDINALS = {
    name: str(number)
    for number, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
}
_MONTH_NUMBERS = {
    form: number
    for number, (short, name) in enumerate(MONTHS.items(), 1)
    for form in (short, name.lower())
}
_DATE = re.compile(r"(-?\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?")
_DASHES = re.compile(r"\s*(?:-{1,3}|[–—−‐])\s*")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)?\.?", re.IGNORECASE)


def csl_of_work(work: Work) -> CslItem:
    """The item of a record of the library."""
    item: CslItem = {"id": work.id, "type": TYPES.get(work.kind, "document"), "title": work.title}
    item["author"] = [_name(author) for author in work.authors]
    if work.others:
        item["author"].append({"literal": "others"})
    known = venue_named(work.venue)
    container = work.journal or work.booktitle or (known.name if known else work.venue)
    if work.kind in _THESES:
        item["genre"] = _THESES[work.kind]
    if item["type"] == "document" and work.arxiv and not container:
        item |= {"type": "article", "publisher": "arXiv", "number": f"arXiv:{work.arxiv}"}
    if work.year is not None:
        item["issued"] = {"date-parts": [[work.year]]}
    item["container-title"] = container
    item |= {one.csl: getattr(work, one.record) for one in DETAILS}
    item["page"] = _DASHES.sub("-", work.pages)
    item.setdefault("publisher", work.publisher)
    item["DOI"] = work.doi
    item["URL"] = web_address(work.url) or (
        f"https://arxiv.org/abs/{work.arxiv}" if work.arxiv else ""
    )
    item["abstract"] = work.abstract
    item["keyword"] = ", ".join(work.keywords)
    return {name: value for name, value in item.items() if value}


def csl_of_entry(bib: BibFile, entry: BibEntry) -> CslItem:
    """The item of an entry, with all fields inherited by `crossref` and `xdata`."""
    fields = inherited(bib.by_key, entry)
    kind = TYPES.get(entry.type, "document")
    item: CslItem = {"id": entry.key or "entry", "type": kind}
    item["title"] = _joined(fields, "title", "subtitle")
    for role in ("author", "editor", "translator"):
        item[role] = _names(bib, entry, role)
    item["container-title"] = (
        _joined(fields, "booktitle", "booksubtitle")
        or _joined(fields, "journal", "journalsubtitle")
        or _joined(fields, "journaltitle", "journalsubtitle")
        or _joined(fields, "maintitle", "mainsubtitle")
    )
    item["issued"] = _date(fields)
    item |= {one.csl: fields.get(one.name, "") for one in BIB_FIELDS.values() if one.csl}
    item["edition"] = _edition(fields.get("edition", ""))
    item |= _numbered(kind, fields)
    item["page"] = _DASHES.sub("-", fields.get("pages") or fields.get("eid", ""))
    item["genre"] = _genre(entry.type, fields)
    item["publisher"] = value_of(fields, "publisher") or (
        "" if item["container-title"] else fields.get("howpublished", "")
    )
    if not item["author"] and not item["editor"] and (group := fields.get("organization")):
        # The author of an organisation's page or manual is the organisation.
        item["author"] = [{"literal": group}]
        item["publisher"] = "" if item["publisher"] == group else item["publisher"]
    if item["type"] == "chapter" and not item["container-title"]:
        item["type"] = "book"
    item["publisher-place"] = value_of(fields, "address")
    item["DOI"] = entry.body.doi
    item |= _preprint(entry, item)
    if not item["title"]:
        item["title"] = fields.get("note") or fields.get("key") or entry.key
    if str(item["publisher"]).lower().startswith(("http://", "https://")):
        item["URL"] = item["URL"] or item["publisher"]
        item["publisher"] = ""
    return {name: value for name, value in item.items() if value}


def _joined(fields: dict[str, str], title: str, subtitle: str) -> str:
    return ": ".join(part for part in (fields.get(title, ""), fields.get(subtitle, "")) if part)


def _numbered(kind: str, fields: dict[str, str]) -> CslItem:
    """Assign `number`: the issue of a journal, and the number of anything else."""
    number, issue = fields.get("number", ""), fields.get("issue", "")
    if kind.startswith("article"):
        return {"issue": number or issue}
    return {"issue": issue, "number" if kind != "chapter" else "collection-number": number}


def _genre(kind: str, fields: dict[str, str]) -> str:
    given = fields.get("type", "")
    return _GENRES.get(given.lower(), given) or _THESES.get(kind, "")


def _preprint(entry: BibEntry, item: CslItem) -> CslItem:
    """Add the archive of a preprint, by which a reader can find it."""
    arxiv = entry.body.arxiv
    if not arxiv or item["container-title"] or item["publisher"]:
        return {} if item["URL"] or not arxiv else {"URL": f"https://arxiv.org/abs/{arxiv}"}
    found: CslItem = {"publisher": "arXiv", "URL": item["URL"] or f"https://arxiv.org/abs/{arxiv}"}
    if item["type"] in ("document", "webpage"):
        found |= {"type": "article", "number": f"arXiv:{arxiv}"}
    return found


def _edition(text: str) -> str:
    bare = text.strip().lower().removesuffix("edition").strip()
    found = _ORDINAL.fullmatch(bare)
    return found[1] if found else _ORDINALS.get(bare, text.removesuffix(" edition"))


def _date(fields: dict[str, str]) -> CslItem:
    found = _DATE.match(fields.get("date", "").strip())
    if found is not None:
        parts = [int(part) for part in found.groups() if part is not None]
        return {"date-parts": [_valid(parts)]}
    year = re.search(r"\d{4}", fields.get("year", ""))
    if year is None:
        return {"literal": fields["year"]} if fields.get("year") else {}
    words = fields.get("month", "").lower().split()
    months = [number for word in words if (number := _month(word))]
    days = [int(word) for word in (w.strip(".,") for w in words) if word.isdigit()]
    parts = [int(year[0]), *months[:1], *(days[:1] if months and len(words) > 1 else [])]
    return {"date-parts": [_valid(parts)]}


def _month(word: str) -> int:
    word = word.strip(".,")
    if word.isdigit():
        return int(word)
    return _MONTH_NUMBERS.get(word) or _MONTH_NUMBERS.get(word[:3], 0)


def _valid(parts: list[int]) -> list[int]:
    """Year, month and day without impossible values such as month 13 and day 0."""
    kept = parts[:1]
    for value, most in zip(parts[1:], (12, 31), strict=False):
        if not 1 <= value <= most:
            break
        kept.append(value)
    return kept


def _names(bib: BibFile, entry: BibEntry, role: str) -> list[dict[str, str]]:
    raw = _raw(bib, entry, role)
    names = [_name(author) for author in split_authors(raw)] if raw else []
    return [*names, {"literal": "others"}] if raw and ends_with_others(raw) else names


def _raw(bib: BibFile, entry: BibEntry, role: str) -> str:
    """The name list of an entry or of its volume with its LaTeX markup, in which braces distinguish
    organisations from persons."""
    for _ in range(4):
        body = entry.body
        if role in body.names:
            return literal_value(body.raw(body.names.index(role)), body.strings)
        source = body.get("xdata").partition(",")[0].strip() or body.get("crossref").strip()
        parent = bib.by_key.get(source)
        # An author belongs to the paper, an editor to the volume.
        if parent is None or (role == "author" and not body.get("xdata")):
            return ""
        entry = parent
    return ""


def _name(author: Author) -> dict[str, str]:
    if not author.given:
        return {"literal": author.family}
    name = {"family": author.family, "given": author.given}
    if author.suffix:
        name["suffix"] = author.suffix
    # "Luxburg, Ulrike von": words other than given names must not become initials.
    given = author.given.split()
    end = len(given)
    while end > 1 and given[end - 1][:1].islower() and given[end - 1].isalpha():
        end -= 1
    if end < len(given):
        name["given"], name["dropping-particle"] = " ".join(given[:end]), " ".join(given[end:])
    words = author.family.split()
    at = next((i for i, word in enumerate(words) if not word[:1].islower()), 0)
    if 0 < at < len(words):
        name["non-dropping-particle"] = " ".join(words[:at])
        name["family"] = " ".join(words[at:])
    return name
