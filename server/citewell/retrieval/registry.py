"""The retrievers over a library: one row each, in the order of their evidence.

Each further encoder in the settings is also a row. Rows import nothing heavy: front ends read the
labels, builds of a library the index builders.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.options import Options
from citewell.retrieval.encoders.registry import FURTHER, further_name

if TYPE_CHECKING:
    from citewell.corpus.layout import IndexBuilder
    from citewell.retrieval.contract import Retriever
    from citewell.retrieval.opening import Opening


class RetrieverSpec(Struct, frozen=True, kw_only=True):
    """The opening, switch and label of one retriever."""

    name: str
    """Its name in the evidence, the timings and the status of the engine."""
    label: str
    """The searched data, for a sentence: "Found by {label} (rank 1)"."""
    open: Callable[[Opening], Retriever | None]
    """Returns None if the library lacks the data. Raises `CitewellError` if it is broken."""
    option: str = ""
    """Its switch in the section `retrieval` of the settings; empty: none."""
    builder: Callable[[Options], IndexBuilder] | None = None
    """The builder of its index, if it has its own."""
    needs: str = ""
    """Another retriever with the vectors that it uses."""
    typed: bool = False
    """Whether it answers typed words only, for a ranker that can judge its candidates."""
    encoder: str = ""
    """The further encoder with the vectors that it searches. The ranker was trained without it."""
    check: Callable[[Opening], None] | None = None
    """For a row with `is_slow`: raises `CitewellError` if the library lacks the data."""
    is_slow: bool = False
    """Whether it is opened on a separate thread while others answer: a transformer takes seconds to
    load."""

    def is_on(self, options: Options) -> bool:
        """Whether the settings switch it on."""
        return not self.option or bool(getattr(options.retrieval, self.option))


def _over_backend(opening: Opening, found: Retriever) -> Retriever:
    """The retriever, over the back end if one is configured."""
    if not opening.options.library.url:
        return found
    from citewell.retrieval.backend.retrievers import over_backend

    return over_backend(opening, found)


def _bm25(opening: Opening) -> Retriever:
    terms = opening.terms()
    terms.mask = opening.mask
    return _over_backend(opening, terms)


def _bm25_builder(options: Options) -> IndexBuilder:
    from citewell.retrieval.bm25_build import Bm25Builder

    return Bm25Builder()


def _dense(opening: Opening) -> Retriever:
    from citewell.retrieval.dense import open_dense

    return _over_backend(opening, open_dense(opening))


def _dense_builder(options: Options) -> IndexBuilder:
    from citewell.retrieval.dense_build import DenseBuilder
    from citewell.retrieval.encoders.registry import load_encoder
    from citewell.retrieval.starter_vectors import starter_vectors

    encoder = load_encoder("citation")
    known = partial(starter_vectors, encoder) if options.library.starter else None
    return DenseBuilder(encoder, known=known, read=getattr(encoder, "read_works", None))


def _further(encoder: str, opening: Opening) -> Retriever:
    from citewell.retrieval.dense import open_further

    return open_further(opening, encoder)


def _check_further(encoder: str, opening: Opening) -> None:
    from citewell.retrieval.dense import check_vectors

    check_vectors(opening.library, further_name(encoder), encoder)


def _further_builder(encoder: str, options: Options) -> IndexBuilder:
    from citewell.retrieval.dense_build import DenseBuilder
    from citewell.retrieval.encoders.registry import load_encoder

    return DenseBuilder(load_encoder(encoder), name=further_name(encoder))


def _citation_context(opening: Opening) -> Retriever | None:
    from citewell.retrieval.citation_context import open_citation_context

    found = open_citation_context(opening)
    return None if found is None else _over_backend(opening, found)


def _full_text(opening: Opening) -> Retriever | None:
    from citewell.retrieval.full_text import open_full_text

    return open_full_text(opening)


def _exact_match(opening: Opening) -> Retriever | None:
    from citewell.retrieval.exact_match import open_exact_match

    return open_exact_match(opening)


def _criteria(opening: Opening) -> Retriever | None:
    from citewell.retrieval.criteria import open_criteria

    return open_criteria(opening)


RETRIEVERS = (
    RetrieverSpec(name="bm25", label="words", option="bm25", open=_bm25, builder=_bm25_builder),
    RetrieverSpec(
        name="dense",
        label="meaning",
        option="dense",
        open=_dense,
        builder=_dense_builder,
    ),
    RetrieverSpec(
        name="citation_context",
        label="how others cite",
        option="citation_context",
        open=_citation_context,
        needs="dense",
    ),
    RetrieverSpec(name="full_text", label="the text of your PDFs", open=_full_text),
    RetrieverSpec(
        name="exact_match",
        label="the title, author or year typed",
        open=_exact_match,
        typed=True,
    ),
    RetrieverSpec(
        name="criteria",
        label="the author, venue and year asked for",
        open=_criteria,
        typed=True,
    ),
)


def rows(options: Options) -> tuple[RetrieverSpec, ...]:
    """Every retriever for the settings: those of the table, and after the dense one a row for each
    further encoder."""
    further = [_row_of(encoder) for encoder in options.retrieval.further_encoders]
    place = next((n for n, row in enumerate(RETRIEVERS, 1) if row.name == "dense"), 0)
    return (*RETRIEVERS[:place], *further, *RETRIEVERS[place:])


def _row_of(encoder: str) -> RetrieverSpec:
    return RetrieverSpec(
        name=further_name(encoder),
        label=label(further_name(encoder)),
        open=partial(_further, encoder),
        builder=partial(_further_builder, encoder),
        encoder=encoder,
        check=partial(_check_further, encoder),
        is_slow=True,
    )


def label(name: str) -> str:
    """The label of the retriever with this name; empty if there is none."""
    if name.startswith(FURTHER):
        return f"meaning by {name.removeprefix(FURTHER).rpartition('--')[2]}"
    return next((row.label for row in RETRIEVERS if row.name == name), "")


def builders(options: Options) -> list[IndexBuilder]:
    """The index builders of the retrievers that are switched on."""
    return [row.builder(options) for row in rows(options) if row.builder and row.is_on(options)]
