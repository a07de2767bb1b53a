"""`citewell eval --replay`: what is learned from the first citations gives the later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citewell.cli.report import save_results
from citewell.cli.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

    from citewell.model import Question
    from citewell.options import Options
    from citewell_corpus.processes import Progress
    from citewell_lab.evaluation.replay import LearningFigures, ReplayedCitation
    from citewell_lab.evaluation.results import DataInfo, Setting

SCOPES = ("paper", "repository", "everyone")


def evaluate_replay(
    questions: list[Question], options: Options, flags: dict[str, Any], report: Progress
) -> dict[Setting, list[ReplayedCitation]]:
    """Replay the questions' papers in each setting that the flags name."""
    from citewell_lab.evaluation.replay import replay

    chosen: tuple[Setting, ...] = ("cold", "warm")
    if flags["setting"] != "both":
        chosen = (flags["setting"],)
    return replay(questions[: flags["limit"]], options, flags["replay"], chosen, report)


def show_replay(
    replayed: dict[Setting, list[ReplayedCitation]], info: DataInfo, flags: dict[str, Any]
) -> None:
    """Print the figures; write them, with every rank, where that is asked."""

    from citewell_lab.evaluation.replay import lines_of

    out = console()
    selection = f" ({info.selection})" if info.selection else ""
    out.print(f"{info.name}{selection}", soft_wrap=True)
    lines = {setting: list(lines_of(found, flags["seed"])) for setting, found in replayed.items()}
    for setting, found in lines.items():
        out.print(_table(found, setting, flags["replay"]))
    whole = {"scope": flags["replay"], "data": info, "lines": lines, "asked": replayed}
    save_results(flags, whole)


def _table(lines: list[LearningFigures], setting: Setting, scope: str) -> Table:
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
