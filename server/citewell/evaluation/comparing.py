"""Methods of one evaluation against each other, and one evaluation against another."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from citewell.evaluation.plan import Plan
from citewell.evaluation.results import Comparison, Evaluation, Item, MethodRun, problem
from citewell.evaluation.scoring import compare_runs


def comparisons(
    runs: Sequence[MethodRun], items: Sequence[Item], plan: Plan
) -> tuple[Comparison, ...]:
    """The pairs asked for; else the last method against each other one, and warm against cold."""
    if plan.compare:
        pairs = [pair for a, b in plan.compare for pair in _paired(runs, a, b)]
    else:
        pairs = []
        last = runs[-1].name if runs else ""
        mine = {run.setting: run for run in runs if run.name == last}
        for run in runs:
            if run.name != last and run.setting in mine:
                pairs.append((mine[run.setting], run))
        if {"cold", "warm"} <= mine.keys():
            pairs.append((mine["warm"], mine["cold"]))
    return compare_runs(pairs, items, plan.depth, seed=plan.seed)


def _paired(runs: Sequence[MethodRun], a: str, b: str) -> list[tuple[MethodRun, MethodRun]]:
    """Runs named `a` and `b` in the same setting, or in the settings that the names give."""
    chosen = []
    for name in (a, b):
        method, _, setting = name.partition(":")
        found = [r for r in runs if r.name == method and setting in ("", r.setting)]
        if not found:
            known = ", ".join(dict.fromkeys(run.name for run in runs))
            raise problem("compare-unknown", f"{name!r} was not measured.", f"Measured: {known}.")
        chosen.append(found)
    if ":" in a or ":" in b:
        return [(x, y) for x in chosen[0][:1] for y in chosen[1][:1]]
    return [(x, y) for x in chosen[0] for y in chosen[1] if x.setting == y.setting]


def compare_saved(a: Evaluation, b: Evaluation, seed: int = 0) -> tuple[Comparison, ...]:
    """Each method and setting of `a` against the same one of `b`, on common questions.

    The library may have grown in between: a question counts only where both could answer it.
    """
    of_b = {item.id: item for item in b.items if item.held}
    items = [item for item in a.items if item.held and item.id in of_b]
    pairs = []
    for run in a.runs:
        other = b.run(run.name, run.setting)
        if other is not None:
            pairs.append(
                (
                    msgspec.structs.replace(run, name=f"A {run.name}"),
                    msgspec.structs.replace(other, name=f"B {run.name}"),
                )
            )
    if not pairs or not items:
        raise problem(
            "compare-disjoint",
            "The two evaluations share no method or no question.",
            "Run both on the same data with the same methods.",
        )
    return compare_runs(pairs, items, min(a.depth, b.depth), seed=seed)
