"""Literature searches in passes, neighbours in the citation graph, and maps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from citewell.engine.contract import Engine
from citewell.features.citing.known_works import all_named
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.model.llm import Overview
from citewell.model.query import Direction, QueryPart
from citewell.operations.operation import Nothing, Service, operation, public_problems
from citewell.operations.papers import Choose, Id, Paper, fields_of, paper_of, with_citations
from citewell.operations.searching import AuthorName, VenueName, Weighing, Year, years_of
from citewell.usecases.explore import contract
from citewell.usecases.explore.contract import reason_text
from citewell.usecases.explore.passes import explore
from citewell.usecases.explore.steps import EMPTY
from citewell.usecases.find import (
    DIRECTIONS,
    MAX_PAPERS,
    MapLink,
    PaperRelation,
    paper_map,
    related_works,
)
from citewell.usecases.library_map import library_map, summary

Ids = Annotated[tuple[Id, ...], Meta(max_length=200)]
Size = Annotated[int, Meta(ge=1, le=contract.MAX_COUNT, description="Number of papers.")]


class ExploreRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question: words, an author, a venue, or papers to start from."""

    query: Annotated[
        str, Meta(max_length=contract.MAX_TEXT, description="A question or a topic.")
    ] = ""
    author: AuthorName = ""
    venue: VenueName = ""
    year_from: Annotated[Year | None, Meta(description="First year.")] = None
    year_to: Annotated[Year | None, Meta(description="Last year.")] = None
    kept: Annotated[Ids, Meta(description="Ids that answer the question, or to start from.")] = ()
    rejected: Annotated[Ids, Meta(description="Ids that do not; no edition is listed.")] = ()
    k: Size = 50
    rounds: Annotated[int, Meta(ge=0, le=contract.MAX_ROUNDS, description="0 is one search.")] = 1
    order: contract.Order = "auto"
    weights: Weighing = ""
    abstracts: Annotated[bool, Meta(description="Include the abstracts.")] = False
    online: Annotated[
        bool,
        Meta(description="Also list what the sources answer, if the settings let searches ask."),
    ] = True
    choose: Choose = True
    overview: Annotated[bool, Meta(description="Add the topics of the first 100 papers.")] = False


class ExploredPaper(Paper, frozen=True, kw_only=True, omit_defaults=True):
    """A paper with the passes that found it."""

    reasons: tuple[contract.ListingReason, ...] = ()
    editions: Annotated[
        tuple[str, ...], Meta(description="Ids of other records of the same work.")
    ] = ()
    relevance: Annotated[
        float | None,
        Meta(description="Probability that it answers the question; absent where not judged."),
    ] = None


class ExploreAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The list after a pass, best first."""

    status: Literal["found", "nothing_found", "nothing_asked"]
    papers: tuple[ExploredPaper, ...]
    passes: Annotated[
        tuple[contract.Pass, ...], Meta(description="The passes so far, the last one last.")
    ] = ()
    relevant: Annotated[
        int | None,
        Meta(description="Number of papers at the head judged relevant; absent where the papers "
             "are not judged."),
    ] = None  # fmt: skip
    ending: Annotated[
        contract.Ending, Meta(description="Empty while there are passes to come.")
    ] = ""
    understood: Annotated[
        tuple[QueryPart, ...], Meta(description="Parts of `query` that were understood.")
    ] = ()
    field: Annotated[
        str, Meta(description="Field of the question, or unclear: computing, biomedicine ...")
    ] = ""
    snapshot: Annotated[str, Meta(description="Of the library that was searched.")] = ""
    overview: Overview | None = None
    problems: tuple[Problem, ...] = ()


class RelatedRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Papers whose neighbours are wanted."""

    ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=50)]
    directions: Annotated[
        tuple[Direction, ...],
        Meta(max_length=3, description="What `ids` cite, what cites them, what is cited with "
             "them; default: all."),
    ] = ()  # fmt: skip
    year_from: Annotated[Year | None, Meta(description="First year.")] = None
    year_to: Annotated[Year | None, Meta(description="Last year.")] = None
    k: Size = 20


class RelatedPaper(Paper, frozen=True, kw_only=True, omit_defaults=True):
    """A paper with its links to the given ones."""

    links: tuple[PaperRelation, ...] = ()


class RelatedAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The papers with links to most of the given ones first."""

    status: Literal["found", "nothing_found", "not_known"]
    papers: tuple[RelatedPaper, ...]
    total: Annotated[int, Meta(description="How many the library holds.")] = 0
    not_known: Annotated[
        tuple[str, ...], Meta(description="Given papers of which no citation is known.")
    ] = ()
    problems: tuple[Problem, ...] = ()


@operation("A literature search in passes", queue="passage", in_parts=True)
def explore_papers(service: Service, request: ExploreRequest, cancel: Cancel) -> ExploreAnswer:
    """Search the literature in passes; the answer is the last list. With `Accept:
    application/jsonl` each pass is a line as it is made. Papers are records of the library or of a
    source that the user allowed."""
    if not any((request.query.strip(), request.author, request.venue, request.kept)):
        answer = ExploreAnswer(
            status="nothing_asked", papers=(), ending="complete", problems=(EMPTY,)
        )
        service.on_part(answer)
        return answer
    answer = ExploreAnswer(status="nothing_found", papers=())
    for found in passes_of(service, request, cancel):
        answer = _answer(found, service.engine, abstracts=request.abstracts)
        service.on_part(answer)
    return answer


def passes_of(
    service: Service, request: ExploreRequest, cancel: Cancel
) -> Iterator[contract.Exploration]:
    """The list after each pass."""
    sources = service.options.sources
    names = {*contract.ExploreQuery.__struct_fields__} & {*request.__struct_fields__}
    wanted: dict[str, Any] = {name: getattr(request, name) for name in names}
    wanted["online"] = request.online and bool(sources.allow) and sources.search
    wanted["model"] = request.choose
    query = contract.ExploreQuery(text=request.query, count=request.k, **wanted)
    return explore(service.engine, query, cancel=cancel)


@operation("Papers linked to others by citations", queue="search")
def related_papers(service: Service, request: RelatedRequest, cancel: Cancel) -> RelatedAnswer:
    """Follow citations, as far as the sources of the library record them and as they ship with
    Citewell. `not_known`: no citation of any of the papers is known."""
    works = all_named(service.engine, request.ids, service.options.bib.key_pattern)
    found = related_works(
        service.engine,
        works,
        request.k,
        directions=request.directions or DIRECTIONS,
        years=years_of(request.year_from, request.year_to),
        cancel=cancel,
    )
    status: Literal["found", "nothing_found", "not_known"] = "found"
    if not found.papers:
        status = "not_known" if len(found.unknown) == len(works) else "nothing_found"
    return RelatedAnswer(
        status=status,
        papers=tuple(
            RelatedPaper(**fields_of(one.work, cited=cited), links=one.links)
            for one, cited in with_citations(found.papers, service.engine)
        ),
        total=found.total,
        not_known=found.unknown,
        problems=public_problems(found.problems),
    )


def _answer(found: contract.Exploration, engine: Engine, *, abstracts: bool) -> ExploreAnswer:
    return ExploreAnswer(
        status="found" if found.papers else "nothing_found",
        papers=tuple(
            ExploredPaper(
                **fields_of(one.work, abstract=abstracts, cited=cited),
                reason=reason_text(one),
                reasons=one.reasons,
                editions=tuple(work.id for work in one.editions),
                relevance=None if one.relevance is None else round(one.relevance, 4),
            )
            for one, cited in with_citations(found.papers, engine)
        ),
        passes=found.passes,
        relevant=found.relevant,
        ending=found.ending,
        understood=found.understood.parts,
        field=found.field,
        snapshot=found.snapshot,
        overview=found.overview,
        problems=public_problems(found.problems),
    )


# The map of a whole library.


class MappedCommunity(msgspec.Struct, frozen=True, kw_only=True):
    """Works of a library on one subject."""

    words: Annotated[tuple[str, ...], Meta(description="Words of its titles, rare in others.")]
    works: int
    key_papers: Annotated[tuple[Paper, ...], Meta(description="Those that most works here cite.")]


class MappedGap(msgspec.Struct, frozen=True, kw_only=True):
    """A work that works of the library cite and that it lacks."""

    paper: Paper
    cited_by: Annotated[int, Meta(description="Number of works of the library that cite it.")]


class LibraryMapAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A library as a whole."""

    summary: Annotated[str, Meta(description="Its numbers in a sentence.")] = ""
    communities: tuple[MappedCommunity, ...] = ()
    gaps: tuple[MappedGap, ...] = ()
    picture: Annotated[
        str, Meta(description="SVG without scripts: years, a band for each community.")
    ] = ""
    problems: tuple[Problem, ...] = ()


@operation("The whole library: communities, key papers, gaps and a picture", queue="passage")
def map_library(service: Service, request: Nothing, cancel: Cancel) -> LibraryMapAnswer:
    """The user's library, without the starter library below it unless it is empty. Citations are
    those of its sources and those that ship."""
    found = library_map(service.engine)
    return LibraryMapAnswer(
        summary=summary(found) if found.works else "",
        communities=tuple(
            MappedCommunity(
                words=one.words, works=one.works, key_papers=tuple(map(paper_of, one.key_papers))
            )
            for one in found.communities
        ),
        gaps=tuple(
            MappedGap(paper=paper_of(one.work), cited_by=one.cited_by) for one in found.gaps
        ),
        picture=found.picture,
        problems=public_problems(found.problems),
    )


# Maps: citations between papers, and similarity.


class MapRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Papers that a map shows."""

    ids: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=MAX_PAPERS)]
    k: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_PAPERS,
            description="Papers linked to the given ones are added up to this number.",
        ),
    ] = 40


class MapPaper(Paper, frozen=True, kw_only=True, omit_defaults=True):
    """A paper of a map."""

    group: Annotated[
        int, Meta(description="Papers of like content have the same number; -1: not known.")
    ] = -1
    given: Annotated[bool, Meta(description="Whether its id was in the request.")] = False


class MapAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The papers and the links between them."""

    papers: tuple[MapPaper, ...]
    links: tuple[MapLink, ...] = ()
    problems: tuple[Problem, ...] = ()


@operation("How papers cite each other, and which are alike", queue="search")
def map_papers(service: Service, request: MapRequest, cancel: Cancel) -> MapAnswer:
    """The given papers and papers linked to them, who cites whom among them, and which are alike,
    as far as the library knows their citations."""
    works = all_named(service.engine, request.ids)
    found = paper_map(service.engine, works, request.k, cancel=cancel)
    given = {work.id for work in works}
    return MapAnswer(
        papers=tuple(
            MapPaper(**fields_of(work), group=group, given=work.id in given)
            for work, group in zip(found.works, found.groups, strict=True)
        ),
        links=found.links,
        problems=public_problems(found.problems),
    )
