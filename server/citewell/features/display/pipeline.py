"""How a search is answered as the settings say: which parts are on, and how long each took."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from citewell.engine.contract import EngineStatus
from citewell.options import Options
from citewell.ranking.shipped_cross_encoder import is_used
from citewell.retrieval.registry import Row, rows

_CROSS_ENCODER, _MODEL = "cross-encoder", "llm"
"""In the timings of a search."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a search."""

    name: str
    """Unique, for the nodes of a graph."""
    title: str
    detail: str = ""
    is_on: bool = True
    milliseconds: float | None = None
    """In the last search; None where it took no part or its time is not known."""


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of a search: the retrievers side by side, then one stage after the other."""

    retrievers: tuple[Part, ...]
    stages: tuple[Part, ...]
    sources: Part
    """Asked beside the library; what they find joins the list."""
    total: float | None = None
    """Milliseconds of the last search."""


def pipeline(
    options: Options, status: EngineStatus | None = None, timings: Mapping[str, float] | None = None
) -> Pipeline:
    """The steps as configured; with the engine's `status`, what is open, and with the `timings` of
    a search, how long each took."""
    spent = timings or {}
    return Pipeline(
        retrievers=tuple(_retriever(row, options, status, spent) for row in rows(options)),
        stages=_stages(options, status, spent),
        sources=_sources(options),
        total=spent.get("total"),
    )


def _retriever(
    row: Row, options: Options, status: EngineStatus | None, spent: Mapping[str, float]
) -> Part:
    is_on = row.is_on(options)
    # Rows without a switch are open where the library has what they need.
    if status is not None and status.library:
        is_on = row.name in status.retrievers or row.name in spent or (is_on and row.typed)
    title = row.name.replace("_", " ").replace("bm25", "BM25")
    return Part(
        name=row.name.replace("-", "_").replace(":", "_").replace("/", "_"),
        title=title[:1].upper() + title[1:],
        detail=row.label,
        is_on=is_on,
        milliseconds=spent.get(row.name),
    )


def _stages(
    options: Options, status: EngineStatus | None, spent: Mapping[str, float]
) -> tuple[Part, ...]:
    found, llm = options.retrieval, options.llm
    fusion = f"reciprocal ranks (k={found.rrf_k})" if found.fusion == "rrf" else "best score"
    cross = found.cross_encoder.rpartition("/")[2] if is_used(found.cross_encoder) else ""
    roles = [
        name
        for name, is_on in (
            ("writes queries", llm.reformulate),
            (f"reranks ({llm.rerank})", llm.rerank != "none"),
            ("picks", llm.pick),
            ("verifies", llm.verify),
        )
        if is_on
    ]
    has_model = llm.provider != "none"
    ranker = status.ranker if status is not None and status.library else found.ranker
    return (
        Part(
            name="fusion",
            title="Fusion",
            detail=fusion,
            milliseconds=spent.get("fusion"),
        ),
        Part(
            name="ranker",
            title="Ranker",
            detail="trees over evidence" if ranker == "learned" else "the fusion's order",
            is_on=ranker == "learned",
            milliseconds=spent.get("ranking"),
        ),
        Part(
            name="cross_encoder",
            title="Cross-encoder",
            detail=cross or "none",
            is_on=bool(cross),
            milliseconds=spent.get(_CROSS_ENCODER),
        ),
        Part(
            name="model",
            title="Language model",
            detail=f"{llm.model or llm.provider}: {', '.join(roles)}" if has_model else "none",
            is_on=has_model,
            milliseconds=spent.get(_MODEL),
        ),
    )


def _sources(options: Options) -> Part:
    allowed = options.sources.allow if options.sources.search else ()
    return Part(
        name="sources",
        title="Online sources",
        detail=", ".join(allowed) or "none allowed",
        is_on=bool(allowed),
    )
