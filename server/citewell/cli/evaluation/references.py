"""`citewell eval` on a set of references: what the check catches, and whom it accuses falsely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from citewell.cli.report import OK, save_results, show_problems
from citewell.cli.session import Session
from citewell.cli.terminal import console

if TYPE_CHECKING:
    from rich.table import Table

    from citewell.options import Options
    from citewell_lab.evaluation.references import ReferenceEvaluation, ReferenceFigures


def holds_references(name: str, schema: str) -> bool:
    """True when the data set is one of references, not of questions."""
    from citewell.cli.evaluation.data import locate
    from citewell_lab.datasets.registry import recognise, schema_named

    path = locate(name)
    chosen = schema_named(schema, path) if schema else recognise(path)
    return chosen.kind == "references"


def evaluate_references(session: Session, options: Options, flags: dict[str, Any]) -> int:
    """Check the references with the library of the settings, print and write the figures."""

    from citewell.cli.evaluation.data import read
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
