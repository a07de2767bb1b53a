"""Actions on a placeholder: one of the best papers, the best of all, or every one in the file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.lsp import citing
from citewell.lsp.actions.contract import Asked, Chosen
from citewell.lsp.picker_history import with_choice

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.snapshot import Snapshot
    from citewell.model import Hit, Problem, Query, Work
    from citewell.model.document import Placeholder
    from citewell.model.llm import Picked
    from citewell.options import Options
    from citewell.usecases.fill import FillPlan, PlaceholderFill

DEEP = 8
"""Papers that the longer search is asked for."""


class PlaceholderActions:
    """Cites papers where a placeholder asks for them."""

    name = "placeholder"
    kinds = ("quickfix", "source.fillCitations")

    async def offer(self, asked: Asked) -> Sequence[Action]:
        """The best three papers by name, the best after a longer search, and all in the file."""
        from citewell.features import placeholder_actions as feature

        snapshot = await asked.snapshot()
        if snapshot is None or not snapshot.document.placeholders:
            return ()
        count = len(snapshot.document.placeholders)
        selected = snapshot.index.span(asked.range)
        placeholder = feature.placeholder_for(
            snapshot.document, selected, on_character=asked.on_character
        )
        if asked.wants_source or placeholder is None:
            return () if asked.automatic else (feature.fill_action(count),)
        if not placeholder.certain:
            return feature.placeholder_actions(placeholder, (), sure=False, open_places=count)
        query = await citing.make_query(asked.session, snapshot, placeholder)
        result = await asked.session.engine.find_async(query, feature.SHOWN)
        words = placeholder.query
        paper = snapshot.paper

        def choose() -> list[feature.Choice]:
            own = paper.index.search(words, feature.SHOWN) if words else []
            check_of = asked.session.find_check(paper.index)
            return feature.choices_at(placeholder, own, result.hits, paper.find_work, check_of)

        choices = await asked.session.read(choose)
        own_first = bool(choices and choices[0].key and not choices[0].invented)
        sure = feature.is_sure(query, result.hits) or own_first
        return feature.placeholder_actions(
            placeholder, choices, sure=sure, open_places=count, variant=result.variant
        )

    async def plan(self, chosen: Chosen) -> ActionPlan | None:
        """The edits for one placeholder, or for all."""

        snapshot = await chosen.session.fresh_snapshot(chosen.uri)
        if snapshot is None:
            return None
        if chosen.name == "fill":
            return await _fill(chosen, snapshot)
        return await self._plan_one(chosen, snapshot)

    async def _plan_one(self, chosen: Chosen, snapshot: Snapshot) -> ActionPlan | None:
        from citewell.features import placeholder_actions as feature

        placeholder = feature.placeholder_near(
            snapshot.document,
            chosen.number("start", 0),
            chosen.text("query"),
            chosen.number("typed", 0),
        )
        if placeholder is None:
            return None
        if chosen.name == "close":
            return feature.plan_close(snapshot.document, placeholder)
        work, key = None, chosen.text("key")
        variant = chosen.text("variant")
        query = await citing.make_query(chosen.session, snapshot, placeholder)
        if chosen.name == "best":
            best = await _best(chosen, snapshot, placeholder, query)
            if not isinstance(best, tuple):
                return best
            work, variant = best
        elif not key:
            work = await citing.find_work(chosen.session, chosen.text("work"))
            if work is None:
                return None
        plan = await chosen.session.read(
            partial(
                feature.plan_citation,
                snapshot.paper.project,
                snapshot.document,
                placeholder,
                snapshot.options,
                work=work,
                key=key,
            )
        )
        return await with_choice(plan, chosen, snapshot, work, query, variant=variant)


async def _best(
    chosen: Chosen, snapshot: Snapshot, placeholder: Placeholder, query: Query
) -> tuple[Work, str] | ActionPlan:
    """The best paper after a longer search, and what found it; or what the author is told."""
    from citewell.features import placeholder_actions as feature
    from citewell.features.pick import chosen_first, none_fits

    chosen.report("searching")
    result = await chosen.session.engine.find_async(query, DEEP, tier="deep")
    if not result.hits:
        return _told((*result.problems, feature.nothing_found(placeholder)))
    picked = await _pick(chosen, snapshot.options, query, result.hits)
    if picked is None or picked.by != "model":
        return result.hits[0].work, result.variant
    if not picked.work:
        return _told([none_fits(picked)])
    return chosen_first(result.hits, picked)[0].work, f"{result.variant}+{picked.program}"


async def _pick(
    chosen: Chosen, options: Options, query: Query, hits: Sequence[Hit]
) -> Picked | None:
    """The language model's choice; None where none is named. What failed is told."""
    from citewell.features.pick import picks

    if not picks(options):
        return None
    chosen.report("asking the language model")
    picked = await chosen.session.engine.pick_async(query, [hit.work for hit in hits])
    if picked.problem is not None:
        chosen.session.tell([picked.problem])
    return picked


def _told(problems: Sequence[Problem]) -> ActionPlan:
    from citewell.features.action import ActionPlan

    return ActionPlan(problems=tuple(problems))


async def _fill(chosen: Chosen, snapshot: Snapshot) -> ActionPlan:
    from citewell.features.action import ActionPlan
    from citewell.usecases.fill import candidates_for, fill_feedback, picked_from, plan_found

    session = chosen.session
    if not snapshot.document.placeholders:
        return ActionPlan(message=f"There is no placeholder in {snapshot.path.name}.")
    found: list[PlaceholderFill] = []
    problems: dict[Problem, None] = {}
    places: Sequence[Placeholder] = snapshot.document.placeholders
    for number, placeholder in enumerate(places, 1):
        chosen.report(f"placeholder {number} of {len(places)}")
        query = await citing.make_query(session, snapshot, placeholder)
        result = await session.engine.find_async(query, DEEP, tier="deep")
        problems.update(dict.fromkeys(result.problems))
        one = candidates_for(snapshot.document, placeholder, query, result)
        picked = await _pick(chosen, snapshot.options, query, result.hits) if result.hits else None
        found.append(one if picked is None else picked_from(one, picked))

    def plan() -> FillPlan:
        return plan_found(snapshot.paper.project, found, snapshot.options, more=tuple(problems))

    filled = await session.read(plan)
    told = [p for p in filled.problems if p in problems]
    if filled.open:
        told.append(_left_open(filled))
    return ActionPlan(
        edits=filled.edits,
        texts={Path(path): text for path, text in filled.texts.items()},
        label=f"Fill {len(filled.filled)} citations",
        problems=tuple(told),
        feedback=fill_feedback(filled, "fill"),
    )


def _left_open(filled: FillPlan) -> Problem:
    """Which lines are open and why, with the best papers of the first ones."""
    from citewell.features.markdown import shorten
    from citewell.model import Problem
    from citewell.usecases.fill import NAMED

    why: dict[str, list[str]] = {}
    for one in filled.open:
        why.setdefault(one.reason, []).append(str(one.line))
    reasons = "; ".join(
        f"{'line' if len(lines) == 1 else 'lines'} {', '.join(lines[:8])}: {reason}"
        for reason, lines in why.items()
    )
    best = "; ".join(
        f"line {one.line}: "
        + ", ".join(f"“{shorten(hit.work.title, 60)}”" for hit in one.candidates[:NAMED])
        for one in filled.open[:NAMED]
        if one.candidates
    )
    return Problem(
        "placeholders-left-open",
        f"{len(filled.filled)} of {len(filled.fills)} placeholders were filled; {reasons}."
        + (f" Best for {best}." if best else ""),
        "Choose from the list at the placeholder, or type words into it.",
    )
