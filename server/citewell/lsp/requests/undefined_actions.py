"""Actions for an undefined key: find and add its paper, or use another key that exists."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.projects import Projects
from citewell.lsp.requests.action_contract import ActionRequest, ChosenAction, with_choice
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state import memory
from citewell.lsp.state.zotero import Zotero
from citewell.model import Query

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.features.actions.undefined import Missing, Settled, Similar
    from citewell.features.citing.undefined_key import KeyMeaning, Meaning
    from citewell.lsp.documents.buffers import Snapshot
    from citewell.lsp.documents.project_state import ProjectState
    from citewell.model.document import Document, KeyUse
    from citewell.model.feedback import Feedback


class UndefinedKeyActions(Struct, frozen=True, eq=False):
    """Adds the entry of an undefined key."""

    name = "undefined-key"
    kinds = ("quickfix",)

    engine: WorkerEngine
    zotero: Zotero
    citing: CitationService

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """Defined keys that may be meant, and the paper that the key means."""
        from citewell.features.actions import undefined as feature
        from citewell.features.citing.citation import key_at
        from citewell.features.citing.undefined_key import read_key

        projects, snapshot = request.projects, await request.snapshot()
        if snapshot is None:
            return ()
        found = key_at(snapshot.document, snapshot.index.offset(request.range.start))
        if found is None or not feature.worth_a_search(found[1]):
            return ()
        use, paper = found[1], snapshot.state
        if use.key == "*" or use.key in paper.taken:
            return ()
        self.zotero.wake(use.key)
        if self.zotero.entry(use.key) is not None:
            return (feature.library_action(use),)
        meaning = read_key(use.key)
        similar = await similar_to(projects, snapshot, meaning)
        meant = None
        if not any(one.certain for one in similar):
            meant, _ = await meaning_of(
                projects, self.engine, snapshot.document, use, meaning=meaning, paper=snapshot.state
            )
        return await projects.read(
            lambda: feature.undefined_actions(use, similar, meant, paper.project)
        )

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The entry, or the other key."""
        if chosen.name == "shelf":
            return await self._copied(chosen.uri, chosen.text("key"))
        from citewell.features.actions import undefined as feature

        projects = chosen.projects
        snapshot = await projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        key, new = chosen.text("key"), chosen.text("new")
        use = feature.use_near(snapshot.document, chosen.number("start", 0), key)
        changing = chosen.name == "change"
        project = snapshot.state.project
        if use is None or (changing and not (feature.may_be_a_key(new) or project.entry(new))):
            return None
        if changing:
            return await projects.read(
                lambda: feature.plan_change(project.documents.values(), key, new)
            )
        work = await self.citing.find_work(chosen.text("work"))
        if work is None:
            return None
        plan = await projects.read(
            partial(feature.plan_addition, project, snapshot.document, use, work, snapshot.options)
        )
        query = await projects.read(
            lambda: query_at(snapshot.state, snapshot.document, use.span.start)
        )
        return await with_choice(plan, chosen, snapshot, work, query, engine=self.engine)

    async def _copied(self, uri: str, key: str) -> ActionPlan | None:
        """The entry in the author's Zotero, under its own key."""
        from citewell.features.action import ActionPlan
        from citewell.features.citing.insert import SCHEME

        work = await self.citing.find_work(SCHEME + key)
        found = await self.citing.plan_insertion(uri, work, key) if work is not None else None
        if found is None:
            return None
        return ActionPlan(
            edits=found.edits, texts=found.texts, label=f"Add {key}", problems=found.problems
        )


async def similar_to(projects: Projects, snapshot: Snapshot, meaning: KeyMeaning) -> list[Similar]:
    """The keys of the paper's .bib files that may be meant by an undefined one."""
    from citewell.features.actions.undefined import similar_keys

    project = snapshot.state.project
    return await projects.read(
        lambda: similar_keys(meaning, ((str(path), entry) for path, entry in project.entries()))
    )


async def meaning_of(
    projects: Projects,
    engine: WorkerEngine,
    document: Document,
    use: KeyUse,
    *,
    meaning: KeyMeaning,
    paper: ProjectState,
) -> tuple[Meaning, Query]:
    """The works that a key in a document of the paper may mean, and the sentence around
    it as a query."""
    from citewell.features.citing.undefined_key import decide, identified, questions

    context = await projects.read(lambda: query_at(paper, document, use.span.start))
    known = asyncio.to_thread(identified, engine, meaning)
    queries = questions(meaning, context)
    searches = [engine.find_async(query, count) for query, count in queries]
    works, results = await asyncio.gather(known, asyncio.gather(*searches))
    answers = [(query, one.hits) for (query, _), one in zip(queries, results, strict=True)]
    return decide(meaning, works, answers), context


def query_at(paper: ProjectState, document: Document, at: int) -> Query:
    """The sentence around a place as a query."""
    from citewell.documents.context import context_at

    around = context_at(document, at)
    return Query(
        sentence=around.sentence,
        before=around.before,
        after=around.after,
        section=around.section,
        paper=paper.citing,
    )


# The action for all undefined keys of a paper.


class MissingEntriesActions(Struct, frozen=True, eq=False):
    """Adds an entry for every undefined key of a paper with a certain meaning."""

    name = "missing-entries"
    kinds = ("quickfix", "source.addMissingEntries")

    engine: WorkerEngine
    zotero: Zotero

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """One action, if there are several of these keys, or for a source action."""
        from citewell.features.actions.undefined import missing_action, missing_keys
        from citewell.features.citing.citation import key_at

        projects, snapshot = request.projects, await request.snapshot()
        if snapshot is None:
            return ()
        project = snapshot.state.project
        missing = await projects.read(lambda: missing_keys(project))
        if request.wants_source:
            return (missing_action(len(missing)),) if missing else ()
        found = key_at(snapshot.document, snapshot.index.offset(request.range.start))
        if found is None or len(missing) < 2 or found[1].key not in {one.key for one in missing}:
            return ()
        return (missing_action(len(missing), found[1]),)

    async def plan(self, chosen: ChosenAction) -> ActionPlan | None:
        """The entries, in one step."""
        from citewell.features.action import ActionPlan
        from citewell.features.actions.undefined import missing_keys, plan_missing

        projects = chosen.projects
        snapshot = await projects.snapshot(chosen.uri, fresh=True)
        if snapshot is None:
            return None
        project = snapshot.state.project
        missing = await projects.read(lambda: missing_keys(project))
        if not missing:
            name = snapshot.path.name
            return ActionPlan(message=f"Every key that {name} and its paper cite has an entry.")
        found: list[Settled] = []
        feedback: dict[str, Feedback] = {}
        for number, one in enumerate(missing, 1):
            chosen.report(f"key {number} of {len(missing)}")
            settled, learned = await self._settle(chosen, snapshot, one)
            found.append(settled)
            if learned is not None:
                feedback[one.key] = learned
        plan = await projects.read(partial(plan_missing, project, found, snapshot.options))
        if not memory.adds_entry(plan):
            return plan
        return msgspec.structs.replace(plan, feedback=tuple(feedback.values()))

    async def _settle(
        self, chosen: ChosenAction, snapshot: Snapshot, one: Missing
    ) -> tuple[Settled, Feedback | None]:
        from citewell.features.actions.undefined import Settled
        from citewell.features.citing.undefined_key import read_key

        self.zotero.wake(one.key)
        if self.zotero.entry(one.key) is not None:
            bib = await self.zotero.fresh_entry(one.key)
            if bib is not None and bib.by_key.get(one.key) is not None:
                return Settled(one, copy_of=bib), None
        meaning = read_key(one.key)
        similar = await similar_to(chosen.projects, snapshot, meaning)
        if any(other.certain for other in similar):
            return Settled(one), None
        document = snapshot.state.project.documents[Path(one.document.path)]
        meant, query = await meaning_of(
            chosen.projects, self.engine, document, one.use, meaning=meaning, paper=snapshot.state
        )
        if not meant.is_sure:
            return Settled(one), None
        work = meant.works[0]
        feedback = memory.taken(snapshot, work, query, through="action")
        return Settled(one, work=work), feedback
