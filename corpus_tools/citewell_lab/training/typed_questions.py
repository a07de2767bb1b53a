"""Questions of typed words, derived from citations, to train and tune on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from citewell.corpus.aliases import read_aliases
from citewell.corpus.columns import title_key
from citewell.corpus.library import Library
from citewell.model import CitingPaper, Query, Question, Work
from citewell.retrieval.opening import ALIASES
from citewell_lab.datasets import open_data
from citewell_lab.datasets.typed import TAG, typed_questions
from citewell_lab.training.figures import tuning_citations
from citewell_lab.training.split import citation_part, fraction

WAYS = (
    ("alone", "cold"), ("alone", "warm"), ("sentence", "cold"), ("sentence", "warm"),
    ("elsewhere", "cold"),
)  # fmt: skip
"""Elsewhere: in a sentence that cites another paper. An author who types means what is typed, also
where the sentence says something else."""
ALIAS = "alias"
"""A kind for training alone: a name by which others cite the paper, from the table of aliases."""
RARE = ("acronym", "called", ALIAS)
"""Kinds of which every question is asked."""
MORE = 6
"""How many times as often those are asked in tuning."""
PER_GOLD, PER_PAPER = 3, 25


class TypedQuestion(msgspec.Struct, frozen=True):
    query: Query
    gold: tuple[str, ...]
    """Empty where the right answer is none."""
    kind: str
    paper: str
    way: tuple[str, str]


def _ask(
    question: Question,
    way: tuple[str, str],
    library: Library,
    others: Sequence[Question],
) -> TypedQuestion:
    """The citing paper keeps its title: by it the priors leave out what it cites itself.
    One of `others` gives the sentence where it is to be another."""
    query, (place, setting) = question.query, way
    if place == "elsewhere":
        other = others[int(fraction(question.id, "elsewhere") * len(others))].query
        query = msgspec.structs.replace(
            query, sentence=other.sentence, before=other.before, after=other.after, nearby=()
        )
    if place == "alone":
        query = Query(text=query.text, paper=query.paper, exclude=query.exclude)
    if setting == "cold":
        paper = CitingPaper(title=query.paper.title, key=query.paper.key)
        query = msgspec.structs.replace(query, paper=paper, nearby=())
    held = "left-out" not in question.tags and bool((library.rows_of(question.gold) >= 0).any())
    kind = next(t.removeprefix("typed:") for t in question.tags if t.startswith("typed:"))
    return TypedQuestion(query, question.gold if held else (), kind, question.paper, way)


def training_questions(data: Path, library: Library, most: int) -> list[TypedQuestion]:
    """Citations of the training part: few of one cited paper and of one citing paper."""
    found: list[Question] = []
    for name in ("dev", "train"):
        questions = open_data(data / "contexts" / f"{name}.jsonl.gz").questions
        questions = tuple(q for q in questions if name == "train" or citation_part(q) == "train")
        found += _thinned(questions, most // 3 if name == "dev" else most - most // 3)
    selected = []
    typed = [*typed_questions(found, _records(found, library)), *alias_questions(found)]
    for question in typed:
        # One kind in five of each citation, in a way of its own; few have a system's name.
        kind = question.tags[-1].removeprefix("typed:")
        if kind in RARE or fraction(question.id, "kept") < 0.2:
            way = WAYS[int(fraction(question.id, "way") * len(WAYS))]
            one = _ask(question, way, library, found)
            if one.gold:
                selected.append(one)
    return selected


def tuning_questions(data: Path, library: Library, share: float) -> list[TypedQuestion]:
    """Citations of the papers that tune with and without an answer, each kind in each way."""
    chosen = tuning_citations(data)
    selected = []
    typed = [*typed_questions(chosen, _records(chosen, library)), *alias_questions(chosen)]
    for question in typed:
        kind = question.tags[-1].removeprefix(TAG)
        most = 1.0 if kind == ALIAS else MORE * share if kind in RARE else share
        for way in WAYS:
            if fraction(f"{question.id}:{way}", "asked") < most:
                selected.append(_ask(question, way, library, chosen))
    return selected


def alias_questions(questions: Sequence[Question]) -> list[Question]:
    """The questions with one of the names typed by which others cite the paper, where there is
    one; also of papers that the library lacks."""
    names: dict[int, list[str]] = defaultdict(list)
    for name, works in read_aliases(ALIASES).items():
        for work in works:
            names[work.key].append(name)
    found = []
    for question in questions:
        title = question.targets[0].titles[0] if question.targets[0].titles else ""
        called = sorted(names.get(title_key(title), ()))
        if called:
            name = called[int(fraction(question.id, "called") * len(called))]
            query = msgspec.structs.replace(question.query, text=name)
            tags = (*question.tags, f"{TAG}{ALIAS}")
            id_ = f"{question.id}:{ALIAS}"
            found.append(msgspec.structs.replace(question, id=id_, query=query, tags=tags))
    return found


def _thinned(questions: Iterable[Question], most: int) -> list[Question]:
    kept: list[Question] = []
    golds: Counter[str] = Counter()
    papers: Counter[str] = Counter()
    for question in sorted(questions, key=lambda q: fraction(q.id, "typed")):
        if not question.gold or "clean" not in question.tags or len(kept) >= most:
            continue
        old = (question.targets[0].year or 2020) < 2013
        cap = 1 if old else PER_GOLD
        if golds[question.gold[0]] < cap and papers[question.paper] < PER_PAPER:
            golds[question.gold[0]] += 1
            papers[question.paper] += 1
            kept.append(question)
    return kept


def _records(questions: Sequence[Question], library: Library) -> dict[str, Work]:
    found = {}
    for question in questions:
        rows = library.rows_of(question.gold)
        rows = rows[rows >= 0]
        if len(rows):
            found[question.id] = library.works(rows[:1])[0]
    return found
