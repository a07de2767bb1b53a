"""What is known of a paper, as a Markdown card for a hover or beside a completion list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.model import Evidence, Work
from citewell.model.bib import BibEntry

MAX_AUTHORS = 8
MAX_ABSTRACT = 1500
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_ARXIV = re.compile(r"[\w.\-/]{4,40}")
_DOI = re.compile(r"10\.\d{4,9}/[^\s<>()\[\]\"'`]{1,200}")
_SOURCES = {
    "bm25": "words",
    "dense": "meaning",
    "bib": "your .bib",
    "cited": "how others cite",
    "cross-encoder": "reading it beside your passage",
}


def work_card(
    work: Work, *, evidence: Sequence[Evidence] = (), entry: str = "", note: str = ""
) -> str:
    """Title, authors, venue, links, abstract, why it was found, and the entry to be inserted."""
    parts = [f"**{escape(work.title)}**", byline(work)]
    links = _links(work.doi, work.arxiv, work.url)
    if links:
        parts.append(links)
    if work.retracted:
        parts.append("**This paper was retracted.**")
    if note:
        parts.append(f"*{escape(note)}*")
    if work.abstract:
        parts.append(escape(shorten(work.abstract, MAX_ABSTRACT)))
    if evidence:
        parts.append(f"Found by {found_by(evidence)}.")
    if work.provenance:
        names = dict.fromkeys(origin.source for origin in work.provenance)
        parts.append(f"Record: {escape(', '.join(names))}.")
    if entry:
        parts.append(fenced(entry))
    return "\n\n".join(part for part in parts if part)


def entry_card(entry: BibEntry, path: str = "") -> str:
    """The same for an entry of the author's own .bib."""
    authors = [author.display for author in entry.body.authors]
    venue = entry.get("booktitle") or entry.get("journaltitle") or entry.get("journal")
    venue = venue or entry.get("publisher") or entry.get("howpublished")
    when = str(entry.body.year or "")
    line = " · ".join(
        part for part in (_names(authors), f"*{escape(venue)}*" if venue else "", when) if part
    )
    parts = [f"**{escape(entry.get('title') or entry.key)}**", line]
    parts.append(_links(entry.body.doi, entry.body.arxiv, entry.get("url")))
    if abstract := entry.get("abstract"):
        parts.append(escape(shorten(abstract, MAX_ABSTRACT)))
    if path:
        parts.append(f"`{entry.key.replace('`', '')}` in {escape(path)}")
    return "\n\n".join(part for part in parts if part)


def byline(work: Work) -> str:
    """Authors, venue and year on one line."""
    venue = work.venue or work.booktitle or work.journal or work.publisher
    parts = [_names([author.display for author in work.authors])]
    parts += [f"*{escape(venue)}*" if venue else "", str(work.year or "")]
    if work.citations is not None:
        parts.append(f"cited {work.citations} times")
    return " · ".join(part for part in parts if part)


def found_by(evidence: Sequence[Evidence]) -> str:
    """Which retrievers put the paper at which rank, and by which words."""
    parts = []
    for proof in evidence:
        text = f"{_SOURCES.get(proof.retriever, proof.retriever)} (rank {proof.rank}"
        if proof.before not in (None, proof.rank):
            text += f", moved from {proof.before}"
        if proof.terms:
            text += f": {escape(', '.join(proof.terms[:6]))}"
        parts.append(text + ")")
    return " and ".join(parts)


def moved_by(evidence: Sequence[Evidence]) -> str:
    """Which ranker moved the paper from where, where one did."""
    for proof in evidence:
        if proof.before is not None and proof.before != proof.rank:
            return f"moved from {proof.before} to {proof.rank} by the {proof.retriever}"
    return ""


def year_and_venue(year: int | None, venue: str) -> str:
    """Short enough for the right edge of a completion list."""
    return " ".join(part for part in (str(year or ""), shorten(venue, 32)) if part)


def escape(text: str) -> str:
    """Text of a record as Markdown that shows exactly that text."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(entry: str) -> str:
    """A BibTeX entry as a code block that its own text cannot end."""
    fence = "```"
    while fence in entry:
        fence += "`"
    return f"{fence}bibtex\n{entry.strip()}\n{fence}"


def shorten(text: str, most: int) -> str:
    """At most so many characters, cut at a word."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    if text[most - 1] != " ":
        cut = cut.rsplit(" ", 1)[0]
    return cut.rstrip(" ,;:") + "…"


def _names(names: Sequence[str]) -> str:
    shown = [escape(name) for name in names[:MAX_AUTHORS]]
    return ", ".join(shown) + (" et al." if len(names) > MAX_AUTHORS else "")


def _links(doi: str, arxiv: str, url: str) -> str:
    """Links that are built from checked identifiers, and a web address only when it is plain."""
    links = []
    if _DOI.fullmatch(doi):
        links.append(f"[doi:{escape(doi)}](https://doi.org/{doi})")
    if _ARXIV.fullmatch(arxiv):
        links.append(f"[arXiv:{escape(arxiv)}](https://arxiv.org/abs/{arxiv})")
    if not links and re.fullmatch(r"https?://[^\s<>()\[\]\"'`\\]{4,300}", url):
        links.append(f"[{escape(shorten(url, 60))}]({url})")
    return " · ".join(links)
