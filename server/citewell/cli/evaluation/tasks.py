"""Tasks of `citewell eval` beyond citing sentences: typed words (`--typed`), papers replayed in
order (`--replay`), literature searches (`--mode explore`), pools, and checks of references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell.cli.terminal import OK, Session, console, save_results, show_problems

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from citewell.model import Question, Work
    from citewell.options import Options
    from citewell_corpus.processes import Progress
    from citewell_lab.evaluation.explore import PassOutcome
    from citewell_lab.evaluation.methods import SearchMethod
    from citewell_lab.evaluation.references import ReferenceEvaluation, ReferenceFigures
    from citewell_lab.evaluation.replay import LearningFigures, ReplayedCitation
    from citewell_lab.evaluation.results import DataInfo, Setting
    from citewell_lab.evaluation.typed import Place, TypedFigures, TypedOutcome

PLACES = ("alone", "sentence")


def evaluate_typed(
    questions: list[Question], options: Options, flags: dict[str, Any], report: Progress
) -> list[TypedOutcome]:
    """Derive the typed words of a sample of the questions, and search for them in each way."""
    from citewell_lab.datasets.typed import half_typed, typed_questions
    from citewell_lab.evaluation.evaluate import open_engine, sample, with_unique_ids
    from citewell_lab.evaluation.matching import Gold
    from citewell_lab.evaluation.typed import ask_typed

    questions = with_unique_ids(questions)
    engine = open_engine(options)
    try:
        gold = Gold(engine, questions)
        right = {question.id: gold.of(question) for question in questions}
        chosen = sample(questions, right, flags["limit"], flags["seed"])
        ids = {one.id: min(right[one.id][0]) for one in chosen if right[one.id]}
        works = engine.works(list(ids.values()))
        records = {name: work for name, work in zip(ids, works, strict=True) if work is not None}
    finally:
        engine.close()
    settings: tuple[Setting, ...] = ("cold", "warm")
    if flags["setting"] != "both":
        settings = (flags["setting"],)
    places: tuple[Place, ...] = ("alone", "sentence")
    typed = list(typed_questions(chosen, records))
    if flags["half_typed"]:
        typed = list(half_typed(typed, unfinished=flags["half_typed"] == "completed"))
    return ask_typed(typed, options, places, settings, report, jobs=flags["jobs"])


def show_typed(
    answers: list[TypedOutcome], info: DataInfo, options: Options, flags: dict[str, Any]
) -> None:
    """Print the figures; write them, with every rank, if requested."""
    import msgspec

    from citewell_lab.evaluation import results
    from citewell_lab.evaluation.typed import lines_of

    out = console()
    selection = f" ({info.selection})" if info.selection else ""
    out.print(f"{info.name}{selection}", soft_wrap=True)
    threshold = flags["threshold"]
    if threshold is None:
        threshold = options.fill.typed_threshold
    lines = list(lines_of(answers, threshold, flags["seed"]))
    for place in PLACES:
        for setting in ("cold", "warm"):
            part = [one for one in lines if (one.place, one.setting) == (place, setting)]
            if part:
                out.print(_typed_table(part))
    if flags["json_path"]:
        whole = {"data": info, "lines": lines, "asked": answers}
        text = msgspec.json.format(msgspec.json.encode(whole), indent=1)
        results.write_atomically(flags["json_path"], text)


def _typed_table(lines: list[TypedFigures]) -> Table:
    from rich.table import Table

    from citewell_lab.datasets.typed import KINDS
    from citewell_lab.evaluation.table import number
    from citewell_lab.evaluation.typed import EVERY, METRICS

    where = {"alone": "words alone", "sentence": "words in their sentence"}[lines[0].place]
    title = (
        f"{where}, {lines[0].setting}; 95% intervals over papers; fill from {lines[0].threshold:g}"
    )
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("typed", overflow="fold", max_width=30)
    for head in ("n", "R@1", "R@5", "R@10", "MRR", "lacking", "ECE", "filled", "right of filled",
                 "of held"):  # fmt: skip
        table.add_column(head, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(
            "all kinds" if line.kind == EVERY else KINDS[line.kind][0],
            f"{line.questions:,}",
            _interval(line.ranks[METRICS[0]]),
            *(number(line.ranks[name].mean) for name in METRICS[1:]),
            f"{line.lacking:,}",
            number(line.calibration_error),
            f"{line.filled:,}",
            _interval(line.precision) if line.filled else "-",
            number(line.coverage.mean),
        )
    return table


def _interval(one: Any) -> str:
    from citewell_lab.evaluation.table import estimate

    return estimate(one)


SCOPES = ("paper", "repository", "everyone")


def evaluate_replay(
    questions: list[Question], options: Options, flags: dict[str, Any], report: Progress
) -> dict[Setting, list[ReplayedCitation]]:
    """Replay the questions' papers in each setting of the flags."""
    from citewell_lab.evaluation.replay import replay

    chosen: tuple[Setting, ...] = ("cold", "warm")
    if flags["setting"] != "both":
        chosen = (flags["setting"],)
    return replay(questions[: flags["limit"]], options, flags["replay"], chosen, report)


def show_replay(
    replayed: dict[Setting, list[ReplayedCitation]], info: DataInfo, flags: dict[str, Any]
) -> None:
    """Print the figures; write them, with every rank, if requested."""

    from citewell_lab.evaluation.replay import lines_of

    out = console()
    selection = f" ({info.selection})" if info.selection else ""
    out.print(f"{info.name}{selection}", soft_wrap=True)
    lines = {setting: list(lines_of(found, flags["seed"])) for setting, found in replayed.items()}
    for setting, found in lines.items():
        out.print(_replay_table(found, setting, flags["replay"]))
    whole = {"scope": flags["replay"], "data": info, "lines": lines, "asked": replayed}
    save_results(flags, whole)


def _replay_table(lines: list[LearningFigures], setting: Setting, scope: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    from citewell_lab.evaluation.replay import KINDS

    forgotten = {
        "paper": "forgotten after each paper",
        "repository": "forgotten after each repository",
        "everyone": "never forgotten",
    }
    units = "repositories" if scope == "repository" else "papers"
    if all(line.difference.unit == "question" for line in lines):
        units = "citations, for there is one paper"
    title = f"{setting}, what was learned {forgotten[scope]}; 95% intervals over {units}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("citations", overflow="fold", max_width=36)
    table.add_column("metric")
    for head in ("n", "without", "learned", "difference", "95% interval", "p"):
        table.add_column(head, justify="right")
    before = ""
    for line in lines:
        found = line.difference
        interval = "-" if found.low is None else f"{found.low:+.3f} to {found.high:+.3f}"
        table.add_row(
            KINDS[line.kind] if line.kind != before else "",
            line.metric,
            f"{line.questions:,}",
            f"{line.without.mean:.3f}",
            f"{line.learned.mean:.3f}",
            f"{found.difference:+.3f}",
            interval,
            Text(f"{found.p:.4f}", style="bold" if found.p < 0.05 else ""),
        )
        before = line.kind
    return table


def evaluate_explore(
    questions: list[Question], options: Options, flags: dict[str, Any], report: Progress
) -> list[PassOutcome]:
    """Explore every question, as a whole and without each part in `--without`."""
    from citewell_lab.evaluation.explore import PARTS, ask_explore

    unknown = [name for name in flags["without"] if name not in PARTS]
    if unknown:
        raise click.UsageError(
            f"`--without {unknown[0]}` does not go with --mode explore; it takes "
            f"{', '.join(PARTS)}."
        )
    rounds = flags["rounds"]
    if rounds is None:
        # Without a model, further queries are made from the second round on.
        rounds = 2 if "evolve" in flags["without"] else 1
    return ask_explore(
        questions,
        options,
        flags["without"],
        report,
        limit=flags["limit"],
        seed=flags["seed"],
        rounds=rounds,
    )


def show_explore(answers: list[PassOutcome], info: DataInfo, flags: dict[str, Any]) -> int:
    """Print the figures, and write them if requested; return the number of listed papers without a
    record."""
    from rich.table import Table

    from citewell_lab.evaluation.explore import METRICS, RANKED, SET, lines_of
    from citewell_lab.evaluation.table import number

    out = console()
    out.print(f"{info.name} ({info.selection})", soft_wrap=True)
    lines = list(lines_of(answers, flags["seed"]))
    title = f"{lines[0].questions} questions; recall of the papers that the library holds"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("list", overflow="fold")
    for name in RANKED:
        table.add_column(name.replace("recall", "R"), justify="right", no_wrap=True)
    table.add_column("ms p50", justify="right")
    table.add_column("p95", justify="right")
    for line in lines:
        label = f"after {line.step}" if line.step != "last" else line.method
        values = (number(line.values[name].mean) for name in RANKED)
        table.add_row(label, *values, f"{line.p50:,.0f}", f"{line.p95:,.0f}")
    out.print(table)
    title = "the papers judged relevant, as a set; and what a question costs, means"
    judged = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    judged.add_column("list", overflow="fold")
    for name in ("papers", *SET, "queries", "requests", "tokens"):
        judged.add_column(name, justify="right")
    for line in lines:
        label = f"after {line.step}" if line.step != "last" else line.method
        values = (number(line.values[name].mean) for name in SET)
        costs = (f"{cost:,.1f}" for cost in (line.queries, line.requests, line.tokens))
        judged.add_row(label, f"{line.relevant:.1f}", *values, *costs)
    out.print(judged)
    out.print("95% intervals over questions", style="bold")
    for line in lines:
        label = f"after {line.step}" if line.step != "last" else line.method
        for name in (*METRICS[1:7], "F1", "F1 of all"):
            own = line.values[name]
            interval = "-" if own.low is None else f"{own.low:.3f} to {own.high:.3f}"
            gain = line.gains.get(name)
            change = ""
            if gain is not None and gain.low is not None:
                change = (
                    f"; the whole is {gain.difference:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}], "
                    f"p = {gain.p:.4f}"
                )
            out.print(f"  {label}: {name} {own.mean:.3f} [{interval}]{change}", soft_wrap=True)
    unbacked = sum(one.unbacked for one in answers if one.step == "last")
    out.print(f"Listed papers without a record: {unbacked}.")
    save_results(flags, {"data": info, "lines": lines, "answers": answers})
    return unbacked


def pooled(path: Path, methods: list[SearchMethod], options: Options, depth: int) -> str:
    """The pool of the first `depth` papers of each method, for each line of a file."""
    from citewell.model import Query
    from citewell.usecases.find import in_sentence
    from citewell_lab.datasets.pool import pool_text
    from citewell_lab.evaluation.evaluate import open_engine

    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    texts = {f"q{number}": line for number, line in enumerate(lines, 1) if line}
    if not texts:
        raise click.UsageError(f"{path} has no line with words.")
    queries = [in_sentence(Query(text=text), options) for text in texts.values()]
    found: dict[str, list[Work]] = {name: [] for name in texts}
    for method in methods:
        if method.baseline:
            continue
        engine = open_engine(method.options(options))
        try:
            results = engine.find_batch(queries, depth, tier=method.tier, explained=0)
        finally:
            engine.close()
        for papers, result in zip(found.values(), results, strict=True):
            papers += (hit.work for hit in result.hits)
    return pool_text(texts, found)


def holds_references(name: str, schema: str) -> bool:
    """True for a data set of references, not of questions."""
    from citewell.cli.evaluation.questions import locate
    from citewell_lab.datasets.registry import recognise, schema_named

    path = locate(name)
    chosen = schema_named(schema, path) if schema else recognise(path)
    return chosen.kind == "references"


def evaluate_references(session: Session, options: Options, flags: dict[str, Any]) -> int:
    """Check the references with the configured library, print and write the figures."""

    from citewell.cli.evaluation.questions import read
    from citewell.corpus.library import Library
    from citewell.engine.records import LibraryRecords
    from citewell.engine.which_library import which_library
    from citewell.verification.checker import Checker
    from citewell_lab.evaluation import references, results

    data = read(flags["data"], flags["schema"])
    if session.verbosity >= 0:
        show_problems(data.problems)
    chosen, words = list(data.references), f"{data.schema} schema"
    half = {"train": "tuning", "valid": "tuning", "test": "reporting"}.get(flags["split"] or "")
    if half:
        chosen = [one for one in chosen if references.half_of(one.id) == half]
        words += f"; the {half} half"
    if not chosen:
        raise click.UsageError("No references remain to check.")
    info = results.DataInfo(
        name=data.name, schema=data.schema, path=data.path, counts=data.counts, notes=data.notes,
        selection=words,
    )  # fmt: skip
    with Library.open(which_library(options)) as library:
        evaluation = references.evaluate_references(
            chosen,
            Checker([LibraryRecords(library)]),
            info,
            library=str(library.path),
            works=len(library),
        )
    _show(evaluation)
    save_results(flags, evaluation)
    return OK


def _show(evaluation: ReferenceEvaluation) -> None:
    out = console()
    data = evaluation.data
    out.print(f"{data.name}: {evaluation.parts['all'].references:,} references ({data.selection})")
    out.print(f"library: {evaluation.library}, {evaluation.works:,} works", soft_wrap=True)
    out.print(_rates(evaluation))
    last = "reporting" if "reporting" in evaluation.parts else "all"
    out.print(_kinds(evaluation.parts[last], f"by kind, {last}"))
    out.print(f"checked in {evaluation.seconds:.1f} s", style="dim")


def _rates(evaluation: ReferenceEvaluation) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("part", "not found is", "detection", "false positives", "precision", "F1",
                 "MCC", "TW-F1", "ECE"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("part", "not found is") else "right")
    for name, part in evaluation.parts.items():
        for counted, rate in (("passed", part.abstaining), ("flagged", part.strict)):
            low, high = rate.false_positive_interval
            least, most = rate.detection_interval
            table.add_row(
                f"{name} ({part.references:,})",
                counted,
                f"{rate.detection:.3f} [{least:.3f}, {most:.3f}]",
                f"{rate.false_positive_rate:.3f} [{low:.3f}, {high:.3f}]",
                f"{rate.precision:.3f}",
                f"{rate.f1:.3f}",
                f"{rate.mcc:.3f}",
                f"{rate.tier_weighted_f1:.3f}",
                f"{rate.calibration_error:.3f}",
            )
    return table


def _kinds(part: ReferenceFigures, title: str) -> Table:
    from rich.table import Table

    from citewell.model.check import Verdict

    table = Table(box=None, header_style="bold", pad_edge=False, title=title, title_justify="left")
    table.add_column("kind")
    for name in ("n", *(verdict.value for verdict in Verdict), "flagged", "strict", "of known"):
        table.add_column(name, justify="right")
    for kind, one in part.kinds.items():
        counts = [str(one.verdicts.get(verdict.value, "")) for verdict in Verdict]
        low, high = one.flagged_interval
        shares = [
            f"{one.flagged:.3f} [{low:.2f}, {high:.2f}]",
            f"{one.flagged_strict:.3f}",
            f"{one.flagged_of_known:.3f}",
        ]
        table.add_row(kind, str(one.references), *counts, *shares)
    return table
