"""The fill of a project's placeholders: papers, confidence, and the edits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from citewell.documents.context import query_for
from citewell.documents.project.paper_project import Project
from citewell.engine.contract import Engine
from citewell.features.citing.insert import CitationWriter
from citewell.features.text.evidence import confidence_of, its_words, picks
from citewell.model import CitewellError, Hit, Problem, Query, SearchResult, Work
from citewell.model.bib import FileEdit
from citewell.model.cancel import Cancel
from citewell.model.display_text import shorten
from citewell.model.document import Document, Placeholder
from citewell.model.feedback import Feedback, Through, name_of, passed_over
from citewell.model.llm import Picked, Supported
from citewell.model.query import CitingPaper
from citewell.options import Options
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.find import (
    ASKING,
    ASKING_SOURCES,
    SEARCHING,
    Found,
    Progress,
    choose,
    no_progress,
)

# The outcome of each placeholder of a project, the edits, and their description.

NAMED = 3
"""Number of candidates of an open placeholder in a report."""
MOST_NAMED = 8
"""Number of open placeholders in a summary."""
NOT_CLOSED = (
    "it is not closed, so its words cannot be separated from the text after it: add "
    "the closing bracket"
)
"""Why no paper is written there, whatever the confidence."""
UNTYPED = "it has no words that identify a paper"
"""Why a placeholder without words is left open."""
UNCERTAIN = "the best paper is not certain enough"
LEFT = "left open, as you chose"


class PlaceholderFill(msgspec.Struct, frozen=True, kw_only=True):
    """One placeholder and its outcome."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in code points."""
    text: str
    """The text of the placeholder in the file."""
    placeholder: Placeholder
    sentence: str = ""
    """The sentence around it, for a person who chooses."""
    candidates: tuple[Hit, ...] = ()
    """Best first."""
    hit: Hit | None = None
    """The paper to cite; None when the placeholder is left open."""
    key: str = ""
    reused: bool = False
    """Whether the bibliography already had the work; no entry is added."""
    confidence: float = 0.0
    """Probability that the author would cite the hit here; of the best candidate if left open."""
    reason: str = ""
    """Why the placeholder is left open."""
    query: Query = Query()
    """The query of the placeholder."""
    variant: str = ""
    """The configuration that ordered the candidates."""
    picked: Picked | None = None
    """The language model's choice, if configured; it is the first candidate."""
    supported: Supported | None = None
    """Its opinion of the cited paper's abstract, if requested; for information only."""

    @property
    def advice(self) -> str:
        """The reason for a program, which may send its own choice if there are candidates."""
        waits = self.reason.startswith((UNTYPED, UNCERTAIN))
        return f"{self.reason}; choose yourself" if waits else self.reason


class FillPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a project's placeholders, and the edits."""

    fills: tuple[PlaceholderFill, ...] = ()
    """In reading order."""
    edits: tuple[FileEdit, ...] = ()
    """One per file, bibliographies first: a citation is never written before its entry."""
    diffs: tuple[str, ...] = ()
    """A unified diff per edit, in the same order, with paths relative to the project's root."""
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text that the edits of that file refer to."""
    problems: tuple[Problem, ...] = ()
    results: tuple[SearchResult, ...] = ()
    """The search results for each placeholder."""
    root: Path = Path()
    """Folder of the project."""
    again: Callable[[], FillPlan] | None = None
    """Repeats the plan for the current files, if they are on disk."""

    @property
    def filled(self) -> tuple[PlaceholderFill, ...]:
        return tuple(found for found in self.fills if found.hit is not None)

    @property
    def open(self) -> tuple[PlaceholderFill, ...]:
        return tuple(found for found in self.fills if found.hit is None)


def named(fill: PlaceholderFill) -> str:
    """A placeholder by its words: "`graph attention`", or "`?`" without any."""
    words = fill.placeholder.query or ("?" if "?" in fill.text else fill.text)
    return f"`{shorten(words, 40).replace('`', '')}`"


def summary_of(plan: FillPlan) -> str:
    """ "3 of 5 filled; 2 left open: `graph attention`, `?`"."""
    text = f"{len(plan.filled)} of {len(plan.fills)} filled"
    if not plan.open:
        return text
    names = [named(one) for one in plan.open[:MOST_NAMED]]
    more = len(plan.open) - len(names)
    shown = ", ".join(names) + (f" and {more} more" if more else "")
    return f"{text}; {len(plan.open)} left open: {shown}"


def detail_of(fill: PlaceholderFill) -> str:
    """Why a placeholder is open, with its best papers."""
    best = ", ".join(f"“{shorten(hit.work.title, 60)}”" for hit in fill.candidates[:NAMED])
    return f"{fill.reason}; best: {best}" if best else fill.reason


def left_open(plan: FillPlan) -> Problem:
    """The open placeholders with their reasons, and the best papers of the first ones."""
    details = [f"line {one.line}, {named(one)}: {detail_of(one)}." for one in plan.open]
    return Problem(
        "placeholders-left-open",
        "\n".join([f"{summary_of(plan)}.", *details[:MOST_NAMED]]),
        "Choose from the list at the placeholder, or type words into it.",
    )


def learn_fill(
    engine: Engine, plan: FillPlan, through: Through, chosen: Container[int] | None = None
) -> tuple[Problem, ...]:
    """Have the engine learn from a written plan (`fill_feedback`); return problems."""
    reports = fill_feedback(plan, through, chosen)
    return tuple(problem for feedback in reports for problem in engine.learn(feedback))


def fill_feedback(
    plan: FillPlan, through: Through, chosen: Container[int] | None = None
) -> tuple[Feedback, ...]:
    """The feedback of writing the plan: the papers added to the project's bibliography.

    If an author chose among the candidates (`picker`), those above the chosen one were passed over;
    a program looks at none. `chosen` are the numbers, from 1, of the placeholders with a chosen
    paper; None: all of them. The others took the best one unattended, which is stored as `fill`.
    """
    return tuple(
        Feedback(
            accepted=name_of(found.hit.work),
            dismissed=passed_over([hit.work for hit in found.candidates], found.hit.work.id)
            if through == "picker"
            else (),
            query=found.query,
            project=str(plan.root),
            through=through if chosen is None or number in chosen else "fill",
            variant=found.variant,
        )
        for number, found in enumerate(plan.fills, 1)
        if found.hit is not None and not found.reused
    )


def why_none(result: SearchResult) -> str:
    """Why a completed search found nothing."""
    for problem in result.problems:
        if problem not in result.failed:
            return problem.message[:1].lower() + problem.message[1:].rstrip(".")
    return "no papers found"


def cited(found: PlaceholderFill, writer: CitationWriter) -> PlaceholderFill:
    """The placeholder with the key of its paper, or open with the reason."""
    change = msgspec.structs.replace
    if found.hit is None:
        return found
    done = writer.cite(Path(found.path), found.placeholder, found.hit.work)
    if not done.key:
        return change(found, hit=None, reason=done.reason)
    return change(found, key=done.key, reused=not done.is_new)


CANDIDATES = 8
ONLINE_SLICE = 8
"""Number of placeholders queried at the sources at once."""
SLICE = 16
"""Number of placeholders searched at once, between two reports of progress."""
VERIFYING = "reading the abstracts"


Choose = Callable[[PlaceholderFill], Hit | None]
"""Chooses the paper for a placeholder from its candidates, or any other; None leaves it open."""


class FillQuery(NamedTuple):
    """A placeholder and its query."""

    document: Document
    placeholder: Placeholder
    query: Query


PlaceId = tuple[Query, int]
"""The query of a placeholder without its paper, and its number among those with the same query:
stable when entries are added."""


def places_of(project: Project, documents: Iterable[Document] | None = None) -> list[FillQuery]:
    """Every placeholder of the project, or of some of its documents, in reading order."""
    paper = project.citing_paper()
    return [
        FillQuery(document, placeholder, query_for(document, placeholder, paper=paper))
        for document in (project.documents.values() if documents is None else documents)
        for placeholder in document.placeholders
    ]


class FillTask:
    """A fill in its stages: search, pick, plan, verify.

    Answers and choices are stored by query: a project that has changed meanwhile is planned again,
    only new placeholders are searched for, and choices stay with their placeholders.
    """

    def __init__(
        self,
        engine: Engine,
        options: Options,
        *,
        threshold: float | None = None,
        count: int = CANDIDATES,
        online: bool = False,
        seconds: float = ONLINE_SECONDS,
        choices: Mapping[str, Work | None] | None = None,
        choose: Choose | None = None,
        model: bool = True,
    ) -> None:
        """With `online`, the allowed sources are queried if the library's results are poor, for at
        most `seconds` in each `search`. `choices` are made beforehand, by the number of a
        placeholder counted from 1; None leaves it open. `choose` is called for each of the others.
        Without `model` nothing is sent to the language model.
        """
        self._engine = engine
        self._options = options
        self._threshold = threshold
        self._count = max(count, 2)
        self._online = online
        self._seconds = seconds
        self._choices = choices or {}
        self._choose = choose
        self._chosen: dict[PlaceId, tuple[Hit | None, str]] | None = None
        """The choices with the reasons of open ones, from the first plan on."""
        self._model = model
        self._depth = picks(options) if model else 0
        self._verifies = bool(self._depth) and options.llm.verify
        self._stages = 1 + bool(self._depth) + self._verifies
        self._found: dict[Query, Found] = {}
        """Keyed by the query without its paper: new entries alone are no reason to search again."""
        self._supported: dict[tuple[str, str], Supported] = {}

    def run(
        self, project: Project, progress: Progress = no_progress, cancel: Cancel | None = None
    ) -> FillPlan:
        """The plan for the current project; nothing is written. Raises `Cancelled`, and
        `CitewellError` for a choice without its placeholder.

        A placeholder takes its best candidate if that is at least as certain as the threshold
        (default: the setting `fill.typed_threshold`), and is left open with a reason otherwise. One
        without words is left open, too, unless the setting `fill.unattended` is on
        (`with_unattended`); then its threshold is `fill.threshold`. Where a language model is
        named, the best candidate is the one that it picks. A work that the bibliography holds, or
        that an earlier placeholder brought, keeps its key.
        """
        places = places_of(project)
        self.search(places, progress, cancel)
        return self.verify(self.plan(project, places), progress, cancel)

    def search(
        self,
        places: Sequence[FillQuery],
        progress: Progress = no_progress,
        cancel: Cancel | None = None,
    ) -> None:
        """Find the candidates of the places, and have the language model pick if there is no
        choice. Raises as `run` does."""
        ids = _place_ids(places)
        if self._chosen is None:
            self._check_numbers(len(places))
            chosen = ((ids[int(n) - 1], work) for n, work in self._choices.items())
            self._chosen = {
                one: (None, LEFT) if work is None else (Hit(work, 0.0), "") for one, work in chosen
            }
        left = {p.query for p, one in zip(places, ids, strict=True) if one not in self._chosen}
        new = (p.query for p in places if _bare(p.query) not in self._found)
        queries = list(dict.fromkeys(new))
        total = len(queries) * self._stages
        results: list[SearchResult] = []
        for start in range(0, len(queries), SLICE):
            _check(cancel)
            progress(SEARCHING, start, total)
            part = [replace(one, model=self._model) for one in queries[start : start + SLICE]]
            depth = max(self._count, self._depth)
            results += self._engine.find_batch(part, depth, tier="deep", cancel=cancel)
        if self._online:
            self._ask_sources(queries, results, left, progress, cancel)
        for number, (query, result) in enumerate(zip(queries, results, strict=True), len(queries)):
            if self._depth:
                progress(ASKING, number, total)
            pick = self._depth > 0 and query in left
            found = choose(self._engine, query, result, self._count, pick=pick, cancel=cancel)
            self._found[_bare(query)] = found

    def _ask_sources(
        self,
        queries: Sequence[Query],
        results: list[SearchResult],
        left: Container[Query],
        progress: Progress,
        cancel: Cancel | None,
    ) -> None:
        """Add the sources' results to queries with a best paper that would not be cited."""
        weak = [
            number
            for number, (query, result) in enumerate(zip(queries, results, strict=True))
            if query.typed and query in left and not self._is_sure(query, result)
        ]
        # Placeholders with the same words are sent once, whatever their sentences.
        weak.sort(key=lambda number: queries[number].text)
        end = time.monotonic() + self._seconds
        for start in range(0, len(weak), ONLINE_SLICE):
            _check(cancel)
            progress(ASKING_SOURCES, start, len(weak))
            part = weak[start : start + ONLINE_SLICE]
            joined = self._engine.ask_sources(
                [queries[number] for number in part],
                [results[number] for number in part],
                max(self._count, self._depth),
                seconds=max(0.0, end - time.monotonic()),
                cancel=cancel,
            )
            for number, result in zip(part, joined, strict=True):
                results[number] = result

    def _is_sure(self, query: Query, result: SearchResult) -> bool:
        """Whether the library's best paper is likely enough to be cited."""
        found = Found(query=query, result=result, confidence=confidence_of(query, result.hits))
        least = found.least_confidence(self._options, self._threshold)
        return bool(result.hits) and found.confidence >= least

    def plan(self, project: Project, places: Sequence[FillQuery]) -> FillPlan:
        """The outcomes of the searched places, and the edits of the project's files."""
        found = [self._found[_bare(place.query)] for place in places]
        decided = [
            self._decide(place_id, _candidates(place, one))
            for place_id, place, one in zip(_place_ids(places), places, found, strict=True)
        ]
        writer = CitationWriter(project, self._options)
        fills = tuple(cited(one, writer) for one in decided)
        edits, diffs = writer.finish()
        searched = tuple(dict.fromkeys(problem for one in found for problem in one.problems))
        return FillPlan(
            fills=fills,
            edits=edits,
            diffs=diffs,
            texts={edit.path: writer.texts[Path(edit.path)].original for edit in edits},
            problems=tuple(dict.fromkeys((*project.problems, *searched, *writer.problems))),
            results=tuple(one.result for one in found),
            root=project.root.parent,
        )

    def verify(
        self, plan: FillPlan, progress: Progress = no_progress, cancel: Cancel | None = None
    ) -> FillPlan:
        """The plan with the language model's opinion of each cited paper's abstract, if the setting
        `llm.verify` is on; the outcomes stay. Raises only `Cancelled`."""
        if not self._verifies:
            return plan
        fills: list[PlaceholderFill] = []
        total = len(plan.fills) * self._stages
        for number, one in enumerate(plan.fills, total - len(plan.fills)):
            if one.hit is not None:
                pair = (one.sentence, one.hit.work.id)
                if pair not in self._supported:
                    progress(VERIFYING, number, total)
                    self._supported[pair] = self._engine.verify(
                        one.sentence, one.hit.work, cancel=cancel
                    )
                one = msgspec.structs.replace(one, supported=self._supported[pair])
            fills.append(one)
        failed = (one.supported.problem for one in fills if one.supported is not None)
        problems = dict.fromkeys((*plan.problems, *(problem for problem in failed if problem)))
        return msgspec.structs.replace(plan, fills=tuple(fills), problems=tuple(problems))

    def _check_numbers(self, count: int) -> None:
        known = {str(number) for number in range(1, count + 1)}
        unknown = sorted(set(self._choices) - known)
        if unknown:
            raise CitewellError(
                Problem(
                    "placeholder-unknown",
                    f"There is no placeholder {', '.join(unknown)[:200]}.",
                    f"They are numbered from 1 to {count}; ask without choices first."
                    if count
                    else "The text has none.",
                )
            )

    def _decide(self, place_id: PlaceId, found: PlaceholderFill) -> PlaceholderFill:
        hit, reason = self._choice(place_id, found)
        return msgspec.structs.replace(found, hit=hit, reason=reason)

    def _choice(self, place_id: PlaceId, found: PlaceholderFill) -> tuple[Hit | None, str]:
        """The paper for a placeholder, or the reason why it is left open."""
        if not found.placeholder.certain:
            return None, NOT_CLOSED
        assert self._chosen is not None
        if place_id not in self._chosen and self._choose is not None:
            hit = self._choose(found)
            self._chosen[place_id] = hit, "" if hit else found.reason or "skipped"
        if place_id in self._chosen:
            return self._chosen[place_id]
        reason = found.reason or self._doubt(found)
        return (None, reason) if reason else (found.candidates[0], "")

    def _doubt(self, found: PlaceholderFill) -> str:
        """Why the best candidate is not taken unattended, or ""."""
        if not found.query.typed and not self._options.fill.unattended:
            return UNTYPED
        least = self._found[_bare(found.query)].least_confidence(self._options, self._threshold)
        if found.confidence < least:
            return f"{UNCERTAIN} ({found.confidence:.2f} < {least:.2f})"
        return ""


def with_unattended(options: Options, *, unattended: bool) -> Options:
    """The settings with `fill.unattended` switched on, if requested."""
    if not unattended:
        return options
    return replace(options, fill=replace(options.fill, unattended=True))


def _place_ids(places: Sequence[FillQuery]) -> list[PlaceId]:
    seen: Counter[Query] = Counter()
    found = []
    for place in places:
        query = _bare(place.query)
        found.append((query, seen[query]))
        seen[query] += 1
    return found


def _bare(query: Query) -> Query:
    return msgspec.structs.replace(query, paper=CitingPaper())


def _check(cancel: Cancel | None) -> None:
    if cancel is not None:
        cancel.check()


def _candidates(place: FillQuery, found: Found) -> PlaceholderFill:
    """A placeholder with its search results, still undecided."""
    document, span = place.document, place.placeholder.span
    line_start = document.text.rfind("\n", 0, span.start) + 1
    reason = "" if found.hits else why_none(found.result)
    if found.none_fits and found.picked is not None:
        words = its_words(found.picked)
        reason = f"the language model found none of {found.picked.of} papers fitting{words}"
    return PlaceholderFill(
        path=document.path,
        line=document.text.count("\n", 0, span.start) + 1,
        column=span.start - line_start + 1,
        text=" ".join(document.text[span.start : span.end].split()),
        placeholder=place.placeholder,
        sentence=place.query.sentence,
        candidates=found.hits,
        confidence=found.confidence,
        reason=reason,
        query=place.query,
        variant=found.result.variant,
        picked=found.picked,
    )
