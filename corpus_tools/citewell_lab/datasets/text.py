"""Parsing of prose, names, years and BibTeX source, shared by the data sets."""

from __future__ import annotations

import re

from citewell.documents.sentences import split_sentences
from citewell.model.query import MARK

_YEAR = re.compile(r"\b(1[6-9]\d\d|20\d\d)\b")
_DOI = re.compile(r"\bdoi\s*=\s*[{\"]+\s*(?:https?://(?:dx\.)?doi\.org/)?(10\.[^\s}\"]+)", re.I)
_ARXIV = re.compile(
    r"(?:eprint\s*=\s*[{\"]+|arxiv[.:/ ]*(?:abs/|pdf/|preprint arxiv:)?|volume\s*=\s*[{\"]+abs/)"
    r"\s*(?:arxiv:)?(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})",
    re.I,
)


def letters_only(title: str) -> str:
    """The letters of a text in lower case, by which PaSa and SPAR compare titles."""
    return "".join(char for char in title.lower() if char.isalpha())


def year_in(text: object) -> int | None:
    """The first year in the text ("2009 [Online]"), or None."""
    match = _YEAR.search(str(text)) if text is not None else None
    return int(match.group()) if match else None


def identifiers(entry: str) -> tuple[str, str]:
    """DOI and arXiv identifier in the source of a BibTeX entry; empty if missing."""
    doi, arxiv = _DOI.search(entry), _ARXIV.search(entry)
    return (doi.group(1).lower().rstrip(".,;") if doi else "", arxiv.group(1) if arxiv else "")


def around_mark(text: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Sentences before, the sentence with `[CITATION]`, and sentences after it."""
    parts = split_sentences(" ".join(text.split()))
    for i, part in enumerate(parts):
        if MARK in part:
            # A mark at the start of a sentence belongs to the previous sentence.
            if part.startswith(MARK) and len(part.split()) == 1 and i:
                return tuple(parts[: i - 1]), f"{parts[i - 1]} {part}", tuple(parts[i + 1 :])
            return tuple(parts[:i]), part, tuple(parts[i + 1 :])
    return (), " ".join(parts), ()
