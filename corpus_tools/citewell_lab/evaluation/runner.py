"""Asks an engine every question and keeps what scoring needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from citewell.engine.contract import Tier
from citewell.engine.local import LocalEngine
from citewell.features.text.evidence import chosen_first, confidence_of
from citewell.model import Problem, Query, Question, SearchResult
from citewell.model.llm import Usage
from citewell.model.system.child_process import process_pool
from citewell.options import Options
from citewell_lab.evaluation.matching import Offered
from citewell_lab.evaluation.results import Chose, Latency, Setting
from citewell_lab.evaluation.text_baselines import TextBaseline

CHUNK = 64
"""Queries that go to the engine together."""
COMPLETION = 20
"""Papers in a completion: the list length at which latency is measured."""
WARM_UP = 5
PICKED = 8
"""Papers that a language model picks from, as `fill` has them."""

Progress = Callable[[int], None]
Searcher = LocalEngine | TextBaseline
"""Anything that can be searched."""


class Answers(msgspec.Struct):
    """The answers of one method to all questions, in order."""

    offered: list[Offered] = []
    emitted: int = 0
    unbacked: int = 0
    dropped: dict[str, int] = {}
    problems: dict[str, Problem] = {}
    """The first problem of each code."""
    usage: Usage = Usage()
    seconds: float = 0.0


class _AnswerBatch(msgspec.Struct, array_like=True):
    offered: list[Offered]
    emitted: int
    unbacked: int
    dropped: dict[str, int]
    problems: dict[str, Problem]
    usage: Usage


def query_for(question: Question, setting: Setting) -> Query:
    """The question's query in one setting: cold forgets the paper's other references."""
    query = question.query
    if setting == "warm" or not query.paper.references:
        return query
    paper = msgspec.structs.replace(query.paper, references=())
    return msgspec.structs.replace(query, paper=paper, nearby=())


def has_warm(questions: Iterable[Question]) -> bool:
    """True when any question knows other references of its paper."""
    return any(question.query.paper.references for question in questions)


def ask(
    engine: Searcher,
    queries: Sequence[Query],
    k: int,
    tier: Tier,
    progress: Progress,
    *,
    picks: bool = False,
) -> Answers:
    """Every answer, in this process."""
    answers = Answers()
    started = time.perf_counter()
    for start in range(0, len(queries), CHUNK):
        part = queries[start : start + CHUNK]
        _add(answers, _answers_of(engine, part, k, tier, picks))
        progress(len(part))
    answers.seconds = time.perf_counter() - started
    return answers


def ask_in_processes(
    options: Options, queries: Sequence[Query], k: int, tier: Tier, progress: Progress, *, jobs: int
) -> Answers:
    """Every answer, from `jobs` processes, each with its own engine over the same files."""
    answers = Answers()
    started = time.perf_counter()
    parts = [queries[start : start + CHUNK] for start in range(0, len(queries), CHUNK)]
    encode = msgspec.msgpack.encode
    with process_pool(jobs, _start, (options,)) as pool:
        replies = [pool.submit(_answer, (encode(part), k, tier)) for part in parts]
        for part, reply in zip(parts, replies, strict=True):
            _add(answers, msgspec.msgpack.decode(reply.result(), type=_AnswerBatch))
            progress(len(part))
    answers.seconds = time.perf_counter() - started
    return answers


_engine: LocalEngine | None = None
"""The engine of a worker process; set once when the process starts."""


def _start(options: Options) -> None:
    global _engine  # noqa: PLW0603 - a pool's initialiser has no other way to hand it on
    _engine = LocalEngine.open(options)


def _answer(work: tuple[bytes, int, Tier]) -> bytes:
    data, k, tier = work
    if _engine is None:
        raise RuntimeError("the worker has no engine")
    queries = msgspec.msgpack.decode(data, type=list[Query])
    return msgspec.msgpack.encode(_answers_of(_engine, queries, k, tier))


def _add(answers: Answers, part: _AnswerBatch) -> None:
    answers.offered.extend(part.offered)
    answers.emitted += part.emitted
    answers.unbacked += part.unbacked
    for code, count in part.dropped.items():
        answers.dropped[code] = answers.dropped.get(code, 0) + count
    answers.problems = part.problems | answers.problems
    answers.usage = answers.usage.plus(part.usage)


def _answers_of(
    engine: Searcher, queries: Sequence[Query], k: int, tier: Tier, picks: bool = False
) -> _AnswerBatch:
    """The answers to some queries, and what a language model cost for them."""
    before = engine.spent()
    # The confidence in the first paper reads its evidence.
    results = engine.find_batch(queries, k, tier=tier, explained=PICKED if picks else 1)
    chose: list[Chose] = [""] * len(queries)
    if picks:
        for number, query in enumerate(queries):
            results[number], chose[number] = _picked(engine, query, results[number])
    return _reduce(engine, queries, results, chose, engine.spent().minus(before))


def _picked(engine: Searcher, query: Query, result: SearchResult) -> tuple[SearchResult, Chose]:
    """The result with the language model's choice first; without confidence where none fits."""
    change = msgspec.structs.replace
    if not result.hits:
        return result, ""
    picked = engine.pick(query, [hit.work for hit in result.hits[:PICKED]])
    hits = chosen_first(result.hits, picked)
    chose: Chose = "paper"
    if picked.by != "model":
        chose = "failed"
    elif not picked.work:
        chose = "none"
        hits = (change(hits[0], confidence=None), *hits[1:])
    failed = () if picked.problem is None else (picked.problem,)
    return change(result, hits=hits, dropped=(*result.dropped, *failed)), chose


def _confidence(query: Query, result: SearchResult) -> float | None:
    """The confidence that `fill` would use; None if the method's ranker has none."""
    if not result.hits or result.hits[0].confidence is None:
        return None
    return confidence_of(query, result.hits)


def _reduce(
    engine: Searcher,
    queries: Sequence[Query],
    results: Sequence[SearchResult],
    chose: Sequence[Chose],
    usage: Usage,
) -> _AnswerBatch:
    """Ids, years and confidence; every paper is looked up again by its id.

    An offered paper counts as unbacked when the library has no such id or another title under it.
    """
    shown = list({(hit.work.id, hit.work.title) for result in results for hit in result.hits})
    records = engine.works([one for one, _ in shown])
    false = {
        (one, title)
        for (one, title), record in zip(shown, records, strict=True)
        if record is None or record.id != one or record.title != title
    }
    dropped: dict[str, int] = {}
    problems: dict[str, Problem] = {}
    for result in results:
        met = {problem.code: problem for problem in (*result.dropped, *result.problems)}
        problems = met | problems
        for code in met:
            dropped[code] = dropped.get(code, 0) + 1
    return _AnswerBatch(
        [
            Offered(
                tuple(hit.work.id for hit in result.hits),
                tuple(hit.work.year for hit in result.hits),
                _confidence(query, result),
                chosen,
            )
            for query, result, chosen in zip(queries, results, chose, strict=True)
        ],
        sum(len(result.hits) for result in results),
        sum((hit.work.id, hit.work.title) in false for r in results for hit in r.hits),
        dropped,
        problems,
        usage,
    )


def latency(
    engine: Searcher,
    queries: Sequence[Query],
    tier: Tier,
    sample: int,
    *,
    picks: bool = False,
    warm_up: int = WARM_UP,
) -> Latency | None:
    """Time of single calls on an evenly spaced sample, after a few that warm up."""
    if not queries or sample < 1:
        return None
    step = max(1, len(queries) // sample)
    chosen = queries[::step][:sample]
    for query in chosen[:warm_up]:
        engine.find(query, COMPLETION, tier=tier)
    times = []
    for query in chosen:
        started = time.perf_counter()
        found = engine.find(query, COMPLETION, tier=tier)
        if picks:
            engine.pick(query, [hit.work for hit in found.hits[:PICKED]])
        times.append(1000.0 * (time.perf_counter() - started))
    p50, p95 = np.percentile(times, [50, 95])
    return Latency(float(p50), float(p95), len(times), COMPLETION)
