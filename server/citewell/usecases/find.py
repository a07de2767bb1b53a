"""Citations for a passage that a program hands over: the places that want one, and for each what
was found, how sure it is, and whether that is enough."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from citewell.documents import query_for
from citewell.documents.scan import scan_document
from citewell.features.confidence import confidence_of
from citewell.features.pick import chosen_first, who_chose
from citewell.model import CitewellError, CitingPaper, Hit, Query, SearchResult
from citewell.model.identifiers import identifier_of
from citewell.model.llm import Picked
from citewell.options import Options
from citewell.usecases.fill import least_for

MAX_PASSAGE = 20_000
MAX_PLACES = 20
_END = re.compile(r"\s*([.!?]?)\s*$")

Status = Literal["found", "nothing_found", "not_checked"]
"""`nothing_found`: all was searched and holds no such paper; `not_checked`: a part failed."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for a place."""

    hits: tuple[Hit, ...]
    """The language model's choice first, where it made one."""
    confidence: float
    """How likely an author would cite the first."""
    pick: str = ""
    """The id of the first, where it is likely enough to be cited."""
    who: str = ""
    """Who chose and why, where a language model was asked."""


def suffix_of(text: str) -> str:
    """The suffix of a file whose text is like this one: ".tex" or ".md", which has formulas with
    backslashes, too."""
    markdown = text.startswith("---\n") or "[@" in text
    return ".tex" if "\\" in text and not markdown else ".md"


def passage_queries(
    text: str, suffix: str, options: Options, paper: CitingPaper | None = None
) -> list[Query]:
    """What is asked for each `[CITATION]` or other placeholder, `MAX_PLACES` at most; a passage
    without any wants a citation at its end. One that is an identifier asks for what it names."""
    if identifier_of(text) is not None:
        return [Query(text=text.strip(), paper=paper or CitingPaper())]
    name = f"passage{suffix}"
    document = scan_document(name, text, options.documents)
    if not document.placeholders:
        marked = _END.sub(r" [CITATION]\1", text, count=1)
        document = scan_document(name, marked, options.documents)
    places = document.placeholders[:MAX_PLACES]
    known = paper or CitingPaper()
    return [query_for(document, place, paper=known) for place in places]


def judged(query: Query, result: SearchResult, choice: Picked | None, options: Options) -> Judged:
    """The papers of a place as they are offered; `choice` is what a language model said of them."""
    chosen = choice is not None and choice.by == "model"
    least = options.llm.pick_threshold if chosen else least_for(query, options)
    hits = result.hits if choice is None else chosen_first(result.hits, choice)
    confidence = confidence_of(query, hits)
    none = choice is not None and not choice.work
    who = ""
    if choice is not None and chosen:
        who = f"{'none fits, ' if none else ''}{who_chose(choice)}"
    sure = bool(hits) and confidence >= least and not none
    return Judged(
        hits=tuple(hits), confidence=confidence, pick=hits[0].work.id if sure else "", who=who
    )


def status_of(results: Sequence[SearchResult]) -> Status:
    """Whether an empty answer means that nothing is there. Raises `CitewellError` when no search
    could be made at all."""
    if any(result.hits for result in results):
        return "found"
    for result in results:
        if result.failed:
            raise CitewellError(result.failed[0])
    return "not_checked" if any(result.dropped for result in results) else "nothing_found"
