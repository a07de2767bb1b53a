"""`citewell eval --typed`: how well the words that an author types name the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citewell.cli.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

    from citewell.model import Question
    from citewell.options import Options
    from citewell_corpus.processes import Progress
    from citewell_lab.evaluation.results import DataInfo, Setting
    from citewell_lab.evaluation.typed import Place, TypedFigures, TypedOutcome

PLACES = ("alone", "sentence")


def evaluate_typed(
    questions: list[Question], options: Options, flags: dict[str, Any], report: Progress
) -> list[TypedOutcome]:
    """Derive the typed words of a sample of the questions, and ask them in each way."""
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
    """Print the figures; write them, with every rank, where that is asked."""
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
                out.print(_table(part))
    if flags["json_path"]:
        whole = {"data": info, "lines": lines, "asked": answers}
        text = msgspec.json.format(msgspec.json.encode(whole), indent=1)
        results.write_atomically(flags["json_path"], text)


def _table(lines: list[TypedFigures]) -> Table:
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
