"""The status of the server and the library behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell import __version__
from citewell.corpus.card import LibraryCoverage
from citewell.features.pipeline import Pipeline, pipeline, svg
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.model.llm import Budget
from citewell.operations.operation import Nothing, Service, operation, public_problems


class StatusAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parts that answer, and the problems of those that do not."""

    version: str
    ready: Annotated[bool, Meta(description="Whether there is a library with papers.")]
    library: Annotated[str, Meta(description="Name of the library.")] = ""
    works: int = 0
    covers: Annotated[
        tuple[LibraryCoverage, ...], Meta(description="What each library that is searched covers.")
    ] = ()
    snapshot: Annotated[str, Meta(description="Changes when the library does.")] = ""
    retrievers: tuple[str, ...] = ()
    encoder: str = ""
    ranker: str = ""
    cross_encoder: str = ""
    sources: Annotated[tuple[str, ...], Meta(description="The allowed scholarly sources.")] = ()
    llm: Annotated[str, Meta(description="The configured language model.")] = ""
    explores: Annotated[
        bool, Meta(description="Whether the language model takes part in literature searches.")
    ] = False
    budget: Annotated[Budget, Meta(description="Today's cost of the model.")] = Budget()
    read_only: Annotated[bool, Meta(description="Whether this is a public demo.")] = False
    problems: tuple[Problem, ...] = ()


class PipelineAnswer(Pipeline, frozen=True, kw_only=True, omit_defaults=True):
    """The steps of a search with their times in the last one, and a picture of them."""

    svg: Annotated[str, Meta(description="The picture; it has no script and loads nothing.")]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The server answers."""

    status: Literal["ok"] = "ok"
    version: str = __version__


@operation("Library, retrievers, sources and language model")
def status(service: Service, request: Nothing, cancel: Cancel) -> StatusAnswer:
    """Which library, retrievers and models answer, and what is wrong with those that do not."""
    found = service.engine.status()
    return StatusAnswer(
        version=__version__,
        ready=found.works > 0,
        library=Path(found.library).name,
        works=found.works,
        covers=found.covers,
        snapshot=found.snapshot,
        retrievers=found.retrievers,
        encoder=found.encoder,
        ranker=found.ranker,
        cross_encoder=found.cross_encoder,
        sources=service.options.sources.allow,
        llm=found.llm,
        explores=found.explores,
        budget=found.budget,
        read_only=service.options.serve.read_only,
        problems=public_problems(found.problems),
    )


@operation("The steps of a search")
def search_pipeline(service: Service, request: Nothing, cancel: Cancel) -> PipelineAnswer:
    """Which retrievers and stages are on, and how many milliseconds each took in the last search
    that was answered; no times before the first one."""
    status = service.engine.status()
    found = pipeline(service.options, status, status.timings)
    return PipelineAnswer(**msgspec.structs.asdict(found), svg=svg(found))


@operation("Health check", at_once=True)
def health(service: Service, request: Nothing, cancel: Cancel) -> Health:
    """Answers as long as the server does; asks neither the library nor anybody else."""
    return Health()
