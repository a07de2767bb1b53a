"""Papers in the form for clients, and records by id, DOI or arXiv identifier with the texts that
other programs need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Meta

from citewell.engine.contract import Engine
from citewell.features.citing.known_works import need_library, work_named, works_named
from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.evidence import reason, source_of, why
from citewell.features.text.reference import paper_texts
from citewell.model import Hit, Work
from citewell.model.cancel import Cancel
from citewell.model.document import LANGUAGE_SUFFIXES
from citewell.model.words import Certainty
from citewell.operations.operation import Service, operation
from citewell.options import Options
from citewell.sources.registry import titles_of_work
from citewell.usecases.find import MAX_PASSAGE

MAX_FILE = 1_000_000
MAX_PAPERS = 50
MAX_ID = 300

PASSAGE = (
    "LaTeX or Markdown, any language. [CITATION] or another placeholder marks where a citation "
    "belongs; default: the end."
)
Passage = Annotated[str, Meta(min_length=1, max_length=MAX_PASSAGE, description=PASSAGE)]
Markup = Annotated[
    Literal["auto", "latex", "markdown"],
    Meta(description="Format of the text; `auto` treats text with a backslash as LaTeX."),
]
Choose = Annotated[bool, Meta(description="Use the language model.")]
Count = Annotated[int, Meta(ge=1, le=MAX_PAPERS, description="Number of papers.")]
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
    keywords: tuple[str, ...] = ()
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
    """The fields of a `Paper` from a record; `cited` is its known number of citations."""
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
        "keywords": work.keywords,
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
    """Each paper of a list with its known number of citations."""
    return zip(papers, engine.citations([one.work.id for one in papers]), strict=True)


def paper_of(work: Work, *, abstract: bool = False, key: str = "") -> Paper:
    """The record in the form for clients."""
    return Paper(**fields_of(work, abstract=abstract), key=key)


def found_paper(
    hit: Hit, *, abstract: bool = False, key: str = "", typed: str = "", cited: int = 0
) -> Paper:
    """The record of a search hit in the form for clients, with its evidence; `typed`: the searched
    words."""
    fields = fields_of(hit.work, abstract=abstract, cited=cited)
    return Paper(**fields, key=key or hit.key, reason=reason(hit, typed), why=why(hit))


# Records by id, with the requested texts.

Form = Literal["bibtex", "csl", "reference"]
Forms = Annotated[
    tuple[Form, ...], Meta(max_length=3, description="The formats of each paper to include.")
]
StyleName = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9-]*$",
        max_length=120,
        description="Name of the CSL style for `reference`, such as apa or ieee; default: the "
        "user's.",
    ),
]


class PapersRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Names of records."""

    ids: Annotated[
        tuple[Id, ...],
        Meta(min_length=1, max_length=MAX_PAPERS, description="Ids, DOIs or arXiv ids."),
    ]
    forms: Forms = ()
    style: StyleName = ""


class PapersAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The records that there are, in the order in which they were asked for."""

    papers: tuple[Record, ...]
    unknown_ids: Annotated[
        tuple[str, ...], Meta(description="Names without a record in the library.")
    ] = ()


class PaperRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The name of a record."""

    id: Annotated[str, Meta(min_length=1, description="An id, a DOI or an arXiv id.")]
    forms: Forms = ()
    style: StyleName = ""


@operation("Records by id, DOI or arXiv id, as BibTeX, CSL-JSON or formatted")
def get_papers(service: Service, request: PapersRequest, cancel: Cancel) -> PapersAnswer:
    """Records by id, DOI or arXiv id; with `forms` also as a BibTeX entry, as CSL-JSON, or printed
    in a CSL style. Keys of BibTeX entries in one answer are distinct."""
    held, unknown = held_of(service, request.ids)
    return PapersAnswer(
        papers=tuple(records(held, request.forms, request.style, service)),
        unknown_ids=tuple(unknown),
    )


@operation("One record, by id in the path")
def get_paper(service: Service, request: PaperRequest, cancel: Cancel) -> Record:
    """One record by its id, DOI or arXiv id, unescaped in the URL."""
    work = work_named(service.engine, request.id)
    (record,) = records([work], request.forms, request.style, service)
    return record


def held_of(service: Service, ids: Sequence[str]) -> tuple[list[Work], list[str]]:
    """The records with these ids, and the ids without one. Raises `CitewellError` without a
    library."""
    works = works_named(service.engine, ids)
    held = [work for work in works if work is not None]
    if not held:
        need_library(service.engine)
    return held, [name for name, work in zip(ids, works, strict=True) if work is None]


def records(
    works: Sequence[Work], forms: Collection[Form], style: str, service: Service
) -> list[Record]:
    """The works in the form for clients, with their texts. Raises `CitewellError` for an unknown
    style."""
    texts = texts_of(works, forms, style, service.options)
    cited = service.engine.citations([work.id for work in works])
    return [
        Record(
            **fields_of(work, abstract=True, cited=cited[n]),
            **{form: given[n] for form, given in texts.items()},
        )
        for n, work in enumerate(works)
    ]


def texts_of(
    works: Sequence[Work], forms: Collection[Form], style: str, options: Options
) -> dict[str, Sequence[Any]]:
    """The texts of the works by form. Raises `CitewellError` for an unknown style."""
    texts: dict[str, Sequence[Any]] = {}
    if "bibtex" in forms:
        texts["bibtex"] = paper_texts(works, "bibtex", options)
    if "csl" in forms:
        texts["csl"] = [csl_of_work(work) for work in works]
    if "reference" in forms:
        texts["reference"] = paper_texts(works, "reference", options, style)
    return texts
