"""Hovers: the card of a cited entry, or the papers for a placeholder."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath

import msgspec
from msgspec.structs import replace

from citewell.features.citing.citation import extent, placeholder_at, until, word_end
from citewell.features.citing.completion import times
from citewell.features.text.evidence import escape, fenced, quoted, reason, sentence
from citewell.model import Evidence, Hit, Work
from citewell.model.bib import BibEntry
from citewell.model.check import Check, Verdict
from citewell.model.display_text import shorten
from citewell.model.document import Document, KeyUse, Placeholder, Span
from citewell.model.venues import shown_venue
from citewell.model.words import certainty, words_of
from citewell.sources.registry import source_titles, titles_of_work
from citewell.sources.values import keywords

# A paper as a Markdown card for a hover or beside a completion list.

MAX_AUTHORS = 8
MAX_ABSTRACT = 1500
_ARXIV = re.compile(r"[\w.\-/]{4,40}")
_DOI = re.compile(r"10\.\d{4,9}/[^\s<>()\[\]\"'`]{1,200}")
_PLAIN_URL = re.compile(r"https?://[^\s<>()\[\]\"'`\\]{4,300}")
_ANTHOLOGY = re.compile(
    r"https?://(?:www\.)?(?:aclanthology\.org|aclweb\.org/anthology)/([\w.\-]{4,40}?)/?(?:\.pdf)?"
)
MAX_KEYWORDS = 12
MAX_PLACES = 6
MAX_FINDINGS = 4


class EntryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Data about an entry beyond its fields."""

    reference: str = ""
    """The reference in the author's style, as Markdown; if empty, a summary is shown instead."""
    record: Work | None = None
    """The library's record of the work."""
    check: Check | None = None
    """The verdict on the entry, if already known."""
    cited: int | None = None
    """Number of citations of the key in the papers of the workspace; None if unknown."""
    uses: tuple[str, ...] = ()
    """The first of these places ("main.tex:12"), in order."""
    abstract: bool = True
    """Whether the abstract is shown."""


def work_card(
    work: Work,
    *,
    evidence: Sequence[Evidence] = (),
    typed: str = "",
    cited: int = 0,
    certainty: str = "",
    entry: str = "",
) -> str:
    """Title, authors, venue, links, abstract, the reason for a match with the words `typed`, its
    citations in the library (`cited`), its certainty, and the new entry."""
    parts = [f"**{escape(work.title)}**", byline(work)]
    links = _links(work.doi, work.arxiv, work.url)
    if links:
        parts.append(links)
    if work.retracted:
        parts.append("**This paper was retracted.**")
    if work.abstract:
        parts.append(escape(shorten(work.abstract, MAX_ABSTRACT)))
    parts.append(_keyword_line(work.keywords))
    if text := quoted(evidence):
        parts.append(f"> {escape(text)}")
    # The matching sentence is quoted above.
    proofs = tuple(replace(proof, snippet="") for proof in evidence)
    found = escape(sentence(Hit(work, 0.0, proofs), typed, 0 if work.citations else cited))
    if certainty and evidence:
        found = f"{certainty.capitalize()}. {found}".strip()
    parts.append(found)
    if work.provenance:
        parts.append(f"Record: {escape(', '.join(titles_of_work(work)))}.")
    if entry:
        parts.append(fenced(entry))
    return "\n\n".join(part for part in parts if part)


def entry_card(entry: BibEntry, path: str = "", known: EntryFacts | None = None) -> str:
    """The card of an entry of the author's .bib as Markdown, with the data about its work."""
    known = known or EntryFacts()
    record = known.record
    parts = [known.reference or _summary(entry)]
    parts.append(_more_links(entry, record, shown=parts[0]))
    if record is not None and record.retracted:
        parts.append("**This paper was retracted.**")
    if known.check is not None:
        parts.append(state_line(known.check))
    abstract = entry.get("abstract") or (record.abstract if record is not None else "")
    if abstract and known.abstract:
        parts.append(escape(shorten(abstract, MAX_ABSTRACT)))
    theirs = () if record is None else record.keywords
    parts.append(_keyword_line(keywords(entry.get("keywords")) or theirs))
    parts.append(_standing(entry, path, known))
    return "\n\n".join(part for part in parts if part)


def _keyword_line(found: Sequence[str]) -> str:
    if not found:
        return ""
    more = ", ..." if len(found) > MAX_KEYWORDS else ""
    return f"Keywords: {', '.join(escape(one) for one in found[:MAX_KEYWORDS])}{more}"


def _summary(entry: BibEntry) -> str:
    """Title, authors, venue and year, if no style renders them."""
    authors = [author.display for author in entry.body.authors]
    venue = entry.get("booktitle") or entry.get("journaltitle") or entry.get("journal")
    venue = venue or entry.get("publisher") or entry.get("howpublished")
    when = str(entry.body.year or "")
    line = " · ".join(
        part for part in (_names(authors), f"*{escape(venue)}*" if venue else "", when) if part
    )
    return "\n\n".join(p for p in (f"**{escape(entry.get('title') or entry.key)}**", line) if p)


def state_line(check: Check) -> str:
    """The check of an entry as Markdown: one line, and one more for each finding."""
    words = words_of(check)
    lines = [f"{words.sign} {escape(words.label[0].upper() + words.label[1:])}"]
    if check.verdict is Verdict.VERIFIED and check.sources:
        lines[0] += f" ({escape(', '.join(source_titles(check.sources)))})"
    lines += [f"- {escape(finding.message)}" for finding in check.findings[:MAX_FINDINGS]]
    return "\n".join(lines)


def _more_links(entry: BibEntry, record: Work | None, shown: str) -> str:
    """DOI, arXiv, PDF and web address, without the one in the reference."""
    doi, arxiv, url = entry.body.doi, entry.body.arxiv, entry.get("url")
    if record is not None:
        doi, arxiv, url = doi or record.doi, arxiv or record.arxiv, url or record.url
    found = _links(doi, arxiv, url).split(" · ")
    targets = (link[link.rindex("(") :] for link in found if link)
    kept = [link for link, target in zip(found, targets, strict=False) if target not in shown]
    pdf = pdf_address(arxiv, url)
    if pdf:
        kept.append(f"[PDF]({pdf})")
    return " · ".join(kept)


def pdf_address(arxiv: str, url: str) -> str:
    """The address of the paper's PDF, if it can be derived; else ""."""
    if _ARXIV.fullmatch(arxiv):
        return f"https://arxiv.org/pdf/{arxiv}"
    found = _ANTHOLOGY.fullmatch(url)
    if found is not None:
        return f"https://aclanthology.org/{found[1]}.pdf"
    return url if _PLAIN_URL.fullmatch(url) and url.lower().endswith(".pdf") else ""


def _standing(entry: BibEntry, path: str, known: EntryFacts) -> str:
    """The place of the entry, its citations, and its number of citations elsewhere."""
    parts = [f"`{entry.key.replace('`', '')}` in {escape(path)}"] if path else []
    if known.cited is not None:
        places = [escape(place) for place in known.uses[:MAX_PLACES]]
        more = known.cited - len(places)
        where = ", ".join(places) + (f" and {more} more" if more > 0 else "")
        parts.append(f"cited here {times(known.cited)}: {where}" if places else "not cited")
    record = known.record
    if record is not None:
        if record.citations is not None:
            parts.append(f"cited {times(record.citations)} in the literature")
        if names := titles_of_work(record):
            parts.append(f"record: {escape(', '.join(names))}")
    return " · ".join(parts)


def byline(work: Work) -> str:
    """Authors, venue and year on one line."""
    venue = shown_venue(work.venue or work.booktitle or work.journal or work.publisher)
    parts = [_names([author.display for author in work.authors])]
    parts += [f"*{escape(venue)}*" if venue else "", str(work.year or "")]
    if work.citations is not None:
        parts.append(f"cited {work.citations} times")
    return " · ".join(part for part in parts if part)


def _names(names: Sequence[str]) -> str:
    shown = [escape(name) for name in names[:MAX_AUTHORS]]
    return ", ".join(shown) + (" et al." if len(names) > MAX_AUTHORS else "")


def _links(doi: str, arxiv: str, url: str) -> str:
    """Links built from validated identifiers, and a web address only if it is plain."""
    links = []
    if _DOI.fullmatch(doi):
        links.append(f"[doi:{escape(doi)}](https://doi.org/{doi})")
    if _ARXIV.fullmatch(arxiv):
        links.append(f"[arXiv:{escape(arxiv)}](https://arxiv.org/abs/{arxiv})")
    if not links and _PLAIN_URL.fullmatch(url):
        links.append(f"[{escape(shorten(url, 60))}]({url})")
    return " · ".join(links)


class HoverCard(msgspec.Struct, frozen=True):
    """A card in Markdown, and the range of the document that it describes."""

    markdown: str
    span: Span


def hover_entry(
    span: Span, entry: BibEntry, path: str, base: str, known: EntryFacts | None = None
) -> HoverCard:
    """The card of an entry of the .bib at `path`, shown relative to the file `base`."""
    return HoverCard(entry_card(entry, shown_path(path, base), known), span)


def hover_shelved(span: Span, entry: BibEntry, known: EntryFacts) -> HoverCard:
    """The card of an entry in the author's Zotero that is in no .bib of the paper."""
    note = "*Not in the bibliographies of this paper yet: complete the key to add it.*"
    return HoverCard(f"{entry_card(entry, 'Zotero', known)}\n\n{note}", span)


def hover_missing(use: KeyUse) -> HoverCard:
    """The card of an undefined key."""
    text = f"No entry `{use.key.replace('`', '')}` in the bibliographies of this paper."
    return HoverCard(text, use.span)


def hover_item(use: KeyUse, where: str) -> HoverCard:
    """The card of a key that a `\\bibitem` defines, at a place such as "main.tex:12"."""
    key = use.key.replace("`", "")
    return HoverCard(f"`\\bibitem{{{key}}}` in {escape(where)}", use.span)


@lru_cache(maxsize=1024)
def shown_path(path: str, base: str) -> str:
    """A path relative to the file `base`, with forward slashes."""
    if not base:
        return path
    try:
        return PurePath(os.path.relpath(path, os.path.dirname(base))).as_posix()  # noqa: PTH120
    except ValueError:  # on another drive
        return path


def hovered_placeholder(document: Document, offset: int) -> Placeholder | None:
    """The whole placeholder at the offset; an unclosed one up to the word there."""
    if placeholder_at(document, max(offset, 0)) is None:
        offset += 1
    found: Placeholder | None = None
    for placeholder in document.placeholders:
        if placeholder.span.start < offset <= extent(placeholder):
            found = placeholder
    if found is None or found.closed:
        return found
    return until(document, found, min(word_end(document, offset), extent(found)))


def _facts(hit: Hit, typed: str) -> tuple[str, ...]:
    """Authors, venue and year, the certainty, and the reason for a hit."""
    why = reason(hit, typed)
    return byline(hit.work), certainty(hit.confidence, typed=bool(typed)), escape(why)


def _quotation(hit: Hit) -> str:
    """The matching sentence of the full text, as another line of the list's item."""
    text = quoted(hit.evidence)
    return f"  \n   {escape(text)}" if text else ""


def hover_placeholder(placeholder: Placeholder, hits: Sequence[Hit]) -> HoverCard:
    """The papers offered for a placeholder, the best first."""
    heading = (
        f"Papers for “{escape(placeholder.query)}”"
        if placeholder.query
        else "Papers for this place"
    )
    if not hits:
        return HoverCard(f"{heading}: none found.", placeholder.span)
    lines = [
        f"{number}. **{escape(hit.work.title)}**  \n   "
        + " · ".join(part for part in _facts(hit, placeholder.query) if part)
        + _quotation(hit)
        for number, hit in enumerate(hits, 1)
    ]
    return HoverCard("\n".join([f"{heading}:", "", *lines]), placeholder.span)
