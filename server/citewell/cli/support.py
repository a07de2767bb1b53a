"""`citewell support`: does each cited paper's abstract support the sentence that cites it?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import (
    FINDINGS,
    OK,
    Session,
    console,
    show_cost,
    show_problems,
    write_json,
)

if TYPE_CHECKING:
    from citewell.features.checking.support import Support


@click.command("support", short_help="Ask a language model whether papers support the sentences.")
@click.argument("paper", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--key", "keys", multiple=True, metavar="KEY", help="Only this key (repeatable).")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True,
              help="Maximum number of citations, one request each.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
@click.pass_context
def support(
    ctx: click.Context, paper: Path, keys: tuple[str, ...], limit: int, as_json: bool
) -> None:
    """Ask a language model whether papers support the sentences that cite them.

    PAPER is a LaTeX or Markdown file; files that it includes are read, too. For each citation, the
    model reads the sentence and the abstract, and answers yes, no or unclear with a quote. Nothing
    depends on this opinion. Exits with 1 if the model could not be asked.
    """
    from citewell.documents.project.files import format_of
    from citewell.documents.project.paper_project import Project
    from citewell.engine.llm_stage import OFF
    from citewell.features.checking.support import ask_support, cited_sentences
    from citewell.model.document import Format
    from citewell.usecases.library import Library

    if format_of(paper) in (None, Format.BIBTEX):
        raise click.UsageError(f"{paper.name} is neither a LaTeX nor a Markdown file.")
    session: Session = ctx.obj
    options = session.load(paper).options
    if options.llm.provider == "none":
        show_problems([OFF])
        ctx.exit(FINDINGS)
    project = Project.open(paper, options.documents)
    sentences = cited_sentences(project, set(keys) or None)
    supports: list[Support] = []
    with Library(options) as library:
        for one in ask_support(project, library.engine, sentences[:limit]):
            supports.append(one)
            if not as_json:
                _show(one, project.root.parent)
        budget = library.engine.status().budget
    show_cost(budget)
    if as_json:
        write_json(to_json(supports, len(sentences)))
    else:
        _summarise(supports, len(sentences))
    answers = [one.supported for one in supports]
    failed = [a.problem for a in answers if a.problem and a.problem.code != "llm-no-abstract"]
    show_problems([*project.problems, *failed])
    ctx.exit(FINDINGS if failed and len(failed) == len(answers) else OK)


def to_json(supports: list[Support], citations: int) -> dict[str, Any]:
    """The answers, each with its place, and the number of citations."""
    from citewell.features.checking.support import CAUTION

    rows = [
        {
            "path": one.cited.path,
            "line": one.cited.line,
            "column": one.cited.column,
            "key": one.cited.key,
            "sentence": one.cited.sentence,
            "title": one.title,
            "verdict": None if one.supported.problem else one.supported.verdict,
            "words": one.supported.words,
            "model": one.supported.model,
            "program": one.supported.program,
            "problem": one.supported.problem,
        }
        for one in supports
    ]
    return {"citations": citations, "asked": rows, "note": CAUTION}


def _show(one: Support, root: Path) -> None:
    from rich.text import Text

    from citewell.features.text.evidence import what_it_says

    cited, answer = one.cited, one.supported
    place = Path(cited.path)
    shown = place.relative_to(root) if place.is_relative_to(root) else place
    text = Text(f"{shown.as_posix()}:{cited.line} ", style="bold")
    text.append(f"{cited.key}: {one.title}", style="default")
    text.append(f"\n    {cited.sentence}", style="dim")
    opinion = what_it_says(answer) if answer.problem is None else answer.problem.message
    text.append(f"\n    {opinion}", style="default")
    console().print(text, soft_wrap=True)


def _summarise(supports: list[Support], citations: int) -> None:
    from citewell.features.checking.support import CAUTION

    count = Counter(
        "not asked" if one.supported.problem else one.supported.verdict for one in supports
    )
    parts = [f"{count[name]} {name}" for name in ("yes", "no", "unclear", "not asked")]
    click.echo(f"{len(supports)} of {citations} citations: {', '.join(parts)}. {CAUTION}")
