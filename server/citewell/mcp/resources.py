"""Resources beside the tools: bibliographies, entries, papers, the last report; and prompts for
common tasks."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)
from pydantic import Field

from citewell.documents.bib.reader import parse_bib
from citewell.documents.textfile import read_text
from citewell.features.checking.report import to_json
from citewell.mcp.papers import paper_of
from citewell.mcp.tool_context import ToolContext, failure
from citewell.model import CitewellError
from citewell.model.venues import ACRONYMS, shown_venue

MAX_COMPLETIONS = 100


def add_resources(server: MCPServer[Any], tools: ToolContext, *, shared: bool = False) -> None:
    """Add resources, prompts and completions to a server. `shared`: several clients use it, so that
    there is no last report."""

    @server.resource("bib://{key}", title="Entry", mime_type="application/x-bibtex")
    def entry(key: str) -> str:
        """The entry of a key in the .bib files of the roots, verbatim."""
        for path in tools.roots.bibs():
            bib = parse_bib(read_text(path).text, str(path))
            if key in bib.by_key:
                found = next(one for one in bib.entries if one.key == key)
                return bib.text[found.start : found.end]
        raise ResourceNotFoundError(f"No .bib in the roots has the key {key[:200]!r}.")

    @server.resource("bib-file://{+path}", title="Bibliography", mime_type="application/x-bibtex")
    def bibliography(path: str) -> str:
        """A .bib file, by its path in the roots."""
        try:
            if not path.lower().endswith(".bib"):
                raise ResourceNotFoundError("Only .bib files can be read.")
            return read_text(tools.roots.find(path)).text
        except CitewellError as error:
            raise ResourceError(failure(error.problem)) from error

    @server.resource("paper://{+id}", title="Paper", mime_type="application/json")
    def paper(id: str) -> str:
        """The record of a paper, by its id, DOI or arXiv id, as it is or percent-encoded."""
        try:
            return json.dumps(paper_of(tools.work(unquote(id)), "full"), ensure_ascii=False)
        except CitewellError as error:
            raise ResourceNotFoundError(failure(error.problem)) from error

    @server.resource("library://coverage", title="Library", mime_type="application/json")
    async def coverage() -> str:
        """Coverage of the searched libraries: works by year, the largest venues with their missing
        years, and parts that cannot be searched."""
        state = await tools.run(lambda cancel: tools.engine.status())
        found = {
            "works": state.works,
            "covers": state.covers,
            "sources": state.sources,
            "problems": [failure(problem) for problem in state.problems],
        }
        return msgspec.json.encode(found).decode()

    @server.resource("report://{name}", title="Report of a check", mime_type="application/json")
    def report(name: str) -> str:
        """The whole report of a check of references, by the name that its answer gave."""
        last = name == "last" and not shared
        checks = tools.last_report() if last else tools.report(name)
        if checks is None:
            raise ResourceNotFoundError("No such report: call check_references first.")
        return json.dumps(to_json(checks), ensure_ascii=False)

    @server.prompt(title="Cite this paragraph")
    def cite_paragraph(
        paragraph: Annotated[str, Field(description="The paragraph, in LaTeX or Markdown.")],
        path: Annotated[str, Field(description="The paper that it is from, in a root.")] = "",
    ) -> str:
        """Find real papers for what a paragraph claims."""
        where = f" Its paper is {path}: pass that as `path`." if path else ""
        return (
            "Put [CITATION] behind each claim of the paragraph that wants a reference, and call "
            f"find_citations.{where} Cite only papers that it returns; where none fits, say so."
            f"\n\n<paragraph>\n{paragraph}\n</paragraph>"
        )

    @server.prompt(title="Audit this bibliography")
    def audit_bibliography(
        path: Annotated[str, Field(description="A .bib, a paper or a PDF, in a root.")],
    ) -> str:
        """Check every reference of a .bib or a paper."""
        return (
            f"Call check_references with path={json.dumps(path)} and follow next_cursor to the "
            "end. List what is fabricated or wrong, with what the record says instead. Name what "
            "was not found or not checked apart: that is no accusation."
        )

    @server.prompt(title="Related work from these notes")
    def related_work(
        notes: Annotated[str, Field(description="The topics, a line or a sentence each.")],
        venue: Annotated[str, Field(description="Papers of this venue only, as NeurIPS.")] = "",
    ) -> str:
        """Write a paragraph of related work from notes, with real papers alone."""
        only = f" with venue={json.dumps(venue)}" if venue else ""
        return (
            f"For each topic of the notes call search_papers{only}, read the abstracts with "
            "get_papers, and write a short paragraph of related work that cites by id only what "
            "was returned."
            f"\n\n<notes>\n{notes}\n</notes>"
        )

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        if argument.name not in ("key", "path", "venue"):
            return None
        values = await tools.run(lambda cancel: _values(tools, argument.name))
        begun = argument.value.lower()
        found = [value for value in values if value.lower().startswith(begun)]
        return Completion(
            values=found[:MAX_COMPLETIONS], total=len(found), has_more=len(found) > MAX_COMPLETIONS
        )


def _values(tools: ToolContext, name: str) -> list[str]:
    """The keys, or the paths, of the .bib files in the roots; or the venues with a short name."""
    if name == "venue":
        return sorted({shown_venue(one) for one in ACRONYMS.values()}, key=str.lower)
    paths = list(tools.roots.bibs())
    if name == "path":
        return [tools.roots.shown(path) for path in paths]
    keys = (key for path in paths for key in parse_bib(read_text(path).text, str(path)).by_key)
    return sorted(dict.fromkeys(keys))
