"""Training pairs: what cites what, with the test papers and their doubles left out."""

from __future__ import annotations

import gzip
import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import msgspec

from citewell_lab.training.data import (
    CitationContext,
    Role,
    dev_part,
    fold_title,
    read_jsonl,
    role_of,
)
from citewell_lab.training.works import Works, matched_contexts

SHARED_GOLDS = 6
SHARED_PART = 0.4
CONTEXTS = (
    "train", "contexts_train2", "contexts_train3", "train_no_gold", "contexts_no_gold2",
    "contexts_no_gold3",
)  # fmt: skip
LISTS = ("citation_lists_train", "citation_lists_train2", "citation_lists_train3")
"""Files below `contexts`; those that are missing are passed over."""
EDGES = ("edges", "edges2")
"""Files below `graph`."""
FORM_WEIGHT = {"text": 1.0, "html": 2.0, "markdown": 2.0}
"""Weight of a context by the form of its text. Text of a PDF has lost spaces and maths."""
LATEX_WEIGHT = 3.0


class CitingList(msgspec.Struct, frozen=True):
    """A paper and what it cites, as rows of the corpora."""

    title: str
    row: int
    """The citing paper's own row; -1 when the corpora lack it."""
    cited: tuple[int, ...]


class Citations(msgspec.Struct, frozen=True):
    """Everything that may teach: contexts and lists, disjoint from valid and test by paper."""

    contexts: list[CitationContext]
    lists: list[CitingList]
    dropped: dict[str, int]
    """Number of contexts left out, by reason."""


def load(data: Path, works: Works) -> Citations:
    """Contexts and citation lists that share no citing paper with the valid and test parts of dev.

    A list is a double of a held paper if the titles agree or if it shares `SHARED_GOLDS` cited
    papers making up `SHARED_PART` of the shorter of the two lists.
    """
    row = works.row
    dev = list(matched_contexts(data / "contexts" / "dev.jsonl.gz", works))
    held_titles, held_lists = _held(dev, row)
    dropped: dict[str, int] = defaultdict(int)
    contexts = [c for c in dev if c.gold and dev_part(c.source) == "train"]
    seen = {context.id for context in contexts}
    for path in _existing(data / "contexts", CONTEXTS, ".jsonl.gz"):
        for context in matched_contexts(path, works):
            if context.id in seen:
                continue
            seen.add(context.id)
            if not context.gold:
                dropped["contexts: no record of the cited paper"] += 1
            elif fold_title(context.title) in held_titles and context.title:
                dropped["contexts: title of a held paper"] += 1
            else:
                contexts.append(context)
    lists: list[CitingList] = []
    for entry in _lists(data, works):
        cited = set(entry.cited)
        if fold_title(entry.title) in held_titles:
            dropped["lists: title of a held paper"] += 1
        elif any(_double(cited, other) for other in held_lists):
            dropped["lists: cites what a held paper cites"] += 1
        else:
            lists.append(entry)
    by_title: dict[str, CitingList] = {}
    for entry in lists:
        key = fold_title(entry.title) or str(len(by_title))
        old = by_title.get(key)
        if old is not None:
            merged = tuple(dict.fromkeys(old.cited + entry.cited))
            entry = CitingList(old.title, max(old.row, entry.row), merged)
        by_title[key] = entry
    return Citations(contexts, list(by_title.values()), dict(dropped))


def _held(dev: list[CitationContext], row: dict[str, int]) -> tuple[set[str], list[set[int]]]:
    titles: set[str] = set()
    cited: dict[str, set[int]] = defaultdict(set)
    for context in dev:
        if dev_part(context.source) == "train":
            continue
        if len(fold_title(context.title)) > 12:
            titles.add(fold_title(context.title))
        cited[context.paper].update(row[g] for g in context.gold[:1] if g in row)
    return titles, [c for c in cited.values() if len(c) >= SHARED_GOLDS]


def _double(one: set[int], other: set[int]) -> bool:
    shared = len(one & other)
    return shared >= SHARED_GOLDS and shared >= SHARED_PART * min(len(one), len(other))


def _lists(data: Path, works: Works) -> Iterable[CitingList]:
    papers, row, by_title = works.papers, works.row, works.by_title
    for path in _existing(data / "contexts", LISTS, ".jsonl.gz"):
        for record in read_jsonl(path):
            if (
                record.get("origin") == "bench-dev-repos"
                and dev_part(record["source_repo"]) != "train"
            ):
                continue
            cited = tuple(row[i] for i in dict.fromkeys(record["cited_ids"]) if i in row)
            title = record["source_title"] or ""
            if cited:
                yield CitingList(title, by_title.get(fold_title(title), -1) if title else -1, cited)
    edges: dict[int, list[int]] = defaultdict(list)
    for path in _existing(data / "graph", EDGES, ".tsv.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                citing, cited_id = line.rstrip("\n").split("\t")[:2]
                if citing in row and cited_id in row:
                    edges[row[citing]].append(row[cited_id])
    for citing_row, rows in edges.items():
        yield CitingList(papers[citing_row].title, citing_row, tuple(dict.fromkeys(rows)))


def _existing(folder: Path, names: Iterable[str], ending: str) -> list[Path]:
    return [path for name in names if (path := folder / f"{name}{ending}").exists()]


def role(context: CitationContext) -> Role:
    """The role of a context's citing paper: it trains the encoder or the ranker, or it tunes."""
    return role_of(context.paper, context.origin, context.form)


def weight(context: CitationContext) -> float:
    """Weight of a context in training: less as text of a PDF, less beside other papers.

    Of a marker with several papers, each is less surely what the sentence is about.
    """
    return FORM_WEIGHT.get(context.form, LATEX_WEIGHT) / math.sqrt(context.group)
