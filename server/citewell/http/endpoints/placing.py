"""Where citations belong in a passage that marks no place."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import msgspec
from msgspec import Meta

from citewell.documents.scan import scan_document
from citewell.features.checking.uncited import reports_others, uncited_sentences
from citewell.http.contract import Endpoint, Service
from citewell.http.wire import SUFFIXES, Markup, Passage
from citewell.model.cancel import Cancel
from citewell.model.query import MARK
from citewell.usecases.find import MAX_PLACES, suffix_of


class PlacesRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passage."""

    text: Passage
    markup: Markup = "auto"


class OpenPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a sentence without a citation."""

    sentence: str
    at: Annotated[int, Meta(description="Offset in the text, in code points.")]
    likely: Annotated[bool, Meta(description="Whether its words seldom occur without a citation.")]


class PlacesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The places in order."""

    placeholders: Annotated[int, Meta(description="Number of places that the text marks.")]
    places: tuple[OpenPlace, ...]


def find_places(service: Service, request: PlacesRequest, cancel: Cancel) -> PlacesAnswer:
    """The sentences of a passage without a citation, and how many placeholders it has. Nothing is
    searched for."""
    suffix = SUFFIXES.get(request.markup) or suffix_of(request.text)
    document = scan_document(f"passage{suffix}", request.text, service.options.documents)
    return PlacesAnswer(
        placeholders=len(document.placeholders),
        places=tuple(
            OpenPlace(sentence=_spaced(one.sentence), at=one.at, likely=reports_others(one))
            for one in islice(uncited_sentences(document), MAX_PLACES)
        ),
    )


def _spaced(sentence: str) -> str:
    """The sentence with a space before the mark, as an author writes it."""
    return sentence.replace(MARK, f" {MARK}").replace("  ", " ")


PLACES = Endpoint(
    name="places",
    method="POST",
    path="/v1/places",
    summary="Sentences of a passage without a citation",
    request=PlacesRequest,
    response=PlacesAnswer,
    answer=find_places,
    queue="document",
)
