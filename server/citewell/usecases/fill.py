"""What would stand at each placeholder of a project: papers, confidence, and the edits."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from citewell.documents import Project, query_for
from citewell.engine.contract import Engine
from citewell.features.citation_writer import CitationWriter
from citewell.features.confidence import confidence_of
from citewell.features.pick import chosen_first, its_words, picks
from citewell.model import Hit, Problem, Query, SearchResult
from citewell.model.bib import FileEdit
from citewell.model.cancel import Cancel
from citewell.model.document import Document, Placeholder
from citewell.model.feedback import Feedback, Through, name_of, passed_over
from citewell.model.llm import Picked, Supported
from citewell.options import Options

CANDIDATES = 8
NOT_CLOSED = (
    "nothing closes it, so that its words cannot be told from the text behind them: "
    "close it with the bracket that it lacks"
)
"""Why no paper is written there, however sure it is."""
NAMED = 3
"""Candidates of an open placeholder that a report names."""
UNTYPED = "no words say which paper is meant"
"""Why a placeholder is left open that nobody typed words into."""


class PlaceholderFill(msgspec.Struct, frozen=True, kw_only=True):
    """One placeholder and what it becomes."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in code points."""
    text: str
    """The placeholder as it stands in the file."""
    placeholder: Placeholder
    sentence: str = ""
    """The sentence around it, for a reader who chooses."""
    candidates: tuple[Hit, ...] = ()
    """Best first."""
    hit: Hit | None = None
    """What is cited; None when the placeholder is left open."""
    key: str = ""
    reused: bool = False
    """The work stood in the bibliography before; no entry is added."""
    confidence: float = 0.0
    """How likely the author would cite the hit here; of the best candidate if left open."""
    reason: str = ""
    """Why the placeholder is left open."""
    query: Query = Query()
    """What was asked."""
    variant: str = ""
    """What made the order of the candidates."""
    picked: Picked | None = None
    """What the language model chose, where one is named; its choice is the first candidate."""
    supported: Supported | None = None
    """What it says of the cited paper's abstract, where that is asked for; changes nothing."""


class FillPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to a project's placeholders, and the edits that make it so."""

    fills: tuple[PlaceholderFill, ...] = ()
    """In reading order."""
    edits: tuple[FileEdit, ...] = ()
    """One per file, bibliographies first: a citation is never written before its entry."""
    diffs: tuple[str, ...] = ()
    """A unified diff per edit, in the same order, with paths relative to the project's root."""
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text to which the edits of that file refer."""
    problems: tuple[Problem, ...] = ()
    root: Path = Path()
    """Folder of the project."""

    @property
    def filled(self) -> tuple[PlaceholderFill, ...]:
        return tuple(found for found in self.fills if found.hit is not None)

    @property
    def open(self) -> tuple[PlaceholderFill, ...]:
        return tuple(found for found in self.fills if found.hit is None)


Choose = Callable[[PlaceholderFill], Hit | None]
"""Picks the paper for a placeholder from its candidates, or any other; None leaves it open."""


def plan_fill(
    project: Project,
    engine: Engine,
    options: Options,
    *,
    threshold: float | None = None,
    count: int = CANDIDATES,
    choose: Choose | None = None,
) -> FillPlan:
    """Plan the best paper for every placeholder of the project; nothing is written.

    Without `choose` a placeholder takes its best candidate if that is at least as certain as
    `threshold` (default: the setting `fill.typed_threshold`), and is left open with a reason
    otherwise. One without words is left open, too, unless the setting `fill.unattended` is on
    (`with_unattended`); then its threshold is `fill.threshold`.
    Where a language model is named, the best candidate is the one that it picks.
    A work that the bibliography holds, or that an earlier placeholder brought, keeps its key.
    """
    found, problems = _search(project, engine, max(count, 2))
    found, more = with_picks(found, engine, options)
    problems += more
    plan = plan_found(project, found, options, threshold=threshold, choose=choose, more=problems)
    return verified(plan, engine) if options.llm.verify and picks(options) else plan


def plan_found(
    project: Project,
    found: Sequence[PlaceholderFill],
    options: Options,
    *,
    threshold: float | None = None,
    choose: Choose | None = None,
    more: Sequence[Problem] = (),
) -> FillPlan:
    """The same for placeholders whose candidates are known (`candidates_for`); `more` are the
    problems of the search."""
    decided = tuple(_decide(one, options, threshold, choose) for one in found)
    writer = CitationWriter(project, options)
    fills = tuple(_cited(one, writer) for one in decided)
    edits, diffs = writer.finish()
    return FillPlan(
        fills=fills,
        edits=edits,
        diffs=diffs,
        texts={edit.path: writer.texts[Path(edit.path)].original for edit in edits},
        problems=tuple(dict.fromkeys((*project.problems, *more, *writer.problems))),
        root=project.root.parent,
    )


def with_unattended(options: Options, *, unattended: bool) -> Options:
    """The settings with `fill.unattended` switched on, if that is asked for."""
    if not unattended:
        return options
    return replace(options, fill=replace(options.fill, unattended=True))


class Place(NamedTuple):
    """A placeholder and what is asked for it."""

    document: Document
    placeholder: Placeholder
    query: Query


def places_of(project: Project) -> list[Place]:
    """Every placeholder of the project, in reading order."""
    paper = project.citing_paper()
    return [
        Place(document, placeholder, query_for(document, placeholder, paper=paper))
        for document in project.documents.values()
        for placeholder in document.placeholders
    ]


def least_confidence(
    found: PlaceholderFill, options: Options, threshold: float | None = None
) -> float:
    """How certain the best candidate must be to be taken: less where the model chose it."""
    least = least_for(found.query, options) if threshold is None else threshold
    if found.picked is not None and found.picked.by == "model":
        return min(least, options.llm.pick_threshold)
    return least


def least_for(query: Query, options: Options) -> float:
    """How certain the first paper must be by the settings, where no model chose it."""
    return options.fill.typed_threshold if query.typed else options.fill.threshold


def doubt_of(found: PlaceholderFill, options: Options, threshold: float | None = None) -> str:
    """Why the best candidate is not taken unless somebody chooses it; empty where it is taken."""
    if not found.query.typed and not options.fill.unattended:
        return UNTYPED
    least = least_confidence(found, options, threshold)
    if found.confidence < least:
        return f"the best paper is too uncertain ({found.confidence:.2f} < {least:.2f})"
    return ""


def picked_from(found: PlaceholderFill, picked: Picked) -> PlaceholderFill:
    """The placeholder after the model's choice: that candidate first, and as certain as it is."""
    change = msgspec.structs.replace
    if picked.by != "model":
        return change(found, picked=picked)
    made = f"{found.variant}+{picked.program}"
    if not picked.work:
        reason = f"the language model found none of {picked.of} papers fitting{its_words(picked)}"
        return change(found, picked=picked, reason=reason, variant=made)
    hits = chosen_first(found.candidates, picked)
    sure = confidence_of(found.query, hits)
    return change(found, picked=picked, candidates=hits, confidence=sure, variant=made)


def with_picks(
    found: Sequence[PlaceholderFill],
    engine: Engine,
    options: Options,
    *,
    settled: Container[tuple[str, int]] = (),
    cancel: Cancel | None = None,
) -> tuple[list[PlaceholderFill], list[Problem]]:
    """The placeholders after the language model's choices, where one is named and may choose.

    It is not asked about the places (path, offset) that are `settled`. Raises only `Cancelled`.
    """
    if not picks(options):
        return list(found), []
    done: list[PlaceholderFill] = []
    problems: list[Problem] = []
    for one in found:
        if one.candidates and (one.path, one.placeholder.span.start) not in settled:
            works = [hit.work for hit in one.candidates]
            one = picked_from(one, engine.pick(one.query, works, cancel=cancel))
            if one.picked is not None and one.picked.problem is not None:
                problems.append(one.picked.problem)
        done.append(one)
    return done, problems


def verified(plan: FillPlan, engine: Engine, cancel: Cancel | None = None) -> FillPlan:
    """The plan with what the language model says of each cited paper's abstract, which changes
    nothing. Raises only `Cancelled`."""
    fills = tuple(
        msgspec.structs.replace(
            one, supported=engine.verify(one.sentence, one.hit.work, cancel=cancel)
        )
        if one.hit is not None
        else one
        for one in plan.fills
    )
    failed = (one.supported.problem for one in fills if one.supported is not None)
    problems = dict.fromkeys((*plan.problems, *(problem for problem in failed if problem)))
    return msgspec.structs.replace(plan, fills=fills, problems=tuple(problems))


def _search(
    project: Project, engine: Engine, count: int
) -> tuple[list[PlaceholderFill], list[Problem]]:
    """Every placeholder with its candidates, and what went wrong on the way."""
    places = places_of(project)
    results = engine.find_batch([place.query for place in places], count, tier="deep")
    return found_for(places, results)


def found_for(
    places: Sequence[Place], results: Sequence[SearchResult]
) -> tuple[list[PlaceholderFill], list[Problem]]:
    """The places with what a search found for each, and what went wrong on the way."""
    problems = [p for result in results for p in (*result.problems, *result.dropped)]
    found = [
        candidates_for(place.document, place.placeholder, place.query, result)
        for place, result in zip(places, results, strict=True)
    ]
    return found, problems


def candidates_for(
    document: Document, placeholder: Placeholder, query: Query, result: SearchResult
) -> PlaceholderFill:
    """A placeholder with what was found for it, still undecided."""
    hits = result.hits
    start, end = placeholder.span.start, placeholder.span.end
    line_start = document.text.rfind("\n", 0, start) + 1
    return PlaceholderFill(
        path=document.path,
        line=document.text.count("\n", 0, start) + 1,
        column=start - line_start + 1,
        text=" ".join(document.text[start:end].split()),
        placeholder=placeholder,
        sentence=query.sentence,
        candidates=hits,
        confidence=confidence_of(query, hits),
        reason="" if hits else _why_none(result),
        query=query,
        variant=result.variant,
    )


def _why_none(result: SearchResult) -> str:
    """Why a search that was made found nothing."""
    for problem in result.problems:
        if problem not in result.failed:
            return problem.message[:1].lower() + problem.message[1:].rstrip(".")
    return "no paper was found"


def fill_feedback(
    plan: FillPlan, through: Through, chosen: Container[int] | None = None
) -> tuple[Feedback, ...]:
    """What writing the plan says of the papers that it adds to the project's bibliography.

    Where an author chose among the candidates (`picker`), those above the chosen one were passed
    over; a program looks at none. `chosen` are the numbers, from 1, of the placeholders whose paper
    was chosen; None: all of them. The others took the best one unattended, which is kept as `fill`.
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


def _decide(
    found: PlaceholderFill, options: Options, threshold: float | None, choose: Choose | None
) -> PlaceholderFill:
    change = msgspec.structs.replace
    if not found.placeholder.certain:
        return change(found, reason=NOT_CLOSED)
    if choose is not None:
        hit = choose(found)
        return change(found, hit=hit, reason="" if hit else found.reason or "skipped")
    if not found.candidates or found.reason:
        return found
    reason = doubt_of(found, options, threshold)
    return change(found, reason=reason) if reason else change(found, hit=found.candidates[0])


def _cited(found: PlaceholderFill, writer: CitationWriter) -> PlaceholderFill:
    """The placeholder with the key that cites its paper, or open with the reason."""
    change = msgspec.structs.replace
    if found.hit is None:
        return found
    done = writer.cite(Path(found.path), found.placeholder, found.hit.work)
    if not done.key:
        return change(found, hit=None, reason=done.reason)
    return change(found, key=done.key, reused=not done.is_new)
