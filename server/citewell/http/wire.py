"""What several endpoints ask for and answer with, as it travels."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from citewell.features.text.evidence import why
from citewell.features.text.origin import source_of
from citewell.model import Hit, Work
from citewell.model.flavours import LANGUAGE_SUFFIXES
from citewell.usecases.find import MAX_PASSAGE

MAX_FILE = 1_000_000
MAX_PAPERS = 50
MAX_ID = 300

Passage = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_PASSAGE,
        description="LaTeX or Markdown. [CITATION] or another placeholder marks where a "
        "citation belongs; default: the end.",
    ),
]
Markup = Annotated[
    Literal["auto", "latex", "markdown"],
    Meta(description="Format of the text; `auto` treats text with a backslash as LaTeX."),
]
Count = Annotated[int, Meta(ge=1, le=MAX_PAPERS)]
Id = Annotated[
    str, Meta(min_length=1, max_length=MAX_ID, description="An id, a DOI or an arXiv id.")
]
BibText = Annotated[
    str, Meta(max_length=MAX_FILE, description="The text of the paper's own .bib file.")
]
Confidence = Annotated[
    float,
    Meta(ge=0, le=1, description="Probability that an author would cite the first paper here."),
]

SUFFIXES = {name: LANGUAGE_SUFFIXES[name] for name in ("latex", "markdown")}


class Paper(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A paper that exists: a record of the library, or of a source that the user allowed."""

    id: str
    source: Annotated[str, Meta(description="The records that it comes from.")]
    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    kind: Annotated[str, Meta(description="Entry type, such as article.")] = ""
    doi: str = ""
    arxiv: str = ""
    url: str = ""
    citations: int | None = None
    retracted: bool = False
    abstract: str = ""
    key: Annotated[str, Meta(description="Its key in the given .bib.")] = ""
    why: Annotated[
        str, Meta(description="The retrievers that found it, and the matching words.")
    ] = ""


class Record(Paper, frozen=True, kw_only=True, omit_defaults=True):
    """A paper with the texts that were asked for."""

    bibtex: str = ""
    csl: Annotated[dict[str, Any] | None, Meta(description="A CSL-JSON item.")] = None
    reference: Annotated[str, Meta(description="Formatted in a CSL style.")] = ""


class FoundPaper(Record, frozen=True, kw_only=True, omit_defaults=True):
    """A paper that was found, with the texts that were asked for."""

    confidence: Annotated[
        float | None,
        Meta(description="Probability that an author would cite it here, where it is known."),
    ] = None


def fields_of(work: Work, *, abstract: bool = False) -> dict[str, Any]:
    """The fields of a `Paper` that a record fills."""
    return {
        "id": work.id,
        "source": source_of(work),
        "title": work.title,
        "authors": tuple(author.display for author in work.authors),
        "year": work.year,
        "venue": work.venue or work.booktitle or work.journal or work.publisher,
        "kind": work.kind,
        "doi": work.doi,
        "arxiv": work.arxiv,
        "url": work.url,
        "citations": work.citations,
        "retracted": work.retracted,
        "abstract": work.abstract if abstract else "",
    }


def paper_of(work: Work, *, abstract: bool = False, key: str = "") -> Paper:
    """The record as it travels."""
    return Paper(**fields_of(work, abstract=abstract), key=key)


def found_paper(hit: Hit, *, abstract: bool = False, key: str = "") -> Paper:
    """The record of a search hit as it travels, with score and evidence."""
    return Paper(**fields_of(hit.work, abstract=abstract), key=key or hit.key, why=why(hit))
