"""Bulk download of works from a source into the library, for every front end.

`citewell library fetch` does the work in a separate process: it may be killed at any time, and the
same request resumes it. Processes with the library open see the new works.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from citewell.engine.processes import command_line, worker_environment
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel
from citewell.model.system.child_process import start_command
from citewell.options import Options
from citewell.sources.registry import may_download
from citewell.usecases.find import Progress, no_progress

FETCHING = "fetching"
PLANNED_SOURCE = "openalex"
"""The source of a selection that is planned for a paper."""
EXAMPLE = "arxiv --category cs.CL --since 2024"
T = TypeVar("T")
_PREFIX = "citewell library fetch "
_STEP = 0.1
_MOST_WORDS = 40
_SHARE = re.compile(r"^(.+): (\d+)%$")
_ERROR = re.compile(r"^(?:error|Error): (.+?)(?: \[([\w-]+)\])?$")


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The works to download from a source; see `citewell library fetch`."""

    source: str = PLANNED_SOURCE
    paper: str = msgspec.field(name="for", default="")
    """Path of a paper from whose references the selection is planned."""
    query: str = ""
    topic: tuple[str, ...] = ()
    venue: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    institution: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    cited_at_least: int | None = None
    max: int | None = None

    @property
    def arguments(self) -> list[str]:
        """The request as arguments of the command line."""
        found = []
        for name, option in zip(self.__struct_fields__[1:], _OPTIONS, strict=True):
            value = getattr(self, name)
            for one in value if isinstance(value, tuple) else (value,):
                if one not in (None, ""):
                    # One word, so that no value is taken for an option.
                    found.append(f"--{option.replace('_', '-')}={one}")
        return [*found, "--", self.source]


_OPTIONS = FetchRequest.__struct_encode_fields__[1:]


class FetchSize(msgspec.Struct, frozen=True, kw_only=True):
    """Estimated cost of a fetch, from its first page; None: not reported by the source."""

    source: str
    works: int | None = None
    megabytes: float | None = None
    seconds: float | None = None
    about: str = ""
    """The selection in words, where it was planned."""

    @property
    def words(self) -> str:
        """ "openalex: 12,345 works, about 21 MB and 3 min"."""
        if self.about:
            return f"{self.source}: {self.about}"
        if self.works is None:
            return f"{self.source} does not report the number of works"
        minutes = max(1, round((self.seconds or 0) / 60))
        size = max(1, round(self.megabytes or 0))
        return f"{self.source}: {self.works:,} works, about {size:,} MB and {minutes:,} min"


class Built(msgspec.Struct, frozen=True):
    """The library after a build."""

    works: int = 0


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a download."""

    source: str
    new: int
    """In this run."""
    records: int
    """In all runs of the same request."""
    done: bool
    problem: Problem | None = None
    built: Built = Built()

    @property
    def works(self) -> int:
        """Number of works in the library afterwards."""
        return self.built.works


def request_of(words: str) -> FetchRequest:
    """Parse a request in words of the command line: `arxiv --category cs.CL --since 2024`. Raises
    `CitewellError` for invalid words."""
    found: dict[str, Any] = {}
    try:
        parts = shlex.split(words.removeprefix(_PREFIX))
    except ValueError as error:
        raise CitewellError(_wrong(f"{error}.")) from None
    values = iter(parts[:_MOST_WORDS])
    for part in values:
        name, _, value = part.removeprefix("--").partition("=")
        field = name.replace("-", "_")
        if not part.startswith("--"):
            if "source" in found:
                raise CitewellError(_wrong(f"{part!r} does not belong to an option."))
            found["source"] = part
        elif field not in _OPTIONS:
            raise CitewellError(_wrong(f"There is no option {part!r}."))
        else:
            value = value or next(values, "")
            several = isinstance(getattr(_EMPTY, field, None), tuple)
            found[field] = (*found.get(field, ()), value) if several else value
    if not found.keys() & {"source", "for"}:
        raise CitewellError(_wrong("It names no source."))
    try:
        return msgspec.convert(found, FetchRequest, strict=False)
    except msgspec.ValidationError as error:
        raise CitewellError(_wrong(f"{error}.")) from None


_EMPTY = FetchRequest()


def measure(options: Options, request: FetchRequest, cancel: Cancel | None = None) -> FetchSize:
    """Estimate the size of a download. Requests one page of the source; writes nothing. Raises
    `Cancelled`, and `CitewellError` for a source that is not allowed or does not answer."""
    _see_permission(options, request)
    arguments = ["library", "fetch", "--dry-run", "--json", *request.arguments]
    return run_command(options, arguments, FetchSize, no_progress, cancel)


def fetch(
    options: Options,
    request: FetchRequest,
    progress: Progress = no_progress,
    cancel: Cancel | None = None,
) -> Fetched:
    """Download the works and build the library with them. Raises as `measure` does; works
    downloaded before a cancellation are kept."""
    _see_permission(options, request)
    progress(FETCHING, 0, 100)
    arguments = ["library", "fetch", "--yes", "--json", *request.arguments]
    return run_command(options, arguments, Fetched, progress, cancel)


FEWEST_REFERENCES, LEAST_HELD = 10, 0.3
"""A paper with as many references, of which the library holds a smaller share, is offered the
fetch of its literature."""
NO_PAPER = "all"
"""Stands for every paper in `sources.no_offer`."""


def offer_of(paper: Path, held: int, references: int, options: Options) -> Problem | None:
    """The offer to fetch the literature around a paper; None where the library holds enough of its
    references, or where the author wants no offer."""
    declined = options.sources.no_offer
    if NO_PAPER in declined or str(paper) in declined:
        return None
    if references < FEWEST_REFERENCES or held >= LEAST_HELD * references:
        return None
    return Problem(
        "fetch-offered",
        f"The library holds {held:,} of the {references:,} references of {paper.name}.",
        f"Fetch the literature of this paper: `:Citewell fetch paper`, or `citewell library fetch "
        f"--for {paper.name}`; the setting `sources.no_offer` ends this message.",
    )


def suggestions(options: Options, paper: Path, cancel: Cancel | None = None) -> list[str]:
    """Requests in words for works that a paper or `.bib` cites and the library lacks, the most
    useful one first. Queries no source. Raises as `measure` does."""
    arguments = ["library", "coverage", "--json", "--", str(paper)]
    found = run_command(options, arguments, _Coverage, no_progress, cancel)
    return [command.removeprefix(_PREFIX) for command in found.commands]


class _Coverage(msgspec.Struct, frozen=True):
    commands: tuple[str, ...]


def _see_permission(options: Options, request: FetchRequest) -> None:
    from citewell.engine.online import missing_package

    if (problem := missing_package()) is not None:
        raise CitewellError(problem)
    if not may_download(options.sources.allow, request.source):
        message = f"The source {request.source[:100]} is not allowed: nothing was sent."
        hint = f"Run `citewell sources allow {request.source[:100]}`."
        raise CitewellError(Problem("sources-off", message, hint))


def run_command(
    options: Options, arguments: list[str], kind: type[T], progress: Progress, cancel: Cancel | None
) -> T:
    """Run a command to its end; return its JSON as a `kind`."""
    process = start_command([*command_line(options), *arguments], environment=worker_environment())
    output: list[str] = []
    errors: list[str] = []
    reported = 0
    assert process.stdin and process.stdout and process.stderr
    readers = (_reading(process.stdout, output.append), _reading(process.stderr, errors.append))
    try:
        while True:
            try:
                process.wait(_STEP)
                break
            except subprocess.TimeoutExpired:
                if cancel is not None:
                    cancel.check()
            news = errors[reported:]
            reported += len(news)
            for line in news:
                if (found := _SHARE.match(line)) is not None:
                    progress(found[1].lower(), int(found[2]), 100)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        for reader in readers:
            reader.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
    try:
        return msgspec.json.decode("".join(output), type=kind)
    except msgspec.DecodeError:
        raise CitewellError(_problem_in(errors)) from None


def _reading(stream: IO[bytes], take: Callable[[str], object]) -> threading.Thread:
    def read() -> None:
        for line in stream:
            take(line.decode("utf-8", "replace").rstrip("\r\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def _problem_in(lines: list[str]) -> Problem:
    """The error written by a command, with the hint on the next line."""
    for number, line in enumerate(lines):
        if (found := _ERROR.match(line)) is not None:
            hint = lines[number + 1].strip() if number + 1 < len(lines) else ""
            code = found[2] or "fetch-selection"
            return msgspec.structs.replace(_ENDED, code=code, message=found[1], hint=hint)
    return _ENDED


_ENDED = Problem("fetch-stopped", "The fetch ended without a result.", "Run it again.")


def _wrong(message: str) -> Problem:
    return Problem("fetch-selection", message, f"Write, for example: {EXAMPLE}")
