"""Examples for the cross-encoder: real citations, each with the wrong papers that the pipeline
ranks first.

Papers that tune or test give none. Half of the others taught the static encoder, the others the
head: the pipeline ranks what they cite higher than what a new paper cites.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import click
import msgspec
import numpy as np

from citewell.model import Query
from citewell.ranking.learned import Model, head_scores
from citewell_corpus.training.data import Context
from citewell_corpus.training.pairs import Role, role
from citewell_corpus.training.questions import OLD_SETS, Known, ask
from citewell_corpus.training.split import fraction
from citewell_corpus.training.world import World

HARD = 50
"""First papers of the pipeline that are kept of each question."""
PER_GOLD, PER_MARKED_GOLD = 3, 6
"""Questions at most of one cited paper; by text of PDFs, and by LaTeX, Markdown or HTML."""
PER_PAPER, PER_MARKED_PAPER = 10, 40
"""Questions at most of one citing paper, as text of a PDF and as its source."""
MOST_IN_GROUP = 3
"""A command with more papers says little about each of them."""
MARKED_IN_BATCH = 5 / 8
"""Share of questions from LaTeX, Markdown and HTML."""
WARM, UNTITLED = 0.5, 0.2
"""Shares of questions asked with the paper's references, and without its title."""

LEARNERS: frozenset[Role] = frozenset({"encoder", "head"})
"""Roles of the papers that train."""


class Example(msgspec.Struct, frozen=True):
    """One citation as a training question over the rows of the corpora."""

    query: Query
    gold: int
    """Row of the cited paper; of its editions, the one that the pipeline ranks first."""
    gold_score: float
    """The head's score."""
    wrong: tuple[int, ...]
    """Rows that the pipeline ranks first and that this paper is not known to cite, best first."""
    wrong_scores: tuple[float, ...]
    """The head's scores."""
    marked: bool = False
    """Whether the citing text is LaTeX, Markdown or HTML, not the text of a PDF."""


def sample(
    contexts: Iterable[Context], most: int, roles: Collection[Role] = LEARNERS
) -> list[Context]:
    """At most `most` contexts of papers with these roles that make examples: two from LaTeX,
    Markdown or HTML for each from the text of a PDF while there are any, in random order."""
    per_gold: Counter[str] = Counter()
    per_paper: Counter[str] = Counter()
    marked: list[Context] = []
    plain: list[Context] = []
    pool = [
        context
        for context in contexts
        if context.clean
        and context.group <= MOST_IN_GROUP
        and context.origin not in OLD_SETS
        and role(context) in roles
    ]
    for context in sorted(pool, key=lambda c: (c.form == "text", fraction(c.id, "cross-encoder"))):
        is_text = context.form == "text"
        gold = context.gold[0]
        if is_text and not context.before:
            continue
        if per_gold[gold] >= (PER_GOLD if is_text else PER_MARKED_GOLD):
            continue
        if per_paper[context.paper] >= (PER_PAPER if is_text else PER_MARKED_PAPER):
            continue
        per_gold[gold] += 1
        per_paper[context.paper] += 1
        (plain if is_text else marked).append(context)
    pairs = len(marked) // 2
    mixed = [
        one
        for place in range(pairs)
        for one in (*marked[2 * place : 2 * place + 2], *plain[place : place + 1])
    ]
    return [*mixed, *marked[2 * pairs :], *plain[pairs:]][:most]


def mine(world: World, head: Path, contexts: Sequence[Context], known: Known) -> Iterable[Example]:
    """Each context whose cited paper is a candidate, with the first papers of the pipeline."""
    trees = Model(head).trees
    questions = ask(world, contexts, known, WARM, UNTITLED, apart=True)
    for number, (context, one) in enumerate(zip(contexts, questions, strict=True)):
        found, table = world.candidates(one.query, one.references, one.own, one.nearby)
        if number % 500 == 499:
            click.echo(f"examples: {number + 1} of {len(contexts)}", err=True)
        scores = head_scores(trees, table)
        right = np.flatnonzero(np.isin(found, one.gold))
        if not len(right):
            continue  # no order of the candidates could find it
        best = right[np.argmax(scores[right])]
        order = np.argsort(-scores, kind="stable")
        # Other papers that it cites may also be right here, without a label.
        cited = {*known.references(context), *one.gold.tolist(), *one.exclude.tolist()}
        cited_here = np.isin(world.keys[found], world.keys[np.array(sorted(cited), np.int64)])
        wrong = order[~cited_here[order]][:HARD]
        yield Example(
            one.query,
            int(found[best]),
            round(float(scores[best]), 3),
            tuple(map(int, found[wrong])),
            tuple(round(float(score), 3) for score in scores[wrong]),
            context.form != "text",
        )


def batches(examples: Sequence[Example], size: int, steps: int) -> list[list[int]]:
    """Numbers of the examples of each step: `MARKED_IN_BATCH` of them from sources where there are
    both kinds. Each kind is used up before any of it comes again."""
    kinds = [
        [n for n, one in enumerate(examples) if one.marked == marked] for marked in (True, False)
    ]
    share = round(size * MARKED_IN_BATCH)
    counts = [share, size - share] if all(kinds) else [size * bool(kind) for kind in kinds]
    columns: list[list[list[int]]] = []
    for number, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        passes = -(-count * steps // max(len(kind), 1))
        order = [
            kind[n]
            for again in range(passes)
            for n in np.random.default_rng((number, again)).permutation(len(kind))
        ]
        columns.append([order[s * count : (s + 1) * count] for s in range(steps)])
    return [[n for column in columns for n in column[step]] for step in range(steps)]


def write_examples(examples: Iterable[Example], path: Path) -> None:
    """One JSON value a line, each written as soon as it is there."""
    encoder = msgspec.json.Encoder()
    with path.open("wb") as out:
        for example in examples:
            out.write(encoder.encode(example) + b"\n")
            out.flush()


def read_examples(path: Path) -> list[Example]:
    """The examples of a file."""
    decoder = msgspec.json.Decoder(Example)
    with path.open("rb") as lines:
        return [decoder.decode(line) for line in lines if line.endswith(b"\n")]
