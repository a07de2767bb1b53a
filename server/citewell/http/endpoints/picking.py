"""One paper for a place, by the language model that the user named."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell.features.citing.named_works import all_named
from citewell.http.contract import LONG_SECONDS, Endpoint, Service, public_problems
from citewell.http.endpoints.finding import NO_PLACE
from citewell.http.wire import MAX_PAPERS, SUFFIXES, Count, Id, Markup, Paper, Passage, found_paper
from citewell.model import Hit, Problem, SearchResult
from citewell.model.cancel import Cancel
from citewell.model.llm import Picked
from citewell.usecases.find import choose, passage_queries, status_of, suffix_of


class PickRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passage with a place, and the papers to choose from."""

    text: Passage
    markup: Markup = "auto"
    candidates: Annotated[
        tuple[Id, ...],
        Meta(max_length=MAX_PAPERS, description="Candidates, best first; default: from a search."),
    ] = ()
    k: Annotated[
        Count, Meta(description="Number of candidates to search for, if none are given.")
    ] = 10


class PickAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`chosen`: by the model. `none_fits`: the model found none fitting. `ranked`: the model was
    not asked or gave no answer, `problems` says why, and the first candidate stands."""

    status: Literal["chosen", "none_fits", "ranked", "nothing_found", "not_checked"]
    paper: Paper | None = None
    by: Annotated[Literal["model", "ranker", ""], Meta(description="Who chose the paper.")] = ""
    reason: Annotated[str, Meta(description="The model's words, verbatim.")] = ""
    candidates: Annotated[tuple[Paper, ...], Meta(description="The chosen one first.")] = ()
    of: Annotated[int, Meta(description="How many candidates the model was shown.")] = 0
    model: str = ""
    program: Annotated[str, Meta(description="The prompt version: pick@builtin.")] = ""
    problems: tuple[Problem, ...] = ()


def pick(service: Service, request: PickRequest, cancel: Cancel) -> PickAnswer:
    """Which paper the first place of a passage should cite. The model chooses among records and
    cannot name another; where it fails or none is named, the first candidate stands, and the answer
    says so."""
    queries = passage_queries(
        request.text, SUFFIXES.get(request.markup) or suffix_of(request.text), service.options
    )
    if not queries:
        return PickAnswer(status="nothing_found", problems=public_problems((NO_PLACE,)))
    query = queries[0]
    problems: list[Problem] = [] if len(queries) == 1 else [_MANY]
    if request.candidates:
        works = {work.id: work for work in all_named(service.engine, request.candidates)}
        result = SearchResult(hits=tuple(Hit(work, 0.0) for work in works.values()))
    else:
        result = service.engine.find(query, request.k, tier="deep", cancel=cancel)
        if not result.hits:
            unsure = status_of([result]) == "not_checked"
            problems += [*result.problems, *result.dropped]
            return PickAnswer(
                status="not_checked" if unsure else "nothing_found",
                problems=public_problems(problems),
            )
    may = service.options.llm.pick or service.options.llm.provider == "none"
    found = choose(service.engine, query, result, pick=may, cancel=cancel)
    problems += found.problems if may else (*found.problems, _MAY_NOT)
    picked = found.picked or Picked(work=result.hits[0].work.id)
    papers = tuple(found_paper(hit) for hit in found.hits)
    return PickAnswer(
        status="none_fits" if found.none_fits else "chosen" if found.by_model else "ranked",
        paper=None if found.none_fits else papers[0],
        by=picked.by,
        reason=picked.reason,
        candidates=papers,
        of=picked.of,
        model=picked.model,
        program=picked.program,
        problems=public_problems(problems),
    )


_MANY = Problem(
    "places-left-out",
    "Only the first place of the passage was used.",
    "Keep one [CITATION] in it, or use /v1/find.",
)
_MAY_NOT = Problem(
    "llm-off",
    "A language model is configured, but `llm.pick` is off.",
    "Set `llm.pick` to true to allow it.",
)

PICK = Endpoint(
    name="pick",
    method="POST",
    path="/v1/pick",
    summary="One paper for a place, chosen by the configured language model",
    request=PickRequest,
    response=PickAnswer,
    answer=pick,
    queue="model",
    seconds=LONG_SECONDS,
)
