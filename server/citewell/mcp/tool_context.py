"""The context of all tools: settings, engine, roots, and earlier reports."""

from __future__ import annotations

import copy
import json
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.from_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ResourceLink, TextContent

from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.engine.contract import Engine
from citewell.features.citing.known_works import work_named
from citewell.features.citing.write import Plan, write_edits
from citewell.mcp.roots import Roots, outside
from citewell.model import CitewellError, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.check import Check
from citewell.model.feedback import Feedback, name_of
from citewell.options import Options
from citewell.serving.problem_json import without_keys
from citewell.serving.queues import THREADS, Kind, Queues
from citewell.usecases.find import Progress, digest

logger = logging.getLogger(__name__)

OFFERED = 500
"""Number of papers of the last answers stored with their query."""
MAX_WAITING = 1_000
"""Maximum number of waiting calls of each kind: more than the possible sessions."""
REPORTS = 32
"""Number of reports kept for further pages and as a resource."""

R = TypeVar("R")
_json_of = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class ToolContext:
    """The context. Thread-safe; one for all clients of a server."""

    def __init__(
        self,
        options: Options,
        engine: Engine,
        roots: Roots,
        allow_write: bool,
        *,
        workers: int = 1,
        shared: bool = False,
        confirm: bool = True,
    ) -> None:
        """`workers` is the number of search processes of the engine. `shared`: several clients use
        it, from any machine. `confirm`: a capable client asks its user before a change."""
        self.options = options
        self.engine = engine
        self.roots = roots
        self.allow_write = allow_write
        self.shared = shared
        self.confirm = confirm
        self._queues = Queues(threads=THREADS * workers, waiting=MAX_WAITING)
        self._secret = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._reports: OrderedDict[str, tuple[Check, ...]] = OrderedDict()
        self._offered: OrderedDict[str, tuple[Query, str]] = OrderedDict()

    def with_roots(self, roots: Roots) -> ToolContext:
        """A context with other roots, which shares all else."""
        other = copy.copy(self)
        other.roots = roots
        return other

    async def run(self, work: Callable[[Cancel], R], kind: Kind = "record") -> R:
        """Run work on a thread, in its turn among work of its kind; a cancellation stops it at its
        next check."""
        cancel = Cancel()
        with tool_errors():
            try:
                with self._queues.place(kind):
                    return await self._queues.run(kind, partial(work, cancel))
            except anyio.get_cancelled_exc_class():
                cancel.set()
                raise

    def project(self, path: Path) -> Project:
        """The paper of a file; included files outside the roots count as empty."""
        return Project.open(
            path,
            self.options.documents,
            roots=self.roots.folders,
            read=self.roots.overlay,
            bib_options=self.options.bib,
            cache=FileCache(self.options.documents),
        )

    def work(self, name: str) -> Work:
        """The record with an id. Raises `CitewellError` if there is none."""
        return work_named(self.engine, name, self.options.bib.key_pattern)

    def may(self, write: bool) -> None:
        """Raise `CitewellError` if files are to be written without permission."""
        if write and not self.allow_write:
            raise CitewellError(
                Problem(
                    "mcp-read-only",
                    "This server is read-only.",
                    "Call without write and show the diff, or ask the user to start it as "
                    "`citewell mcp --allow-write --root FOLDER`.",
                )
            )

    def write(self, plan: Plan, cancel: Cancel) -> None:
        """Write a plan inside the roots. Raises `CitewellError`."""
        cancel.check()
        for edit in plan.edits:
            if not self.roots.holds(Path(edit.path)):
                raise CitewellError(outside(edit.path))
        write_edits(plan.edits, plan.texts)

    def report_name(self, *parts: object) -> str:
        """The name of a report, known only to its client, since clients share a server."""
        return digest(self._secret, *parts)

    def offered(self, query: Query, result: SearchResult) -> None:
        """Store the query for which the papers of a list were offered."""
        with self._lock:
            for hit in result.hits:
                self._offered[hit.work.id] = (query, result.variant)
                self._offered.move_to_end(hit.work.id)
            while len(self._offered) > OFFERED:
                self._offered.popitem(last=False)

    def learn(self, work: Work, project: Path) -> None:
        """Have the engine learn that a paper was added to a bibliography, unless that is off.

        Papers that an agent ignores are no evidence: no author has seen them.
        """
        query, variant = self._offered.get(work.id, (Query(), ""))
        feedback = Feedback(
            accepted=name_of(work),
            query=query,
            project=str(project),
            through="mcp",
            variant=variant,
        )
        self.log_problems(self.engine.learn(feedback))

    @staticmethod
    def log_problems(problems: Sequence[Problem]) -> None:
        """Log problems for which an answer has no place."""
        for problem in problems:
            logger.warning("%s", problem)

    def keep(self, name: str, checks: Sequence[Check]) -> None:
        """Store a report."""
        with self._lock:
            self._reports[name] = tuple(checks)
            self._reports.move_to_end(name)
            while len(self._reports) > REPORTS:
                self._reports.popitem(last=False)

    def report(self, name: str) -> tuple[Check, ...] | None:
        """The report with a name."""
        with self._lock:
            return self._reports.get(name)

    def last_report(self) -> tuple[Check, ...] | None:
        """The last report of any client."""
        with self._lock:
            return next(reversed(self._reports.values()), None)


def progress_of(ctx: Context) -> Progress:
    """A function that sends a use case's progress to the client from a thread of
    `ToolContext.run`."""

    def report(stage: str, done: int, total: int) -> None:
        anyio.from_thread.run(ctx.report_progress, done, total, stage)

    return report


@contextmanager
def tool_errors() -> Iterator[None]:
    """Turn errors in the block into the error for the model."""
    try:
        yield
    except Cancelled as error:
        raise ToolError("The request was cancelled.") from error
    except CitewellError as error:
        raise ToolError(failure(error.problem)) from error


def failure(problem: Problem) -> str:
    """The error for the model: the code, the problem, and the remedy."""
    return without_keys(f"[{problem.code}] {problem.message} {problem.hint}".rstrip())


def notes_of(problems: Iterable[Problem]) -> list[str]:
    """The problems beside a result as text for a model, each once."""
    return list(dict.fromkeys(failure(problem) for problem in problems))[:10]


STRUCTURED_READERS = frozenset({"claude-code", "codex-mcp-client", "opencode"})
"""Names of clients that give their model the structured content of an answer, and drop the text. No
capability of the protocol shows this, and most others show only the text."""


LINKS_SINCE = "2025-06-18"
"""Version of the protocol from which a result may hold links."""
MAX_LINKS = 10


def answer_of(value: dict[str, Any], ctx: Context, links: Sequence[ResourceLink]) -> CallToolResult:
    """A structured result; also as compact JSON with the first links to resources, except for a
    client that passes the structured one to its model."""
    client = ctx.session.client_params
    if client is not None and client.client_info.name in STRUCTURED_READERS:
        return CallToolResult(content=[], structured_content=value)
    text = TextContent(type="text", text=_json_of(value))
    linked = links[:MAX_LINKS] if ctx.session.protocol_version >= LINKS_SINCE else ()
    return CallToolResult(content=[text, *linked], structured_content=value)
