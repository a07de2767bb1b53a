"""Figures of a paper's references: by year and kind, preprints, self-citations, keys cited once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from citewell.documents.latex.plaintext import latex_to_text
from citewell.documents.project.paper_project import Project
from citewell.model.bib import BibEntry
from citewell.model.document import Document, Format
from citewell.model.titles import fold

_AUTHOR = re.compile(r"\\author\s*(?:\[[^\]]*\]\s*)?\{")
_YAML_AUTHORS = re.compile(r"^authors?:[ \t]*(.*(?:\n[ \t-].*)*)", re.MULTILINE)
_PREPRINT = re.compile(r"arxiv|biorxiv|medrxiv|ssrn|preprint|\bcorr\b", re.IGNORECASE)
LONGEST = 4_000
"""Characters of an author block that are read."""


class ReviewFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The cited references of a paper, in numbers."""

    references: int = 0
    """Distinct works that the paper cites and one of its bibliographies has."""
    citations: int = 0
    """Places in the text that cite one."""
    by_year: dict[str, int] = {}
    """Rising; "" for entries without a year."""
    by_kind: dict[str, int] = {}
    """By type of the entry, the most frequent first."""
    preprints: int = 0
    """Entries with no other place than arXiv or the like."""
    own: int = 0
    """Entries by one of the paper's authors."""
    cited_once: int = 0
    """Entries that one place alone cites."""


def figures_of(projects: Iterable[Project]) -> ReviewFigures:
    """The figures of the references that some papers cite, all papers together."""
    times: Counter[tuple[str, str]] = Counter()
    entries: dict[tuple[str, str], BibEntry] = {}
    own: set[tuple[str, str]] = set()
    read: set[Path] = set()
    for project in projects:
        people = _authors(project)
        documents = [one for path, one in project.documents.items() if path not in read]
        read.update(project.documents)
        for key, count in _uses(documents).items():
            place = project.entry(key)
            if place is None:
                continue
            name = (str(place[0]), key)
            times[name] += count
            entries[name] = place[1]
            if _is_own(place[1], people):
                own.add(name)
    years = Counter(str(one.body.year or "") for one in entries.values())
    kinds = Counter(one.type for one in entries.values())
    return ReviewFigures(
        references=len(entries),
        citations=times.total(),
        by_year=dict(sorted(years.items())),
        by_kind=dict(kinds.most_common()),
        preprints=sum(map(_is_preprint, entries.values())),
        own=len(own),
        cited_once=sum(count == 1 for count in times.values()),
    )


def _uses(documents: Iterable[Document]) -> Counter[str]:
    return Counter(
        use.key
        for document in documents
        for citation in document.citations
        if not citation.command.startswith("nocite")
        for use in citation.keys
    )


def _authors(project: Project) -> str:
    """The author block of a paper, folded; empty where it names none."""
    found = []
    for document in project.documents.values():
        if document.format is Format.LATEX:
            for match in _AUTHOR.finditer(document.text):
                block = document.text[match.end() : match.end() + LONGEST]
                found.append(latex_to_text(block[: _closing(block)]))
        elif document.front_matter is not None:
            span = document.front_matter
            found += _YAML_AUTHORS.findall(document.text[span.start : span.end])
    words = re.findall(r"[^\W\d_]+", fold(" ".join(found)))
    return f" {' '.join(words)} "


def _closing(text: str) -> int:
    """The offset of the brace that closes a group which is open at the beginning."""
    depth = 1
    for place, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return place
    return len(text)


def _is_own(entry: BibEntry, people: str) -> bool:
    """Whether the author block has the first given name, or its initial, and the family name of an
    author of an entry."""
    for author in entry.body.authors:
        given, family = re.match(r"[^\W\d_]+", fold(author.given)), fold(author.family)
        if given is None or family not in people:
            continue
        pattern = rf" (?:{given[0]}[a-z]*|{given[0][0]})(?: \w+)? {re.escape(family)} "
        if re.search(pattern, people):
            return True
    return False


def _is_preprint(entry: BibEntry) -> bool:
    place = " ".join(map(entry.get, ("journal", "journaltitle", "booktitle", "howpublished")))
    known = place.strip()
    return bool(_PREPRINT.search(place)) if known else bool(entry.body.arxiv)
