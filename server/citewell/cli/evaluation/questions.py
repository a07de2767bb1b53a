"""Questions for commands that learn or compare: from the user's own papers, or from a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from citewell.model import Problem, Question
    from citewell.options import Options
    from citewell_corpus.processes import Progress
    from citewell_lab.datasets import DataSet
    from citewell_lab.evaluation.results import DataInfo
    from citewell_lab.tuning.examples import Examples

# The questions of `citewell eval`: a named data set or a file, filtered and split.

NAMED = {
    "dev": "contexts/dev.jsonl.gz",
    "train": "contexts/train.jsonl.gz",
    "no-gold": "contexts/train_no_gold.jsonl.gz",
    "autoscholar": "queries/autoscholar_dev.jsonl.gz",
    "sparbench": "queries/sparbench_dev.jsonl.gz",
    "hallmark": "references/hallmark_dev.jsonl.gz",
    "references": "references/references_dev.jsonl.gz",
}
"""Data sets by name, below the folder `../shared/data` of a checkout."""

GENERATED = ("paperet", "paperet-filters")
"""Questions generated from the library: by author, topic, year and venue, in natural wording or
with filters."""

CORPORA = {
    "acl": "corpus/acl.jsonl.zst",
    "ml": "corpus/ml.jsonl.zst",
    "titles": "corpus/titles.jsonl.zst",
}
"""Corpora by name, below the same folder."""
TRAINED_ON = ("dev", "autoscholar", "sparbench")
"""Data sets split into a part for training the shipped weights, one for tuning, and the rest for
tests."""


def default_split(name: str) -> str:
    """`test` for a data set partly used in training; a user's own file is used as a whole."""
    return "test" if name in TRAINED_ON and not Path(name).exists() else "all"


def checkout() -> Path:
    """The source folder, if this runs from a checkout."""
    return Path(__file__).resolve().parents[4]


def data_folder() -> Path | None:
    """The developers' data beside the checkout, or beside the current folder, or None."""
    for start in (Path.cwd(), checkout()):
        folder = start.parent / "shared" / "data"
        if folder.is_dir():
            return folder
    return None


def cache_folder() -> Path:
    """The folder of libraries built for measuring: `.cache` of a checkout, else the user's
    cache."""
    if (checkout() / "pyproject.toml").is_file():
        return checkout() / ".cache"
    from citewell.options.folders import cache_folder as user_cache_folder

    return user_cache_folder() / "evaluation"


def locate(name: str, known: Mapping[str, str] = NAMED) -> Path:
    """The path of something given by name or by path; a usage error for neither."""
    path = Path(name).expanduser()
    if name not in known or path.exists():
        return path
    folder = data_folder()
    if folder is None or not (folder / known[name]).exists():
        raise click.UsageError(
            f"`{name}` is not available: it lies at ../shared/data/{known[name]} of a checkout. "
            "Give a file instead."
        )
    return folder / known[name]


def read(name: str, schema: str) -> DataSet:
    """The data set. Raises `DataSetError` with a hint if it cannot be read."""
    from citewell_lab.datasets import open_data

    return open_data(locate(name), schema)


def select(data: DataSet, split: str, every: bool) -> tuple[list[Question], str]:
    """The selected questions, and a description of the selection."""
    questions: Sequence[Question] = data.questions
    words = [f"{data.schema} schema"]
    if data.split:
        words.append(f"the file's own split `{data.split}`")
    if data.schema == "contexts" and not every:
        questions = [question for question in questions if "clean" in question.tags]
        words.append(f"clean records only ({len(questions):,} of {len(data.questions):,})")
    if split != "all":
        questions = [question for question in questions if _part(question, data.schema) == split]
        unit = "repository" if data.schema == "contexts" else "question"
        words.append(f"{split} split by {unit} ({len(questions):,} questions)")
    elif data.name in ("dev", "autoscholar_dev", "sparbench_dev"):
        words.append(
            "all parts, including the training data of the bundled weights: see --split test"
        )
    return list(questions), "; ".join(words)


def _part(question: Question, schema: str) -> str:
    from citewell_lab.training.data import dev_part, question_part

    if schema == "contexts":
        unit = next((t[11:] for t in question.tags if t.startswith("repository:")), question.paper)
        return dev_part(unit)
    return question_part(question.id)


def generated_questions(
    name: str, split: str, options: Options
) -> tuple[list[Question], DataInfo, list[Problem]]:
    """Questions by author, topic, year and venue over the configured library."""
    from citewell.corpus.library import Library
    from citewell.engine.which_library import which_library
    from citewell_lab.datasets.metadata_queries import metadata_questions
    from citewell_lab.evaluation.results import DataInfo

    part: Literal["valid", "test"] = "valid" if split == "valid" else "test"
    with Library.open(which_library(options)) as library:
        works = library.iter_works()
        questions = metadata_questions(works, part, filtered=name == GENERATED[1])
        path = str(library.path)
    counts = {"questions": len(questions)}
    selection = f"{part} part; labelled by rule over the library"
    info = DataInfo(name=name, schema=name, path=path, counts=counts, selection=selection)
    return questions, info, []


PATH = click.Path(path_type=Path)


def with_questions(command: Any) -> Any:
    """Add the arguments for the source of questions."""
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
    """The questions selected by the arguments. Raises `click.UsageError`."""
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

    # The lists are the ranker's: a model being tuned must not have made them.
    plain = replace(options, llm=replace(options.llm, provider="none"))
    engine = open_engine(plain)
    try:
        return collect(engine, questions, limit=limit, seed=seed, reporter=reporter)
    finally:
        engine.close()
