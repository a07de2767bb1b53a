"""Gathers the priors: what others cite, in which words, as vectors of a trained encoder."""

from __future__ import annotations

import gzip
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.columns import title_key
from citewell.corpus.priors import Priors, coded
from citewell.model import CitingPaper, Query
from citewell.retrieval.encoders.citation import CitationEncoder
from citewell.retrieval.passages import PassageWords, gather_passages
from citewell_lab.training.data import CitationContext, fraction, read_jsonl
from citewell_lab.training.pairs import Citations, weight
from citewell_lab.training.works import Works

PASSAGES_PER_PAPER = 8
LEVELS = 7
"""Levels of the numbers of a vector: 15 values, which compress to less than half of a byte."""


def paper_key(context: CitationContext) -> int:
    """The identity of the citing paper of a context: its title key, else a hash of its name."""
    key = title_key(context.title) if len(context.title) > 12 else 0
    return key or int.from_bytes(
        hashlib.blake2b(context.paper.encode(), digest_size=8).digest(), "little"
    )


def gather(  # noqa: PLR0912 - one pass, one branch per kind of evidence
    works: Works,
    vectors: Mapping[str, NDArray[np.float32]],
    citations: Citations,
    counts: Mapping[int, int],
    encoder: CitationEncoder,
) -> tuple[Priors, PassageWords]:
    """The priors, and the words of their citing passages.

    `vectors` are those of passages, of length 1, by the id of the citation, and `counts` gives
    times cited by row. A list joins what a citing paper cites in any of the data.
    """
    cited_by: dict[int, set[int]] = defaultdict(set)
    about: dict[int, Query] = {}
    papers, row_of = works.papers, works.row
    for entry in citations.lists:
        key = title_key(entry.title)
        if not key:
            continue
        cited_by[key].update(entry.cited)
        abstract = papers[entry.row].abstract if entry.row >= 0 else ""
        about[key] = Query(paper=CitingPaper(title=entry.title, abstract=abstract))
    for context in citations.contexts:
        key = paper_key(context)
        cited_by[key].update(row_of[g] for g in context.gold[:1] if g in row_of)
        if context.title:
            about.setdefault(key, Query(paper=CitingPaper(title=context.title)))
    # Two records of one paper count as one: the first with an abstract represents both.
    first: dict[int, int] = {}
    key_of_row: dict[int, int] = {}
    for row in sorted({r for rows in cited_by.values() for r in rows} | set(counts)):
        key = title_key(papers[row].title)
        if key:
            key_of_row[row] = key
            old = first.get(key)
            if old is None or (papers[row].abstract and not papers[old].abstract):
                first[key] = row
    keys = np.array(sorted(first), np.uint64)
    number = {int(key): n for n, key in enumerate(keys)}
    times: Counter[int] = Counter()
    for row, count in counts.items():
        if row in key_of_row:
            n = number[key_of_row[row]]
            times[n] = max(times[n], count)
    known = np.full(len(keys), -1.0, np.float16)
    for n, count in times.items():
        known[n] = np.log1p(count)
    list_keys = sorted(cited_by)
    starts, cited = [0], []
    for key in list_keys:
        cited += sorted({number[key_of_row[r]] for r in cited_by[key] if r in key_of_row})
        starts.append(len(cited))
    list_number = {key: n for n, key in enumerate(list_keys)}
    by_gold: dict[int, list[CitationContext]] = defaultdict(list)
    for context in citations.contexts:
        row = row_of.get(context.gold[0], -1)
        if context.id in vectors and row in key_of_row:
            by_gold[number[key_of_row[row]]].append(context)
    passages: list[tuple[int, CitationContext]] = []
    for n, contexts in by_gold.items():
        passages += [(n, c) for c in chosen_passages(contexts)]
    return (
        Priors(
            keys,
            known,
            np.array(list_keys, np.uint64),
            np.array(starts, np.int32),
            np.array(cited, np.int32),
            coded(encoder.encode_topics([about.get(key, Query()) for key in list_keys]), LEVELS),
            coded(np.array([vectors[c.id] for _, c in passages]), LEVELS),
            np.array([n for n, _ in passages], np.int32),
            np.array([list_number[paper_key(c)] for _, c in passages], np.int32),
            encoder.fingerprint,
        ),
        gather_passages((int(keys[n]), paper_key(c), c.sentence) for n, c in passages),
    )


def chosen_passages(contexts: Iterable[CitationContext]) -> list[CitationContext]:
    """The passages that are kept of one cited paper: each of another citing paper as far as there
    are enough, LaTeX before text of a PDF, citations of one paper before those of several."""
    order = sorted(contexts, key=lambda c: (-weight(c), fraction(c.id)))
    seen: set[str] = set()
    first: list[CitationContext] = []
    again: list[CitationContext] = []
    for context in order:
        (again if context.paper in seen else first).append(context)
        seen.add(context.paper)
    return [*first, *again][:PASSAGES_PER_PAPER]


def read_counts(data: Path, works: Works) -> dict[int, int]:
    """Times cited by row, where an outside source counted; our own in-degrees are left out."""
    counts: dict[int, int] = {}

    def put(name: str, count: int) -> None:
        if name in works.row:
            row = works.row[name]
            counts[row] = max(counts.get(row, 0), count)

    for path in (data / "graph" / "counts.tsv.gz", data / "graph" / "scholar_counts.tsv.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                name, count, *source = line.rstrip("\n").split("\t")
                if count.isdigit() and not any(one.startswith("in-degree") for one in source):
                    put(name, int(count))
    more = data / "corpus" / "robotics_graphics.jsonl.zst"
    for record in read_jsonl(more) if more.exists() else ():
        if record.get("citations"):
            put(record["id"], record["citations"])
    return counts
