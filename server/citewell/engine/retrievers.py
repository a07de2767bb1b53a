"""Opens the retrievers that the options name; one that cannot be opened is a problem, no more."""

from __future__ import annotations

import logging
from functools import cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus import Library
from citewell.corpus import columns as columns_module
from citewell.corpus.aliases import NO_ALIASES, Aliases, read_aliases
from citewell.corpus.citing import WORDS
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.graph import CitationGraph
from citewell.corpus.priors import joined, read_priors
from citewell.engine.late import LateRetriever, unexpected
from citewell.model import CitewellError, Problem
from citewell.options import Options
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.citation_context import CitationContextRetriever
from citewell.retrieval.contract import Retriever
from citewell.retrieval.dense import DenseRetriever
from citewell.retrieval.encoders import load_encoder
from citewell.retrieval.encoders.static import WEIGHTS
from citewell.retrieval.exact_match import ExactMatchRetriever
from citewell.retrieval.facets import NAME as FACETS
from citewell.retrieval.facets import Facets
from citewell.retrieval.filters import Filters
from citewell.retrieval.passages import joined_passages, read_passages

logger = logging.getLogger(__name__)

PRIORS = WEIGHTS / "priors.npz"
PASSAGES = WEIGHTS / "passages.npz"
ALIASES = WEIGHTS / "aliases.tsv"
QUICK_ENCODER = "static"
"""Loads in a tenth of a second; any other encoder loads on a thread while BM25 answers."""


class Opened(msgspec.Struct, frozen=True):
    """What answers over a library."""

    retrievers: dict[str, Retriever] = msgspec.field(default_factory=dict)
    """By name, in the order of their evidence."""
    encoder: str = ""
    problems: tuple[Problem, ...] = ()
    """Why a retriever that was asked for is missing."""
    columns: LibraryColumns | None = None
    """What the ranker reads; None for a library built without it."""
    filters: Filters | None = None
    """Says which papers pass the filters of a query."""
    named: ExactMatchRetriever | None = None
    """Brings what typed words name to the ranker; no list of its own without one."""
    aliases: Aliases = NO_ALIASES
    """Names by which others cite papers."""


def open_retrievers(library: Library, options: Options) -> Opened:
    """BM25 and dense, each if it is switched on and can be opened."""
    retrievers: dict[str, Retriever] = {}
    problems: list[Problem] = []
    terms: Bm25Retriever | None = None
    try:
        terms = Bm25Retriever(library.segments)
    except CitewellError as error:
        if options.retrieval.bm25:
            problems.append(error.problem)
    except Exception as error:
        logger.exception("BM25 cannot be opened")
        problems.append(unexpected("bm25", error))
    mask = Filters(
        library.columns().year, terms, _open_facets(library, problems), live_rows(library)
    )
    if terms is not None and options.retrieval.bm25:
        terms.mask = mask
        retrievers["bm25"] = terms
    encoder = options.retrieval.encoder if options.retrieval.dense else ""
    if encoder == QUICK_ENCODER:
        try:
            retrievers["dense"] = _open_dense(library, encoder, mask)
        except CitewellError as error:
            problems.append(error.problem)
        except Exception as error:
            logger.exception("The dense retriever cannot be opened")
            problems.append(unexpected("dense", error))
    elif encoder:
        retrievers["dense"] = LateRetriever("dense", lambda: _open_dense(library, encoder, mask))
    columns = _open_columns(library, problems)
    dense = retrievers.get("dense")
    if options.retrieval.cited and columns is not None and isinstance(dense, DenseRetriever):
        try:
            cited = _open_cited(library, columns, dense, mask)
            if cited is not None:
                retrievers["cited"] = cited
        except CitewellError as error:
            problems.append(error.problem)
        except Exception as error:
            logger.exception("The citation priors cannot be opened")
            problems.append(unexpected("cited", error))
    used = encoder if "dense" in retrievers else ""
    aliases = _open_aliases(problems)
    named = _open_named(library, columns, terms, retrievers.get("cited"), mask, aliases=aliases)
    return Opened(retrievers, used, tuple(problems), columns, mask, named, aliases)


@cache
def _shipped_aliases() -> Aliases:
    return read_aliases(ALIASES)


def _open_aliases(problems: list[Problem]) -> Aliases:
    try:
        return _shipped_aliases()
    except CitewellError as error:
        problems.append(error.problem)
        return NO_ALIASES


def _open_named(
    library: Library,
    columns: LibraryColumns | None,
    terms: Bm25Retriever | None,
    cited: Retriever | None,
    mask: Filters,
    *,
    aliases: Aliases,
) -> ExactMatchRetriever | None:
    if columns is None or terms is None:
        return None
    popularity = cited.popularity() if isinstance(cited, CitationContextRetriever) else None
    return ExactMatchRetriever(terms, columns, live_rows(library), popularity, aliases, mask=mask)


def _open_columns(library: Library, problems: list[Problem]) -> LibraryColumns | None:
    """None for a library built without them: then nothing is ranked by them."""
    if columns_module.NAME not in library.manifest.indexes:
        return None
    try:
        return LibraryColumns(library.segments)
    except CitewellError as error:
        problems.append(error.problem)
        return None


def _open_facets(library: Library, problems: list[Problem]) -> Facets | None:
    """None for a library built without them: filters then know surnames and short names only."""
    if FACETS not in library.manifest.indexes:
        return None
    try:
        return Facets(library.segments)
    except CitewellError as error:
        problems.append(error.problem)
        return None


def _open_cited(
    library: Library, columns: LibraryColumns, dense: DenseRetriever, mask: Filters
) -> CitationContextRetriever | None:
    """None when there are no priors of this encoder, neither shipped nor of the library's own."""
    parts = [read_priors(PRIORS)] if PRIORS.exists() else []
    parts = [part for part in parts if part.encoder == dense.encoder.fingerprint]
    fitting = [one for one in library.citing if one.use.encoder == dense.encoder.fingerprint]
    parts += [one.priors() for one in fitting]
    if not parts:
        return None
    priors = joined(parts)
    files = [PASSAGES, *(one.path / WORDS for one in fitting)]
    words = [read_passages(path) for path in files if path.exists()]
    passages = joined_passages(words) if words else None
    return CitationContextRetriever(
        priors, columns, dense, live_rows(library), mask=mask, passages=passages
    )


def open_graph(library: Library, columns: LibraryColumns) -> CitationGraph:
    """Who cites whom, of all that is known, whichever encoder its vectors are of. Raises
    `CitewellError` where it cannot be read."""
    parts = [read_priors(PRIORS)] if PRIORS.exists() else []
    parts += [one.priors() for one in library.citing]
    return CitationGraph(parts, columns, live_rows(library))


def live_rows(library: Library) -> NDArray[np.bool_]:
    """Of each row whether it stands."""
    live = np.ones(library.rows, np.bool_)
    for segment in library.segments:
        if segment.dead is not None:
            live[segment.base : segment.base + segment.count][segment.dead] = False
    return live


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
        raise _mismatch(library, f"the encoder {built.get('encoder')!r}, not {name!r}")
    encoder = load_encoder(name)
    if built.get("weights") != encoder.fingerprint:
        raise _mismatch(library, f"another version of the encoder {name!r}")
    return DenseRetriever(library.segments, encoder, mask=mask)


def _mismatch(library: Library, what: str) -> CitewellError:
    return CitewellError(
        Problem(
            "encoder-mismatch",
            f"The library's dense vectors come from {what}.",
            "Run `citewell library build` to rebuild them.",
            path=str(library.path),
        )
    )
