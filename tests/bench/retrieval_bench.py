"""Measures finding: every retriever alone, the fusion, the whole, beside the bare bm25s call.

    python tests/bench/retrieval_bench.py                             50,000 and 262,382 papers
    python tests/bench/retrieval_bench.py --papers 1000000 --keep /tmp/bench
    python tests/bench/retrieval_bench.py --library FOLDER            a library that is there

Papers are those of ../shared, in order; beyond them real records with a few words exchanged. The
queries are real citations of contexts/dev. Set OMP_NUM_THREADS=1, as the worker process does. Times are wall milliseconds of single requests in one
process, after a warm-up; the first request after opening stands apart.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import zstandard

from citewell.engine.local import LocalEngine
from citewell.engine.memory import rss_mb
from citewell.model import CitingPaper, Query
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.retrieval.fuse import fuse
from citewell.retrieval.understand import wanted

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def records() -> Iterator[dict[str, Any]]:
    """The papers of acl and ml."""
    for name in ("acl", "ml"):
        with (DATA / "corpus" / f"{name}.jsonl.zst").open("rb") as file:
            for line in zstandard.ZstdDecompressor().stream_reader(file).read().splitlines():
                yield json.loads(line)


def write_papers(count: int, path: Path) -> int:
    """`count` papers as JSON Lines; beyond the real ones, real ones with words exchanged."""
    real = []
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(records()):
            if number == count:
                return number
            file.write(json.dumps(record) + "\n")
            real.append(record)
        rng = random.Random(11)
        for number in range(len(real), count):
            record = dict(rng.choice(real))
            other = rng.choice(real)
            for field in ("title", "abstract"):
                words, others = (record[field] or "").split(), (other[field] or "").split()
                for _ in range(len(words) // 6 + 1 if words and others else 0):
                    words[rng.randrange(len(words))] = rng.choice(others)
                record[field] = " ".join(words)
            record |= {"id": f"made:{number}", "doi": None, "bibkey": None}
            file.write(json.dumps(record) + "\n")
    return count


def questions(limit: int) -> list[Query]:
    """Real citations with their context, spread over the file."""
    with gzip.open(DATA / "contexts" / "dev.jsonl.gz", "rt", encoding="utf-8") as file:
        clean = [record for line in file if (record := json.loads(line))["clean"]]
    return [
        Query(
            sentence=record["sentence"],
            before=tuple(record["context_before_list"] or ()),
            after=(record["context_after"],) if record["context_after"] else (),
            paper=CitingPaper(title=record["source_title"] or ""),
        )
        for record in clean[:: max(1, len(clean) // limit)][:limit]
    ]


def timed(name: str, calls: list[Callable[[], Any]]) -> None:
    """p50 and p95 over the calls, after five that do not count."""
    for call in calls[:5]:
        call()
    spent = []
    for call in calls:
        begin = time.perf_counter()
        call()
        spent.append((time.perf_counter() - begin) * 1e3)
    p50, p95 = np.percentile(spent, (50, 95))
    print(f"  {name:34} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms", flush=True)


def bare_bm25s(engine: LocalEngine, queries: list[Query]) -> None:
    """`bm25s.BM25.retrieve` over the same index: unweighted words, best 200."""
    import bm25s
    import Stemmer

    assert engine._library is not None
    for segment in engine._library.segments:
        opened = bm25s.BM25.load(str(segment.index("bm25")), mmap=True)
        stem = Stemmer.Stemmer("english").stemWords
        asked = [
            [word for word in stem(list(wanted(query).words)) if word in opened.vocab_dict]
            for query in queries
        ]
        calls = [
            lambda words=words, index=opened: index.retrieve([words], k=200, show_progress=False)
            for words in asked
        ]
        timed(f"bare bm25s.retrieve ({segment.count} papers)", calls)


def measure(options: Options, limit: int) -> None:
    """All figures of one library."""
    queries = questions(limit)
    before = rss_mb()
    begin = time.perf_counter()
    engine = LocalEngine.open(options)
    opened = time.perf_counter()
    engine.find(queries[0])
    first = time.perf_counter()
    status = engine.status()
    print(f"\n{status.works} papers, {', '.join(status.retrievers)}, ranker {status.ranker or '-'}")
    print(f"  open {(opened - begin) * 1e3:.0f} ms, first request {(first - opened) * 1e3:.0f} ms")
    for problem in status.problems:
        print(f"  problem: {problem}")
    depth = options.retrieval.depth
    lists = []
    for name, retriever in engine._opened.retrievers.items():
        calls = [lambda q=q, r=retriever: r.search(q, depth, Cancel()) for q in queries]
        timed(f"{name}, best {depth}", calls)
        lists.append([call() for call in calls])
    names = list(engine._opened.retrievers)
    fusions = [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
    timed("fusion", [lambda f=f: fuse(f) for f in fusions])
    timed("whole, 20 papers", [lambda q=q: engine.find(q, 20) for q in queries])
    stages: dict[str, list[float]] = {}
    for query in queries:
        for stage, spent in engine.find(query, 20).timings.items():
            stages.setdefault(stage, []).append(spent)
    print("  stages p50:", {stage: round(float(np.median(s)), 1) for stage, s in stages.items()})
    print(f"  RSS {before:.0f} MB before opening, {rss_mb():.0f} MB now", flush=True)
    plain = attrs.evolve(options, retrieval=attrs.evolve(options.retrieval, ranker="none"))
    unranked = LocalEngine.open(plain)
    timed("whole without the ranker", [lambda q=q: unranked.find(q, 20) for q in queries])
    begin = time.perf_counter()
    engine.find_batch(queries, 20)
    print(f"  batch {(time.perf_counter() - begin) * 1e3 / len(queries):.1f} ms per query")
    bare_bm25s(engine, queries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, nargs="*", default=[50_000, 262_382])
    parser.add_argument("--library", type=Path, help="folder of a library that is there")
    parser.add_argument("--keep", type=Path, help="folder for the libraries made; reused")
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"the optional data folder {DATA} is not there")
    base = Options()
    if arguments.library:
        folder = arguments.library.resolve()
        library = attrs.evolve(base.library, path=folder.parent, name=folder.name)
        measure(attrs.evolve(base, library=library), arguments.queries)
        return
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import Source

    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        home = arguments.keep or Path(temporary)
        for count in arguments.papers:
            folder = home / f"papers-{count}"
            if not folder.exists():
                home.mkdir(parents=True, exist_ok=True)
                source = home / f"{count}.jsonl"
                write_papers(count, source)
                wall, processor = time.perf_counter(), time.process_time()
                report = build_library(
                    folder,
                    add=[Source(path=str(source), format="records")],
                    builders=default_builders(base),
                )
                print(
                    f"built {report.works} papers in {time.perf_counter() - wall:.0f} s wall, "
                    f"{time.process_time() - processor:.0f} s processor:", report.seconds
                )  # fmt: skip
            library = attrs.evolve(base.library, path=home, name=folder.name)
            measure(attrs.evolve(base, library=library), arguments.queries)


if __name__ == "__main__":
    main()
