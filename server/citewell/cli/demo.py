"""`citewell demo`: a bundled paper is filled from the starter library, checked, and compiled."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from citewell.cli.terminal import FINDINGS, OK, Session, console, show_problems
from citewell.model.problem import CitewellError, Problem

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.options import Options
    from citewell.usecases.fill import FillPlan

FILES = ("paper.tex", "references.bib")
RECORD = ".citewell-demo.json"
"""Hashes of the files of the demo, so that a second run never overwrites changed files."""


@click.command(
    "demo", short_help="Fill the citations of a bundled paper from real ones, and compile it."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("citewell-demo"),
    help="Folder for the paper; default: citewell-demo.",
)
@click.option("--no-compile", is_flag=True, help="Skip pdflatex and bibtex.")
@click.option("--page", is_flag=True, help="Open the web page instead.")
@click.pass_context
def demo(ctx: click.Context, out: Path, no_compile: bool, page: bool) -> None:
    """Fill the citations of a bundled paper from real ones, and compile it.

    Searches the starter library, or that of --library. Exits with 1 if a placeholder stays open, a
    key is in no .bib, or the paper does not compile.
    """
    session: Session = ctx.obj
    screen = console()
    _step(screen, 1, "The library")
    options = _with_starter(session)
    if page:
        return _show_page(options)
    _step(screen, 2, f"The paper, in {out}")
    paper = copy_paper(out)
    plan = _fill(screen, paper, options)
    _step(screen, 4, "The check")
    sound = _check(screen, paper, options, plan)
    _remember(out)
    if not no_compile:
        _step(screen, 5, "The PDF")
        sound = _compile(screen, paper) and sound
    screen.print(
        '\nThe same library answers `citewell find "words"` and `citewell fill paper.tex`.'
    )
    ctx.exit(OK if sound else FINDINGS)


def _show_page(options: Options) -> None:
    """Serve the web page on a free port, open it, and return when a signal ends the server."""
    from citewell.http import serve
    from citewell.web import open_page, with_page

    serve(options, page=with_page, on_start=open_page)


def _step(screen: Console, number: int, title: str) -> None:
    from rich.text import Text

    screen.print(Text(f"\n{number}. {title}", style="bold"))


def _with_starter(session: Session) -> Options:
    """The settings, with the starter library unless a flag names another."""
    from citewell.corpus.layout import starter_folder

    options = session.load().options
    if session.library:
        click.echo(f"   {options.library.name}, set by --library")
        return options
    path = starter_folder()
    click.echo(f"   {path}")
    library = replace(options.library, path=path.parent, name=path.name)
    return replace(options, library=library)


def copy_paper(out: Path) -> Path:
    """Copy the bundled paper into `out` and return its path there.

    A folder with files that no earlier demo wrote is rejected, with the reason.
    """
    record = _recorded(out)
    for name in FILES:
        path = out / name
        if path.exists() and record.get(name) != _hash(path):
            raise CitewellError(
                Problem(
                    code="demo-folder-taken",
                    message=f"{path} exists and was not created by an earlier demo.",
                    hint="Choose another folder with --out, or move the file.",
                    path=str(path),
                )
            )
    source = resources.files("citewell.cli") / "demo_paper"
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (out / name).write_bytes((source / name).read_bytes())
        _remember(out)
    except OSError as error:
        raise CitewellError(
            Problem(
                code="demo-folder-unwritable",
                message=f"The paper cannot be written: {error.strerror or error}.",
                hint="Choose a writable folder with --out.",
                path=str(out),
            )
        ) from error
    return out / FILES[0]


def _recorded(out: Path) -> dict[str, str]:
    try:
        found = json.loads((out / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _remember(out: Path) -> None:
    hashes = {name: _hash(out / name) for name in FILES}
    (out / RECORD).write_text(json.dumps(hashes), encoding="utf-8")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fill(screen: Console, paper: Path, options: Options) -> FillPlan:
    from citewell.cli.fill import show_plan, summarise
    from citewell.usecases.library import Library

    _step(screen, 3, "The citations")
    # The placeholders of the bundled paper need papers of the library: each gets its best, with its
    # confidence.
    with Library(options) as library:
        # The paper's answers are known, so that nothing stays open.
        plan = library.fill(paper, unattended=True, threshold=0.0)
        show_problems(plan.problems)
        show_plan(screen, plan)
        library.write(plan)
    summarise(plan, bool(plan.edits), dry_run=False)
    return plan


def _check(screen: Console, paper: Path, options: Options, plan: FillPlan) -> bool:
    """Read the paper again from disk: no placeholder is left and every key has its entry."""
    from citewell.documents.project.paper_project import Project

    project = Project.open(paper, options.documents)
    used = {use.key for d in project.documents.values() for c in d.citations for use in c.keys}
    known = {entry.key for bib in project.bibliographies for entry in bib.entries}
    left = sum(len(document.placeholders) for document in project.documents.values())
    missing = sorted(used - known)
    if missing:
        screen.print(f"   missing from the .bib: {', '.join(missing)}", style="red")
    else:
        screen.print(f"   all {len(used)} keys of the paper are in its .bib", style="green")
    if left:
        screen.print(f"   {left} placeholders are still open", style="yellow")
    return not missing and not left and bool(plan.fills)


def _compile(screen: Console, paper: Path) -> bool:
    """Run pdflatex, bibtex, pdflatex, pdflatex; true if it worked or TeX is missing."""
    programs = [name for name in ("pdflatex", "bibtex") if shutil.which(name) is None]
    if programs:
        screen.print(f"   not compiled: {' and '.join(programs)} not installed", style="yellow")
        return True
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    for command in (
        [*latex, paper.name],
        ["bibtex", paper.stem],
        [*latex, paper.name],
        [*latex, paper.name],
    ):
        if not _run(command, paper.parent):
            log = paper.with_suffix(".log")
            screen.print(f"   {command[0]} failed: see {log}", style="red")
            return False
    log_text = paper.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    undefined = log_text.count("undefined on input line")
    if undefined:
        screen.print(f"   {undefined} undefined citations or references", style="red")
        return False
    screen.print(f"   {paper.with_suffix('.pdf')}, no undefined citations", style="green")
    return True


def _run(command: list[str], folder: Path) -> bool:
    import subprocess

    from citewell.model.system.child_process import run_program

    # TeX then writes only into this folder, whatever the system's own settings allow.
    environment = {**os.environ, "openout_any": "p", "max_print_line": "1000"}
    try:
        return run_program(command, folder, environment, 120.0) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
