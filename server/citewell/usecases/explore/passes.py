"""A literature search in passes over an engine: each pass yields the list so far.

The first pass is one search and is yielded at once. The next ones ask again with what was found:
the best papers as references, the best papers as queries, their methods, applications and
limitations, their citations, and the sources.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from citewell.engine.contract import Engine
from citewell.model import CitewellError
from citewell.model.cancel import Cancel
from citewell.model.identifiers import identifier_of
from citewell.usecases.explore.contract import (
    MAX_ROUNDS,
    Ending,
    Exploration,
    ExploreQuery,
    Pass,
    PassName,
)
from citewell.usecases.explore.judging import RelevanceJudge
from citewell.usecases.explore.steps import EMPTY, NOTHING_FOUND, Steps
from citewell.usecases.explore.themes import overview

LITTLE_ENTERED, LITTLE_ADDED = 1, 0.02
"""Where each pass of a round brought at most this many papers into the first `HEAD`, and all of
them added at most this share of the list, there is no further round."""
MODEL_ROUNDS, RULE_ROUNDS = (1, 2), (2, 3)
"""Rounds in which aspects are asked for: two at most, and by rules not in the first one, where they
find hardly anything that the best papers as queries do not."""
ONLINE: frozenset[PassName] = frozenset({"sources", "chains"})
_LATER = ("papers", "aspects", "citations")


def explore(
    engine: Engine,
    request: ExploreQuery,
    *,
    cancel: Cancel | None = None,
    judge: RelevanceJudge | None = None,
) -> Iterator[Exploration]:
    """The list after each pass, best first; `ending` of the last one is not empty. `judge` judges
    the papers; by default the one that ships.

    Raises `CitewellError` for an empty request, where the request has an id that no record has,
    and where no search could be made; `Cancelled` between and inside passes.
    """
    if not any((request.text.strip(), request.author, request.venue, request.kept)):
        raise CitewellError(EMPTY)
    return _Run(engine, request, cancel or Cancel(), judge).passes()


class _Run:
    """One literature search."""

    def __init__(
        self, engine: Engine, request: ExploreQuery, cancel: Cancel, judge: RelevanceJudge | None
    ) -> None:
        self._engine = engine
        self._request = request
        self._cancel = cancel
        self._steps = Steps(engine, request, cancel, judge)
        self._passes: list[Pass] = []
        self._snapshot = ""

    def passes(self) -> Iterator[Exploration]:
        """The list after each pass."""
        status = self._engine.status()
        self._snapshot = status.snapshot
        steps, found = self._steps, self._steps.found
        steps.asks_model = status.explores and self._request.model
        plan = self._plan()
        offline_over = False
        for number, (name, turn) in enumerate(plan):
            if offline_over and name not in ONLINE:
                continue
            self._cancel.check()
            begin, answers = time.perf_counter(), found.answers
            queries = steps.make(name)
            record = found.changed(
                name,
                turn,
                queries=queries,
                found=found.ids_since(answers),
                understood=steps.understood,
                begin=begin,
            )
            self._passes.append(record)
            rest = [step for step, _ in plan[number + 1 :]]
            if not found.papers and not steps.kept:
                offline_over = True
            # What other queries would bring is not known before they were made once.
            untried = "aspects" in rest and all(one.name != "aspects" for one in self._passes)
            if name == "citations" and self._is_little(turn) and not untried:
                offline_over = True
            ending: Ending = ""
            if offline_over and not found.papers and not steps.problems:
                steps.problems.append(NOTHING_FOUND)
            if not rest:
                ending = "complete"
            elif offline_over and not ONLINE & set(rest):
                ending = "little"
            yield self._state(ending)
            if ending:
                return

    def _plan(self) -> list[tuple[PassName, int]]:
        """The passes with their rounds."""
        query = self._steps.query
        has_words = bool(query.text)
        plan: list[tuple[PassName, int]] = []
        if has_words or query.sentence or query.author or query.venue:
            plan.append(("search", 1))
        if has_words and self._steps.asks_model and identifier_of(query.text) is None:
            plan.append(("reading", 1))
        # Kept papers are starting points of the passes of a round.
        rounds = max(self._request.rounds, 1 if self._request.kept else 0)
        for turn in range(1, min(rounds, MAX_ROUNDS) + 1):
            # A second round of references brings nothing that the first one has not.
            if turn == 1 and has_words and identifier_of(query.text) is None:
                plan.append(("references", 1))
            plan.append(("papers", turn))
            if has_words and turn in (MODEL_ROUNDS if self._steps.asks_model else RULE_ROUNDS):
                plan.append(("aspects", turn))
            plan.append(("citations", turn))
        if self._request.online and has_words:
            plan += [("sources", 1), ("chains", 1)]
        return [step for step in plan if step[0] not in self._request.without]

    def _is_little(self, turn: int) -> bool:
        """Whether the passes of a round changed so little that another one does not pay."""
        made = [one for one in self._passes if one.round == turn and one.name in _LATER]
        return all(one.entered <= LITTLE_ENTERED for one in made) and (
            sum(one.added for one in made) <= LITTLE_ADDED * self._steps.found.count
        )

    def _state(self, ending: Ending) -> Exploration:
        steps = self._steps
        own = None
        if ending and self._request.overview:
            works = [one.work for one in steps.found.papers]
            own = overview(
                self._engine,
                works,
                self._cancel,
                question=steps.query.text,
                by_model=steps.asks_model,
            )
            if own.summary is not None and own.summary.problem is not None:
                steps.problems.append(own.summary.problem)
        return Exploration(
            papers=steps.found.papers,
            passes=tuple(self._passes),
            understood=steps.understood,
            ending=ending,
            snapshot=self._snapshot,
            relevant=steps.found.relevant,
            problems=tuple(dict.fromkeys(steps.problems)),
            overview=own,
        )
