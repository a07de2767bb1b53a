"""The tools that find papers: for a passage, by words, and by id."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Annotated, NotRequired

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult
from pydantic import Field
from typing_extensions import TypedDict

from citewell.features.citing.abstract_sentence import fitting_sentence
from citewell.features.citing.confidence import confidence_of
from citewell.features.citing.known_works import KnownWorks
from citewell.features.citing.named_works import nearest_titles
from citewell.features.text.evidence import picks, understood_text, why
from citewell.features.text.paper_text import Form, paper_texts
from citewell.mcp.client_log import log_to_client
from citewell.mcp.papers import (
    CitedRef,
    Detail,
    PaperRef,
    RecordRef,
    paper_of,
    within,
)
from citewell.mcp.tool_context import (
    ToolContext,
    answer,
    notes_of,
    progress_of,
    tool_errors,
)
from citewell.model import CitewellError, CitingPaper, Hit, Query, SearchResult
from citewell.model.cancel import Cancel
from citewell.usecases.find import (
    MAX_PASSAGE,
    MAX_PLACES,
    Found,
    Status,
    find_papers,
    passage_queries,
    status_of,
    suffix_of,
)
from citewell.usecases.search import SearchPage, search_page, search_query

Count = Annotated[int, Field(ge=1, le=50)]
Year = Annotated[int, Field(ge=0, le=9999)]


class CitationSite(TypedDict, total=False):
    """One place that wants a citation; `pick` alone may be missing."""

    sentence: str
    papers: list[CitedRef]
    confidence: float
    pick: str


class Places(TypedDict):
    """Candidates."""

    status: Status
    places: list[CitationSite]
    notes: NotRequired[str]


class PaperPage(TypedDict):
    """Papers."""

    status: Status
    papers: list[PaperRef]
    understood: NotRequired[str]
    next_cursor: NotRequired[str]
    notes: NotRequired[str]


class Papers(TypedDict):
    """Records."""

    papers: list[RecordRef]
    unknown_ids: NotRequired[list[str]]
    notes: NotRequired[str]


class FindingTools:
    """Each method is a tool; its docstring is what a model reads."""

    def __init__(self, tools: ToolContext) -> None:
        self._tools = tools

    async def find_citations(
        self,
        text: Annotated[str, Field(min_length=1, max_length=MAX_PASSAGE)],
        ctx: Context,
        path: str = "",
        k: Count = 5,
        detail: Detail = "short",
        max_tokens: int = 4000,
    ) -> Annotated[CallToolResult, Places]:
        """Papers to cite in a passage of LaTeX or Markdown. Write [CITATION] where each citation
        belongs (else the end is taken). `path`: its paper; `key`: what its .bib holds; `score`: how
        likely it is cited here. `pick`: likely enough to cite; without one, judge the candidates or
        leave it open."""
        queries, known = await self._tools.run(lambda cancel: self._read(text, path), "document")
        progress = progress_of(ctx)
        found = await self._tools.run(
            lambda cancel: find_papers(
                self._tools.engine,
                queries,
                k,
                pick=picks(self._tools.options),
                progress=progress,
                cancel=cancel,
            ),
            "passage",
        )
        for one in found:
            self._tools.offered(one.query, one.result)
        await notify_dropped(ctx, [one.result for one in found])
        return answer(
            await self._tools.run(lambda cancel: self._places(found, known, detail, max_tokens))
        )

    async def search_papers(
        self,
        ctx: Context,
        query: Annotated[str, Field(max_length=2000)] = "",
        author: str = "",
        venue: str = "",
        kind: str = "",
        language: str = "",
        year: Year | None = None,
        year_from: Year | None = None,
        year_to: Year | None = None,
        k: Count = 10,
        cursor: str = "",
        detail: Detail = "short",
        max_tokens: int = 4000,
    ) -> Annotated[CallToolResult, PaperPage]:
        """Search by words, topic, id; `kind`: article, survey ... More: cursor.
        nothing_found: notes name the filter; not_checked: retry."""
        if not (query.strip() or author or venue or kind):
            raise ToolError("[mcp-empty] Empty search. Give a query, author or venue.")
        try:
            wanted = search_query(
                self._tools.options,
                query,
                author,
                venue,
                year=year,
                year_from=year_from,
                year_to=year_to,
                kind=kind,
                language=language,
            )
        except CitewellError as error:
            raise ToolError(f"[mcp-years] {error.problem.message} {error.problem.hint}") from error
        page = await self._tools.run(partial(self._search, wanted, k, cursor), "search")
        await notify_dropped(ctx, [page.result])
        with tool_errors():
            return answer(_page(page, detail, max_tokens))

    async def get_papers(
        self,
        ids: Annotated[list[str], Field(min_length=1, max_length=50)],
        format: Form = "record",
        style: str = "",
        max_tokens: int = 8000,
    ) -> Annotated[CallToolResult, Papers]:
        """Records by id, DOI or arXiv id; or as `text`: BibTeX, CSL-JSON, or a reference printed in
        a CSL `style` such as ieee."""
        return answer(
            await self._tools.run(lambda cancel: self._papers(ids, format, style, max_tokens))
        )

    def _read(self, text: str, path: str) -> tuple[list[Query], KnownWorks]:
        paper, known = CitingPaper(), KnownWorks(())
        suffix = suffix_of(text)
        if path:
            file = self._tools.roots.find(path)
            project = self._tools.project(file)
            paper, known = project.citing_paper(), KnownWorks(project.bibliographies)
            suffix = file.suffix
        return passage_queries(text, suffix, self._tools.options, paper), known

    def _search(self, query: Query, k: int, cursor: str, cancel: Cancel) -> SearchPage:
        page = search_page(self._tools.engine, query, k, cursor, cancel)
        self._tools.offered(query, page.result)
        return page

    def _places(self, found: list[Found], known: KnownWorks, detail: Detail, budget: int) -> Places:
        options = self._tools.options
        places: list[CitationSite] = []
        notes: list[str] = []
        for one in found:
            papers: list[CitedRef] = []
            for hit in one.hits:
                held = known.find(hit.work)
                key = hit.key or (held[1].key if held is not None else "")
                paper = paper_of(hit.work, detail, key=key, why=_why(hit, detail))
                paper["score"] = round(confidence_of(one.query, [hit]), 3)
                sentence = fitting_sentence(one.query, hit.work.abstract)
                if sentence and detail != "ids":
                    paper["abstract_sentence"] = sentence
                papers.append(paper)
            place: CitationSite = {
                "sentence": one.query.sentence or one.query.text,
                "papers": papers[: within(papers, budget // len(found))],
                "confidence": round(one.confidence, 3),
            }
            if sure := one.sure_id(options):
                place["pick"] = sure
            if one.who:
                notes.append(f"Place {len(places) + 1}: {one.who}")
            places.append(place)
        answered: Places = {"status": status_of([one.result for one in found]), "places": places}
        notes += notes_of(problem for one in found for problem in one.problems)
        if len(found) == MAX_PLACES:
            notes.append(f"Only the first {MAX_PLACES} places were used.")
        if notes:
            answered["notes"] = "\n".join(notes)
        return answered

    def _papers(self, ids: list[str], form: Form, style: str, budget: int) -> Papers:
        works = self._tools.works(ids)
        held = [work for work in works if work is not None]
        if not held:
            self._tools.need_library()
        texts = paper_texts(held, form, self._tools.options, style)
        papers: list[RecordRef] = []
        for work, text in zip(held, texts, strict=True):
            one = paper_of(work, "full" if form == "record" else "ids")
            if text:
                one["text"] = text
            papers.append(one)
        found: Papers = {"papers": papers[: within(papers, budget)]}
        unknown = [name for name, work in zip(ids, works, strict=True) if work is None]
        if unknown:
            found["unknown_ids"] = unknown
            near = nearest_titles(self._tools.engine, unknown)
            found["notes"] = " ".join((_IDS, *near))
        if len(found["papers"]) < len(papers):
            left = [paper["id"] for paper in papers[len(found["papers"]) :]]
            rest = f"Omitted because of max_tokens, request again: {', '.join(left)}"
            found["notes"] = f"{found.get('notes', '')} {rest}".strip()
        return found


_IDS = "An id comes from search_papers, or is a DOI or an arXiv id."


def _why(hit: Hit, detail: Detail) -> str:
    return why(hit) if detail == "full" else ""


def _page(found: SearchPage, detail: Detail, budget: int) -> PaperPage:
    papers: list[PaperRef] = [
        *(paper_of(hit.work, detail, key=hit.key, why=_why(hit, detail)) for hit in found.hits)
    ]
    kept = within(papers, budget)
    page: PaperPage = {"status": status_of([found.result]), "papers": papers[:kept]}
    if found.result.understood.parts:
        page["understood"] = understood_text(found.result.understood)
    if cursor := found.next_cursor(kept):
        page["next_cursor"] = cursor
    notes = notes_of((*found.result.problems, *found.result.dropped))
    if notes:
        page["notes"] = "\n".join(notes)
    return page


async def notify_dropped(ctx: Context, results: Iterable[SearchResult]) -> None:
    """Log to the client which parts of a search did not respond."""
    for note in notes_of(problem for result in results for problem in result.dropped):
        await log_to_client(ctx, "warning", note)
