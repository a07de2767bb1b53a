"""One evaluation from questions to figures: resolve, ask, judge, score, compare."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from random import Random

import msgspec
from msgspec import Struct

from citewell import __version__
from citewell.engine.contract import Tier
from citewell.engine.identified import WorkLookup
from citewell.engine.local import LocalEngine
from citewell.model import Query, Question, Work
from citewell.options import Options
from citewell_corpus.processes import Progress, SilentProgress
from citewell_lab.evaluation import runner, scoring
from citewell_lab.evaluation.matching import Gold, judge, targets_of
from citewell_lab.evaluation.methods import EvaluationPlan, SearchMethod
from citewell_lab.evaluation.results import (
    DataInfo,
    Evaluation,
    EvaluationError,
    Item,
    Judged,
    Latency,
    MethodRun,
    Miss,
    PaperDetails,
    Setting,
    main_metrics,
    problem,
)
from citewell_lab.evaluation.scoring import PICK_THRESHOLDS, THRESHOLDS, Scorer, comparisons
from citewell_lab.evaluation.text_baselines import TextLibrary

MODEL_CALLS = 5
"""Single calls that are timed where each asks a language model."""
PROBE = 32
"""Questions whose answers show whether a method states a confidence at all."""


def evaluate(
    questions: Sequence[Question],
    options: Options,
    plan: EvaluationPlan,
    info: DataInfo,
    reporter: Progress | None = None,
) -> Evaluation:
    """The figures of every method in every setting. Raises `EvaluationError` without a library."""
    reporter = reporter or SilentProgress()
    base = open_engine(options)
    try:
        return _evaluate(base, questions, options, plan, info, reporter=reporter)
    finally:
        base.close()


def open_engine(options: Options) -> LocalEngine:
    """The engine in this process. Raises `EvaluationError` when it has no papers."""
    engine = LocalEngine.open(options)
    status = engine.status()
    if not status.works:
        engine.close()
        first = status.problems[0] if status.problems else None
        raise problem(
            first.code if first else "library-empty",
            first.message if first else "The library holds no papers.",
            first.hint if first else "Build one with `citewell library build`.",
            first.path if first else "",
        )
    return engine


def _evaluate(
    base: LocalEngine,
    questions: Sequence[Question],
    options: Options,
    plan: EvaluationPlan,
    info: DataInfo,
    *,
    reporter: Progress,
) -> Evaluation:
    reporter.stage("finding the right answers in the library", 0)
    questions = with_unique_ids(questions)
    gold = Gold(base, questions)
    right = {question.id: gold.of(question) for question in questions}
    beside = {question.id: gold.beside(question) for question in questions}
    grades = {question.id: gold.grades(question) for question in questions}
    questions = sample(questions, right, plan.limit, plan.seed)
    if plan.limit:
        sampled = f"a random sample of {plan.limit:,} answerable questions, seed {plan.seed}"
        info = msgspec.structs.replace(info, selection=f"{info.selection}; {sampled}".lstrip("; "))
    members = _sizes(questions, right, beside)
    items = tuple(
        Item(
            id=question.id,
            paper=question.paper or question.id,
            answers=max(len(targets_of(question)), len(right[question.id])),
            held=len(right[question.id]),
            year=question.year,
            tags=question.tags,
            grouped=bool(beside[question.id]),
            members=members.get(question.id, 0),
            grades=_grades(grades[question.id], right[question.id]),
        )
        for question in questions
    )
    held = [question for question in questions if right[question.id]]
    if not held:
        raise problem(
            "evaluation-unanswerable",
            f"The library has the right answer to none of the {len(questions)} questions.",
            "Add papers of its field with `citewell library add`, or choose another library "
            "with `--library`; a data set may bring its own corpus: `--own-corpus`.",
        )
    unheld = [question for question in questions if not right[question.id]]
    scorer = Scorer(items, plan.depth, plan.seed)
    settings = tuple(s for s in plan.settings if s == "cold" or runner.has_warm(questions))
    runs = []
    with ExitStack() as opened:
        texts = _texts(plan, options, opened)
        for method in plan.methods:
            changed = method.options(options)
            engine: runner.Searcher = base
            if method.baseline and texts is not None:
                reporter.stage(f"index of {method.name}", 0)
                engine = texts.engine(method.baseline, base, plan.seed)
            elif changed != options:
                engine = open_engine(changed)
            try:
                for setting in settings:
                    run = _MethodRun(engine, method, changed, setting, plan, reporter)
                    runs.append(run.score(scorer, held, unheld, right, beside, grades))
            finally:
                if engine is not base:
                    engine.close()
    notes = [f"MRR is cut off at rank {plan.depth}; MAP@10 divides by {scoring.MAP_DIVISOR}."]
    if "warm" in plan.settings and "warm" not in settings:
        notes.append("No other references of a citing paper are known: there is no warm setting.")
    return Evaluation(
        version=__version__,
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        data=info,
        library=base.status(),
        depth=plan.depth,
        seed=plan.seed,
        metrics=main_metrics(runs),
        items=items,
        runs=tuple(runs),
        comparisons=comparisons(runs, items, plan),
        misses=worst(base, held, right, runs[-1], plan.misses) if runs else (),
        finds=best(base, held, right, runs[-1], plan.finds) if runs else (),
        notes=tuple(notes),
        problems=tuple(dict.fromkeys(p for run in runs for p in run.problems)),
    )


def _texts(plan: EvaluationPlan, options: Options, opened: ExitStack) -> TextLibrary | None:
    """The texts for text baselines, open until the stack closes; None without such baselines."""
    if not any(method.baseline for method in plan.methods):
        return None
    return opened.enter_context(closing(TextLibrary(options)))


def _grades(grades: dict[str, float], right: Sequence[frozenset[str]]) -> tuple[float, ...]:
    """The grades of the answers that the library holds, in order, then of the others."""
    held = frozenset[str]().union(*right)
    return (
        *(max(grades[one] for one in ids if one in grades) for ids in right if grades),
        *(grade for one, grade in grades.items() if one not in held),
    )


def _sizes(
    questions: Sequence[Question],
    right: dict[str, list[frozenset[str]]],
    beside: dict[str, list[frozenset[str]]],
) -> dict[str, int]:
    """Number of held papers of each citation of several, by the id of its first question."""
    sizes = {}
    seen: set[tuple[str, str, frozenset[str]]] = set()
    for question in questions:
        if not right[question.id] or not beside[question.id]:
            continue
        sets = (*right[question.id], *beside[question.id])
        citation = (question.paper, question.query.sentence, frozenset().union(*sets))
        if citation not in seen:
            seen.add(citation)
            sizes[question.id] = len(sets)
    return sizes


def with_unique_ids(questions: Sequence[Question]) -> list[Question]:
    """The questions with unique ids: the second of an id becomes "id#2"."""
    seen: Counter[str] = Counter()
    out = []
    for question in questions:
        seen[question.id] += 1
        if seen[question.id] > 1:
            question = msgspec.structs.replace(question, id=f"{question.id}#{seen[question.id]}")
        out.append(question)
    return out


def sample(
    questions: Sequence[Question],
    right: dict[str, list[frozenset[str]]],
    limit: int | None,
    seed: int,
) -> list[Question]:
    """The questions to ask, in their own order; the mix of answerable ones and others stays."""
    held = [question for question in questions if right[question.id]]
    if limit is None or len(held) <= limit:
        return list(questions)
    rest = [question for question in questions if not right[question.id]]
    random = Random(seed)
    chosen = random.sample(held, limit)
    chosen += random.sample(rest, round(len(rest) * limit / len(held)))
    ids = {question.id for question in chosen}
    return [question for question in questions if question.id in ids]


class _MethodRun(Struct, frozen=True):
    """One method in one setting."""

    engine: runner.Searcher
    method: SearchMethod
    options: Options
    setting: Setting
    plan: EvaluationPlan
    reporter: Progress

    def score(
        self,
        scorer: Scorer,
        held: Sequence[Question],
        unheld: Sequence[Question],
        right: dict[str, list[frozenset[str]]],
        beside: dict[str, list[frozenset[str]]],
        grades: dict[str, dict[str, float]],
    ) -> MethodRun:
        questions = list(held)
        if unheld and self.plan.abstain and self._states_confidence(held):
            questions += unheld
        queries = [runner.query_for(question, self.setting) for question in questions]
        answers = self._ask(queries)
        if not answers.emitted:
            raise self._offers_nothing(answers)
        judged = {
            one.id: judge(one, right[one.id], offered, beside[one.id], grades[one.id])
            for one, offered in zip(questions, answers.offered, strict=True)
        }
        of_held = queries[: len(held)]
        tier = self.method.tier
        own = self._threshold()
        more = PICK_THRESHOLDS if self.method.picks else ()
        thresholds = sorted({*THRESHOLDS, *more, own})
        return MethodRun(
            name=self.method.name,
            setting=self.setting,
            description=self.method.description,
            figures=scorer.figures(judged),
            latency=self._latency(of_held, tier),
            threshold=own,
            abstention=scorer.abstention(judged, thresholds),
            coverage=scorer.coverage(judged),
            newer_in_ten=scorer.newer_in_ten(judged),
            citeme_accuracy=self._citeme(held, judged),
            emitted=answers.emitted,
            unbacked=answers.unbacked,
            dropped=answers.dropped,
            problems=tuple(answers.problems.values()),
            seconds=round(answers.seconds, 2),
            usage=answers.usage,
            picks=scorer.picks(judged, runner.PICKED),
            judged=tuple(judged.values()),
        )

    def _threshold(self) -> float:
        """From which confidence on `fill` takes the first paper."""
        if self.plan.threshold is not None:
            return self.plan.threshold
        least = self.options.fill.threshold
        return min(least, self.options.llm.pick_threshold) if self.method.picks else least

    def _latency(self, queries: Sequence[Query], tier: Tier) -> Latency | None:
        if not self.method.asks_model(self.options):
            return runner.latency(self.engine, queries, tier, self.plan.latency_calls)
        calls = min(self.plan.latency_calls, MODEL_CALLS)
        picks = self.method.picks
        return runner.latency(self.engine, queries, tier, calls, picks=picks, warm_up=0)

    def _ask(self, queries: Sequence[Query]) -> runner.Answers:
        k, tier, jobs = self.plan.depth, self.method.tier, self.plan.jobs
        self.reporter.stage(f"{self.method.name}, {self.setting}", len(queries))
        alone = self.method.picks or bool(self.method.baseline)
        if jobs > 1 and len(queries) > 2 * runner.CHUNK and not alone:
            advance = self.reporter.advance
            return runner.ask_in_processes(self.options, queries, k, tier, advance, jobs=jobs)
        advance = self.reporter.advance
        return runner.ask(self.engine, queries, k, tier, advance, picks=self.method.picks)

    def _offers_nothing(self, answers: runner.Answers) -> EvaluationError:
        """A method that never answers is broken, and must not pass for one that finds nothing."""
        first = next(iter(answers.problems.values()), None)
        return problem(
            first.code if first else "method-silent",
            f"The method {self.method.name} returned no papers."
            + (f" {first.message}" if first else ""),
            first.hint if first else "Check its settings with `citewell doctor`.",
            first.path if first else "",
        )

    def _states_confidence(self, questions: Sequence[Question]) -> bool:
        sample = [runner.query_for(question, self.setting) for question in questions[:PROBE]]
        results = self.engine.find_batch(sample, 1, explained=0)
        return any(hit.confidence is not None for result in results for hit in result.hits[:1])

    def _citeme(self, held: Sequence[Question], judged: dict[str, Judged]) -> float | None:
        """CiteME's accuracy over the questions that the library can answer, by its own rule."""
        rows = [question for question in held if question.id.startswith("citeme-")]
        if len(rows) < len(held) or not rows:
            return None
        first = [next(iter(judged[question.id].offered), "") for question in rows]
        works = self.engine.works(first)
        hits = [
            work is not None and scoring.citeme_right(work.title, question.gold_titles)
            for question, work in zip(rows, works, strict=True)
        ]
        return sum(hits) / len(hits)


# Questions worth reading: plain ones that were missed, and dark ones that were found at once.

GOOD_RANK = 10
"""A right answer up to here is no miss."""
PER_PAPER = 3
"""Misses of one citing paper that are shown, so that no paper fills the page."""
_OFFERED = 3
_WORD = re.compile(r"[a-z0-9]{3,}")
_COMMON = frozenset(
    (
        *("the", "and", "for", "with", "from", "using", "via", "based", "towards", "toward"),
        *("into", "over", "under", "are", "can", "not", "you", "all", "its", "our", "how"),
        *("what", "when", "why", "who", "does", "new", "learning", "model", "models", "method"),
        *("methods", "approach", "data", "deep", "neural", "network", "networks", "language"),
        *("task", "tasks", "analysis", "system", "systems"),
    )
)


def worst(
    catalogue: WorkLookup,
    questions: Sequence[Question],
    right: Mapping[str, Sequence[frozenset[str]]],
    run: MethodRun,
    limit: int,
) -> tuple[Miss, ...]:
    """At most `limit` misses, those first whose true title the passage itself names most fully."""
    judged = {one.id: one for one in run.judged}
    ranked: list[tuple[float, Question]] = []
    for question in questions:
        one = judged.get(question.id)
        if one is None or (one.ranks and one.ranks[0] <= GOOD_RANK):
            continue
        depth = 1.0 if not one.ranks else 1.0 - 1.0 / one.ranks[0]
        ranked.append((-(named(question) + 0.2 * depth), question))
    chosen = _spread(ranked, limit)
    return tuple(_miss(catalogue, q, right[q.id], judged[q.id], run.label) for q in chosen)


def best(
    catalogue: WorkLookup,
    questions: Sequence[Question],
    right: Mapping[str, Sequence[frozenset[str]]],
    run: MethodRun,
    limit: int,
) -> tuple[Miss, ...]:
    """At most `limit` hits at rank 1 although the passage contains few words of the title."""
    judged = {one.id: one for one in run.judged}
    ranked = [
        (named(question), question)
        for question in questions
        if question.id in judged and judged[question.id].ranks[:1] == (1,)
    ]
    chosen = _spread(ranked, limit)
    return tuple(_miss(catalogue, q, right[q.id], judged[q.id], run.label) for q in chosen)


def _spread(ranked: Sequence[tuple[float, Question]], limit: int) -> list[Question]:
    """The first of each work and of each passage, and few of each citing paper, so that none fills
    the page."""
    chosen: list[Question] = []
    passages: set[str] = set()
    per_paper = Counter[str]()
    works: set[tuple[str, ...]] = set()
    spare = limit if len({question.paper for _, question in ranked}) == 1 else PER_PAPER
    for _, question in sorted(ranked, key=lambda entry: entry[0]):
        work = tuple(title for target in targets_of(question) for title in target.titles)
        work = work or question.gold
        passage = question.query.sentence or question.query.text
        new = work not in works and passage not in passages
        if len(chosen) < limit and per_paper[question.paper] < spare and new:
            per_paper[question.paper] += 1
            works.add(work)
            passages.add(passage)
            chosen.append(question)
    return chosen


def named(question: Question) -> float:
    """Share of the true title's telling words that the passage holds, in [0, 1]."""
    passage_words = _words(" ".join((question.query.text, question.query.sentence)))
    shares = []
    for target in targets_of(question):
        for title in target.titles:
            words = _words(title)
            if words:
                shares.append(len(words & passage_words) / len(words))
    return max(shares, default=0.0)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower())) - _COMMON


def _miss(
    catalogue: WorkLookup,
    question: Question,
    right: Sequence[frozenset[str]],
    judged: Judged,
    label: str,
) -> Miss:
    truth = catalogue.works([sorted(ids)[0] for ids in right[:3]])
    offered = catalogue.works(list(judged.offered[:_OFFERED]))
    tags = dict(tag.split(":", 1) for tag in question.tags if ":" in tag)
    line = tags.get("line", "")
    return Miss(
        id=question.id,
        paper=question.paper,
        method=label,
        before=" ".join(question.query.before[-1:]),
        text=question.query.sentence or question.query.text,
        truth=tuple(paper(work) for work in truth if work is not None),
        offered=tuple(paper(work) for work in offered if work is not None),
        rank=judged.ranks[0] if judged.ranks else None,
        file=tags.get("file", ""),
        line=int(line) if line.isdigit() else None,
        key=tags.get("key", ""),
    )


def paper(work: Work) -> PaperDetails:
    """A work as a reader recognises it: at most two family names."""
    families = [author.family for author in work.authors]
    authors = " and ".join(families) if len(families) < 3 else f"{families[0]} et al."
    return PaperDetails(
        title=work.title,
        authors=authors,
        year=work.year,
        venue=work.venue or work.journal or work.booktitle,
        id=work.id,
    )
