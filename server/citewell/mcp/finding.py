"""The tools that find papers: for a passage, by words, in passes, by id, and along citations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from mcp_types import ResourceLink
from pydantic import Field

from citewell.engine.contract import Engine
from citewell.features.citing.known_works import KnownWorks, nearest_titles, need_library
from citewell.features.text.evidence import (
    confidence_of,
    fitting_sentence,
    reason,
    understood_text,
)
from citewell.features.text.reference import Form, paper_texts
from citewell.mcp.papers import (
    Detail,
    confidence_shown,
    library_of,
    paper_of,
    probability,
    tokens_of,
    within,
)
from citewell.mcp.tool import (
    INTEGER,
    LIST,
    NUMBER,
    TEXT,
    Answer,
    Cursor,
    DetailLevel,
    MaxTokens,
    PaperId,
    ToolCall,
    choice,
    described,
    listed,
    may_search,
    tool,
)
from citewell.mcp.tool_context import notes_of
from citewell.model import CitewellError, CitingPaper, Hit
from citewell.model.cancel import Cancel
from citewell.model.display_text import shorten
from citewell.model.query import Direction
from citewell.model.words import certainty
from citewell.operations import exploring, finding, papers, searching
from citewell.operations.operation import Service
from citewell.options import Options
from citewell.usecases.explore.contract import Exploration, ExploredWork, overview_text, reason_text
from citewell.usecases.find import (
    MAX_PASSAGE,
    MAX_PLACES,
    Found,
    Status,
    digest,
    from_cursor,
    related_works,
    status_of,
    to_cursor,
)

WAITING_SECONDS = 20.0
"""How long a search waits for the sources: less than clients wait for an answer."""
MAX_REASON = 80
"""Maximum characters of a paper's reason in a long list."""


def _with_notes(page: Answer, notes: Sequence[str]) -> Answer:
    return {**page, "notes": "\n".join(notes)} if notes else page


def _reason(hit: Hit, detail: Detail, typed: str) -> str:
    return reason(hit, typed) if detail == "full" else ""


@tool(
    finding.find,
    title="Find citations",
    only={"k", "choose", "venue", "year", "year_from", "year_to"},
    asks=may_search,
    answer={
        "status": choice(Status),
        "places": listed(
            sentence=TEXT,
            papers=listed(
                id=TEXT,
                title=TEXT,
                key=described(TEXT, "In the paper's .bib."),
                confidence=described(NUMBER, "Probability that it is cited here, if not tiny."),
                abstract_sentence=TEXT,
            ),
            certainty=described(TEXT, "Of the first paper: sure, likely or a guess."),
            pick=described(TEXT, "The id of the first paper, if it is certain enough to cite."),
        ),
    },
)
async def find_citations(
    call: ToolCall,
    text: Annotated[str, Field(min_length=1, max_length=MAX_PASSAGE, description=papers.PASSAGE)],
    path: Annotated[
        str,
        Field(max_length=10_000, description="The paper that it is from, with its .bib files."),
    ] = "",
    detail: DetailLevel = "short",
    max_tokens: MaxTokens = 4000,
) -> Answer:
    """Find papers to cite at each place that a passage marks, best first. For a topic use
    search_papers. Where a place has no `pick`, judge the candidates yourself or leave it open."""
    tools = call.tools

    def work(
        service: Service, request: finding.FindRequest, cancel: Cancel
    ) -> tuple[list[Found], Answer]:
        suffix, paper, known = "", CitingPaper(), KnownWorks(())
        if path:
            file = tools.roots.find(path)
            project = tools.project(file)
            suffix, paper = file.suffix, project.citing_paper()
            known = KnownWorks(project.bibliographies)
        found = finding.found_places(service, request, cancel, suffix=suffix, paper=paper)
        for one in found:
            tools.offered(one.query, one.result)
        return found, _places(found, known, detail, max_tokens, service.options)

    found, places = await call.run(work, text=text)
    await call.notify_dropped(one.result for one in found)
    return places


def _places(
    found: list[Found], known: KnownWorks, detail: Detail, budget: int, options: Options
) -> Answer:
    places: list[Answer] = []
    notes: list[str] = []
    for one in found:
        listed_papers: list[Answer] = []
        for hit in one.hits:
            held = known.find(hit.work)
            key = hit.key or (held[1].key if held is not None else "")
            paper = paper_of(hit.work, detail, key=key, reason=_reason(hit, detail, one.query.text))
            paper |= confidence_shown(confidence_of(one.query, [hit]))
            sentence = fitting_sentence(one.query, hit.work.abstract)
            if sentence and detail != "ids":
                paper["abstract_sentence"] = sentence
            listed_papers.append(paper)
        place: Answer = {
            "sentence": finding.sentence_of(one.query),
            "papers": listed_papers[: within(listed_papers, budget // len(found))],
        }
        if listed_papers:
            place["certainty"] = certainty(one.confidence, typed=not one.query.sentence)
        if sure := one.sure_id(options):
            place["pick"] = sure
        if one.who:
            notes.append(f"Place {len(places) + 1}: {one.who}")
        places.append(place)
    notes += notes_of(problem for one in found for problem in one.problems)
    if len(found) == MAX_PLACES:
        notes.append(f"Only the first {MAX_PLACES} places were used.")
    status = status_of([one.result for one in found])
    return _with_notes({"status": status, "places": places}, notes)


@tool(
    searching.search,
    title="Search papers",
    without={"strict_language", "limit", "abstracts", "online_seconds", "weights"},
    asks=may_search,
    answer={
        "status": choice(searching.SearchStatus),
        "papers": listed(id=TEXT, title=TEXT, year=INTEGER, authors=TEXT, venue=TEXT),
        "libraries": LIST,
        "understood": described(TEXT, "What of the query was read as a filter."),
        "next_cursor": TEXT,
    },
)
async def search_papers(
    call: ToolCall,
    online: Annotated[bool, Field(description="Also ask the allowed sources.")] = False,
    detail: DetailLevel = "short",
    max_tokens: MaxTokens = 4000,
) -> Answer:
    """Search papers by words, title, topic, id, author or venue, page by page. For a sentence use
    find_citations, for a question explore_papers. Without arguments: the libraries' names, coverage
    and age. not_checked: a part of the search failed; try again."""
    more = {"online_seconds": WAITING_SECONDS} if online else {}
    query = searching.query_of(call.request(), call.tools.options)
    if query is None:
        libraries = await call.tools.run(lambda cancel: _libraries(call.tools.engine))
        nothing: Answer = {"status": "nothing_asked", "papers": [], "libraries": libraries}
        return _with_notes(nothing, notes_of([searching.EMPTY_SEARCH]))
    found = await call.run(partial(searching.page_of, query=query), **more)
    call.tools.offered(query, found.result)
    await call.notify_dropped([found.result])
    listed_papers = [
        paper_of(hit.work, detail, key=hit.key, reason=_reason(hit, detail, query.text))
        for hit in found.hits
    ]
    kept = within(listed_papers, max_tokens)
    page: Answer = {"status": status_of([found.result]), "papers": listed_papers[:kept]}
    if found.result.understood.parts:
        page["understood"] = understood_text(found.result.understood)
    if cursor := found.next_cursor(kept):
        page["next_cursor"] = cursor
    return _with_notes(page, notes_of((*found.result.problems, *found.result.dropped)))


def _libraries(engine: Engine) -> list[Answer]:
    """The coverage of the libraries. Raises `CitewellError` without one."""
    need_library(engine)
    return [library_of(one) for one in engine.status().covers]


@tool(
    exploring.explore_papers,
    title="Explore the literature",
    only={"query", "kept", "rejected", "k", "choose", "overview"},
    defaults={"k": 20},
    asks=may_search,
    answer={
        "status": choice(Literal["found", "nothing_found"]),
        "papers": listed(id=TEXT, title=TEXT, relevance=NUMBER, reason=TEXT),
        "overview": described(TEXT, "Topics, with ids of papers."),
    },
)
async def explore_papers(call: ToolCall, max_tokens: MaxTokens = 4000) -> Answer:
    """Search the literature on a question in several passes; slower and wider than search_papers.
    Call it again with ids kept and rejected."""

    def work(service: Service, request: exploring.ExploreRequest, cancel: Cancel) -> Answer:
        found = Exploration()
        for number, found in enumerate(exploring.passes_of(service, request, cancel), 1):
            done = f"{found.passes[-1].name}: {len(found.papers)} papers"
            service.progress(done, number, number + 1)
        return _literature(found, max_tokens)

    return await call.run(work)


def _literature(found: Exploration, budget: int) -> Answer:
    listed_papers = [_explored(one) for one in found.papers]
    about = "" if found.overview is None else overview_text(found.overview)
    kept = within(listed_papers, budget - (tokens_of(about) if about else 0))
    page: Answer = {
        "status": "found" if listed_papers else "nothing_found",
        "papers": listed_papers[:kept],
    }
    if found.relevant is not None:
        page["relevant"] = found.relevant
    if about:
        page["overview"] = about
    notes = notes_of(found.problems)
    if found.understood.parts:
        notes.append(f"Understood: {understood_text(found.understood)}")
    if kept < len(listed_papers):
        notes.append(f"{len(listed_papers) - kept} more papers: raise max_tokens.")
    return _with_notes(page, notes)


def _explored(one: ExploredWork) -> Answer:
    """The short record, with its relevance if judged, and with the reason unless it consists of
    words of the title."""
    found: Answer = {**paper_of(one.work), **probability("relevance", one.relevance)}
    why = reason_text(one).partition("; its title")[0]
    if not why.startswith("its title"):
        found["reason"] = shorten(why, MAX_REASON)
    return found


def _record_links(value: Answer) -> list[ResourceLink]:
    return [
        ResourceLink(uri=f"paper://{one['id']}", name=one["id"], title=one["title"])
        for one in value["papers"]
    ]


@tool(
    papers.get_papers,
    title="Get records",
    links=_record_links,
    without={"forms", "style"},
    answer={
        "papers": listed(
            id=TEXT,
            abstract=TEXT,
            text=described(TEXT, "The record in the `format`."),
        ),
        "unknown_ids": LIST,
    },
)
async def get_papers(
    call: ToolCall,
    format: Annotated[Form, Field(description="Data, or a text of this form.")] = "record",
    style: Annotated[
        str, Field(max_length=120, description="For reference: a CSL style, such as ieee.")
    ] = "",
    max_tokens: MaxTokens = 8000,
) -> Answer:
    """Get papers by id, DOI or arXiv id: as data, BibTeX, CSL-JSON or a printed reference. To
    write an entry into a file use add_entry."""

    def work(service: Service, request: papers.PapersRequest, cancel: Cancel) -> Answer:
        held, unknown = papers.held_of(service, request.ids)
        texts = paper_texts(held, format, service.options, style)
        records: list[Answer] = []
        for one, text in zip(held, texts, strict=True):
            record = paper_of(one, "full" if format == "record" else "ids")
            records.append(record | {"text": text} if text else record)
        kept = within(records, max_tokens)
        page: Answer = {"papers": records[:kept]}
        notes: list[str] = []
        if unknown:
            page["unknown_ids"] = unknown
            notes += [_IDS, *nearest_titles(service.engine, unknown)]
        if kept < len(records):
            left = ", ".join(record["id"] for record in records[kept:])
            notes.append(f"Omitted because of max_tokens, request again: {left}")
        return {**page, "notes": " ".join(notes)} if notes else page

    return await call.run(work)


_IDS = "An id comes from search_papers, or is a DOI or an arXiv id."


@tool(
    exploring.related_papers,
    title="Follow citations",
    without={"ids", "directions"},
    defaults={"k": 10},
    answer={
        "status": choice(Literal["found", "nothing_found", "not_known"]),
        "papers": listed(
            id=TEXT, title=TEXT, together=described(INTEGER, "How many papers cite both.")
        ),
        "next_cursor": TEXT,
    },
)
async def related_papers(
    call: ToolCall,
    id: PaperId,
    direction: Annotated[
        Direction,
        Field(description="cocited: cited together with it."),
    ],
    cursor: Cursor = "",
    max_tokens: MaxTokens = 4000,
) -> Answer:
    """List papers linked to one by citations. not_known: the library knows none of its
    citations."""

    def work(service: Service, request: exploring.RelatedRequest, cancel: Cancel) -> Answer:
        paper = call.tools.work(id)
        years = searching.years_of(request.year_from, request.year_to)
        search = digest(paper.id, direction, *(years if years != (None, None) else ()))
        offset = from_cursor(cursor, search)[1] if cursor else 0
        found = related_works(
            service.engine,
            [paper],
            request.k,
            offset=offset,
            directions=request.directions,
            years=years,
            cancel=cancel,
        )
        if found.problems:
            raise CitewellError(found.problems[0])
        neighbours: list[dict[str, Any]] = []
        for one in found.papers:
            together = {"together": one.links[0].together} if direction == "cocited" else {}
            neighbours.append(paper_of(one.work) | together)
        kept = within(neighbours, max_tokens)
        some = "found" if found.total else "nothing_found"
        page: Answer = {
            "status": "not_known" if found.unknown else some,
            "papers": neighbours[:kept],
        }
        if kept and found.total > offset + kept:
            page["next_cursor"] = to_cursor(search, offset + kept)
        if years != (None, None):
            page["notes"] = f"{found.total} known papers of these years are in the library."
        elif not found.unknown:
            page["notes"] = (
                f"{found.total} known papers are in the library, {found.elsewhere} are not: a "
                "sample of all citations."
            )
        return page

    return await call.run(work, ids=(id,), directions=(direction,))
