"""workspace/executeCommand for the review of the paper that is open in the editor."""

from __future__ import annotations

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
from citewell.lsp.state.memory import ReviewedFiles
from citewell.model import CitewellError, Problem

if TYPE_CHECKING:
    from citewell.documents.project.paper_project import Project
    from citewell.features.review.report import Review

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
        and a `summary`; no rows for a file that is not open, or where the author cancelled. The row
        of an uncited name has the arguments of `citewell.insertPaper` that cite it there. What only
        a review finds is underlined from now on."""
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
        self.reviewed.take(task.own_findings())
        self.editor.show_problems(found.problems, again=True)
        counts = ", ".join(f"{count} {weight.value}" for weight, count in found.weights.items())
        return {
            "rows": self._rows(found, project),
            "figures": figure_rows(found.figures),
            "summary": counts or "no findings",
        }

    def _rows(self, found: Review, project: Project) -> list[dict[str, Any]]:
        from citewell.features.review.names import NAME

        encoding = self.editor.encoding
        indexes: dict[str, LineIndex] = {}
        texts = {str(path): one.text for path, one in project.documents.items()}
        texts |= {bib.path: bib.text for bib in project.bibliographies}
        rows = []
        for title, findings in found.by_part():
            for one in findings:
                text = texts.get(one.path, "")
                index = indexes.setdefault(one.path, LineIndex(text, encoding))
                start = index.starts[min(one.line, len(index.starts) - 1) - 1]
                at = start + one.column - 1
                place = index.position(at)
                uri = from_fs_path(str(Path(one.path)))
                cite = {}
                if one.code == "name-uncited" and (name := NAME.match(text, at)) is not None:
                    end = _range(index.position(name.end()))["end"]
                    cite = {"cite": {"uri": uri, "work": "" if one.key else one.work,
                                     "key": one.key, "position": end}}  # fmt: skip
                rows.append({
                    "uri": uri,
                    "range": _range(place),
                    "group": title,
                    "code": one.code,
                    "weight": one.weight,
                    "message": one.message,
                    "hint": one.hint,
                    **cite,
                })  # fmt: skip
        return rows


def _range(place: types.Position) -> dict[str, Any]:
    at = {"line": place.line, "character": place.character}
    return {"start": at, "end": at}
