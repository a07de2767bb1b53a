"""Actions on a key that no .bib defines: find and add its paper, or another key that exists."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.projects import Projects
from citewell.lsp.requests.actions.choice import with_choice
from citewell.lsp.requests.actions.contract import ActionRequest, Chosen
from citewell.lsp.requests.citing import Citing
from citewell.lsp.state.zotero import Zotero

if TYPE_CHECKING:
    from citewell.features.action import Action, ActionPlan
    from citewell.features.actions.undefined import Similar
    from citewell.features.citing.key_meaning import KeyMeaning
    from citewell.features.citing.undefined_key import Meaning
    from citewell.lsp.documents.project_state import ProjectState
    from citewell.lsp.documents.snapshot import Snapshot
    from citewell.model import Query, Work
    from citewell.model.document import Document, KeyUse


class UndefinedKeyActions(Struct, frozen=True, eq=False):
    """Gives an undefined key its entry."""

    name = "undefined-key"
    kinds = ("quickfix",)

    engine: WorkerEngine
    zotero: Zotero
    citing: Citing

    async def offer(self, request: ActionRequest) -> Sequence[Action]:
        """Keys that it may have been meant to be, and the paper that it means."""
        from citewell.features.actions import undefined as feature
        from citewell.features.citing.key_meaning import read_key
        from citewell.features.citing.site import key_at

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
                projects,
                self.engine,
                snapshot.document,
                use,
                meaning=meaning,
                paper=snapshot.state,
            )
        return await projects.read(
            lambda: feature.undefined_actions(use, similar, meant, paper.project)
        )

    async def plan(self, chosen: Chosen) -> ActionPlan | None:
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
        query = await projects.read(lambda: _context(snapshot.state, snapshot.document, use))
        return await with_choice(plan, chosen, snapshot, work, query, engine=self.engine)

    async def _copied(self, uri: str, key: str) -> ActionPlan | None:
        """The entry of the author's Zotero under its own key."""
        from citewell.features.action import ActionPlan
        from citewell.features.citing.zotero_library import SCHEME

        work = await self.citing.find_work(SCHEME + key)
        found = await self.citing.plan_insertion(uri, work, key) if work is not None else None
        if found is None:
            return None
        return ActionPlan(
            edits=found.edits, texts=found.texts, label=f"Add {key}", problems=found.problems
        )


async def similar_to(projects: Projects, snapshot: Snapshot, meaning: KeyMeaning) -> list[Similar]:
    """The keys of the paper's .bib files that an undefined one may have been meant to be."""
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
    from citewell.features.citing.undefined_key import decide, questions

    context = await projects.read(lambda: _context(paper, document, use))
    known = asyncio.to_thread(_look_up, engine, meaning)
    queries = questions(meaning, context)
    searches = [engine.find_async(query, count) for query, count in queries]
    works, results = await asyncio.gather(known, asyncio.gather(*searches))
    return decide(meaning, works, [result.hits for result in results]), context


def _context(paper: ProjectState, document: Document, use: KeyUse) -> Query:
    from citewell.documents.context import context_at
    from citewell.model import Query

    around = context_at(document, use.span.start)
    return Query(
        sentence=around.sentence,
        before=around.before,
        after=around.after,
        section=around.section,
        paper=paper.citing,
    )


def _look_up(engine: WorkerEngine, meaning: KeyMeaning) -> list[Work]:
    """The works whose identifier the key is, or which a source gives this very key."""
    found = list(engine.lookup(doi=meaning.doi, arxiv=meaning.arxiv, bibkey=meaning.key))
    if meaning.anthology:
        found += [w for w in engine.works([f"acl:{meaning.anthology}"]) if w is not None]
    return found
