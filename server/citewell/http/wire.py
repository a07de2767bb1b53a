"""What several endpoints ask for and answer with, as it travels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from citewell.engine.contract import Engine
from citewell.features.text.evidence import reason, source_of, why
from citewell.model import Hit, Work
from citewell.model.flavours import LANGUAGE_SUFFIXES
from citewell.model.words import Certainty
from citewell.sources.registry import titles_of_work
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
    origin: Annotated[
        tuple[str, ...], Meta(description="The names for people of its sources.")
    ] = ()
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
    has_abstract: Annotated[bool, Meta(description="The library has its abstract.")] = False
    key: Annotated[str, Meta(description="Its key in the given .bib.")] = ""
    reason: Annotated[str, Meta(description="Why it is listed, in words for people.")] = ""
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
    certainty: Annotated[Certainty, Meta(description="The probability in words.")] = ""


def fields_of(work: Work, *, abstract: bool = False, cited: int = 0) -> dict[str, Any]:
    """The fields of a `Paper` that a record fills; `cited`: how often it is known to be cited."""
    return {
        "id": work.id,
        "source": source_of(work),
        "origin": tuple(titles_of_work(work)),
        "title": work.title,
        "authors": tuple(author.display for author in work.authors),
        "year": work.year,
        "venue": work.venue or work.booktitle or work.journal or work.publisher,
        "kind": work.kind,
        "doi": work.doi,
        "arxiv": work.arxiv,
        "url": work.url,
        "citations": max(work.citations or 0, cited) or work.citations,
        "has_abstract": bool(work.abstract),
        "retracted": work.retracted,
        "abstract": work.abstract if abstract else "",
    }


class HasWork(Protocol):
    """A paper of a list."""

    @property
    def work(self) -> Work:
        """Its record."""
        ...


Listed = TypeVar("Listed", bound=HasWork)


def with_citations(papers: Sequence[Listed], engine: Engine) -> Iterator[tuple[Listed, int]]:
    """Each paper of a list with how often it is known to be cited."""
    return zip(papers, engine.citations([one.work.id for one in papers]), strict=True)


def paper_of(work: Work, *, abstract: bool = False, key: str = "") -> Paper:
    """The record as it travels."""
    return Paper(**fields_of(work, abstract=abstract), key=key)


def found_paper(
    hit: Hit, *, abstract: bool = False, key: str = "", typed: str = "", cited: int = 0
) -> Paper:
    """The record of a search hit as it travels, with its evidence; `typed`: the searched words."""
    fields = fields_of(hit.work, abstract=abstract, cited=cited)
    return Paper(**fields, key=key or hit.key, reason=reason(hit, typed), why=why(hit))
