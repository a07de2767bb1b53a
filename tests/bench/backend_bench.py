"""Candidates from a back end beside the embedded indexes: agreement, latency and memory.

    citewell library build --name NAME --to edge:FOLDER
    python tests/bench/backend_bench.py LIBRARY edge:FOLDER --questions 5000
    python tests/bench/backend_bench.py LIBRARY edge:FOLDER --questions 500 --filters

The questions are citing sentences of `../shared/data/contexts/dev.jsonl.gz`. With `--filters`, each
is asked with a filter by year, venue, author, kind and language in turn, whose values are those of
papers of the library drawn at random.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from citewell.corpus.library import Library
from citewell.engine.local import LocalEngine
from citewell.engine.processes import rss_mb
from citewell.model import Query, Work
from citewell.options import Options

REPOSITORY = Path(__file__).resolve().parents[2]
CONTEXTS = REPOSITORY.parent / "shared" / "data" / "contexts"
STAGES = ("bm25", "dense", "citation_context", "total")
FILTERS = ("years", "venue", "author", "kind", "language")
NONE = "no filter"


def questions(contexts: Path, count: int) -> list[Query]:
    """The first questions of the development data, then of the training data."""
    found: list[Query] = []
    for name in ("dev.jsonl.gz", "train.jsonl.gz"):
        with gzip.open(contexts / name, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record.get("clean") and len(found) < count:
                    found.append(Query(sentence=record["sentence"]))
    return found


def filters(library: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Filters in turn, and what they are by."""
    draw = random.Random(7)
    with Library.open(library) as opened:
        while True:
            for name in FILTERS:
                wanted: dict[str, Any] = {}
                while not wanted:
                    work = opened.records([draw.randrange(opened.rows)], Work)[0]
                    wanted = values(name, work)
                yield name, wanted


def values(name: str, work: Work) -> dict[str, Any]:
    """The filter of this name that the work passes, empty where it has none."""
    if name == "years":
        return {"year_from": work.year - 2, "year_to": work.year} if work.year else {}
    if name == "author":
        return {"author": work.authors[0].display} if work.authors else {}
    if name == "language":
        return {"language": "en"}
    value = {"venue": work.venue or work.journal, "kind": work.kind}[name]
    return {name: value} if value else {}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=Path)
    parser.add_argument("address")
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument("--contexts", type=Path, default=CONTEXTS)
    parser.add_argument("--filters", action="store_true")
    given = parser.parse_args()
    options = Options()
    options = replace(
        options,
        library=replace(
            options.library, path=given.library.parent, name=given.library.name, starter=False
        ),
        retrieval=replace(options.retrieval, timeout_ms=60_000),
        sources=replace(options.sources, keep=False),
    )
    queries = [(NONE, query) for query in questions(given.contexts, given.questions)]
    if given.filters:
        chosen = zip(queries, filters(given.library), strict=False)
        queries = [(name, replace(query, **one)) for (_, query), (name, one) in chosen]
    plain = LocalEngine.open(options)
    print(f"embedded: {rss_mb():.0f} MB after opening")
    other = LocalEngine.open(replace(options, library=replace(options.library, url=given.address)))
    print(f"with the back end: {rss_mb():.0f} MB; {other.status().problems or 'no problem'}")
    shared: dict[str, list[float]] = defaultdict(list)
    same: dict[str, int] = defaultdict(int)
    spent: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    processor: dict[tuple[str, str], float] = defaultdict(float)
    for number, (kind, query) in enumerate(queries):
        lists = {}
        engines = [("embedded", plain), ("back end", other)]
        for name, engine in engines if number % 2 else engines[::-1]:
            begin = time.process_time()
            result = engine.find(query, 10)
            processor[kind, name] += time.process_time() - begin
            for stage in STAGES:
                spent[kind, name, stage].append(result.timings.get(stage, 0.0))
            lists[name] = [hit.work.id for hit in result.hits]
        first, second = lists["embedded"], lists["back end"]
        shared[kind].append(len(set(first) & set(second)) / len(first) if first else not second)
        same[kind] += first == second
    for kind, overlaps in shared.items():
        print(f"{kind}: {len(overlaps)} questions, overlap@10 {np.mean(overlaps):.4f}; same list "
              f"{same[kind]}")  # fmt: skip
        for name in ("embedded", "back end"):
            for stage in STAGES:
                p50, p95 = np.percentile(spent[kind, name, stage], [50, 95])
                print(f"  {name:9} {stage:16} p50 {p50:6.1f} ms  p95 {p95:6.1f} ms")
            mean = 1e3 * processor[kind, name] / len(overlaps)
            print(f"  {name:9} processor {mean:.1f} ms a question")
    print(f"{rss_mb():.0f} MB at the end")


if __name__ == "__main__":
    main()
