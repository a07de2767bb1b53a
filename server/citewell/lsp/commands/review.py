"""workspace/executeCommand for the review of the paper that is open in the editor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from msgspec import Struct
from pygls.uris import from_fs_path

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.open_document import LineIndex
from citewell.lsp.protocol.progress import Report, on_thread, with_progress
from citewell.lsp.registry import Command, Handlers
from citewell.lsp.requests.review_actions import NAME, arguments_of, titles_of
from citewell.lsp.state.memory import ReviewedFiles
from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from citewell.documents.project.paper_project import Project
    from citewell.features.review.report import Review
    from citewell.model.bib import BibFile
    from citewell.model.document import Diagnostic, Document

REVIEW = "citewell.review"


def handlers(
    editor: Editor, projects: Projects, engine: WorkerEngine, reviewed: ReviewedFiles
) -> Handlers:
    """The command that reviews the paper of a document."""
    reviewer = Reviewer(editor, projects, engine, reviewed)

    async def review(uri: Any = None) -> dict[str, Any]:
        if not isinstance(uri, str):
            problem = Problem("command-arguments", f"`{REVIEW}` takes the URI of a document.")
            editor.show_problems([problem], again=True)
            return {"rows": []}
        await editor.configured()
        return await reviewer.review(uri)

    return (Command(REVIEW, review),)


class Reviewer(Struct, frozen=True, eq=False):
    """Reviews the paper of an open document, unsaved text included. For the event loop."""

    editor: Editor
    projects: Projects
    engine: WorkerEngine
    reviewed: ReviewedFiles

    async def review(self, uri: str) -> dict[str, Any]:
        """The findings as `rows` with their places, by part, the `figures` as rows of two texts,
        and a `summary`; no rows for a file that is not open, or where the author cancelled. A row
        has its `actions` ("cite", "consistent", "silence"): the arguments of `citewell.act`. What
        only a review finds is underlined from now on."""
        from citewell.features.review.report import figure_rows
        from citewell.usecases.review import ReviewTask

        snapshot = await self.projects.snapshot(uri, fresh=True)
        if snapshot is None:
            return {"rows": []}
        project = snapshot.state.project
        task = ReviewTask(self.engine, snapshot.options, [project])

        async def job(report: Report) -> Review | None:
            try:
                return await on_thread(task.run, report)
            except CitewellError as error:
                self.editor.show_problems([error.problem], again=True)
                return None

        found = await with_progress(self.editor, "reviewing the paper", job)
        if found is None:
            return {"rows": []}
        by_file = task.findings_by_file()
        self.reviewed.take(by_file)
        self.editor.show_problems(found.problems, again=True)
        counts = ", ".join(f"{count} {weight.value}" for weight, count in found.weights.items())
        return {
            "rows": self._rows(found, project, by_file),
            "figures": figure_rows(found.figures),
            "summary": counts or "no findings",
        }

    def _rows(
        self,
        review: Review,
        project: Project,
        by_file: Mapping[Path, tuple[str, Sequence[Diagnostic]]],
    ) -> list[dict[str, Any]]:
        sources: dict[str, Document | BibFile] = {
            **{str(path): one for path, one in project.documents.items()},
            **{bib.path: bib for bib in project.bibliographies},
        }
        diagnostics = {
            (str(path), *arguments_of(one).values()): one
            for path, (_, found) in by_file.items()
            for one in found
        }
        indexes = {path: LineIndex(one.text, self.editor.encoding) for path, one in sources.items()}
        rows = []
        for title, findings in review.by_part():
            for one in findings:
                index = indexes[one.path]
                start = index.starts[one.line - 1] + one.column - 1
                found = diagnostics[one.path, one.code, one.message, start]
                uri = from_fs_path(one.path)
                rows.append({
                    "uri": uri,
                    "range": _range(index.position(start)),
                    "group": title,
                    "code": one.code,
                    "weight": one.weight,
                    "message": one.message,
                    "hint": one.hint,
                    "actions": {
                        name: {"uri": uri, "provider": NAME, "name": name, "title": words,
                               "arguments": arguments_of(found)}
                        for name, words in titles_of(found, sources[one.path]).items()
                    },
                })  # fmt: skip
        return rows


def _range(place: types.Position) -> dict[str, Any]:
    at = {"line": place.line, "character": place.character}
    return {"start": at, "end": at}
