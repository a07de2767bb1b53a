"""`citewell check`: are the references of a paper real, and right?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.report import BROKEN, FINDINGS, OK, show_problems
from citewell.cli.session import Session, console
from citewell.cli.terminal import echo_exact
from citewell.model import CitewellError
from citewell.sources.budget import ONLINE_SECONDS

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.features.checking.check import Claims
    from citewell.model import Problem
    from citewell.model.check import Check
    from citewell.options import Options
    from citewell.usecases.find import Progress
    from citewell.usecases.library import Library

FORMATS = ("text", "json", "sarif", "github", "html")
FAIL_ON = ("fabricated", "wrong-detail", "not-found", "never")
PATH = click.Path(path_type=Path)
LONG = 400
"""References from which a bar shows, and its module is imported."""


@click.command("check", short_help="Check that references exist and are correct.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="What to write.",
)  # fmt: skip
@click.option("--out", type=PATH, help="Write it to this file instead of standard output.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), default="fabricated", show_default=True,
    help="Exit with 1 for this verdict or a worse one.",
)  # fmt: skip
@click.option(
    "--select", multiple=True, metavar="CODE", help="Show only findings of this code or kind."
)
@click.option("--ignore", multiple=True, metavar="CODE", help="Hide findings of this code or kind.")
@click.option(
    "--online", is_flag=True,
    help="Also ask the allowed sources (`citewell sources`) where the library is not enough.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0), default=ONLINE_SECONDS, show_default=True,
    help="With --online, time limit for the sources; 0: none.",
)  # fmt: skip
@click.option(
    "--every", is_flag=True, help="For a paper, also check entries that it does not cite."
)
@click.option(
    "--grobid", default="", metavar="URL",
    help="Have the GROBID server at this address read PDFs; it receives them.",
)  # fmt: skip
@click.option("--fix", is_flag=True, help="Show corrections to .bib files as a diff.")
@click.option("--write", is_flag=True, help="With --fix, write the corrections.")
@click.option(
    "--unsafe-fixes", is_flag=True,
    help="With --fix, also replace preprints by their published versions.",
)  # fmt: skip
@click.option(
    "--all", "show_all", is_flag=True,
    help="Also list references without findings, such as those not found (text, sarif, " "github).",
)  # fmt: skip
@click.pass_context
def check(
    ctx: click.Context,
    files: tuple[Path, ...],
    form: str,
    out: Path | None,
    fail_on: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    online: bool,
    seconds: float,
    every: bool,
    grobid: str,
    fix: bool,
    write: bool,
    unsafe_fixes: bool,
    show_all: bool,
) -> None:
    """Check that references exist and are correct.

    FILES are .bib files, papers (the references that they cite are checked), PDFs, lists of
    references as text, or folders with papers; - reads standard input. Each reference is looked up
    in the library: is it a known work, and do title, authors, year, venue and identifiers agree
    with its record? A work that the library does not hold is "not found", which is no accusation.
    Nothing is sent anywhere without --online; with it, to the sources that you have allowed alone.
    """
    from citewell.features.checking.check import failing, selected
    from citewell.usecases.library import Library

    _check_flags(select, ignore, form, fix=fix, write=write, unsafe=unsafe_fixes)
    if fix:
        _check_fix(files, out)
    session: Session = ctx.obj
    if grobid:
        session = replace(session, overrides=(*session.overrides, f"pdf.grobid={grobid}"))
    options = session.load(files[0] if files[0].is_file() or files[0].is_dir() else None).options
    claims = _claims(files, options, every)
    if session.verbosity >= 0:
        show_problems(claims.problems)
    if not claims.claims:
        if form in ("json", "sarif") and not fix:
            _write(_written([], form, files, claims.problems) or "", out)
        ctx.exit(BROKEN if claims.problems else OK)
    try:
        with Library(options, online=online) as library:
            checks = selected(_check(library, claims, seconds or float("inf")), select, ignore)
            if fix:
                from citewell.cli.check_fix import fix_entries

                checks = fix_entries(library, checks, write=write, unsafe=unsafe_fixes)
    except CitewellError as error:
        if form == "json":
            _write(_written([], form, files, [*claims.problems, error.problem]) or "", out)
        raise
    if not fix:
        text = _written(checks, form, files, claims.problems, every=show_all)
        if text is None and out is not None:
            text = _plain(checks, show_all, online)
        if text is not None:
            _write(text, out)
        else:
            _show(console(), checks, show_all, online)
    ctx.exit(FINDINGS if failing(checks, fail_on) else _unread(files, claims.problems))


def _unread(files: Sequence[Path], problems: Sequence[Problem]) -> int:
    """The exit code of a check without findings: a named file may not be there."""
    named = set(map(str, files))
    missing = any(one.code == "file-missing" and one.path in named for one in problems)
    return BROKEN if missing else OK


def _check_flags(
    select: Sequence[str], ignore: Sequence[str], form: str, *, fix: bool, write: bool, unsafe: bool
) -> None:
    """Refuse flags that would do nothing, and names that are no finding's."""
    from difflib import get_close_matches

    from citewell.verification.codes import MEANINGS

    for name in (*select, *ignore):
        if not any(code.startswith(name) for code in MEANINGS):
            near = get_close_matches(name, MEANINGS, 1, 0.5)
            hint = f" Did you mean {near[0]!r}?" if near else f" Codes: {', '.join(MEANINGS)}."
            raise click.UsageError(f"Unknown finding code {name!r}.{hint}")
    if (write or unsafe) and not fix:
        raise click.UsageError("--write and --unsafe-fixes need --fix.")
    if fix and form != "text":
        raise click.UsageError("--fix writes a diff and takes no other format.")


def _check_fix(files: Sequence[Path], out: Path | None) -> None:
    """Refuse what --fix has no file for."""
    if out is not None:
        raise click.UsageError("--fix writes its diff to standard output; redirect that.")
    if any(str(path) == "-" for path in files):
        raise click.UsageError("--fix corrects .bib files; name the file instead of -.")


def _write(text: str, out: Path | None) -> None:
    if out is not None:
        from citewell.evaluation.results import write_atomically

        write_atomically(out, text.encode("utf-8"))
    else:
        echo_exact(text)


def _claims(files: Sequence[Path], options: Options, every: bool) -> Claims:
    from citewell.features.checking.check import Claims, claims_in_files, nothing_in, references_in

    named = [path for path in files if str(path) != "-"]
    found = claims_in_files(named, options.documents, every=every, pdf=options.pdf)
    if len(named) == len(files):
        return found
    pasted = references_in(sys.stdin.buffer.read().decode("utf-8", "replace"))
    empty = () if pasted.claims else (nothing_in("standard input"),)
    return Claims((*found.claims, *pasted.claims), (*found.problems, *pasted.problems, *empty))


def _check(library: Library, claims: Claims, seconds: float) -> Sequence[Check]:
    """Look all references up; a bar shows when that takes long. `seconds`: how long sources are
    asked, where they are."""
    from citewell.usecases.find import no_progress

    total = len(claims.claims)
    with ExitStack() as stack:
        long = library.online or total >= LONG
        progress = stack.enter_context(_bar(total)) if long else no_progress
        found = library.check_claims(claims.claims, seconds=seconds, progress=progress)
    show_problems(found.problems)
    return found.checks


@contextmanager
def _bar(total: int) -> Iterator[Progress]:
    """A bar on a terminal."""
    from rich import progress as rich

    out = console(err=True)
    columns = (
        rich.TextColumn("checking"), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task("checking", total=total)
        yield lambda stage, done, total: bar.update(task, completed=done)


def _written(
    checks: list[Check],
    form: str,
    files: Sequence[Path],
    problems: Sequence[Problem] = (),
    *,
    every: bool = False,
) -> str | None:
    """The result as text of the format; None for the terminal's own."""
    import msgspec

    if form == "text":
        return None
    from citewell.features.checking import report as check_report

    if form == "github":
        return "".join(line + "\n" for line in check_report.to_github(checks, every=every))
    if form == "html":
        from citewell.features.checking import page as check_page

        names = ", ".join(path.name for path in files)
        return check_page.to_html(checks, f"References of {names}")
    value = (
        check_report.to_sarif(checks, Path.cwd(), every=every)
        if form == "sarif"
        else check_report.to_json(checks, problems)
    )
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8") + "\n"


def _plain(checks: Sequence[Check], show_all: bool, online: bool) -> str:
    """What a terminal would show, as text for a file."""
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    _show(Console(file=text, highlight=False, width=120), checks, show_all, online)
    return text.getvalue()


def _show(out: Console, checks: Sequence[Check], show_all: bool, online: bool) -> None:
    """The findings of each reference, worst first, with the given and the expected value."""
    from rich.text import Text

    from citewell.features.checking.check import ORDER, tally
    from citewell.features.checking.report import in_words
    from citewell.model.check import Verdict

    styles = {Verdict.FABRICATED: "bold red", Verdict.WRONG_DETAIL: "bold yellow",
              Verdict.VERIFIED: "green"}  # fmt: skip
    for verdict in ORDER:
        for one in (one for one in checks if one.verdict is verdict):
            if verdict is Verdict.VERIFIED and not (show_all or one.findings):
                continue
            if verdict is Verdict.NOT_FOUND and not (show_all or one.findings):
                continue
            _show_one(out, one, styles.get(verdict, "bold"))
    count, mark, rest = in_words(checks).partition(":")
    out.print(Text(count + mark, style="bold").append(rest, style="not bold"))
    if tally(checks)[Verdict.NOT_FOUND]:
        places = "no queried source has" if online else "the library does not have"
        out.print(f"Not found means only that {places} the work.", style="dim")


def _show_one(out: Console, one: Check, style: str) -> None:
    from rich.text import Text

    from citewell.features.checking.check import counts
    from citewell.features.checking.report import WORDS, label

    claim = one.claim
    place = f"{claim.path}:{claim.line}: " if claim.path and claim.line else ""
    place = f"{claim.path}: " if claim.path and claim.page else place
    head = Text(place, style="cyan").append(label(one), style="bold default")
    head.append(f"  {WORDS[one.verdict]}", style=style)
    out.print(head, soft_wrap=True)
    if one.claim.key and one.claim.title:
        out.print(Text(f"    {one.claim.title}", style="italic"), soft_wrap=True)
    for finding in one.findings:
        mark = "" if counts(finding) else "note: "
        text = Text(f"    {finding.field}: {mark}{finding.message}", style="default")
        text.append(f"  [{finding.code}, {finding.confidence:.0%}]", style="dim")
        out.print(text, soft_wrap=True)
        if finding.given and finding.expected and counts(finding):
            out.print(Text(f"      - {finding.given}", style="red"), soft_wrap=True)
            out.print(Text(f"      + {finding.expected}", style="green"), soft_wrap=True)
    if one.evidence and (counts_any(one) or not one.findings):
        out.print(Text(f"    {one.evidence[0]}", style="dim"), soft_wrap=True)


def counts_any(one: Check) -> bool:
    """True when a finding bears on the verdict."""
    from citewell.features.checking.check import counts

    return any(counts(finding) for finding in one.findings)
