"""A map of papers: how they cite each other and which are alike."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from citewell.features.citing.named_works import all_named
from citewell.http.contract import Endpoint, Service, public_problems
from citewell.http.wire import Id, Paper, fields_of
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.usecases.paper_map import MAX_PAPERS, MapLink, paper_map


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


MAP = Endpoint(
    name="map",
    method="POST",
    path="/v1/map",
    summary="How papers cite each other, and which are alike",
    request=MapRequest,
    response=MapAnswer,
    answer=map_papers,
    queue="search",
)
