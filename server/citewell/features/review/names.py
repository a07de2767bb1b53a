"""Names in a paper that stand for works of others, such as "BERTScore", and that it never cites.

A name has capitals or a digit inside. It is left out where the paper introduces it, where a
citation follows any of its uses, where a cited title or key, or a list of references in the paper
itself, has it, and where it is a venue. Which work a name stands for, and whether papers with the
name cite it, the engine says (`Engine.expected`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from citewell.corpus.aliases import alias_name
from citewell.documents.bib.work import same_work
from citewell.documents.context import context_at, written_out
from citewell.documents.latex.plaintext import DROPPED
from citewell.features.checking.support import Uncited, following_citation, uncited_at
from citewell.model import Work
from citewell.model.bib import BibEntry
from citewell.model.display_text import shorten
from citewell.model.document import Diagnostic, Document, Format, Level, Span
from citewell.model.query import MARK
from citewell.model.titles import fold, fold_name, normalise_title
from citewell.model.venues import venue_ids
from citewell.verification.likeness import are_versions

NAME = re.compile(
    r"(?<![\w\\@/.-])(?=[\w+-]*[A-Z][\w+-]*[A-Z]|[\w+-]*[A-Za-z][\w+-]*\d|[A-Z][a-z]+[A-Z])"
    r"[A-Za-z][A-Za-z0-9+-]{1,28}[A-Za-z0-9+](?![\w@])"
)
_LABELS = re.compile(
    r"\\(?:begin|end|bibliography|bibliographystyle|usepackage|documentclass|gls\w*|"
    + "|".join(sorted(DROPPED, key=len, reverse=True))
    + r")\*?\s*(?:\[[^\[\]]*\]\s*){0,3}(?:\{[^{}]*\}){1,3}"
    + r"|\]\([^()\s]*\)|https?://\S+"
)
"""Labels, file names and addresses, which are no prose."""
_LIST = re.compile(
    r"\\begin\s*\{thebibliography\}(?s:.*?)(?:\\end\s*\{thebibliography\}|\Z)"
    r"|^#+[ \t]*(?i:references|bibliography|literature|works cited)\b.*\n(?:(?!#).*\n?)*",
    re.MULTILINE,
)
"""A list of references in the text itself."""
_MACRO = re.compile(r"\\[A-Za-z]+")
_BETWEEN = re.compile(r"[\s~{}()\[\]'’,\w\\-]{0,30}")
"""Text that may stand between a name and its citation."""
_OWN_WORDS = (
    r"(?:\b(?:we|our|this\s+(?:paper|work|article|thesis))\b[^.]{0,90}"
    r"\b(?:present|introduce|propose|call|name|describe|release|develop|term|dub|design|contribute)"
    r"\w*\b[^.]{0,90}|\b(?:called|named|termed|dubbed|coined|denoted)\s+(?:as\s+)?\W{0,12})"
)
_OWN = re.compile(_OWN_WORDS + r"\Z", re.IGNORECASE)
REACH = 200
"""Characters before a name that say whether the paper introduces it."""


class NameUse(msgspec.Struct, frozen=True):
    """A name that may stand for a work, where it stands first."""

    name: str
    """As it is written."""
    path: Path
    span: Span


def uncited_names(
    documents: Mapping[Path, Document], entries: Iterable[BibEntry], title: str
) -> list[NameUse]:
    """The names in a paper beside which no citation stands and that it does not introduce, each
    once, in reading order. `entries` are the cited ones, `title` is the paper's own. A cited key
    counts although no bibliography has it."""
    listed = listed_references(documents.values())
    named = {alias_name(word) for word in re.findall(r"[\w+-]+", f"{title} {listed}")}
    for document in documents.values():
        for key in (use.key for citation in document.citations for use in citation.keys):
            named.update(map(alias_name, re.split(r"[\d:_-]+", key)))
    for entry in entries:
        named.update(map(alias_name, re.findall(r"[\w+-]+", entry.get("title"))))
        named.update(map(alias_name, re.split(r"[\d:_-]+", entry.key)))
        named.add(alias_name(entry.key))
    found: dict[str, NameUse] = {}
    left_out: set[str] = set()
    for path, document in documents.items():
        if document.format is Format.BIBTEX:
            continue
        text = _prose(document)
        starts = [citation.span.start for citation in document.citations]
        for match in NAME.finditer(text):
            plain = alias_name(match[0])
            use = NameUse(match[0], path, Span(match.start(), match.end()))
            before = text[max(0, match.start() - REACH) : match.start()]
            if _is_cited(document.text, match.end(), starts) or _OWN.search(before):
                left_out.add(plain)
            found.setdefault(plain, use)
    return [
        use
        for plain, use in found.items()
        if plain not in left_out and not _is_named(plain, named) and not venue_ids(use.name)
    ]


def cited_names(document: Document) -> Iterator[tuple[str, int]]:
    """The names in a document beside which a citation stands, each with its place; the first use of
    a name comes last."""
    starts = [citation.span.start for citation in document.citations]
    for match in [*NAME.finditer(_prose(document))][::-1]:
        if _is_cited(document.text, match.end(), starts):
            yield alias_name(match[0]), match.start()


def names_in(text: str) -> list[str]:
    """The names in plain text, in the form of `cited_names`."""
    return [alias_name(match[0]) for match in NAME.finditer(text)]


def listed_references(documents: Iterable[Document]) -> str:
    """The lists of references that documents hold themselves: `thebibliography`, or the section of
    a Markdown file."""
    return "\n".join(one[0] for document in documents for one in _LIST.finditer(document.text))


def is_listed(work: Work, entries: Iterable[BibEntry], listed: str) -> bool:
    """Whether a paper with these entries, and the normalised text of its own lists, has a work
    among its references, under whatever key and in whatever version."""
    title = normalise_title(work.title)
    return f" {title} " in f" {listed} " or any(
        same_work(entry, work) or _is_of(entry, work) or _is_version(entry, work)
        for entry in entries
    )


def _is_named(plain: str, named: set[str]) -> bool:
    """Whether a name is among those of titles and keys, or is what one of these begins with."""
    return plain in named or any(one.startswith(plain) for one in named if len(plain) > 3)


def _prose(document: Document) -> str:
    """The text of a document with blanks for all that is no prose; the offsets stay."""
    text = document.text
    letters = [*text]
    spans = [*document.blanked, *(one.span for one in document.citations)]
    spans += [one.span for one in document.placeholders]
    spans += [Span(*found.span()) for found in _LIST.finditer(text)]
    spans += [Span(*found.span()) for found in _LABELS.finditer(text)]
    spans += [Span(*found.span()) for found in _MACRO.finditer(text)]
    if document.body is not None:
        spans += [Span(0, document.body.start), Span(document.body.end, len(text))]
    if document.front_matter is not None:
        spans.append(document.front_matter)
    for span in spans:
        letters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(letters)


def _is_cited(text: str, end: int, starts: Sequence[int]) -> bool:
    """Whether a citation stands right after a name, with a few words between at most."""
    from bisect import bisect_left

    at = bisect_left(starts, end)
    return at < len(starts) and _BETWEEN.fullmatch(text, end, starts[at]) is not None


def name_diagnostics(
    uses: Iterable[NameUse],
    works: Iterable[Work | None],
    documents: Mapping[Path, Document],
    entries: Mapping[str, BibEntry],
) -> Iterator[tuple[Path, Diagnostic]]:
    """A finding for each name that stands for a work; `entries` are all of the paper by key. A name
    that the paper writes out in words that the work's title lacks stands for something else."""
    for use, work in zip(uses, works, strict=True):
        if work is None or _is_another(use, work, documents):
            continue
        keys = [one.key for one in entries.values() if _is_of(one, work)]
        author = work.authors[0].family if work.authors else ""
        who = ", ".join(filter(None, (author, str(work.year or ""))))
        is_latex = documents[use.path].format is Format.LATEX
        place = f"\\cite<{use.name}>" if is_latex else f"[@?{use.name}]"
        hint = f"Cite {keys[0]!r} here." if keys else f"Cite it with {place}."
        yield (
            use.path,
            Diagnostic(
                code="name-uncited",
                span=use.span,
                message=f"{use.name} stands for “{shorten(work.title, 80)}” ({who}), which the "
                "paper never cites.",
                level=Level.INFORMATION,
                data={"key": keys[0] if keys else "", "work": work.id, "hint": hint},
            ),
        )


def _is_of(entry: BibEntry, work: Work) -> bool:
    return normalise_title(entry.get("title")) == normalise_title(work.title)


def _is_version(entry: BibEntry, work: Work) -> bool:
    ours, theirs = entry.body.authors[:1], work.authors[:1]
    return bool(ours and theirs) and are_versions(
        entry.get("title"), work.title, ours[0], theirs[0]
    )


def _is_another(use: NameUse, work: Work, documents: Mapping[Path, Document]) -> bool:
    words = set(normalise_title(work.title).split())
    for document in documents.values():
        for _, long in written_out(document.text, [use.name]):
            telling = {word for word in normalise_title(long).split() if len(word) > 2}
            if not telling & words and fold_name(long) != fold_name(use.name):
                return True
    return False


# Sentences of a paper that refer to the work of others without a citation.

MOST_SENTENCES = 10
"""Sentences without a citation that are reported of one paper."""
ANNOUNCED = 2
"""Sentences after an announcement that may have the citations."""
_AUTHORS = re.compile(
    r"\b[A-Z][\w'-]+\s+(?:et\s+al\.?|and\s+colleagues)|\b(?i:according to) (?!(?:Lemma|Theorem"
    r"|Equation|Eq|Section|Algorithm|Figure|Table|Appendix|Definition)\b)[A-Z]"
)
_BEEN = r"\b(?:has|have)\s+(?!already)(?:\w+\s+)?been\s+(?:\w+\s+)?"
_FOUND = re.compile(_BEEN + r"(?:shown|demonstrated|observed|reported|argued|established)\b")
_ANNOUNCEMENT = re.compile(
    _BEEN + r"(?:proposed|introduced|studied|explored|investigated)\b"
    r"|\b(?:proposed|introduced|pioneered)\s+by\b"
    r"|\b(?i:well[-\s]established|widely\s+(?:used|adopted|studied))\b"
)
_CERTAIN = (_AUTHORS, _FOUND, _ANNOUNCEMENT)
"""Phrases of sentences that want a citation, the most certain first. "Existing methods" and the
like are too often the paper's own or those of the sentence before; what is "well known" is in
textbooks."""
_CLOSING = re.compile(
    r"\b(?:abstract|conclu\w+|limitations?|ethic\w*|impacts?|acknowledge?ments?|future work)\b",
    re.IGNORECASE,
)
"""Headings of parts that repeat what the paper has cited."""


def sentence_diagnostics(
    documents: Mapping[Path, Document], families: set[str]
) -> Iterator[tuple[Path, Diagnostic]]:
    """A finding for each of these sentences, the most certain first, at most `MOST_SENTENCES`.
    `families` are the folded family names of the authors that the paper cites."""
    found: dict[tuple[Path, int], tuple[int, Uncited]] = {}
    known: dict[str, None] = {}
    for path, document in documents.items():
        abstract = f" {normalise_title(document.abstract)} "
        cited = dict(cited_names(document))
        for rank, pattern in enumerate(_CERTAIN):
            for match in pattern.finditer(document.text):
                if fold(match[0].split()[0]) in families:
                    continue  # "Smith et al. also show ..." with their work cited elsewhere
                one = uncited_at(document, match.start())
                if one is None or "abstract" in path.stem.lower():
                    continue
                words = " ".join(one.sentence.replace(MARK, "").split())
                names = names_in(words)
                if (
                    _CLOSING.search(context_at(document, one.at).section)
                    or f" {normalise_title(words)} " in abstract
                    or any(n in known or cited.get(n, one.at) < one.at for n in names)
                    or (pattern is _ANNOUNCEMENT and following_citation(document, one, ANNOUNCED))
                ):
                    continue
                found.setdefault((path, one.at), (rank, one))
        known.update(dict.fromkeys(cited))
    ranked = sorted(found.items(), key=lambda item: item[1][0])
    for (path, _), (_, one) in ranked[:MOST_SENTENCES]:
        words = " ".join(one.sentence.replace(MARK, "").split())
        yield (
            path,
            Diagnostic(
                code="sentence-uncited",
                span=Span(one.at, one.at),
                message=f"The sentence refers to other work without a citation: “"
                f"{shorten(words, 160)}”",
                level=Level.INFORMATION,
                data={"hint": "Cite the work, or say that it is your own.", "sentence": words},
            ),
        )
