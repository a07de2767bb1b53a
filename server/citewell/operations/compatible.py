"""Endpoints of earlier citation services, for their clients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell import __version__
from citewell.documents.bib.edit import new_bib_text
from citewell.documents.keys.pattern import make_key
from citewell.features.text.evidence import reason
from citewell.features.text.reference import paper_texts
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel
from citewell.operations.finding import NO_PLACE, FindRequest, found_places
from citewell.operations.operation import LONG_SECONDS, Nothing, Service, operation, public_problems
from citewell.operations.papers import Choose, Count, Markup, StyleName, fields_of
from citewell.usecases.find import (
    MAX_PASSAGE,
    Found,
    Status,
    status_of,
)

_TEXT = Meta(max_length=MAX_PASSAGE, description="A passage, with placeholders or without.")


class CitationRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text that wants citations; `sentence` and `context` are other names for `text`. An answer
    for a `context` has `results`, and else `citations`."""

    text: Annotated[str, _TEXT] = ""
    sentence: Annotated[str, _TEXT] = ""
    context: Annotated[str, _TEXT] = ""
    markup: Markup = "auto"
    k: Annotated[Count, Meta(description="Citations for each place.")] = 5
    style: StyleName = ""
    use_llm_reranker: Choose = True


class FormattedReference(msgspec.Struct, frozen=True, kw_only=True):
    """A reference in three forms."""

    apa: str
    mla: str
    bibtex: str


class CompatibleResult(msgspec.Struct, frozen=True, kw_only=True):
    """A paper to cite, as clients of a `context` read it."""

    citation: Annotated[str, Meta(description="A citation key, made by `bib.key_pattern`.")]
    score: Annotated[
        float | None,
        Meta(description="Probability that an author would cite it here, where it is known."),
    ]
    reasoning: Annotated[str, Meta(description="Why it is listed.")]
    formatted: FormattedReference


class CompatibleCitation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A paper to cite, as `/v1/find` has it, with a key and a formatted text."""

    key: Annotated[str, Meta(description="A citation key, made by `bib.key_pattern`.")]
    id: str
    source: Annotated[str, Meta(description="The records that it comes from.")]
    title: str
    place: Annotated[int, Meta(ge=1, description="The place in the text that it is for.")]
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    doi: str = ""
    confidence: Annotated[
        float | None,
        Meta(description="Probability that an author would cite it here, where it is known."),
    ] = None
    formatted: Annotated[str, Meta(description="The reference in a CSL style.")] = ""
    abstract: str = ""


class CitationAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The papers of all places, by place and rank."""

    status: Status
    citations: tuple[CompatibleCitation, ...] | None = None
    queries: Annotated[
        tuple[str, ...], Meta(description="The texts that the library was searched with.")
    ] = ()
    results: tuple[CompatibleResult, ...] | None = None
    num_results: int | None = None
    expanded_queries: Annotated[
        tuple[str, ...], Meta(description="The same as `queries`, beside `results`.")
    ] = ()
    problems: tuple[Problem, ...] = ()


class Corpus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The library that answers."""

    name: str = ""
    works: int = 0
    snapshot: Annotated[str, Meta(description="Changes when the library does.")] = ""


class HealthSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Whether searches are answered, and by what."""

    status: Annotated[
        Literal["ok", "no_library"], Meta(description="`no_library`: there are no papers.")
    ]
    version: str
    corpus: Corpus
    retrievers: tuple[str, ...]
    model: Annotated[str, Meta(description="The configured language model; empty: none.")]


_NAMES = ("text", "sentence", "context")
_GIVEN = {"minLength": 1}
_EXACTLY_ONE = {"oneOf": [{"required": [name], "properties": {name: _GIVEN}} for name in _NAMES]}


@operation(
    "Papers to cite in a text, as a flat list",
    queue="passage",
    seconds=LONG_SECONDS,
    schema_keywords=_EXACTLY_ONE,
)
def find_citation(service: Service, request: CitationRequest, cancel: Cancel) -> CitationAnswer:
    """The papers to cite in a text, flat, with a key and a formatted reference each. `/v1/find`
    has the same by place, and more."""
    given = [text for text in (request.text, request.sentence, request.context) if text]
    if len(given) != 1:
        raise CitewellError(
            Problem(
                "request-invalid",
                "Give one of `text`, `sentence` and `context`.",
                "Send one of them.",
            )
        )
    passage = FindRequest(
        text=given[0], markup=request.markup, k=request.k, choose=request.use_llm_reranker
    )
    found = found_places(service, passage, cancel)
    problems = [problem for one in found for problem in one.problems]
    if not found:
        problems.append(NO_PLACE)
    taken: set[str] = set()
    status = status_of([one.result for one in found])
    queries = tuple(dict.fromkeys(text for one in found for text in one.queries))
    if request.context:
        results = tuple(one for place in found for one in _results(place, taken, service))
        return CitationAnswer(
            status=status,
            results=results,
            num_results=len(results),
            expanded_queries=queries,
            problems=public_problems(problems),
        )
    return CitationAnswer(
        status=status,
        citations=tuple(
            citation
            for place, one in enumerate(found, 1)
            for citation in _citations(one, place, request.style, taken, service)
        ),
        queries=queries,
        problems=public_problems(problems),
    )


def _results(found: Found, taken: set[str], service: Service) -> list[CompatibleResult]:
    """The results of one place; their keys join those that are `taken`."""
    works = [hit.work for hit in found.hits]
    apa, mla = (paper_texts(works, "reference", service.options, one) for one in ("apa", "mla"))
    made: list[CompatibleResult] = []
    for rank, hit in enumerate(found.hits):
        bibtex, key = new_bib_text(hit.work, None, service.options.bib, taken)
        taken |= {key, key.lower()}
        chosen = found.by_model and rank == 0
        made.append(
            CompatibleResult(
                citation=key,
                score=found.confidences[rank],
                reasoning=found.who if chosen else reason(hit, found.query.text),
                formatted=FormattedReference(apa=apa[rank], mla=mla[rank], bibtex=bibtex),
            )
        )
    return made


def _citations(
    found: Found, place: int, style: str, taken: set[str], service: Service
) -> list[CompatibleCitation]:
    """The citations of one place; their keys are added to `taken`."""
    options = service.options
    works = [hit.work for hit in found.hits]
    formatted = paper_texts(works, "reference", options, style)
    made: list[CompatibleCitation] = []
    for rank, hit in enumerate(found.hits):
        key = make_key(hit.work, options.bib.key_pattern, taken)
        taken |= {key, key.lower()}
        fields = fields_of(hit.work, abstract=True)
        made.append(
            CompatibleCitation(
                key=key,
                place=place,
                confidence=found.confidences[rank],
                formatted=formatted[rank],
                **{name: fields[name] for name in _COPIED},
            )
        )
    return made


_COPIED = ("id", "source", "title", "authors", "year", "venue", "doi", "abstract")


@operation("Whether searches are answered, and by what")
def health_summary(service: Service, request: Nothing, cancel: Cancel) -> HealthSummary:
    """Whether there is a library with papers, and which retrievers and language model are in use.
    `/v1/health` says whether the server responds, and `/v1/status` has more."""
    found = service.engine.status()
    return HealthSummary(
        status="ok" if found.works else "no_library",
        version=__version__,
        corpus=Corpus(name=Path(found.library).name, works=found.works, snapshot=found.snapshot),
        retrievers=found.retrievers,
        model=found.llm,
    )
