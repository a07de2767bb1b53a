"""What references claim, read from entries, from a `thebibliography`, or from pasted text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

import msgspec

from citewell.documents.bib.work import entry_year, inherited
from citewell.model.bib import BibEntry, BibFile
from citewell.model.bib_value import literal_value
from citewell.model.check import Claim
from citewell.model.document import Span
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.names import ends_with_others, parse_author, split_authors
from citewell.model.pdf import PdfPaper
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import plain_title
from citewell.model.work import Author
from citewell.verification.free_text import parse_reference
from citewell.verification.reference_list import Piece, joined, pieces

_VENUES = ("booktitle", "journal", "journaltitle", "howpublished", "maintitle")
_BIBITEM = re.compile(r"\\bibitem\s*(?:\[(?:[^][]|\[[^]]*\]|\{[^}]*\})*\]\s*)?\{([^{}]*)\}")
_END = re.compile(r"\\end\s*\{thebibliography\}")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_ET_AL = re.compile(r"[\s,]*\bet\.?\s+al\b\.?\s*$", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:((?:19|20)\d\d)|['’](\d\d))(?!\d)")
_PIECE = re.compile(r"\S(?:.|\n(?!\n))*")
_LABEL = re.compile(r"\[([^\]\n]{1,40})\]\s+")
LONGEST_REFERENCE = 4_000
"""Characters of one reference of a PDF that are read; a list of 300 authors has 6,000."""
_SKIPPED = frozenset({"comment", "set", "xdata"})


def claims_of_bib(bib: BibFile) -> list[Claim]:
    """One claim per entry, in order, with the ranges of its fields."""
    starts = _line_starts(bib.text)
    return [
        claim_of_entry(bib, entry, bisect_right(starts, entry.start))
        for entry in bib.entries
        if entry.type not in _SKIPPED
    ]


def claim_of_entry(bib: BibFile, entry: BibEntry, line: int | None = None) -> Claim:
    """The fields of an entry, `crossref` and `xdata` included."""
    values = inherited(bib, entry)
    body = entry.body
    title = plain_title(values.get("title", ""))
    if subtitle := values.get("subtitle", ""):
        title = f"{title}: {plain_title(subtitle)}"
    field = next((name for name in _VENUES if values.get(name)), "")
    raw_authors = ""
    if "author" in body.names:
        raw_authors = literal_value(body.raw(body.names.index("author")), body.strings)
    return make_claim(
        {**values, "title": title, "author": raw_authors, "venue": values.get(field, "")},
        key=entry.key,
        kind=entry.type,
        year=entry_year(entry, values),
        venue_field=field,
        path=bib.path,
        line=line,
        span=entry.span,
        spans={f.name: f.value_span for f in reversed(entry.fields)},
    )


def make_claim(
    values: Mapping[str, str],
    *,
    key: str = "",
    kind: str = "misc",
    year: int | None = None,
    venue_field: str = "",
    path: str = "",
    line: int | None = None,
    span: Span | None = None,
    spans: Mapping[str, Span] | None = None,
) -> Claim:
    """A claim from plain field values; `author` may still hold LaTeX, `venue` is the venue."""
    authors = values.get("author", "")
    raw_doi = values.get("doi", "").strip()
    doi = normalise_doi(raw_doi) or normalise_doi(values.get("url", ""))
    names = ("eprint", "arxivid", "url", "journal", "note", "doi", "volume", "howpublished")
    arxiv = ""
    if values.get("archiveprefix", "").lower() in ("", "arxiv"):
        arxiv = next((found for n in names if (found := arxiv_id(values.get(n, "")))), "")
    eprint = values.get("eprint", "")
    return Claim(
        key=key,
        kind=kind,
        title=plain_title(values.get("title", "")),
        authors=tuple(author for author in map(_named, split_authors(authors)) if author.family),
        others=ends_with_others(authors),
        year=year,
        years=_years_of(values),
        venue=tex_to_unicode(values.get("venue", "")),
        venue_field=venue_field,
        volume=values.get("volume", ""),
        pages=values.get("pages", ""),
        doi=doi,
        arxiv=arxiv,
        raw_doi=raw_doi if not doi else "",
        raw_arxiv=eprint if eprint and not arxiv else "",
        path=path,
        line=line,
        span=span,
        spans=spans or {},
    )


def _years_of(values: Mapping[str, str]) -> tuple[int, ...]:
    """The years in the names of the venue, its series and its event, without duplicates."""
    found: dict[int, None] = {}
    for name in ("venue", "series", "eventtitle", "eventdate"):
        for match in _YEAR.finditer(values.get(name, "")):
            found[int(match[1]) if match[1] else 2000 + int(match[2])] = None
    return tuple(found)


def _named(author: Author) -> Author:
    """The author without an "et al." that was typed as a part of the name."""
    if _ET_AL.search(author.display) is None:
        return author
    return parse_author(_ET_AL.sub("", author.display))


def claims_of_thebibliography(text: str, path: str = "") -> list[Claim]:
    """One claim per \\bibitem of a LaTeX document."""
    starts = _line_starts(text)
    bare = _COMMENT.sub(lambda found: " " * len(found.group()), text)
    items = list(_BIBITEM.finditer(bare))
    claims = []
    for number, item in enumerate(items):
        limit = items[number + 1].start() if number + 1 < len(items) else len(bare)
        end = _END.search(bare, item.end(), limit)
        stop = end.start() if end else limit
        claim = parse_reference(bare[item.end() : stop], latex=True)
        claims.append(_placed(claim, path, starts, Span(item.start(), stop), item[1].strip()))
    return claims


def claims_of_text(text: str, path: str = "") -> list[Claim]:
    """One claim per reference of a pasted list (see `reference_list`)."""
    starts = _line_starts(text)
    claims = []
    for start, end, key in pieces(text):
        claim = parse_reference(joined(text[start:end]))
        if claim.raw:
            claims.append(_placed(claim, path, starts, Span(start, end), key))
    return claims


def claims_of_pdf(paper: PdfPaper) -> list[Claim]:
    """One claim per reference of a PDF, in order, with its page and its number or label.

    A reference without either has its place in the list, from 1, as its number.
    """
    if paper.claims:
        return list(paper.claims)
    text = "\n".join(page.text for page in paper.references)
    starts, at = [], 0
    for page in paper.references:
        starts.append(at)
        at += len(page.text) + 1
    found = _parted(text) if paper.parted else list(pieces(text))
    claims: list[Claim] = []
    for start, end, key in found:
        claim = parse_reference(joined(text[start : min(end, start + LONGEST_REFERENCE)]))
        if claim.raw:
            claims.append(
                msgspec.structs.replace(
                    claim,
                    key=key or str(len(claims) + 1),
                    path=paper.path,
                    page=paper.references[bisect_right(starts, start) - 1].number,
                )
            )
    return claims


def _parted(text: str) -> list[Piece]:
    """The pieces between empty lines, each with the label that it begins with."""
    found = []
    for piece in _PIECE.finditer(text):
        label = _LABEL.match(piece.group())
        start = piece.start() + (label.end() if label else 0)
        found.append((start, piece.end(), label[1] if label else ""))
    return found


def _placed(claim: Claim, path: str, starts: list[int], span: Span, key: str = "") -> Claim:
    line = bisect_right(starts, span.start)
    return msgspec.structs.replace(claim, key=key, path=path, line=line, span=span)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]
