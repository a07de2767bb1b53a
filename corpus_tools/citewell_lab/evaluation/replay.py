"""Papers replayed in order: what is learned from their first citations helps the later ones.

Each citation of a paper becomes a query as if the author were writing there: preceding citations
are known, later ones are not. Then the cited paper is accepted, and those listed above it are
dismissed. The same query is also run without history on the same engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from citewell.engine.history_store import HistoryStore
from citewell.engine.local import LocalEngine
from citewell.model import Query, Question, Reference, SearchResult
from citewell.model.feedback import Feedback, PaperName, passed_over
from citewell.model.query import MARK, OTHER
from citewell.model.system.child_process import temporary_folder
from citewell.options import Options
from citewell_corpus.processes import Progress
from citewell_lab.evaluation.matching import Gold, letters_only, targets_of
from citewell_lab.evaluation.results import EvaluationError, Setting
from citewell_lab.evaluation.statistics import (
    Estimate,
    Groups,
    PairedDifference,
    bootstrap,
    compare,
)

Scope = Literal["paper", "repository", "everyone"]
"""The point at which the learned state is dropped: at the end of a paper; of a repository, whose
papers share authors; or never, as if all papers were one author's: a test that what strangers cite
does no harm."""
Kind = Literal["all", "first", "again", "elsewhere"]
KINDS: Mapping[Kind, str] = {
    "all": "all citations",
    "first": "papers that this paper cites for the first time",
    "again": "papers that it has cited before",
    "elsewhere": "cited for the first time here, and before by another paper of the history",
}
DEPTH = 100
SHOWN = 20
"""Papers of a completion: an author who does not find the paper among them passes over none."""
METRICS = ("recall@1", "recall@5", "recall@10", f"mrr@{DEPTH}")
_REPOSITORY = "repository:"


class ReplayedCitation(msgspec.Struct, frozen=True):
    """One citation asked twice."""

    id: str
    paper: str
    unit: str
    """The unit of resampling; papers that share a history are one unit."""
    kinds: tuple[Kind, ...]
    without: int
    """1-based rank of the cited paper without what was learned; 0 beyond `DEPTH`."""
    learned: int


class LearningFigures(msgspec.Struct, frozen=True):
    """One metric over the citations of one kind."""

    kind: Kind
    metric: str
    questions: int
    without: Estimate
    learned: Estimate
    difference: PairedDifference


def replay(
    questions: Sequence[Question],
    options: Options,
    scope: Scope,
    settings: Sequence[Setting],
    report: Progress,
) -> dict[Setting, list[ReplayedCitation]]:
    """Replay the papers of the questions, which are in text order.

    Papers that share a history come in the order of their years. What the library does not hold is
    neither asked nor learned. Raises `EvaluationError` without a library.
    """
    off = replace(options, learning=replace(options.learning, enabled=False))
    on = replace(options, learning=replace(options.learning, enabled=True))
    with temporary_folder() as folder:
        store = HistoryStore(folder / "history.sqlite")
        plain = LocalEngine.open(off)
        learning = LocalEngine.open(on, history=store)
        try:
            if not plain.status().library:
                raise EvaluationError(plain.status().problems[0])
            gold = Gold(plain, questions)
            found: dict[Setting, list[ReplayedCitation]] = {setting: [] for setting in settings}
            for setting in settings:
                author = _Author(plain, learning, gold, scope, setting)
                groups = histories(questions, scope)
                count = sum(len(paper) for group in groups for paper in group)
                report.stage(f"{scope}, {setting}", count)
                for papers in groups:
                    store.erase()
                    found[setting].extend(author.write(papers, report))
            return found
        finally:
            learning.close()
            plain.close()


def histories(questions: Sequence[Question], scope: Scope) -> list[list[list[Question]]]:
    """Papers by the history that they share, each as its questions, in the order of replay.

    A repository of one paper has nothing to pass on and is left out.
    """
    papers: dict[str, list[Question]] = {}
    for question in questions:
        papers.setdefault(question.paper, []).append(question)
    shared: dict[str, list[list[Question]]] = {}
    for name, members in papers.items():
        owner = {"paper": name, "repository": repository_of(members[0]), "everyone": ""}[scope]
        shared.setdefault(owner, []).append(members)
    groups = list(shared.values())
    if scope == "repository":
        groups = [group for group in groups if len(group) > 1]
    return [sorted(group, key=lambda paper: paper[0].year or 0) for group in groups]


def repository_of(question: Question) -> str:
    """The repository of a paper; the paper itself if it has none."""
    tags = (tag.removeprefix(_REPOSITORY) for tag in question.tags if tag.startswith(_REPOSITORY))
    return next(tags, question.paper)


class _WrittenPaper:
    """A paper as far as it is written."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.references: dict[str, Reference] = {}
        self.cited: set[str] = set()
        self.sentences: dict[str, dict[str, None]] = {}
        """By sentence: the titles that it cites."""

    def query(self, question: Question, setting: Setting) -> Query:
        """The question as it is asked now: of the references only those that are cited already."""
        query = question.query
        known: tuple[Reference, ...] = ()
        nearby: tuple[str, ...] = ()
        beside: tuple[str, ...] = ()
        if setting == "warm":
            known = tuple(self.references.values())
            nearby = tuple(t for t in query.nearby if letters_only(t) in self.references)
            beside = tuple(self.sentences.get(_plain(query), ()))
        paper = msgspec.structs.replace(query.paper, references=known, project=self.name)
        return msgspec.structs.replace(query, paper=paper, nearby=nearby, beside=beside)

    def cite(self, question: Question, answers: frozenset[str]) -> None:
        """The question's paper is cited, which has the library's ids `answers`."""
        self.cited |= answers
        target = targets_of(question)[0]
        title = next(iter(target.titles), "")
        if letters := letters_only(title):
            new = Reference(title, year=target.year, doi=target.doi, arxiv=target.arxiv)
            known = self.references.get(letters, new)
            again = msgspec.structs.replace(known, times=known.times + 1)
            self.references[letters] = again
            self.sentences.setdefault(_plain(question.query), {})[again.title] = None


def _plain(query: Query) -> str:
    """The sentence whatever of it is asked for."""
    return " ".join(query.sentence.replace(MARK, "").replace(OTHER, "").split())


class _Author:
    """Writes papers citation by citation, asking two engines."""

    def __init__(
        self,
        plain: LocalEngine,
        learning: LocalEngine,
        gold: Gold,
        scope: Scope,
        setting: Setting,
    ) -> None:
        self._plain = plain
        self._learning = learning
        self._gold = gold
        self._scope = scope
        self._setting = setting

    def write(
        self, papers: Iterable[Sequence[Question]], report: Progress
    ) -> Iterator[ReplayedCitation]:
        """The papers of one history, one after the other."""
        before: set[str] = set()
        for questions in papers:
            paper = _WrittenPaper(questions[0].paper)
            for question in questions:
                report.advance(1)
                right = self._gold.of(question)
                if right:
                    yield self._cite(question, frozenset().union(*right), paper, before)
            before |= paper.cited

    def _cite(
        self, question: Question, answers: frozenset[str], paper: _WrittenPaper, before: set[str]
    ) -> ReplayedCitation:
        query = paper.query(question, self._setting)
        without, learned = _find(self._plain, query), _find(self._learning, query)
        again = bool(answers & paper.cited)
        kinds: list[Kind] = ["all", "again" if again else "first"]
        if not again and answers & before:
            kinds.append("elsewhere")
        if not again:  # else its entry is in the .bib already: nothing is written or learned
            taken = _taken(learned, answers) or self._named(min(answers))
            shown = [hit.work for hit in learned.hits[:SHOWN]]
            unknown = [None if work.id in paper.cited else work for work in shown]
            self._learning.learn(
                Feedback(
                    accepted=taken,
                    dismissed=passed_over(unknown, taken.id),
                    query=query,
                    project=paper.name,
                    variant=learned.variant,
                )
            )
        paper.cite(question, answers)
        unit = repository_of(question) if self._scope == "repository" else paper.name
        ranks = (_rank(without, answers), _rank(learned, answers))
        return ReplayedCitation(question.id, paper.name, unit, tuple(kinds), *ranks)

    def _named(self, identifier: str) -> PaperName:
        work = self._plain.works([identifier])[0]
        return PaperName(identifier, work.title if work is not None else "")


def _find(engine: LocalEngine, query: Query) -> SearchResult:
    return engine.find_batch([query], DEPTH, explained=0)[0]


def _rank(result: SearchResult, answers: frozenset[str]) -> int:
    places = (rank for rank, hit in enumerate(result.hits, 1) if hit.work.id in answers)
    return next(places, 0)


def _taken(result: SearchResult, answers: frozenset[str]) -> PaperName | None:
    found = (hit.work for hit in result.hits if hit.work.id in answers)
    return next((PaperName(work.id, work.title) for work in found), None)


def lines_of(citations: Sequence[ReplayedCitation], seed: int = 0) -> Iterator[LearningFigures]:
    """The figures of each kind of citation, with intervals over the units."""
    for kind in KINDS:
        chosen = [one for one in citations if kind in one.kinds]
        if not chosen:
            continue
        units = [one.unit for one in chosen]
        groups = Groups(units, seed=seed)
        without = _values([one.without for one in chosen])
        learned = _values([one.learned for one in chosen])
        before, after = bootstrap(without, groups), bootstrap(learned, groups)
        for column, metric in enumerate(METRICS):
            difference = compare(learned[:, column], without[:, column], units, seed=seed)
            yield LearningFigures(
                kind, metric, len(chosen), before[column][0], after[column][0], difference
            )


def _values(ranks: Sequence[int]) -> NDArray[np.float64]:
    """Shape (questions, metrics)."""
    found = np.array([rank or np.inf for rank in ranks], np.float64)
    return np.stack([found <= 1, found <= 5, found <= 10, 1 / found], axis=1).astype(np.float64)
