"""Candidates from a back end beside the embedded indexes: agreement, latency and memory.

    citewell library build --name NAME --to edge:FOLDER
    python tests/bench/backend_bench.py LIBRARY edge:FOLDER --questions 5000

The questions are citing sentences of `../shared/data/contexts/dev.jsonl.gz`.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.engine.process_memory import rss_mb
from citewell.model import Query
from citewell.options import Options

REPOSITORY = Path(__file__).resolve().parents[2]
CONTEXTS = REPOSITORY.parent / "shared" / "data" / "contexts"
STAGES = ("bm25", "dense", "total")


def questions(count: int) -> list[Query]:
    """The first questions of the development data, then of the training data."""
    found: list[Query] = []
    for name in ("dev.jsonl.gz", "train.jsonl.gz"):
        with gzip.open(CONTEXTS / name, "rt", encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if record.get("clean") and len(found) < count:
                    found.append(Query(sentence=record["sentence"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=Path)
    parser.add_argument("address")
    parser.add_argument("--questions", type=int, default=5000)
    given = parser.parse_args()
    options = Options()
    options = replace(
        options,
        library=replace(
            options.library, path=given.library.parent, name=given.library.name, starter=False
        ),
        retrieval=replace(options.retrieval, cross_encoder="", timeout_ms=60_000),
        sources=replace(options.sources, keep=False),
    )
    queries = questions(given.questions)
    plain = LocalEngine.open(options)
    print(f"embedded: {rss_mb():.0f} MB after opening")
    other = LocalEngine.open(replace(options, library=replace(options.library, url=given.address)))
    print(f"with the back end: {rss_mb():.0f} MB; {other.status().problems or 'no problem'}")
    shared: list[float] = []
    same = 0
    spent: dict[str, dict[str, list[float]]] = {"embedded": {}, "back end": {}}
    processor = {"embedded": 0.0, "back end": 0.0}
    for query in queries:
        lists = {}
        for name, engine in (("embedded", plain), ("back end", other)):
            begin = time.process_time()
            result = engine.find(query, 10)
            processor[name] += time.process_time() - begin
            for stage in STAGES:
                spent[name].setdefault(stage, []).append(result.timings.get(stage, 0.0))
            lists[name] = [hit.work.id for hit in result.hits]
        first, second = lists["embedded"], lists["back end"]
        shared.append(len(set(first) & set(second)) / max(1, len(first)))
        same += first == second
    print(f"{len(queries)} questions: overlap@10 {np.mean(shared):.4f}; same list {same}")
    for name, stages in spent.items():
        for stage, times in stages.items():
            p50, p95 = np.percentile(times, [50, 95])
            print(f"{name:9} {stage:6} p50 {p50:6.1f} ms  p95 {p95:6.1f} ms")
        print(f"{name:9} processor {1e3 * processor[name] / len(queries):.1f} ms a question")
    print(f"{rss_mb():.0f} MB at the end")


if __name__ == "__main__":
    main()
