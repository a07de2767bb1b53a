"""Actions on a placeholder: one of the best papers, the best of all, or every one in the file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.protocol.progress import on_thread
from citewell.lsp.requests.action_contract import ActionRequest, ChosenAction, with_choice
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state.checking import ReferenceChecks
from citewell.model import Problem

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.lsp.documents.buffers import Snapshot
    from citewell.model import Query, Work
    from citewell.model.document import Placeholder
    from citewell.usecases.fill import FillPlan

ShowProblems = Callable[[Sequence[Problem]], None]

DEEP = 8
"""Number of papers from the longer search."""
VERIFIED = 8
"""Maximum number of citations for which the message includes the language model's opinion."""


class PlaceholderActions(Struct, frozen=True, eq=False):
    """Cites papers at a placeholder."""

    name = "placeholder"
    kinds = ("quickfix", "source.fillCitations")

    engine: WorkerEngine
    checks: ReferenceChecks
    citing: CitationService
    show_problems: ShowProblems

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The best three papers by name, the best after a longer search, and all in the file."""
        from citewell.features.actions import placeholder as feature

        snapshot = await request.snapshot()
        if snapshot is None or not snapshot.document.placeholders:
            return ()
        count = len(snapshot.document.placeholders)
        selected = snapshot.index.span(request.range)
        placeholder = feature.placeholder_for(
            snapshot.document, selected, on_character=request.on_character
        )
        if request.wants_source or placeholder is None:
            return () if request.automatic else (feature.fill_action(count),)
        if not placeholder.certain:
            return feature.placeholder_actions(placeholder, (), sure=False, open_places=count)
        query = await self.citing.make_query(snapshot, placeholder)
        result = await self.engine.find_async(query, feature.SHOWN)
        words = placeholder.query
        paper = snapshot.state

        def choose() -> list[feature.Choice]:
            own = paper.index.search(words, feature.SHOWN) if words else []
            check_of = self.checks.answers.find_check(paper.index)
            return feature.choices_at(placeholder, own, result.hits, paper.find_work, check_of)

        choices = await request.projects.read(choose)
        own_first = bool(choices and choices[0].key and not choices[0].invented)
        sure = feature.is_sure(query, result.hits) or own_first
        return feature.placeholder_actions(
            placeholder, choices, sure=sure, open_places=count, variant=result.variant
        )

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The edits for one placeholder, or for all."""

        snapshot = await chosen.projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        if chosen.name == "fill":
            return await self._fill(chosen, snapshot)
        return await self._plan_one(chosen, snapshot)

    async def _plan_one(self, chosen: ChosenAction, snapshot: Snapshot) -> ActionPlan | None:
        from citewell.features.actions import placeholder as feature

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
        query = await self.citing.make_query(snapshot, placeholder)
        if chosen.name == "best":
            best = await self._best(chosen, snapshot, placeholder, query)
            if not isinstance(best, tuple):
                return best
            work, variant = best
        elif not key:
            work = await self.citing.find_work(chosen.text("work"))
            if work is None:
                return None
        plan = await chosen.projects.read(
            partial(
                feature.plan_citation,
                snapshot.state.project,
                snapshot.document,
                placeholder,
                snapshot.options,
                work=work,
                key=key,
            )
        )
        return await with_choice(
            plan, chosen, snapshot, work, query, engine=self.engine, variant=variant
        )

    async def _best(
        self, chosen: ChosenAction, snapshot: Snapshot, placeholder: Placeholder, query: Query
    ) -> tuple[Work, str] | ActionPlan:
        """The best paper of a longer search and the variant that found it, or only problems."""
        from citewell.features.actions import placeholder as feature
        from citewell.features.text.evidence import none_fits, picks
        from citewell.usecases.find import find_papers

        (found,) = await on_thread(
            lambda progress, cancel: find_papers(
                self.engine,
                [query],
                DEEP,
                pick=picks(snapshot.options),
                progress=progress,
                cancel=cancel,
            ),
            chosen.report,
        )
        if not found.hits:
            return _only_problems((*found.result.problems, feature.nothing_found(placeholder)))
        if found.picked is not None and found.picked.problem is not None:
            self.show_problems([found.picked.problem])
        if found.picked is not None and found.none_fits:
            return _only_problems([none_fits(found.picked)])
        return found.hits[0].work, found.result.variant

    async def _fill(self, chosen: ChosenAction, snapshot: Snapshot) -> ActionPlan:
        from citewell.features.action import ActionPlan
        from citewell.usecases.fill import (
            FillTask,
            detail_of,
            fill_feedback,
            left_open,
            places_of,
            summary_of,
        )

        projects, project = chosen.projects, snapshot.state.project
        if not snapshot.document.placeholders:
            return ActionPlan(message=f"No placeholders in {snapshot.path.name}.")
        places = await projects.read(lambda: places_of(project, [snapshot.document]))

        sources = snapshot.options.sources
        # Sources included in lists are also queried here.
        online = bool(sources.allow) and sources.search
        task = FillTask(self.engine, snapshot.options, online=online)
        await on_thread(partial(task.search, places), chosen.report)
        # This may take long: the plan is made for the current files.
        snapshot = await projects.snapshot(chosen.uri, fresh=True) or snapshot
        project, document = snapshot.state.project, snapshot.document
        places = await projects.read(lambda: places_of(project, [document]))
        await on_thread(partial(task.search, places), chosen.report)
        planned = await projects.read(lambda: task.plan(project, places))
        plan = await on_thread(partial(task.verify, planned), chosen.report)
        answers = [answer for one in plan.fills for answer in (one.picked, one.supported) if answer]
        self.show_problems([answer.problem for answer in answers if answer.problem])
        problems = [problem for result in plan.results for problem in result.problems]
        if plan.open:
            problems.append(left_open(plan))
        details = [
            {"line": one.line, "text": one.text, "message": detail_of(one)} for one in plan.open
        ]
        return ActionPlan(
            edits=plan.edits,
            texts={Path(path): text for path, text in plan.texts.items()},
            label=f"Fill {len(plan.filled)} citations",
            message=_supported(plan),
            report={"summary": summary_of(plan), "open": details},
            problems=tuple(dict.fromkeys(problems)),
            feedback=fill_feedback(plan, "fill"),
        )


def _only_problems(problems: Sequence[Problem]) -> ActionPlan:
    from citewell.features.action import ActionPlan

    return ActionPlan(problems=tuple(problems))


def _supported(plan: FillPlan) -> str:
    """The language model's opinions of the first papers' abstracts, if requested."""
    from citewell.features.text.evidence import what_it_says

    opinions = [
        f"line {one.line}, {one.key}: {what_it_says(one.supported)}"
        for one in plan.filled
        if one.supported is not None and one.supported.problem is None
    ]
    more = len(opinions) - VERIFIED
    return "\n".join([*opinions[:VERIFIED], *([f"and {more} more"] if more > 0 else [])])


# Actions on a sentence that relies on other work without a citation: cite a probable paper.

LEAST = 0.15
"""Minimum probability of an offered paper."""


class UncitedActions(Struct, frozen=True, eq=False):
    """Offers a citation for the sentence at the cursor only."""

    name = "uncited"
    kinds = ("refactor.rewrite",)

    engine: WorkerEngine
    citing: CitationService

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The best papers for the sentence at the cursor, if it needs a citation."""
        from citewell.features.actions import placeholder as feature
        from citewell.features.checking.support import uncited_at
        from citewell.features.text.evidence import confidence_of

        projects, snapshot = request.projects, await request.snapshot()
        if snapshot is None or (request.automatic and not self.engine.begun):
            return ()
        offset = snapshot.index.offset(request.range.start)
        found = await projects.read(lambda: uncited_at(snapshot.document, offset))
        if found is None:
            return ()
        query = await self.citing.make_query(snapshot, found.placeholder)
        result = await self.engine.find_async(query, feature.SHOWN)
        if confidence_of(query, result.hits) < LEAST:
            return ()
        find_work = snapshot.state.find_work
        choices = await projects.read(
            lambda: feature.choices_at(found.placeholder, (), result.hits, find_work)
        )
        return feature.sentence_actions(found.at, found.sentence, choices, result.variant)

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The citation before the full stop, with the entry of its paper."""
        from citewell.features.actions import placeholder as feature
        from citewell.features.checking.support import uncited_at

        projects = chosen.projects
        snapshot = await projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        at = chosen.number("at", 0)
        found = await projects.read(lambda: uncited_at(snapshot.document, at))
        if found is None or found.sentence[:200] != chosen.text("sentence"):
            return None
        work, key = None, chosen.text("key")
        if not key:
            work = await self.citing.find_work(chosen.text("work"))
            if work is None:
                return None
        query = await self.citing.make_query(snapshot, found.placeholder)
        plan = await projects.read(
            partial(
                feature.plan_citation,
                snapshot.state.project,
                snapshot.document,
                found.placeholder,
                snapshot.options,
                work=work,
                key=key,
            )
        )
        return await with_choice(
            plan, chosen, snapshot, work, query, engine=self.engine, variant=chosen.text("variant")
        )


# A question about a citation: does the paper support the sentence? Answered, never diagnosed.


class SupportActions(Struct, frozen=True, eq=False):
    """Asks the language model, if configured, about the citation at the cursor."""

    name = "support"
    kinds = ("citewell.ask",)

    engine: WorkerEngine

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """The question about the key at the place, if its entry is known."""
        if request.is_bib:
            return ()
        snapshot = await request.projects.snapshot(request.uri)
        if snapshot is None or snapshot.options.llm.provider == "none":
            return ()
        from citewell.features.checking.support import support_action

        offset = snapshot.index.offset(request.range.start)
        action = support_action(snapshot.document, offset, snapshot.options)
        if action is None:
            return ()
        entry = snapshot.state.project.entry(str(action.arguments["key"]))
        return () if entry is None else (action,)

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """No edits: the model's opinion of the current sentence."""
        from citewell.features.action import ActionPlan
        from citewell.features.checking.support import (
            cited_sentence,
            find_record,
            in_words,
            readable_work,
            use_near,
            without_abstract,
        )

        projects = chosen.projects
        snapshot = await projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        key, document = chosen.text("key"), snapshot.document
        use = use_near(document, chosen.number("start", 0), key)
        project = snapshot.state.project
        found = project.entry(key)
        cited = await projects.read(lambda: cited_sentence(document, use)) if use else None
        if cited is None or found is None:
            return None
        path, entry = found
        chosen.report("looking up the paper")
        record = await asyncio.to_thread(find_record, self.engine, entry)
        work = readable_work(project.bibs[path], entry, record)
        if not work.abstract:
            return _only_problem(without_abstract(key))
        chosen.report("asking the language model")
        supported = await self.engine.verify_async(cited.sentence, work)
        if supported.problem is not None:
            return _only_problem(supported.problem)
        return ActionPlan(message=in_words(key, work, supported))


def _only_problem(problem: Problem) -> ActionPlan:
    from citewell.features.action import ActionPlan

    return ActionPlan(problems=(problem,))
