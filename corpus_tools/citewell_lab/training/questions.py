"""Real citations as questions for the head: what is asked, what is right, what may be known."""

from __future__ import annotations

import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitingPaper, Query
from citewell.model.system.child_process import end_with_parent
from citewell_lab.datasets.contexts import CitingPassage, by_sentence, neighbours
from citewell_lab.training.data import (
    CitationContext,
    as_query,
    dev_part,
    fold_title,
    fraction,
    question_part,
    read_contexts,
    read_jsonl,
)
from citewell_lab.training.pairs import CONTEXTS, Citations, role
from citewell_lab.training.priors import paper_key
from citewell_lab.training.world import World

PER_GOLD, PER_PAPER = 6, 100
"""Training questions of one cited paper, and of one citing paper."""
TUNING_PER_PAPER = 20


class CandidateQuestion(msgspec.Struct, frozen=True):
    """One question over the rows of a world."""

    query: Query
    gold: NDArray[np.int64]
    references: NDArray[np.int64]
    own: int
    paper: str
    exclude: NDArray[np.int64]
    nearby: NDArray[np.int64]
    """Rows of what the sentence and those before it cite; empty in the cold setting."""


class CitingFacts(msgspec.Struct, frozen=True):
    """The warm setting's facts about the citing papers."""

    references: Callable[[CitationContext], Iterable[int]]
    """Rows of all that the paper of a context cites."""
    nearby: dict[str, tuple[int, ...]]
    """Rows that are cited around each context, by its id."""


class CandidateTable(msgspec.Struct, frozen=True):
    """Candidates of many questions end to end: question i has `size[i]` rows."""

    features: NDArray[np.float32]
    right: NDArray[np.bool_]
    size: NDArray[np.int64]
    golds: NDArray[np.int64]
    """Right answers of each question, found or not."""
    papers: tuple[str, ...]


def tabulate(
    world: World,
    questions: Sequence[CandidateQuestion],
    label: str = "",
    *,
    thin: Thin | None = None,
    jobs: int = 1,
) -> CandidateTable:
    """Every question's candidates with their features; `thin` chooses those that are kept.

    With several jobs, as many processes share the questions; their order stays.
    """
    if jobs > 1 and len(questions) >= jobs:
        fork = multiprocessing.get_context("fork")
        _shared.append((world, thin))
        parts = np.array_split(np.arange(len(questions)), jobs)
        work = [([questions[n] for n in part.tolist()], label) for part in parts]
        try:
            with fork.Pool(jobs, end_with_parent) as pool:
                return joined_tables(pool.starmap(_tabulate_part, work, chunksize=1))
        finally:
            _shared.pop()
    tables: list[NDArray[np.float32]] = []
    right: list[NDArray[np.bool_]] = []
    for number, one in enumerate(questions):
        rows, table = world.candidates(one.query, one.references, one.own, one.nearby)
        keep = ~np.isin(rows, one.exclude)
        table, answer = table[keep], np.isin(rows[keep], one.gold)
        if thin is not None:
            kept = thin(table, answer)
            table, answer = table[kept], answer[kept]
        tables.append(table)
        right.append(answer)
        if number % 500 == 499:
            found = np.mean([r.any() for r in right])
            click.echo(f"{label}: {number + 1} of {len(questions)}, found {found:.3f}", err=True)
    return CandidateTable(
        np.concatenate(tables),
        np.concatenate(right),
        np.array([len(t) for t in tables], np.int64),
        np.array([len(one.gold) for one in questions], np.int64),
        tuple(one.paper for one in questions),
    )


Thin = Callable[[NDArray[np.float32], NDArray[np.bool_]], NDArray[np.bool_]]
"""Selection of the candidates to keep, from their features and the mask of the right ones."""
_shared: list[tuple[World, Thin | None]] = []
"""The state that forked processes inherit: the world is too large to send."""


def _tabulate_part(questions: Sequence[CandidateQuestion], label: str) -> CandidateTable:
    world, thin = _shared[-1]
    return tabulate(world, questions, label, thin=thin)


def joined_tables(tables: Sequence[CandidateTable]) -> CandidateTable:
    """The questions of all tables, one table after the other."""
    return CandidateTable(
        np.concatenate([t.features for t in tables]),
        np.concatenate([t.right for t in tables]),
        np.concatenate([t.size for t in tables]),
        np.concatenate([t.golds for t in tables]),
        tuple(paper for t in tables for paper in t.papers),
    )


def ask(
    world: World,
    contexts: Iterable[CitationContext],
    known: CitingFacts,
    warm: float,
    untitled: float = 0.0,
    *,
    apart: bool = False,
) -> list[CandidateQuestion]:
    """Questions of contexts, `warm` of them with references, `untitled` of them without title.

    The cited paper, in any edition, is no reference of its own question. What the same command
    cites is known in the warm setting and no answer there; with `apart` it is no candidate in the
    cold setting either, so that training does not call it wrong.
    """
    row = world.row
    questions: list[CandidateQuestion] = []
    for context in contexts:
        gold = np.unique([row[g] for g in context.gold if g in row]).astype(np.int64)
        query = as_query(context)
        if fraction(context.id, "untitled") < untitled:
            query = msgspec.structs.replace(query, paper=CitingPaper())
        references = nearby = siblings = np.zeros(0, np.int64)
        is_warm = fraction(context.id, "warm") < warm
        if is_warm:
            references = _others(world, gold, known.references(context))
            nearby = _others(world, gold, known.nearby.get(context.id, ()))
        if is_warm or apart:
            siblings = np.array([row[s] for s in context.siblings if s in row], np.int64)
            siblings = siblings[~np.isin(siblings, gold)]
        questions.append(
            CandidateQuestion(
                query, gold, references, paper_key(context), context.paper, siblings, nearby
            )
        )
    return questions


def _others(world: World, gold: NDArray[np.int64], rows: Iterable[int]) -> NDArray[np.int64]:
    found = np.array(sorted(set(rows)), np.int64)
    return found[~np.isin(world.keys[found], world.keys[gold]) & ~np.isin(found, gold)]


def nearby_rows(world: World, contexts: Iterable[CitationContext]) -> dict[str, tuple[int, ...]]:
    """Rows of what each context's sentence and those before it cite, by the context's id."""
    row = world.row
    papers: dict[str, list[CitationContext]] = defaultdict(list)
    for context in contexts:
        papers[context.paper].append(context)
    found: dict[str, tuple[int, ...]] = {}
    for members in papers.values():
        places = [
            CitingPassage(
                c.sentence, c.before, c.gold[0] if c.gold else "", frozenset(c.gold + c.siblings)
            )
            for c in members
        ]
        sentences = by_sentence(places)
        for context, place in zip(members, places, strict=True):
            names = neighbours(place, sentences)
            found[context.id] = tuple(row[name] for name in names if name in row)
    return found


def training_contexts(citations: Citations, most: int) -> list[CitationContext]:
    """Clean contexts of the papers that teach the ranker, few of one gold or one paper.

    A gold with many contexts would teach that every right answer has been cited in such words.
    """
    head = [c for c in citations.contexts if c.clean and role(c) == "head"]
    kept: list[CitationContext] = []
    per_gold: Counter[str] = Counter()
    per_paper: Counter[str] = Counter()
    for context in sorted(head, key=lambda c: fraction(c.id, "head")):
        gold = context.gold[0]
        if len(kept) < most and per_gold[gold] < PER_GOLD and per_paper[context.paper] < PER_PAPER:
            per_gold[gold] += 1
            per_paper[context.paper] += 1
            kept.append(context)
    return kept


def tuning_contexts(citations: Citations) -> list[CitationContext]:
    """Clean contexts of the LaTeX papers that tune, at most `TUNING_PER_PAPER` of one paper."""
    per_paper: Counter[str] = Counter()
    kept: list[CitationContext] = []
    for context in sorted(citations.contexts, key=lambda c: fraction(c.id, "head")):
        if (
            context.clean
            and role(context) == "tune"
            and per_paper[context.paper] < TUNING_PER_PAPER
        ):
            per_paper[context.paper] += 1
            kept.append(context)
    return kept


def unanswerable_contexts(data: Path, most: int) -> list[CitationContext]:
    """Clean contexts of the LaTeX papers that tune, of works that the corpora lack."""
    path = data / "contexts" / "contexts_no_gold2.jsonl.gz"
    found = read_contexts(path) if path.exists() else []
    found = [c for c in found if c.clean and not c.gold and role(c) == "tune"]
    return sorted(found, key=lambda c: fraction(c.id, "head"))[:most]


def training_references(data: Path, world: World, citations: Citations) -> CitingFacts:
    """The citations of each training paper in all of the data."""
    from citewell.corpus.columns import title_key

    row = world.row
    cited: dict[int, set[int]] = defaultdict(set)
    for entry in citations.lists:
        cited[title_key(entry.title)].update(entry.cited)
    for context in citations.contexts:
        if context.gold[0] in row:
            cited[paper_key(context)].add(row[context.gold[0]])
    names = [name for name in (*CONTEXTS, "dev") if _contexts_file(data, name).exists()]
    every = [c for name in names for c in read_contexts(_contexts_file(data, name))]
    return CitingFacts(lambda context: cited[paper_key(context)], nearby_rows(world, every))


def dev_references(data: Path, world: World) -> CitingFacts:
    """The citations of each paper of `contexts/dev`."""
    row = world.row
    cited: dict[tuple[str, str], set[int]] = defaultdict(set)
    for record in read_jsonl(data / "contexts" / "dev.jsonl.gz"):
        if record["gold_id"] in row:
            cited[record["source_repo"], record["source_title"] or ""].add(row[record["gold_id"]])
    for record in read_jsonl(data / "contexts" / "citation_lists.jsonl.gz"):
        cited[record["source_repo"], record["source_title"] or ""].update(
            row[c["gold_id"]] for c in record["cited"] if c["gold_id"] in row
        )
    nearby = nearby_rows(world, read_contexts(_contexts_file(data, "dev")))
    return CitingFacts(lambda context: cited[context.source, context.title], nearby)


def _contexts_file(data: Path, name: str) -> Path:
    return data / "contexts" / f"{name}.jsonl.gz"


def dev_contexts(
    contexts: Iterable[CitationContext], part: str, answered: bool = True
) -> list[CitationContext]:
    """Clean contexts of a part of dev: those with an answer in the corpora, or those without."""
    return [
        c for c in contexts if c.clean and bool(c.gold) == answered and dev_part(c.source) == part
    ]


def search_questions(data: Path, world: World, part: str) -> list[CandidateQuestion]:
    """AutoScholar questions of a part, matched to the corpora by title."""
    rows: dict[str, list[int]] = defaultdict(list)
    for number, paper in enumerate(world.papers):
        rows[fold_title(paper.title)].append(number)
    none = np.zeros(0, np.int64)
    questions: list[CandidateQuestion] = []
    for record in read_jsonl(data / "queries" / "autoscholar_dev.jsonl.gz"):
        if question_part(record["qid"]) != part:
            continue
        gold = [r for a in record["answer"] for r in rows.get(fold_title(a), ())]
        if gold:
            query = Query(text=record["question"])
            questions.append(
                CandidateQuestion(query, np.array(gold), none, 0, record["qid"], none, none)
            )
    return questions
