"""Examples to measure and train a program on: a passage, its candidates, and the right one.

An example to measure on holds the list as the engine gives it, right paper or not, so that the
metric is that of use. One to learn from must hold the right paper where the program reads: one that
stands deeper takes the last place there, and a passage whose paper was not found teaches nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from citewell.engine.local import LocalEngine
from citewell.model import Hit, Query, Question, Work
from citewell_corpus.processes import Progress
from citewell_lab.evaluation.matching import Gold
from citewell_lab.evaluation.runner import query_for

Part = Literal["train", "valid", "test"]
PARTS: dict[Part, float] = {"train": 0.5, "valid": 0.35, "test": 0.15}
"""Shares of the papers. Demonstrations need few examples; telling two programs apart needs many."""
DEPTH = 100
"""Depth of the search for the right paper."""
LIST = 20
"""Papers in a list: the metric looks no deeper."""
_CHUNK = 64


class TuningExample(msgspec.Struct, frozen=True, kw_only=True):
    """A passage with the papers found for it."""

    id: str
    paper: str
    """Unit of splitting and resampling: the citing paper."""
    query: Query
    works: tuple[Work, ...]
    """The first `LIST` papers found, in their order."""
    confidence: tuple[float, ...] = ()
    """The ranker's confidence in each candidate; empty if it has none."""
    right: tuple[int, ...]
    """Places in `works`, from 0, of the papers that the author cited there; may be empty."""
    deeper: Work | None = None
    """The right paper, where it was found behind these."""
    fooled: bool = False
    """The program in use chose wrongly here."""

    def to_learn_from(self, reach: int) -> TuningExample | None:
        """The first `reach` papers with a right one among them; None when none was found."""
        head = list(self.works[:reach])
        right = tuple(place for place in self.right if place < reach)
        if not right:
            missing = self.works[self.right[0]] if self.right else self.deeper
            if missing is None or not head:
                return None
            head[-1] = missing
            right = (len(head) - 1,)
        return msgspec.structs.replace(self, works=tuple(head), right=right, deeper=None)


class Examples(msgspec.Struct, frozen=True, kw_only=True):
    """The collected examples."""

    examples: tuple[TuningExample, ...]
    questions: int
    """Questions that were put to the engine."""
    absent: int
    """Those whose right paper the library holds and the first hundred papers do not: they count in
    the metric, where no version can win them."""

    def part(self, part: Part, seed: int = 0) -> tuple[TuningExample, ...]:
        """The examples of one part; all of a paper are in the same."""
        return tuple(e for e in self.examples if part_of(e.paper, seed) == part)


def part_of(paper: str, seed: int = 0) -> Part:
    """The part of a citing paper: by a hash of its name, so that it never moves to another."""
    digest = hashlib.sha256(f"tune {seed} {paper}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    for part, share in PARTS.items():
        if place < share:
            return part
        place -= share
    return "test"


def collect(
    engine: LocalEngine,
    questions: Sequence[Question],
    *,
    limit: int,
    seed: int = 0,
    reporter: Progress,
) -> Examples:
    """Examples from questions whose right paper the engine's library holds.

    At most `limit`, drawn by a hash of their ids, so that a larger limit adds to a smaller one.
    """
    gold = Gold(engine, questions)
    right = {q.id: frozenset(one for ids in gold.of(q) for one in ids) for q in questions}
    held = [question for question in questions if right[question.id]]
    held.sort(key=lambda q: hashlib.sha256(f"{seed} {q.id}".encode()).digest())
    reporter.stage("searching for candidates", min(limit, len(held)))
    found: list[TuningExample] = []
    searched = absent = 0
    for start in range(0, len(held), _CHUNK):
        part = held[start : start + _CHUNK][: limit - len(found)]
        if not part:
            break
        queries = [query_for(question, "warm") for question in part]
        for question, result in zip(
            part, engine.find_batch(queries, DEPTH, explained=0), strict=True
        ):
            searched += 1
            example = _example(question, result.hits, right[question.id])
            found.append(example)
            absent += not example.right and example.deeper is None
        reporter.advance(len(part))
    return Examples(examples=tuple(found), questions=searched, absent=absent)


def _example(question: Question, hits: Sequence[Hit], right: frozenset[str]) -> TuningExample:
    works = [hit.work for hit in hits]
    sure = [hit.confidence for hit in hits[:LIST] if hit.confidence is not None]
    return TuningExample(
        id=question.id,
        paper=question.paper or question.id,
        query=query_for(question, "warm"),
        works=tuple(works[:LIST]),
        confidence=tuple(sure) if len(sure) == len(works[:LIST]) else (),
        right=tuple(place for place, work in enumerate(works[:LIST]) if work.id in right),
        deeper=next((work for work in works[LIST:] if work.id in right), None),
    )


def hard_first(
    examples: Iterable[TuningExample], fooled: Callable[[TuningExample], bool]
) -> list[TuningExample]:
    """The examples at which the program failed first; each group in its old order."""
    marked = [msgspec.structs.replace(e, fooled=fooled(e)) for e in examples]
    return sorted(marked, key=lambda example: not example.fooled)
