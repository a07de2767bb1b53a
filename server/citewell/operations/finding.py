"""Search for papers to cite in a passage."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from citewell.documents.bib.reader import parse_bib
from citewell.documents.project.files import scan_document
from citewell.documents.project.paper_project import reference_of
from citewell.features.checking.support import reports_others, uncited_sentences
from citewell.features.citing.known_works import KnownWorks, all_named
from citewell.features.text.evidence import picks, reason, why
from citewell.model import CitewellError, CitingPaper, Hit, Problem, Query, SearchResult
from citewell.model.bib import BibFile
from citewell.model.cancel import Cancel
from citewell.model.llm import Picked
from citewell.model.query import MARK
from citewell.model.words import Certainty, certainty
from citewell.operations.operation import LONG_SECONDS, Service, operation, public_problems
from citewell.operations.papers import (
    MAX_PAPERS,
    PASSAGE,
    SUFFIXES,
    BibText,
    Choose,
    Confidence,
    Count,
    Forms,
    FoundPaper,
    Id,
    Markup,
    Paper,
    Passage,
    StyleName,
    fields_of,
    found_paper,
    texts_of,
    with_citations,
)
from citewell.operations.searching import ONE_OF_TWO_WAYS, PaperFilters, filtered
from citewell.usecases.find import (
    MAX_PASSAGE,
    MAX_PLACES,
    Found,
    Status,
    choose,
    find_in_one_pass,
    find_papers,
    in_sentence,
    passage_queries,
    status_of,
    suffix_of,
)

MAX_REFERENCES = 500
"""Maximum number of entries of a .bib that inform the ranking about the paper's topic."""


MAX_QUERIES = 100
MAX_QUERY = 2_000


class FindRequest(PaperFilters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A passage or several queries, what is known of the paper that it is from, and filters."""

    text: Annotated[str, Meta(max_length=MAX_PASSAGE, description=PASSAGE)] = ""
    queries: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=MAX_QUERY)], ...],
        Meta(max_length=MAX_QUERIES, description="Texts to search for in one pass."),
    ] = ()
    markup: Markup = "auto"
    k: Count = 5
    bib: BibText = ""
    title: Annotated[str, Meta(max_length=2_000, description="Of the paper.")] = ""
    abstract: Annotated[str, Meta(max_length=20_000, description="Of the paper.")] = ""
    abstracts: Annotated[bool, Meta(description="Include the abstracts.")] = False
    forms: Forms = ()
    style: StyleName = ""
    choose: Choose = True


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One place that wants a citation."""

    sentence: str
    papers: tuple[FoundPaper, ...]
    confidence: Confidence
    certainty: Annotated[Certainty, Meta(description="The probability in words.")] = ""
    queries: Annotated[
        tuple[str, ...], Meta(description="The texts that the library was searched with.")
    ] = ()
    pick: Annotated[
        str, Meta(description="The id of the first paper, if it is certain enough.")
    ] = ""
    chosen: Annotated[
        str, Meta(description="The language model's choice and reason, if it chose.")
    ] = ""


class FindAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The places of a passage or the queries, in order."""

    status: Status
    places: tuple[Place, ...]
    problems: tuple[Problem, ...] = ()


_TEXT_OR_QUERIES = {
    "oneOf": [
        {"required": ["text"], "properties": {"text": {"minLength": 1}}},
        {"required": ["queries"], "properties": {"queries": {"minItems": 1}}},
    ]
}


@operation(
    "Papers to cite in a passage",
    queue="passage",
    seconds=LONG_SECONDS,
    schema_keywords=_TEXT_OR_QUERIES | ONE_OF_TWO_WAYS,
)
def find(service: Service, request: FindRequest, cancel: Cancel) -> FindAnswer:
    """For each [CITATION] in a passage, or each of several queries, the papers to cite, best first.
    `nothing_found`: all was searched, and holds no such paper; `not_checked`: a part of the search
    did not answer."""
    if bool(request.text) == bool(request.queries):
        raise CitewellError(_TEXT_AND_QUERIES)
    bib = parse_bib(request.bib, "references.bib") if request.bib else BibFile("", "")
    paper = CitingPaper(
        title=request.title,
        abstract=request.abstract,
        references=tuple(reference_of(one) for one in bib.entries[:MAX_REFERENCES]),
    )
    found = found_places(service, request, cancel, paper=paper)
    status = status_of([one.result for one in found])
    known = KnownWorks((bib,))
    problems = [problem for one in found for problem in one.problems]
    if not found:
        problems.append(NO_PLACE)
    places: list[Place] = []
    for one in found:
        held = [known.find(hit.work) for hit in one.hits]
        keys = ["" if found is None else found[1].key for found in held]
        places.append(
            Place(
                sentence=sentence_of(one.query),
                papers=found_papers(one, keys, request, service),
                confidence=round(one.confidence, 3),
                certainty=certainty(one.confidence, typed=not one.query.sentence),
                queries=one.queries,
                pick=one.sure_id(service.options),
                chosen=one.who,
            )
        )
    if len(found) == MAX_PLACES and request.text:
        problems.append(_MANY)
    return FindAnswer(status=status, places=tuple(places), problems=public_problems(problems))


def found_places(
    service: Service,
    request: FindRequest,
    cancel: Cancel,
    *,
    paper: CitingPaper | None = None,
    suffix: str = "",
) -> list[Found]:
    """The papers for each query, or each place of the passage. `suffix` is that of the paper's
    file, if it has one. Raises as `filtered` does."""
    pick = picks(service.options) if request.choose else 0
    if request.queries:
        known = paper or CitingPaper()
        bare = (Query(text=text, paper=known) for text in request.queries)
        queries = [in_sentence(one, service.options) for one in bare]
    else:
        suffix = suffix or SUFFIXES.get(request.markup) or suffix_of(request.text)
        queries = passage_queries(request.text, suffix, service.options, paper)
    queries = [replace(filtered(one, request), model=request.choose) for one in queries]
    if request.queries:
        return find_in_one_pass(service.engine, queries, request.k, pick=pick, cancel=cancel)
    return find_papers(
        service.engine, queries, request.k, pick=pick, progress=service.progress, cancel=cancel
    )


def found_papers(
    found: Found, keys: Sequence[str], request: FindRequest, service: Service
) -> tuple[FoundPaper, ...]:
    """The papers of a place for the client, with the requested forms. Raises `CitewellError` for an
    unknown style."""
    works = [hit.work for hit in found.hits]
    texts = texts_of(works, request.forms, request.style, service.options)
    confidences = found.confidences
    return tuple(
        FoundPaper(
            **fields_of(hit.work, abstract=request.abstracts, cited=cited),
            **{form: given[n] for form, given in texts.items()},
            key=keys[n] or hit.key,
            reason=reason(hit, found.query.text),
            why=why(hit),
            confidence=confidences[n],
            certainty=certainty(confidences[n], typed=not found.query.sentence),
        )
        for n, (hit, cited) in enumerate(with_citations(found.hits, service.engine))
    )


def sentence_of(query: Query) -> str:
    """The sentence of a place, or its words."""
    return query.sentence or query.text


NO_PLACE = Problem(
    "request-invalid", "The text contains no place for a citation.", "Mark it with [CITATION]."
)
_TEXT_AND_QUERIES = Problem(
    "request-invalid", "Give one of `text` and `queries`.", "Send one of them."
)
_MANY = Problem(
    "places-left-out",
    f"Only the first {MAX_PLACES} places of a passage are used.",
    "Send the rest in another request.",
)


# Places for citations in a passage without marks.


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


@operation("Sentences of a passage without a citation", queue="document")
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
    """The sentence with a space before the mark, in the usual style."""
    return sentence.replace(MARK, f" {MARK}").replace("  ", " ")


# One paper for a place, chosen by the configured language model.


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


@operation(
    "One paper for a place, chosen by the configured language model",
    queue="model",
    seconds=LONG_SECONDS,
)
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
    problems: list[Problem] = [] if len(queries) == 1 else [_ONE_PLACE]
    if request.candidates:
        works = {work.id: work for work in all_named(service.engine, request.candidates)}
        result = SearchResult(hits=tuple(Hit(work, 0.0) for work in works.values()))
    else:
        depth = max(request.k, picks(service.options))
        result = service.engine.find(query, depth, tier="deep", cancel=cancel)
        if not result.hits:
            unsure = status_of([result]) == "not_checked"
            problems += [*result.problems, *result.dropped]
            return PickAnswer(
                status="not_checked" if unsure else "nothing_found",
                problems=public_problems(problems),
            )
    may = service.options.llm.pick or service.options.llm.provider == "none"
    count = len(request.candidates) or request.k
    found = choose(service.engine, query, result, count, pick=may, cancel=cancel)
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


_ONE_PLACE = Problem(
    "places-left-out",
    "Only the first place of the passage was used.",
    "Keep one [CITATION] in it, or use /v1/find.",
)
_MAY_NOT = Problem(
    "llm-off",
    "A language model is configured, but `llm.pick` is off.",
    "Set `llm.pick` to true to allow it.",
)
