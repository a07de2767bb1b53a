"""Records by id, DOI or arXiv identifier, with the texts that other programs want."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from citewell.features.citing.named_works import need_library, work_named, works_named
from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.paper_text import paper_texts
from citewell.http.contract import Endpoint, Service
from citewell.http.wire import MAX_PAPERS, Id, Record, fields_of
from citewell.model import Work
from citewell.model.cancel import Cancel
from citewell.options import Options

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

    ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=MAX_PAPERS)]
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


def get_papers(service: Service, request: PapersRequest, cancel: Cancel) -> PapersAnswer:
    """Records by id, DOI or arXiv id; with `forms` also as a BibTeX entry, as CSL-JSON, or printed
    in a CSL style. Keys of BibTeX entries in one answer are distinct."""
    works = works_named(service.engine, request.ids)
    held = [work for work in works if work is not None]
    if not held:
        need_library(service.engine)
    unknown = [name for name, work in zip(request.ids, works, strict=True) if work is None]
    return PapersAnswer(
        papers=tuple(records(held, request.forms, request.style, service)),
        unknown_ids=tuple(unknown),
    )


def get_paper(service: Service, request: PaperRequest, cancel: Cancel) -> Record:
    """One record by its id, DOI or arXiv id, unescaped in the URL."""
    work = work_named(service.engine, request.id)
    (record,) = records([work], request.forms, request.style, service)
    return record


def records(
    works: Sequence[Work], forms: Collection[Form], style: str, service: Service
) -> list[Record]:
    """The works as they travel, with their texts. Raises `CitewellError` for an unknown style."""
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
    """By form the text of each work. Raises `CitewellError` for an unknown style."""
    texts: dict[str, Sequence[Any]] = {}
    if "bibtex" in forms:
        texts["bibtex"] = paper_texts(works, "bibtex", options)
    if "csl" in forms:
        texts["csl"] = [csl_of_work(work) for work in works]
    if "reference" in forms:
        texts["reference"] = paper_texts(works, "reference", options, style)
    return texts


GET_PAPERS = Endpoint(
    name="get_papers",
    method="POST",
    path="/v1/papers",
    summary="Records by id, DOI or arXiv id, as BibTeX, CSL-JSON or formatted",
    request=PapersRequest,
    response=PapersAnswer,
    answer=get_papers,
)
GET_PAPER = Endpoint(
    name="get_paper",
    method="GET",
    path="/v1/papers/{id}",
    summary="One record, by id in the path",
    request=PaperRequest,
    response=Record,
    answer=get_paper,
)
