"""Questions worth reading: plain ones that were missed, and dark ones that were found at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from citewell.engine.identified import WorkLookup
from citewell.model import Question, Work
from citewell_lab.evaluation.matching import targets_of
from citewell_lab.evaluation.results import Judged, MethodRun, Miss, PaperDetails

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
