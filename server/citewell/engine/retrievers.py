"""Opens the retrievers that the options name; one that cannot be opened is a problem, no more."""

from __future__ import annotations

import msgspec

from citewell.corpus import Library
from citewell.model import CitewellError, Problem
from citewell.options import Options
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.contract import Retriever
from citewell.retrieval.dense import DenseRetriever
from citewell.retrieval.encoders import load_encoder
from citewell.retrieval.filters import Filters


class Opened(msgspec.Struct, frozen=True):
    """What answers over a library."""

    retrievers: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name, in the order of their evidence."""
    encoder: str = ""
    problems: tuple[Problem, ...] = ()
    """Why a retriever that was asked for is missing."""


def open_retrievers(library: Library, options: Options) -> Opened:
    """BM25 and dense, each if it is switched on and can be opened."""
    retrievers: dict[str, Retriever] = {}
    problems: list[Problem] = []
    encoder = ""
    terms: Bm25Retriever | None = None
    try:
        terms = Bm25Retriever(library.segments)
    except CitewellError as error:
        if options.retrieval.bm25:
            problems.append(error.problem)
    mask = Filters(library.columns().year, terms)
    if terms is not None and options.retrieval.bm25:
        terms.mask = mask
        retrievers["bm25"] = terms
    if options.retrieval.dense:
        try:
            retrievers["dense"] = _open_dense(library, options.retrieval.encoder, mask)
            encoder = options.retrieval.encoder
        except CitewellError as error:
            problems.append(error.problem)
    return Opened(retrievers, encoder, tuple(problems))


def _open_dense(library: Library, name: str, mask: Filters) -> DenseRetriever:
    built = library.manifest.indexes.get("dense")
    if built is None:
        raise CitewellError(
            Problem(
                "dense-missing",
                "The library has no dense vectors.",
                "Run `citewell library build`, or set `retrieval.dense` to false.",
                path=str(library.path),
            )
        )
    if built.get("encoder") != name:
        raise _mismatch(library, f"the encoder {built.get('encoder')!r}, not of {name!r}")
    encoder = load_encoder(name)
    if built.get("weights") != encoder.fingerprint:
        raise _mismatch(library, f"another version of the encoder {name!r}")
    return DenseRetriever(library.segments, encoder, mask=mask)


def _mismatch(library: Library, what: str) -> CitewellError:
    return CitewellError(
        Problem(
            "encoder-mismatch",
            f"The library's dense vectors are those of {what}.",
            "Run `citewell library build` to make them anew.",
            path=str(library.path),
        )
    )
