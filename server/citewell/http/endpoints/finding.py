"""Papers to cite in a passage."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from citewell.documents.bib.reader import parse_bib
from citewell.documents.project.cited_works import reference_of
from citewell.features.citing.known_works import KnownWorks
from citewell.features.text.model_choice import picks
from citewell.http.contract import LONG_SECONDS, Endpoint, Service, public_problems
from citewell.http.wire import (
    SUFFIXES,
    BibText,
    Confidence,
    Count,
    Markup,
    Paper,
    Passage,
    found_paper,
)
from citewell.model import CitingPaper, Problem, Query
from citewell.model.bib import BibFile
from citewell.model.cancel import Cancel
from citewell.usecases.find import (
    MAX_PLACES,
    Status,
    find_papers,
    passage_queries,
    status_of,
    suffix_of,
)

MAX_REFERENCES = 500
"""Entries of a .bib from which the order learns what the paper is about."""


class FindRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passage, and what is known of the paper that it is from."""

    text: Passage
    markup: Markup = "auto"
    k: Count = 5
    bib: BibText = ""
    title: Annotated[str, Meta(max_length=2_000, description="Of the paper.")] = ""
    abstract: Annotated[str, Meta(max_length=20_000, description="Of the paper.")] = ""
    abstracts: Annotated[bool, Meta(description="Include the abstracts.")] = False
    choose: Annotated[
        bool, Meta(description="Let the language model choose, if one is configured.")
    ] = True


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One place that wants a citation."""

    sentence: str
    papers: tuple[Paper, ...]
    confidence: Confidence
    pick: Annotated[
        str, Meta(description="The id of the first paper, if it is certain enough.")
    ] = ""
    chosen: Annotated[
        str, Meta(description="The language model's choice and reason, if it chose.")
    ] = ""


class FindAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The places of a passage, in order."""

    status: Status
    places: tuple[Place, ...]
    problems: tuple[Problem, ...] = ()


def find(service: Service, request: FindRequest, cancel: Cancel) -> FindAnswer:
    """For each [CITATION] in a passage the papers to cite, best first. `nothing_found`: all was
    searched, and holds no such paper; `not_checked`: a part of the search did not answer."""
    bib = parse_bib(request.bib, "references.bib") if request.bib else BibFile("", "")
    queries = passage_queries(
        request.text,
        SUFFIXES.get(request.markup) or suffix_of(request.text),
        service.options,
        CitingPaper(
            title=request.title,
            abstract=request.abstract,
            references=tuple(reference_of(one) for one in bib.entries[:MAX_REFERENCES]),
        ),
    )
    found = find_papers(
        service.engine,
        queries,
        request.k,
        pick=request.choose and picks(service.options),
        progress=service.progress,
        cancel=cancel,
    )
    status = status_of([one.result for one in found])
    known = KnownWorks((bib,))
    problems = [problem for one in found for problem in one.problems]
    if not queries:
        problems.append(NO_PLACE)
    places: list[Place] = []
    for one in found:
        papers: list[Paper] = []
        for hit in one.hits:
            held = known.find(hit.work)
            key = held[1].key if held is not None else ""
            papers.append(found_paper(hit, abstract=request.abstracts, key=key))
        places.append(
            Place(
                sentence=sentence_of(one.query),
                papers=tuple(papers),
                confidence=round(one.confidence, 3),
                pick=one.sure_id(service.options),
                chosen=one.who,
            )
        )
    if len(queries) == MAX_PLACES:
        problems.append(_MANY)
    return FindAnswer(status=status, places=tuple(places), problems=public_problems(problems))


def sentence_of(query: Query) -> str:
    """The sentence of a place, or the words that stand for one."""
    return query.sentence or query.text


NO_PLACE = Problem(
    "request-invalid", "The text contains no place for a citation.", "Mark it with [CITATION]."
)
_MANY = Problem(
    "places-left-out",
    f"Only the first {MAX_PLACES} places of a passage are used.",
    "Send the rest in another request.",
)

FIND = Endpoint(
    name="find",
    method="POST",
    path="/v1/find",
    summary="Papers to cite in a passage",
    request=FindRequest,
    response=FindAnswer,
    answer=find,
    queue="passage",
    seconds=LONG_SECONDS,
)
