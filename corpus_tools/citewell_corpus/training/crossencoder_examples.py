"""Examples for the cross-encoder: real citations, each with the wrong papers that the pipeline
ranks first.

The citing papers are those of the encoder's fold: the head, whose score the cross-encoder's is
combined with, learned from the other one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

from citewell.model import CitingPaper, Query
from citewell.ranking.learned import Model, head_scores
from citewell_corpus.training.data import read_jsonl
from citewell_corpus.training.priors import paper_key
from citewell_corpus.training.questions import HEAD_FOLD
from citewell_corpus.training.split import fold, fraction
from citewell_corpus.training.world import World

HARD = 50
"""First papers of the pipeline that are kept of each question."""
PER_GOLD, PER_PAPER, PER_MARKED_PAPER = 3, 8, 24
"""Questions at most of one cited paper; of one citing paper, as text of a PDF and as its source."""
MOST_IN_GROUP = 3
"""A command with more papers says little about each of them."""
WARM, UNTITLED = 0.5, 0.2
"""Shares of questions asked with the paper's references, and without its title."""


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


def sample(path: Path, rows: dict[str, int], most: int) -> list[dict[str, Any]]:
    """Records of a contexts file that make examples, in random order; marked-up text first chosen.

    Each is clean, has few papers in its command, and is of the encoder's fold.
    """
    per_gold: Counter[str] = Counter()
    per_paper: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    records = [
        record
        for record in read_jsonl(path)
        if record["clean"]
        and record["gold_id"] in rows
        and len(record["group_keys"] or ()) <= MOST_IN_GROUP
        and fold(source_of(record)) != HEAD_FOLD
    ]
    records.sort(key=lambda r: (r["format"] == "text", fraction(r["id"], "cross-encoder")))
    for record in records:
        own = PER_PAPER if record["format"] == "text" else PER_MARKED_PAPER
        gold, paper = record["gold_id"], source_of(record)
        if len(kept) == most or per_gold[gold] == PER_GOLD or per_paper[paper] == own:
            continue
        if record["format"] == "text" and not record["context_before_list"]:
            continue
        per_gold[gold] += 1
        per_paper[paper] += 1
        kept.append(record)
    return sorted(kept, key=lambda r: fraction(r["id"], "cross-encoder order"))


def source_of(record: dict[str, Any]) -> str:
    """The citing paper, by the name that the folds go by."""
    return f"{record['source_repo']}|{record['source_paper_id']}"


def mine(
    world: World, head: Path, records: Sequence[dict[str, Any]], cited: dict[str, set[int]]
) -> Iterable[Example]:
    """Each record with the first papers of the pipeline; `cited` gives the rows that each citing
    paper cites."""
    row = {paper.id: number for number, paper in enumerate(world.papers)}
    trees = Model(head).trees
    for number, record in enumerate(records):
        ids = dict.fromkeys((record["gold_id"], *(record["gold_alt_ids"] or ())))
        gold = np.array([row[i] for i in ids if i in row], np.int64)
        own = np.array(sorted(cited[source_of(record)]), np.int64)
        others = own[~np.isin(world.keys[own], world.keys[gold])]
        warm = fraction(record["id"], "warm") < WARM
        title = record["source_title"] or ""
        query = Query(
            sentence=record["sentence"],
            before=tuple((record["context_before_list"] or ())[-3:]),
            after=(record["context_after"],) if record["context_after"] else (),
            paper=CitingPaper(title="" if fraction(record["id"], "untitled") < UNTITLED else title),
        )
        found, table = world.candidates(
            query, others if warm else others[:0], citing_key(record), others[:0]
        )
        if number % 500 == 499:
            click.echo(f"examples: {number + 1} of {len(records)}", err=True)
        scores = head_scores(trees, table)
        right = np.flatnonzero(np.isin(found, gold))
        if not len(right):
            continue  # no order of the candidates could find it
        best = right[np.argmax(scores[right])]
        order = np.argsort(-scores, kind="stable")
        # Other papers that it cites may also be right here, without a label.
        cited_here = np.isin(world.keys[found], world.keys[np.concatenate([gold, own])])
        wrong = order[~cited_here[order]][:HARD]
        yield Example(
            query,
            int(found[best]),
            round(float(scores[best]), 3),
            tuple(map(int, found[wrong])),
            tuple(round(float(score), 3) for score in scores[wrong]),
        )


def citing_key(record: dict[str, Any]) -> int:
    """The key of the citing paper: its own list and passages are no evidence."""
    from citewell_corpus.training.data import Context

    title = record["source_title"] or ""
    return paper_key(
        Context(
            record["id"], record["source_repo"], source_of(record), title, "", (), "", (), (),
            None, True, "",
        )
    )  # fmt: skip


def cited_rows(path: Path, rows: dict[str, int]) -> dict[str, set[int]]:
    """Rows that each citing paper of a contexts file cites."""
    cited: dict[str, set[int]] = defaultdict(set)
    for record in read_jsonl(path):
        ids = (record["gold_id"], *(record["group_gold_ids"] or ()))
        cited[source_of(record)].update(rows[i] for i in ids if i in rows)
    return cited


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
