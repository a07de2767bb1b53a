"""`citewell check`: are the references of a paper real, and right?"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.terminal import BROKEN, FINDINGS, OK, Session, console, echo_exact, show_problems
from citewell.model import CitewellError
from citewell.sources.service import ONLINE_SECONDS

if TYPE_CHECKING:
    from rich.console import Console

    from citewell.engine.contract import Checks
    from citewell.features.checking.check import Claims
    from citewell.features.checking.report import LocatedDiagnostic, Policy
    from citewell.model import Problem
    from citewell.model.check import Check
    from citewell.options import Options
    from citewell.usecases.find import Progress
    from citewell.usecases.library import Library

FORMATS = ("text", "json", "sarif", "github", "html", "ris")
FAIL_ON = ("fabricated", "wrong-detail", "not-found", "never")
PATH = click.Path(path_type=Path)
EDITS = "--fix, --mark, --replace and --remove"
LONG = 400
"""Number of references from which a progress bar is shown, and its module imported."""


ONLINE = click.option(
    "--online", is_flag=True,
    help="Also ask the allowed sources (`citewell sources`).",
)  # fmt: skip
SECONDS = click.option(
    "--seconds", type=click.FloatRange(0), default=ONLINE_SECONDS, show_default=True,
    help="With --online, time limit for the sources; 0: none.",
)  # fmt: skip


@click.command("check", short_help="Check that references exist and are correct.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True,
    help="Output format.",
)  # fmt: skip
@click.option("--out", type=PATH, help="Write it to this file instead of standard output.")
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON),
    help="Exit with 1 for this verdict or a worse one. Default: fabricated and not-in-venue.",
)  # fmt: skip
@click.option(
    "--policy", "policy_name", metavar="NAME|FILE",
    help="What blocks: default, neurips-2026, or a TOML file.",
)  # fmt: skip
@click.option(
    "--lint/--no-lint", default=True, show_default=True,
    help="Also report faults of the paper: undefined keys, open placeholders ...",
)  # fmt: skip
@click.option(
    "--select", multiple=True, metavar="CODE", help="Show only findings of this code or kind."
)
@click.option("--ignore", multiple=True, metavar="CODE", help="Hide findings of this code or kind.")
@ONLINE
@SECONDS
@click.option(
    "--check-urls", is_flag=True,
    help="Also request the web addresses of the references.",
)  # fmt: skip
@click.option("--every", is_flag=True, help="Also check entries that the paper does not cite.")
@click.option(
    "--grobid", default="", metavar="URL",
    help="GROBID server that receives and reads PDFs.",
)  # fmt: skip
@click.option("--fix", is_flag=True, help="Show corrections as a diff.")
@click.option(
    "--mark", multiple=True, metavar="KEY",
    help="Mark this entry as checked: its findings become notes.",
)  # fmt: skip
@click.option(
    "--replace", "replaced", multiple=True, metavar="KEY[=ID]",
    help="Replace this entry by its record, or by the paper ID.",
)  # fmt: skip
@click.option(
    "--remove", multiple=True, metavar="KEY",
    help="Remove this entry; its citations become open placeholders.",
)  # fmt: skip
@click.option(
    "--write", is_flag=True,
    help="Write the changes.",
)  # fmt: skip
@click.option(
    "--unsafe-fixes", is_flag=True,
    help="With --fix, also cite published versions and replace fabricated entries.",
)  # fmt: skip
@click.option(
    "--all", "show_all", is_flag=True,
    help="Also list references without findings (text, sarif, github).",
)  # fmt: skip
@click.pass_context
def check(
    ctx: click.Context,
    files: tuple[Path, ...],
    form: str,
    out: Path | None,
    fail_on: str | None,
    policy_name: str | None,
    lint: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    online: bool,
    seconds: float,
    check_urls: bool,
    every: bool,
    grobid: str,
    fix: bool,
    mark: tuple[str, ...],
    replaced: tuple[str, ...],
    remove: tuple[str, ...],
    write: bool,
    unsafe_fixes: bool,
    show_all: bool,
) -> None:
    """Check that references exist and are correct.

    FILES are .bib files, papers, folders of papers, PDFs, Word and OpenDocument texts, or
    plain-text lists of references; - is standard input, arXiv:ID a paper on arXiv, if allowed. A
    work that the library lacks is "not found", which is no evidence against it. Only --online and
    --check-urls send anything.

    Exits with 0 if nothing blocks, 1 if something does, and 2 if the check could not run.
    """
    from citewell.features.checking.check import selected
    from citewell.features.checking.report import Weight, lint_papers, weighed
    from citewell.usecases.library import Library

    policy = _policy(policy_name, fail_on)
    changes = _changes(mark, replaced, remove)
    _check_names(select, ignore)
    _check_edits(files, out, form, fix=fix, changes=changes, write=write, unsafe=unsafe_fixes)
    session, options = _loaded(ctx.obj, files, grobid)
    if changes:
        from citewell.cli.check_fix import change_entries

        with Library(options, online=online) as library:
            change_entries(library, files, changes, write=write)
        return
    claims = _claims(files, options, every)
    if session.verbosity >= 0:
        show_problems(claims.problems)
    levels = options.diagnostics.severity
    linted = lint_papers(files, options.documents, levels) if lint and not fix else []
    diagnostics = [one for one in linted if _is_wanted(one.code, select, ignore)]
    if not claims.claims and not diagnostics:
        if form in ("json", "sarif") and not fix:
            write_report(_written(Results(policy), form, files, claims.problems) or "", out)
        ctx.exit(BROKEN if claims.problems else OK)
    try:
        with Library(options, online=online) as library:
            found = _check(library, claims, seconds or float("inf"), addresses=check_urls)
            checks = selected(found.checks, select, ignore)
            if fix:
                from citewell.cli.check_fix import fix_entries

                checks = fix_entries(library, checks, write=write, unsafe=unsafe_fixes)
    except CitewellError as error:
        if form == "json":
            problems = [*claims.problems, error.problem]
            write_report(_written(Results(policy), form, files, problems) or "", out)
        raise
    results = Results(policy, tuple(checks), tuple(diagnostics))
    if not fix:
        text = _written(results, form, files, (*claims.problems, *found.problems), every=show_all)
        if text is not None or out is not None:
            write_report(text or _plain(results, show_all), out)
        else:
            _show(console(), results, show_all)
    blocking = weighed(policy, checks, diagnostics)[Weight.BLOCKING]
    ctx.exit(FINDINGS if blocking else _unread(files, claims.problems))


@dataclass(frozen=True)
class Results:
    """The results of a check, and the policy that weighs them."""

    policy: Policy
    checks: tuple[Check, ...] = ()
    diagnostics: tuple[LocatedDiagnostic, ...] = ()


def _loaded(session: Session, files: Sequence[Path], grobid: str) -> tuple[Session, Options]:
    """The session with its flags, and the settings for the first file."""
    if grobid:
        session = replace(session, overrides=(*session.overrides, f"pdf.grobid={grobid}"))
    first = files[0] if files[0].is_file() or files[0].is_dir() else None
    return session, session.load(first).options


def _policy(name: str | None, fail_on: str | None) -> Policy:
    """The policy. Raises `CitewellError` for an unknown one."""
    from citewell.features.checking.report import failing_from, policy_named

    if name is not None and fail_on is not None:
        raise click.UsageError("Give either --policy or --fail-on: both say what blocks.")
    return policy_named(name) if name is not None else failing_from(fail_on or "fabricated")


def _is_wanted(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    return (not select or code.startswith(tuple(select))) and not (
        ignore and code.startswith(tuple(ignore))
    )


def _unread(files: Sequence[Path], problems: Sequence[Problem]) -> int:
    """The exit code of a check without findings: a named file may be missing."""
    named = set(map(str, files))
    missing = any(one.code == "file-missing" and one.path in named for one in problems)
    return BROKEN if missing else OK


def _changes(mark: Sequence[str], replaced: Sequence[str], remove: Sequence[str]) -> dict[str, str]:
    """The changes of entries by key, for `Library.changes`."""
    pairs = [(key, "mark") for key in mark]
    pairs += [(key, work or "record") for key, _, work in (one.partition("=") for one in replaced)]
    pairs += [(key, "remove") for key in remove]
    found = dict(pairs)
    if len(found) < len(pairs):
        raise click.UsageError("One key is given twice: choose what becomes of its entry.")
    return found


def _check_names(select: Sequence[str], ignore: Sequence[str]) -> None:
    """Reject names of unknown findings."""
    from difflib import get_close_matches

    from citewell.features.checking.lint import CODES
    from citewell.verification.finding import MEANINGS

    known = (*MEANINGS, *CODES)
    for name in (*select, *ignore):
        if not any(code.startswith(name) for code in known):
            near = get_close_matches(name, known, 1, 0.5)
            hint = f" Did you mean {near[0]!r}?" if near else f" Codes: {', '.join(known)}."
            raise click.UsageError(f"Unknown finding code {name!r}.{hint}")


def _check_edits(
    files: Sequence[Path],
    out: Path | None,
    form: str,
    *,
    fix: bool,
    changes: Mapping[str, str],
    write: bool,
    unsafe: bool,
) -> None:
    """Reject flags without effect, and changes without a file."""
    if fix and changes:
        raise click.UsageError("Give either --fix, or --mark, --replace and --remove.")
    if unsafe and not fix:
        raise click.UsageError("--unsafe-fixes needs --fix.")
    if not (fix or changes):
        if write:
            raise click.UsageError(f"--write needs one of {EDITS}.")
        return
    if form != "text":
        raise click.UsageError(f"{EDITS} show a diff and take no other format.")
    if out is not None:
        raise click.UsageError(f"{EDITS} write their diff to standard output; redirect that.")
    if any(str(path) == "-" for path in files):
        raise click.UsageError(f"{EDITS} change .bib files; name the file instead of -.")


def write_report(text: str, out: Path | None) -> None:
    """Write a report to a file, or to standard output."""
    if out is not None:
        from citewell_lab.evaluation.results import write_atomically

        write_atomically(out, text.encode("utf-8"))
    else:
        echo_exact(text)


def _claims(files: Sequence[Path], options: Options, every: bool) -> Claims:
    from citewell.features.checking.check import Claims, claims_in_files, nothing_in, references_in

    papers = [path for path in files if _arxiv_of(path)]
    named = [path for path in files if str(path) != "-" and path not in papers]
    found = claims_in_files(named, options.documents, every=every, pdf=options.pdf)
    for paper in papers:
        more = _claims_on_arxiv(_arxiv_of(paper), options)
        found = Claims((*found.claims, *more.claims), (*found.problems, *more.problems))
    if len(named) + len(papers) == len(files):
        return found
    pasted = references_in(sys.stdin.buffer.read().decode("utf-8", "replace"))
    empty = () if pasted.claims else (nothing_in("standard input"),)
    return Claims((*found.claims, *pasted.claims), (*found.problems, *pasted.problems, *empty))


def _arxiv_of(path: Path) -> str:
    """The arXiv id in an argument such as "arXiv:1706.03762", unless there is a file with that
    name."""
    from citewell.model.identifiers import identifier_of

    text = str(path)
    if not text.lower().startswith(("arxiv:", "https:", "http:")) or path.exists():
        return ""
    # An address treated as a path has lost a slash.
    found = identifier_of(re.sub(r"^(https?):/+", r"\1://", text))
    return found.arxiv if found is not None else ""


def _claims_on_arxiv(arxiv: str, options: Options) -> Claims:
    from citewell.engine.arxiv_papers import download
    from citewell.features.checking.check import Claims, claims_of_arxiv
    from citewell.model.system.child_process import temporary_folder

    with temporary_folder() as place:
        folder = place.resolve()
        if (problem := download(arxiv, options, folder)) is not None:
            return Claims((), (problem,))
        return claims_of_arxiv(arxiv, folder, options.documents, options.pdf)


def _check(library: Library, claims: Claims, seconds: float, *, addresses: bool) -> Checks:
    """Check all references, with a progress bar if that is slow. `seconds`: time limit of the
    sources, if allowed. `addresses`: whether to request the references' web addresses, too."""
    import msgspec

    from citewell.usecases.check import check_addresses
    from citewell.usecases.find import no_progress

    total = len(claims.claims)
    with ExitStack() as stack:
        long = library.online or total >= LONG
        progress = stack.enter_context(progress_bar("checking", total)) if long else no_progress
        found = library.check_claims(claims.claims, seconds=seconds, progress=progress)
    show_problems(found.problems)
    if not addresses:
        return found
    return msgspec.structs.replace(found, checks=tuple(check_addresses(found.checks)))


@contextmanager
def progress_bar(words: str, total: int) -> Iterator[Progress]:
    """A bar on a terminal, whose callbacks may change the total."""
    from rich import progress as rich

    out = console(err=True)
    columns = (
        rich.TextColumn(words), rich.BarColumn(), rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
    )  # fmt: skip
    with rich.Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(words, total=total)
        yield lambda stage, done, total: bar.update(task, completed=done, total=total)


def _written(
    results: Results,
    form: str,
    files: Sequence[Path],
    problems: Sequence[Problem] = (),
    *,
    every: bool = False,
) -> str | None:
    """The results as text in the format; None for the terminal's own."""
    import msgspec

    if form == "text":
        return None
    from citewell.features.checking import report as check_report

    if form == "github":
        lines = check_report.to_github(results.checks, results.diagnostics, every=every)
        return "".join(line + "\n" for line in lines)
    if form == "ris":
        return check_report.to_ris(results.checks)
    if form == "html":
        from citewell.features.checking import page as check_page

        names = ", ".join(path.name for path in files)
        return check_page.to_html(results.checks, f"References of {names}", results.diagnostics)
    value = (
        check_report.to_sarif(results.checks, Path.cwd(), results.diagnostics, every=every)
        if form == "sarif"
        else check_report.to_json(
            results.checks, problems, results.diagnostics, policy=results.policy
        )
    )
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8") + "\n"


def _plain(results: Results, show_all: bool) -> str:
    """The terminal's output as text for a file."""
    from rich.console import Console

    text = StringIO()
    _show(Console(file=text, highlight=False, width=120), results, show_all)
    return text.getvalue()


def _show(out: Console, results: Results, show_all: bool) -> None:
    """Print the findings of each reference, worst first, with the given and the expected value;
    then the diagnostics of the paper, and the summary."""
    from rich.text import Text

    from citewell.features.checking.check import ORDER, tally
    from citewell.features.checking.report import in_words
    from citewell.model.check import Verdict
    from citewell.model.words import VERDICTS

    checks = results.checks
    for verdict in ORDER:
        for one in (one for one in checks if one.verdict is verdict):
            if verdict is Verdict.VERIFIED and not (show_all or one.findings):
                continue
            if verdict is Verdict.NOT_FOUND and not (show_all or one.findings):
                continue
            _show_one(out, one)
    count, mark, rest = in_words(checks).partition(":")
    out.print(Text(count + mark, style="bold").append(rest, style="not bold"))
    if tally(checks)[Verdict.NOT_FOUND]:
        words = VERDICTS[Verdict.NOT_FOUND]
        out.print(f"{words.label.capitalize()}: {words.meaning}", style="dim")
    for found in results.diagnostics:
        line = Text(f"{found.path}:{found.line}: ", style="cyan")
        line.append(f"{found.level.value}: ", style="bold")
        line.append(found.message, style="default").append(f"  [{found.code}]", style="dim")
        out.print(line, soft_wrap=True)
    _show_weights(out, results)


def _show_weights(out: Console, results: Results) -> None:
    from rich.text import Text

    from citewell.features.checking.report import Weight, weighed

    counts = weighed(results.policy, results.checks, results.diagnostics)
    if not counts:
        return
    words = [f"{counts[weight]:,} {weight.value}" for weight in Weight if counts[weight]]
    if counts[Weight.NOTE] > 1:
        words[-1] += "s"
    line = Text(", ".join(words), style="bold red" if counts[Weight.BLOCKING] else "bold")
    out.print(line.append(f" (policy {results.policy.name}).", style="not bold default"))


_STYLES = {"bad": "bold red", "warn": "bold yellow", "good": "green", "": "bold"}


def _show_one(out: Console, one: Check) -> None:
    from rich.text import Text

    from citewell.features.checking.check import counts
    from citewell.features.checking.report import label
    from citewell.model.words import assurance, words_of

    claim = one.claim
    place = f"{claim.path}:{claim.line}: " if claim.path and claim.line else ""
    place = f"{claim.path}: " if claim.path and claim.page else place
    head = Text(place, style="cyan").append(label(one), style="bold default")
    words = words_of(one)
    head.append(f"  {words.label}", style=_STYLES[words.tone])
    out.print(head, soft_wrap=True)
    if one.claim.key and one.claim.title:
        out.print(Text(f"    {one.claim.title}", style="italic"), soft_wrap=True)
    for finding in one.findings:
        mark = "" if counts(finding) else "note: "
        text = Text(f"    {finding.field}: {mark}{finding.message}", style="default")
        text.append(f"  [{finding.code}, {assurance(finding.confidence)}]", style="dim")
        out.print(text, soft_wrap=True)
        if finding.given and finding.expected and counts(finding):
            out.print(Text(f"      - {finding.given}", style="red"), soft_wrap=True)
            out.print(Text(f"      + {finding.expected}", style="green"), soft_wrap=True)
    if one.evidence and (counts_any(one) or not one.findings):
        out.print(Text(f"    {one.evidence[0]}", style="dim"), soft_wrap=True)
    for line in _commands(one):
        out.print(Text(f"    {line}", style="dim"), soft_wrap=True)


def _commands(one: Check) -> list[str]:
    """The commands for an unverified entry of a .bib."""
    from citewell.features.citing.completion import DOUBTED
    from citewell.usecases.check import MARK, RECORD, REMOVE, changes_for

    claim = one.claim
    if not claim.path.lower().endswith((".bib", ".bibtex")):
        return []
    offered = changes_for(one)
    key = shlex.quote(claim.key)
    words = {RECORD: f"--replace {key}", REMOVE: f"--remove {key}", MARK: f"--mark {key}"}
    ways = [words[change] for change in offered]
    found = []
    if one.verdict in DOUBTED and claim.title and ways:
        author = f" [--author {shlex.quote(claim.authors[0].family)}]" if claim.authors else ""
        found.append(f"citewell find {shlex.quote(claim.title[:100])}{author}")
        ways = [f"--replace {key}=ID", *ways]
    if ways:
        found.append(f"citewell check {shlex.quote(claim.path)} {' | '.join(ways)}")
    return found


def counts_any(one: Check) -> bool:
    """True when a finding affects the verdict."""
    from citewell.features.checking.check import counts

    return any(counts(finding) for finding in one.findings)
