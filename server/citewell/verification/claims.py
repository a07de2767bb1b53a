"""Claims of references, read from entries, from a `thebibliography`, or from pasted text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

import msgspec

from citewell.documents.bib.work import author_source, entry_year, inherited, mark_of
from citewell.model.bib import BibEntry, BibFile, literal_value
from citewell.model.check import Claim, GivenIdentifier, Mark
from citewell.model.document import Span
from citewell.model.fields import (
    ARXIV_FIELDS,
    NO_WORKS,
    VENUE_FIELDS,
    database_address,
    with_trait,
)
from citewell.model.identifiers import Identifier, arxiv_id, identifiers_in, isbn13, normalise_doi
from citewell.model.names import ends_with_others, parse_author, split_authors
from citewell.model.pdf import PdfPaper
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import plain_title
from citewell.model.work import Author
from citewell.verification.author_list import leading_names
from citewell.verification.free_text import arxiv_before, parse_reference, undecorated
from citewell.verification.reference_list import (
    SAME_AUTHORS,
    Piece,
    joined,
    pieces,
    without_list_marks,
)

_VENUES = (*VENUE_FIELDS, "howpublished", "maintitle")
_BOOKS = frozenset(
    {"book", "mvbook", "collection", "mvcollection", "reference", "manual", "booklet"}
)
_BIBITEM = re.compile(r"\\bibitem\s*(?:\[(?:[^][]|\[[^]]*\]|\{[^}]*\})*\]\s*)?\{([^{}]*)\}")
_END = re.compile(r"\\end\s*\{thebibliography\}")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_ET_AL = re.compile(r"[\s,]*\bet\.?\s+al\b\.?\s*$", re.IGNORECASE)
_YEAR = re.compile(r"(?<!\d)(?:((?:19|20)\d\d)|['’](\d\d))(?!\d)")
_PIECE = re.compile(r"\S(?:.|\n(?!\n))*")
_LABEL = re.compile(r"\[([^\]\n]{1,40})\]\s+")
LONGEST_REFERENCE = 4_000
"""Maximum number of characters read of one reference in a PDF; a list of 300 authors has 6,000."""
_WITH_IDENTIFIERS = (
    "doi", "url", "eprint", "venue", "howpublished", "note", "ee", "link", "pdf")  # fmt: skip
"""Fields with addresses of the work itself."""
_IN_DATABASES = ("eprint", *(name for name, one in with_trait("link").items()
                             if one.link == "database"))  # fmt: skip
_IN_BRACES = re.compile(
    r"([^\W\d_][^\s,]*(?: [^\W\d_][^\s,]*)?),\s*"
    r"((?!Inc|Ltd|LLC|Corp|Co\b|GmbH)[^\W\d_][\w-]*\.?(?:[ -]?[^\W\d_][\w-]*\.?){0,2})"
)
_TRACE = re.compile(
    r"utm_source=(?:chatgpt|openai|chat\.openai|perplexity|claude|gemini|copilot|bing|deepseek|grok|"
    r"meta\.ai|mistral)[\w.]*|(?:cite)?turn\d+(?:search|news|view|fetch|academia|file|image|"
    r"forecast|product)\d+|\bciteturn|\boai_?cit\w*|contentReference\[|\[cite_start\]|"
    r"grok_render\w*|[\ue200-\ue202]",
    re.IGNORECASE,
)
"""Traces that chat assistants leave in copied text."""
_NOT_CITED = with_trait("private")
_LONGEST_TEXT = 40_000
"""Maximum number of characters read of one plain-text reference; some have thousands of authors."""


def claims_of_bib(bib: BibFile) -> list[Claim]:
    """One claim per entry, in order, with the ranges of its fields."""
    starts = _line_starts(bib.text)
    return [
        claim_of_entry(bib, entry, bisect_right(starts, entry.start))
        for entry in bib.entries
        if entry.type not in NO_WORKS
    ]


def claim_of_entry(bib: BibFile, entry: BibEntry, line: int | None = None) -> Claim:
    """The claim of an entry, with `crossref` and `xdata` fields included."""
    values = inherited(bib.by_key, entry)
    body = author_source(bib.by_key, entry).body
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
        mark=mark_of(bib, entry),
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
    mark: Mark | None = None,
) -> Claim:
    """Make a claim from plain field values; `author` may still contain LaTeX, `venue` is the
    venue."""
    authors = values.get("author", "")
    raw_doi = values.get("doi", "").strip()
    doi = normalise_doi(raw_doi) or normalise_doi(values.get("url", ""))
    names = (*ARXIV_FIELDS, "howpublished")
    arxiv = ""
    if values.get("archiveprefix", "").lower() in ("", "arxiv"):
        arxiv = next((found for n in names if (found := arxiv_id(values.get(n, "")))), "")
    title = plain_title(values.get("title", ""))
    arxiv = arxiv or arxiv_before(title)
    eprint = values.get("eprint", "")
    trace, trace_field = _trace({"key": key, **values})
    return Claim(
        key=key,
        kind=kind,
        title=undecorated(title),
        authors=(
            *(author for author in map(_named, split_authors(authors)) if author.family),
            *_collaborations(values.get("collaboration", "")),
        ),
        others=ends_with_others(authors),
        year=year,
        years=_years_of(values),
        venue=tex_to_unicode(values.get("venue", "")),
        venue_field=venue_field,
        volume=values.get("volume", ""),
        pages=values.get("pages", ""),
        doi=doi,
        arxiv=arxiv,
        isbn=isbn13(values.get("isbn", "")) if kind in _BOOKS else "",
        url=values.get("url", "").strip(),
        identifiers=_further_identifiers(
            {name: values.get(name, "") for name in _WITH_IDENTIFIERS}
            | {name: found for name in _IN_DATABASES if (found := database_address(name, values))},
            doi,
            arxiv,
        ),
        raw_doi=raw_doi if not doi else "",
        raw_arxiv=eprint if eprint and not arxiv else "",
        trace=trace,
        trace_field=trace_field,
        path=path,
        line=line,
        span=span,
        spans=spans or {},
        mark=mark,
    )


def _collaborations(text: str) -> Iterator[Author]:
    """The groups in the field `collaboration` of INSPIRE: "LIGO Scientific, Virgo"."""
    for name in tex_to_unicode(text).split(","):
        if name.strip():
            yield Author(name.strip().removesuffix(" Collaboration") + " Collaboration")


def _further_identifiers(
    texts: Mapping[str, str], doi: str, arxiv: str
) -> tuple[GivenIdentifier, ...]:
    """The identifiers in the fields, each once, without the two known ones."""
    found: dict[tuple[str, str], GivenIdentifier] = {}
    for field, text in texts.items():
        marked = arxiv_id(text)
        for one in (*identifiers_in(text), *([Identifier("arxiv", marked)] if marked else ())):
            if one.value not in (doi, arxiv):
                found.setdefault((one.kind, one.value), GivenIdentifier(field, one))
    return tuple(found.values())


def _trace(texts: Mapping[str, str]) -> tuple[str, str]:
    """The first trace of a chat assistant in the texts, and the name of its field."""
    for name, text in texts.items():
        plain = unquote(text.replace("\\", "")) if name not in _NOT_CITED else ""
        if found := _TRACE.search(plain):
            return found.group(), name
    return "", ""


def _years_of(values: Mapping[str, str]) -> tuple[int, ...]:
    """The years in the names of the venue, its series and its event, without duplicates."""
    found: dict[int, None] = {}
    for name in ("venue", "series", "eventtitle", "eventdate"):
        for match in _YEAR.finditer(values.get(name, "")):
            found[int(match[1]) if match[1] else 2000 + int(match[2])] = None
    return tuple(found)


def _named(author: Author) -> Author:
    """The author without an "et al." typed as a part of the name; a partly braced name, as in
    "{{Eckel-Passow}, J.}", is split in two."""
    if not author.given and (parts := _IN_BRACES.fullmatch(author.family)):
        return Author(parts[1], parts[2])
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
    plain = without_list_marks(text)
    claims: list[Claim] = []
    for start, end, key in pieces(plain):
        claim = _parsed(plain[start:end], claims)
        if claim.raw:
            claims.append(_placed(claim, path, starts, Span(start, end), key))
    return claims


def _parsed(text: str, before: Sequence[Claim]) -> Claim:
    """Parse one reference; a dash at its start stands for the previous one's authors."""
    words = joined(_with_names_apart(text[:_LONGEST_TEXT]))
    dash = SAME_AUTHORS.match(words)
    if dash is not None and before and (names := leading_names(before[-1].raw)):
        words = f"{before[-1].raw[: names.end].rstrip('. ')}. {words[dash.end() :]}"
    return parse_reference(words)


def _with_names_apart(text: str) -> str:
    """The text with full stops around a second line that consists of names."""
    lines = text.split("\n", 2)
    if len(lines) < 2 or lines[0].rstrip()[-1:] in ".,;:-":
        return text
    second = lines[1].strip(" \t*_.")
    names = leading_names(second)
    if names is None or names.end < len(second) or len(names.authors) < 2:
        return text
    return "\n".join([f"{lines[0].rstrip()}.", f"{second}.", *lines[2:]])


def claims_of_pdf(paper: PdfPaper) -> list[Claim]:
    """One claim per reference of a PDF, in order, with its page and its number or label. A
    reference without either is numbered by its position, from 1."""
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
        claim = _parsed(text[start : min(end, start + LONGEST_REFERENCE)], claims)
        if claim.raw:
            claims.append(
                msgspec.structs.replace(
                    _with_marks(claim),
                    key=key or str(len(claims) + 1),
                    path=paper.path,
                    page=paper.references[bisect_right(starts, start) - 1].number,
                )
            )
    return claims


def _parted(text: str) -> list[Piece]:
    """The pieces between empty lines, each with its leading label."""
    found = []
    for piece in _PIECE.finditer(text):
        label = _LABEL.match(piece.group())
        start = piece.start() + (label.end() if label else 0)
        found.append((start, piece.end(), label[1] if label else ""))
    return found


def _placed(claim: Claim, path: str, starts: list[int], span: Span, key: str = "") -> Claim:
    line = bisect_right(starts, span.start)
    return _with_marks(msgspec.structs.replace(claim, key=key, path=path, line=line, span=span))


def _with_marks(claim: Claim) -> Claim:
    """A free-text claim with its further identifiers and traces of an assistant."""
    further = _further_identifiers({"url": claim.raw}, claim.doi, claim.arxiv)
    trace, field = _trace({"note": claim.raw})
    return msgspec.structs.replace(claim, identifiers=further, trace=trace, trace_field=field)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]
