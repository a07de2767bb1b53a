"""A `Work` from one BibTeX or biblatex entry."""

from __future__ import annotations

import re

from citewell.model import Author, Provenance, Work
from citewell.model.bib import BibEntry
from citewell.model.ids import acl_id
from citewell.model.names import ends_with_others
from citewell_corpus.importers import fields

KINDS = {
    "conference": "inproceedings",
    "mastersthesis": "mastersthesis",
    "thesis": "phdthesis",
    "report": "techreport",
    "electronic": "misc",
    "online": "misc",
    "www": "misc",
    "webpage": "misc",
    "software": "misc",
    "dataset": "misc",
    "suppbook": "inbook",
    "periodical": "misc",
}
"""Types of biblatex and other dialects, with their equivalents in BibTeX."""

KNOWN = frozenset(
    [
        "article", "book", "booklet", "inbook", "incollection", "inproceedings", "manual",
        "mastersthesis", "misc", "phdthesis", "techreport", "unpublished",
    ]
)  # fmt: skip
"""The types of BibTeX; all others become "misc"."""

NO_PAPER = frozenset({"proceedings", "collection", "mvproceedings", "set", "xdata"})
"""Types of whole volumes, or of no work at all."""

_SPACE = re.compile(r"\s+")


def work_of(entry: BibEntry, identifier: str, origin: Provenance) -> Work | str:
    """The work, or the message for the report if the entry cannot be used."""
    body = entry.body
    title = fields.title(body.get("title"))
    subtitle = fields.title(body.get("subtitle"))
    if not title:
        return f'The entry "{entry.key}" has no title.'
    authors: tuple[Author, ...] = body.authors
    if not authors and "editor" in body.names and entry.type == "book":
        authors = fields.authors(_SPACE.sub(" ", body.get("editor")).split(" and "))
    kind = KINDS.get(entry.type, entry.type if entry.type in KNOWN else "misc")
    doi, url = body.doi, fields.raw(body.get("url"))
    booktitle = fields.text(body.get("booktitle"))
    journal = fields.text(body.get("journal") or body.get("journaltitle"))
    return Work(
        id=identifier,
        title=f"{title}: {subtitle}" if subtitle else title,
        authors=authors[: fields.MAX_AUTHORS],
        others=len(authors) > fields.MAX_AUTHORS or ends_with_others(body.get("author")),
        year=body.year or fields.year(body.get("year")) or fields.year(body.get("date")),
        kind=kind,
        venue=fields.text(body.get("eventtitle") or body.get("series"), 200)
        if not booktitle
        else "",
        booktitle=booktitle,
        journal=journal,
        volume=fields.text(body.get("volume"), 60),
        issue=fields.text(body.get("number") or body.get("issue"), 60),
        pages=fields.pages(body.get("pages")),
        publisher=fields.text(
            body.get("publisher")
            or body.get("school")
            or body.get("institution")
            or body.get("organization")
        ),
        doi=doi,
        arxiv=body.arxiv,
        url=url or (f"https://aclanthology.org/{acl_id(doi)}" if acl_id(doi) else ""),
        bibkey=entry.key,
        abstract=fields.abstract(body.get("abstract")),
        language=fields.language(body.get("langid"))
        or fields.language(fields.text(body.get("language"))),
        same_as=(identifier,),
        provenance=(origin,),
    )
