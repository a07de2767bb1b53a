"""The works of the library that are right answers, and their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from citewell.engine.identified import WorkLookup
from citewell.model import Question, Target
from citewell_lab.evaluation.results import Chose, Judged

YEAR_SLACK = 1
"""A preprint and its publication may differ by this much."""
_BATCH = 2_000
_TOP = 5


class Offered(msgspec.Struct, frozen=True, array_like=True):
    """A ranked answer, reduced to what scoring needs."""

    ids: tuple[str, ...]
    years: tuple[int | None, ...]
    confidence: float | None = None
    """Confidence in the first work."""
    chose: Chose = ""


def letters_only(title: str) -> str:
    """Letters alone, in lower case: the way PaSa and SPAR compare titles."""
    return "".join(char for char in title.lower() if char.isalpha())


def targets_of(question: Question) -> tuple[Target, ...]:
    """The right answers one by one, also of a question that gives them in one row."""
    if question.targets:
        return question.targets
    if question.gold:
        return (Target(ids=question.gold, titles=question.gold_titles),)
    return tuple(Target(titles=(title,)) for title in question.gold_titles)


class Gold:
    """The right answers of many questions as sets of the library's own ids.

    A target is resolved by the data set's ids where the library has one of them (editions named
    by the data set count alike), else by DOI, arXiv id, and normalised title with a year within
    one, all editions found so; a title without a year stands for itself.
    """

    def __init__(self, catalogue: WorkLookup, questions: Sequence[Question]) -> None:
        self._found: dict[Target, frozenset[str]] = {}
        targets = list(dict.fromkeys(t for q in questions for t in (*targets_of(q), *q.beside)))
        by_id = _by_id(catalogue, [one for target in targets for one in target.ids])
        for target in targets:
            ids = frozenset(by_id[one] for one in target.ids if one in by_id)
            self._found[target] = ids or _by_description(catalogue, target)

    def of(self, question: Question) -> list[frozenset[str]]:
        """One set of library ids per right answer that the library holds.

        Two answers that are the same work in this library are one answer.
        """
        sets: list[frozenset[str]] = []
        for target in targets_of(question):
            ids = self._found[target]
            if ids and not any(ids & other for other in sets):
                sets.append(ids)
        return sets

    def grades(self, question: Question) -> dict[str, float]:
        """The grade of each right answer by library id, and of those that the library lacks by
        their names; empty where all are alike."""
        targets = targets_of(question)
        if len({target.grade for target in targets}) < 2:
            return {}
        return {
            one: target.grade
            for target in targets
            for one in self._found[target] or (f"missing {target.ids}{target.titles}",)
        }

    def beside(self, question: Question) -> list[frozenset[str]]:
        """One set of library ids per other work of the question's citation that it holds."""
        known = self.of(question)
        sets: list[frozenset[str]] = []
        for target in question.beside:
            ids = self._found[target]
            if ids and not any(ids & other for other in (*known, *sets)):
                sets.append(ids)
        return sets


def _by_id(catalogue: WorkLookup, ids: Sequence[str]) -> dict[str, str]:
    """The library's own id for each id of the data set that it knows, merged records included."""
    wanted = list(dict.fromkeys(ids))
    out: dict[str, str] = {}
    for start in range(0, len(wanted), _BATCH):
        part = wanted[start : start + _BATCH]
        for one, work in zip(part, catalogue.works(part), strict=True):
            if work is not None:
                out[one] = work.id
    return out


def _by_description(catalogue: WorkLookup, target: Target) -> frozenset[str]:
    ids: set[str] = set()
    if target.doi:
        ids.update(work.id for work in catalogue.lookup(doi=target.doi))
    if target.arxiv:
        ids.update(work.id for work in catalogue.lookup(arxiv=target.arxiv))
    for title in target.titles:
        letters = letters_only(title)
        if not letters:
            continue
        for work in catalogue.lookup(title=title):
            near = target.year is None or work.year is None
            near = near or abs(work.year - target.year) <= YEAR_SLACK  # type: ignore[operator]
            if near and letters_only(work.title) == letters:
                ids.add(work.id)
    return frozenset(ids)


def judge(
    question: Question,
    right: Sequence[frozenset[str]],
    offered: Offered,
    beside: Sequence[frozenset[str]] = (),
    grades: Mapping[str, float] | None = None,
) -> Judged:
    """The ranks of the right answers in the list; each counts once, at its first copy.

    `beside`: one set of ids per other work of the same citation. `grades` of answers by id, if they
    differ.
    """
    year = question.year
    past: list[int] | None = None
    newer = 0
    if year is not None:
        old = [y is None or y <= year for y in offered.years]
        newer = sum(not flag for flag in old[:10])
        kept = [one for one, flag in zip(offered.ids, old, strict=True) if flag]
        past = _ranks(kept, right)
    ranks = tuple(_ranks(offered.ids, right))
    grouped = ranks
    others = frozenset(one for ids in beside for one in ids)
    if not others.isdisjoint(offered.ids):
        grouped = tuple(_ranks([one for one in offered.ids if one not in others], right))
    return Judged(
        id=question.id,
        ranks=ranks,
        grades=tuple(grades[offered.ids[rank - 1]] for rank in ranks) if grades else (),
        past=tuple(past) if past is not None else None,
        grouped=None if grouped == ranks else grouped,
        members=tuple(_ranks(offered.ids, [*right, *beside])) if beside else (),
        newer=newer,
        length=len(offered.ids),
        confidence=offered.confidence,
        offered=offered.ids[:_TOP],
        chose=offered.chose,
    )


def _ranks(ids: Sequence[str], right: Sequence[frozenset[str]]) -> list[int]:
    place: Mapping[str, int] = {one: i for i, ids_ in enumerate(right) for one in ids_}
    seen: set[int] = set()
    out = []
    for rank, one in enumerate(ids, start=1):
        answer = place.get(one)
        if answer is not None and answer not in seen:
            seen.add(answer)
            out.append(rank)
    return out
