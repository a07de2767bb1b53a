"""Questions for commands that learn or compare: from one's own papers, or from a data set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.evaluation.data import NAMED, read, select

if TYPE_CHECKING:
    from citewell.model import Problem, Question
    from citewell.options import Options
    from citewell_corpus.processes import Progress
    from citewell_lab.tuning.examples import Examples

PATH = click.Path(path_type=Path)


def with_questions(command: Any) -> Any:
    """The arguments that say where questions come from."""
    for option in (
        click.argument("papers", nargs=-1, type=PATH),
        click.option(
            "--data", metavar="NAME|FILE", default="",
            help=f"Data set: {', '.join(NAMED)}, or any file.",
        ),
        click.option(
            "--split", type=click.Choice(["train", "valid", "test", "all"]), default="train",
            show_default=True, help="Part of a data set.",
        ),
        click.option(
            "--limit", type=click.IntRange(1), default=200, show_default=True,
            help="Maximum number of passages.",
        ),
        click.option("--seed", default=0, show_default=True,
                     help="Random seed of the sample and the parts."),
    )[::-1]:  # fmt: skip
        command = option(command)
    return command


def questions_of(
    papers: tuple[Path, ...], data: str, split: str, options: Options
) -> tuple[list[Question], list[Problem]]:
    """The questions that the arguments name. Raises `click.UsageError`."""
    if bool(papers) == bool(data):
        raise click.UsageError(
            "Give either papers or a data set with --data.\n"
            "For example: citewell tune paper.tex --html page.html"
        )
    if papers:
        from citewell_lab.evaluation.leave_one_out import questions_of as own

        questions, _, problems = own(papers, options.documents)
        return questions, problems
    found = read(data, "")
    if found.kind != "questions":
        raise click.UsageError(f"{found.name} holds {found.kind}; questions are needed.")
    chosen, _ = select(found, split, False)
    return chosen, list(found.problems)


def examples_of(
    questions: list[Question], options: Options, limit: int, seed: int, reporter: Progress
) -> Examples:
    """The questions with the papers that the engine finds for them. Raises `CitewellError`."""
    from msgspec.structs import replace

    from citewell_lab.evaluation.evaluate import open_engine
    from citewell_lab.tuning.examples import collect

    # The lists are the ranker's: a model that is tuned must not have made them.
    plain = replace(options, llm=replace(options.llm, provider="none"))
    engine = open_engine(plain)
    try:
        return collect(engine, questions, limit=limit, seed=seed, reporter=reporter)
    finally:
        engine.close()
