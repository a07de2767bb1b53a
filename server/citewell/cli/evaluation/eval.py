"""`citewell eval`: how well citations are found, on one's own papers or on a data set."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from citewell.cli.evaluation.questions import (
    CORPORA,
    GENERATED,
    NAMED,
    cache_folder,
    data_folder,
    default_split,
    generated_questions,
    locate,
    read,
    select,
)
from citewell.cli.evaluation.tasks import (
    SCOPES,
    evaluate_explore,
    evaluate_references,
    evaluate_replay,
    evaluate_typed,
    holds_references,
    pooled,
    show_explore,
    show_replay,
    show_typed,
)
from citewell.cli.terminal import (
    FINDINGS,
    OK,
    Bars,
    Session,
    console,
    echo_exact,
    save_report,
    show_problems,
)

if TYPE_CHECKING:
    from citewell.model import Problem, Question
    from citewell.options import Options
    from citewell_lab.evaluation.methods import EvaluationPlan, SearchMethod
    from citewell_lab.evaluation.results import DataInfo

MODES = ("pipeline", "baselines", "text-baselines", "single", "all", "llm", "explore")
PATH = click.Path(path_type=Path)
POOL = "pool"
"""Stands for a paper, and has a pool made."""
POOLED = 10
"""Papers of each method in a pool."""
RETRIEVER_MS = 600_000
"""Time limit of a retriever in a measurement."""


@click.command("eval", short_help="Measure how well citations are found.")
@click.argument("papers", nargs=-1, type=PATH)
@click.option(
    "--data",
    metavar="NAME|FILE",
    default="",
    help=f"Data set: {', '.join((*NAMED, *GENERATED))}, or any file.",
)
@click.option("--schema", metavar="NAME", default="", help="Schema of the file, if not recognised.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="Methods to measure. Default: all; for papers, pipeline; for paperet, text-baselines.",
)
@click.option(
    "--method", "--methods", "methods", multiple=True, metavar="NAME",
    help="One method (repeatable).",
)  # fmt: skip
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="Also measure without this retriever or the ranker; for explore: passes, references, "
    "papers, refchain, judge, evolve, understand.",
)
@click.option(
    "--setting", type=click.Choice(["both", "cold", "warm"]), default="both", show_default=True,
    help="Cold: the text alone. Warm: also the paper's other references.",
)  # fmt: skip
@click.option(
    "--split", type=click.Choice(["train", "valid", "test", "all"]),
    help="Part of the data. Default: test; of a file, all.",
)  # fmt: skip
@click.option("--all-records", is_flag=True, help="Include records that are not marked clean.")
@click.option("--limit", type=click.IntRange(1), help="Sample this many answerable questions.")
@click.option(
    "--seed", default=0, show_default=True, help="Random seed of the sample and the statistics."
)
@click.option("--depth", default=100, show_default=True, type=click.IntRange(10, 10_000),
              help="Length of the lists; 1000 adds recall@1000.")  # fmt: skip
@click.option(
    "--threshold", type=click.FloatRange(0, 1), help="Confidence below which fill abstains."
)
@click.option("--compare", nargs=2, metavar="A B", help="Two methods, or two files of --json.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes.")
@click.option(
    "--latency-calls", default=100, show_default=True, help="Number of single calls to time."
)
@click.option("--json", "json_path", type=PATH, help="Write the result, with every rank.")
@click.option("--html", "html_path", type=PATH, help="Write an HTML report with charts and misses.")
@click.option("--own-corpus", is_flag=True, help="Search the data set's own corpus (built once).")
@click.option(
    "--corpus", "corpora", multiple=True, metavar="NAME|FILE",
    help="Search a library of these records, built once (repeatable): acl, ml, titles or a file.",
)  # fmt: skip
@click.option(
    "--replay", type=click.Choice(SCOPES),
    help="Measure learning from use: replay papers in order, and reset what was learned "
         "after each paper, each repository, or never.",
)  # fmt: skip
@click.option(
    "--typed", is_flag=True,
    help="Measure words typed into placeholders: full and partial titles, typing errors, "
         "authors, years, names.",
)  # fmt: skip
@click.option(
    "--half-typed", type=click.Choice(["completed", "as-typed"]),
    help="With --typed: cut the last word off within, and have it completed or not.",
)  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(0, 3),
    help="Rounds of a search, with --mode explore. Default: 1; 2 with --without evolve.",
)  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="List data sets, schemas and methods.")
@click.pass_context
def eval_command(ctx: click.Context, /, **flags: Any) -> None:
    """Measure how well citations are found.

    PAPERS are .tex or Markdown files: each citation in them is removed and searched for. Without
    PAPERS, a data set is measured. Exits with 1 if an offered paper is not in the library.

    `citewell eval pool QUERIES` writes the first ten papers (--depth) of the methods for each line
    of the file QUERIES as a table, to be graded in its column `grade` and read with --data.
    """
    session: Session = ctx.obj
    if flags["listing"]:
        _list(session)
        return
    pair = flags["compare"]
    if pair and all(Path(name).is_file() for name in pair):
        _compare_files(pair, flags["seed"])
        return
    papers: tuple[Path, ...] = flags["papers"]
    if papers[:1] == (Path(POOL),) and not Path(POOL).exists():
        if len(papers) != 2:
            raise click.UsageError("`citewell eval pool` takes one file of queries.")
        given = ctx.get_parameter_source("depth") is ParameterSource.COMMANDLINE
        depth = flags["depth"] if given else POOLED
        options = _measured(session.load().options)
        echo_exact(pooled(papers[1], _methods(options, flags, own=False), options, depth))
        return
    if flags["half_typed"] and not flags["typed"]:
        raise click.UsageError("--half-typed requires --typed.")
    if flags["own_corpus"] and papers:
        raise click.UsageError("--own-corpus requires --data.")
    if flags["own_corpus"] and flags["corpora"]:
        raise click.UsageError("--own-corpus and --corpus exclude each other.")
    if bool(papers) == bool(flags["data"]):
        raise click.UsageError(
            "Give either papers or a data set with --data.\n"
            "For example: citewell eval paper.tex --html page.html"
        )
    ctx.exit(_evaluate(session, papers, flags))


def _refuse_page(flags: dict[str, Any], *, has_page: bool = False) -> None:
    """Reject --html without a page."""
    if flags["html_path"] and not has_page:
        raise click.UsageError("--html has no page for this; write the figures with --json.")


def _measured(options: Options) -> Options:
    """The settings for a measurement."""
    from msgspec.structs import replace

    # The user's own history must not influence the figures.
    return replace(
        options,
        learning=replace(options.learning, enabled=False),
        # The user's accepted papers belong to no data set.
        sources=replace(options.sources, keep=False),
        # A busy machine must not influence the figures either.
        retrieval=replace(options.retrieval, timeout_ms=RETRIEVER_MS),
    )


def _evaluate(session: Session, papers: tuple[Path, ...], flags: dict[str, Any]) -> int:
    import msgspec

    from citewell_lab.evaluation import page, results, table
    from citewell_lab.evaluation.evaluate import evaluate

    options = _measured(session.load(papers[0] if papers else None).options)
    for path in (flags["json_path"], flags["html_path"]):
        if path is not None and path.is_dir():
            raise click.UsageError(f"{path} is a folder, not a file.")
    if flags["own_corpus"] or flags["corpora"]:
        options = _made_library(options, flags)
    if (
        not papers
        and flags["data"] not in GENERATED
        and holds_references(flags["data"], flags["schema"])
    ):
        _refuse_page(flags)
        return evaluate_references(session, options, flags)
    pageless = flags["replay"] or flags["typed"] or flags["mode"] == "explore"
    _refuse_page(flags, has_page=not pageless)
    questions, info, problems = _questions(papers, options, flags)
    if session.verbosity >= 0:
        show_problems(problems)
    if not questions:
        raise click.UsageError("No questions remain.")
    if flags["replay"]:
        with Bars() as bars:
            replayed = evaluate_replay(questions, options, flags, bars)
        show_replay(replayed, info, flags)
        return OK
    if flags["typed"]:
        with Bars() as bars:
            typed = evaluate_typed(questions, options, flags, bars)
        show_typed(typed, info, options, flags)
        return OK
    if flags["mode"] == "explore":
        with Bars() as bars:
            explored = evaluate_explore(questions, options, flags, bars)
        return FINDINGS if show_explore(explored, info, flags) else OK
    plan = _plan(options, flags, bool(papers))
    with Bars() as bars:
        evaluation = evaluate(questions, options, plan, info, bars)
    command = "citewell " + " ".join(_quote(word) for word in sys.argv[1:])
    evaluation = msgspec.structs.replace(evaluation, command=command)
    console().print(table.render(evaluation, brief=bool(papers)))
    show_problems(evaluation.problems)
    if flags["json_path"]:
        results.write_atomically(flags["json_path"], results.encode(evaluation))
    if flags["html_path"]:
        title = _title(papers, info) if papers else ""
        text = page.render(evaluation, title, own=bool(papers))
        save_report(flags["html_path"], text)
    elif papers:
        click.echo("Add --html page.html for a report with every citation and miss.", err=True)
    return FINDINGS if any(run.unbacked for run in evaluation.runs) else OK


def _made_library(options: Options, flags: dict[str, Any]) -> Options:
    """The settings with a library built from the named corpora, or from the data set's own, in the
    cache."""
    from msgspec.structs import replace

    from citewell_lab.datasets.cached_library import cached_library, library_of

    with Bars() as bars:
        if flags["own_corpus"]:
            data = read(flags["data"], flags["schema"])
            folder = library_of(data, cache_folder(), options, bars)
        else:
            paths = [locate(name, CORPORA) for name in flags["corpora"]]
            folder, _ = cached_library(paths, cache_folder(), options, bars)
    library = replace(options.library, path=folder.parent, name=folder.name, starter=False)
    return replace(options, library=library)


def _questions(
    papers: tuple[Path, ...], options: Options, flags: dict[str, Any]
) -> tuple[list[Question], DataInfo, list[Problem]]:
    from citewell_lab.evaluation.results import DataInfo

    if papers:
        from citewell_lab.evaluation.leave_one_out import questions_of

        return questions_of(papers, options.documents)
    if flags["data"] in GENERATED:
        return generated_questions(flags["data"], flags["split"] or "test", options)
    data = read(flags["data"], flags["schema"])
    if data.kind != "questions":
        raise click.UsageError(f"{data.name} holds {data.kind}; `citewell eval` needs questions.")
    split = flags["split"] or default_split(flags["data"])
    questions, words = select(data, split, flags["all_records"])
    info = DataInfo(
        name=data.name,
        schema=data.schema,
        path=data.path,
        counts=data.counts,
        notes=data.notes,
        selection=words,
    )
    return questions, info, list(data.problems)


def _plan(options: Options, flags: dict[str, Any], own: bool) -> EvaluationPlan:
    from citewell_lab.evaluation.methods import EvaluationPlan, gains

    methods = _methods(options, flags, own)
    pairs: tuple[tuple[str, str], ...] = ()
    if flags["compare"]:
        pairs = (flags["compare"],)
    elif flags["mode"] == "llm":
        pairs = gains(methods)
    return EvaluationPlan(
        methods=tuple(methods),
        settings=("cold", "warm") if flags["setting"] == "both" else (flags["setting"],),
        depth=flags["depth"],
        limit=flags["limit"],
        seed=flags["seed"],
        jobs=flags["jobs"],
        latency_calls=flags["latency_calls"],
        threshold=flags["threshold"],
        compare=pairs,
    )


def _methods(options: Options, flags: dict[str, Any], own: bool) -> list[SearchMethod]:
    from citewell_lab.evaluation import methods

    chosen = methods.named(flags["methods"], options)
    if flags["compare"]:
        names = [name.partition(":")[0] for name in flags["compare"]]
        chosen += methods.named(list(dict.fromkeys(names)), options)
    ablations = [methods.without(name, options) for name in flags["without"]]
    deep = [one for one in ablations if one.tier == "deep"]
    if flags["mode"]:
        chosen += methods.mode(flags["mode"], options)
    elif len(ablations) > len(deep) or (own and not chosen and not deep):
        chosen += methods.mode("pipeline", options)
    if deep:
        # A part of explicit searches is left out of an explicit search.
        chosen.append(methods.known(options)["deep"])
    elif not chosen and not deep:
        chosen += methods.mode(
            "text-baselines" if flags["data"] == GENERATED[0] else "all", options
        )
    # The pipeline is last, because the headline and the comparisons refer to it.
    return methods.distinct([*ablations, *chosen], options)


def _title(papers: tuple[Path, ...], info: DataInfo) -> str:
    name = info.name or papers[0].name
    return f"How well Citewell finds your citations: {name}"


def _quote(word: str) -> str:
    import shlex

    return shlex.quote(word)


def _compare_files(pair: tuple[str, str], seed: int) -> None:
    from citewell_lab.evaluation import results, table
    from citewell_lab.evaluation.scoring import compare_saved

    a, b = (results.load(Path(name)) for name in pair)
    click.echo(f"A: {pair[0]}\nB: {pair[1]}")
    console().print(table.comparison_table(compare_saved(a, b, seed)))


def _list(session: Session) -> None:
    from citewell_lab.datasets import SCHEMAS
    from citewell_lab.evaluation import methods

    folder = data_folder()
    click.echo(f"Data sets in {folder}:" if folder else "Data sets (../shared/data is not here):")
    for name, path in NAMED.items():
        click.echo(f"  {name:<16}{path}")
    click.echo("Schemas:")
    for schema in SCHEMAS:
        click.echo(f"  {schema.name:<16}{schema.description}")
    click.echo("Methods:")
    for method in methods.known(session.load().options).values():
        click.echo(f"  {method.name:<16}{method.description}")
