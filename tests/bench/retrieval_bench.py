"""Measures finding: every retriever alone, the fusion, the whole, beside the bare bm25s call.

    python tests/bench/retrieval_bench.py                             50,000 and 262,382 papers
    python tests/bench/retrieval_bench.py --papers 50000 262382 1000000 --keep FOLDER   10 GB
    python tests/bench/retrieval_bench.py --library FOLDER            a library that is there
    python tests/bench/retrieval_bench.py --starter                   the starter library

Papers are those of ../shared, in order; beyond them real records with a few words exchanged. The
queries are real citations of contexts/dev. Set OMP_NUM_THREADS=1, as the worker process does. Times
are milliseconds of single requests, each library in a process of its own, after a warm-up; the first
request after opening stands apart. The last lines are a table of how the whole search grows.
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
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.engine.processes import rss_mb
from citewell.engine.search import DEPTH
from citewell.model import CitingPaper, Query
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.retrieval.select import fuse
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
                for _ in range(len(words) // 6 + 2 if words and others else 0):
                    words[rng.randrange(len(words))] = rng.choice(others)
                record[field] = " ".join(words)
            record |= {"id": f"made:{number}", "doi": None, "bibkey": None, "url": None}
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


def timed(name: str, calls: list[Callable[[], Any]]) -> dict[str, float]:
    """p50 and p95 of wall and processor milliseconds over the calls, after five that do not count.

    Processor time is that of all threads: it stays true on a machine that others keep busy.
    """
    for call in calls[:5]:
        call()
    spent, used = [], []
    for call in calls:
        begin, busy = time.perf_counter(), time.process_time()
        call()
        spent.append((time.perf_counter() - begin) * 1e3)
        used.append((time.process_time() - busy) * 1e3)
    wall, processor = np.percentile(spent, (50, 95)), np.percentile(used, (50, 95))
    print(
        f"  {name:34} p50 {wall[0]:7.1f} ms   p95 {wall[1]:7.1f} ms   "
        f"processor {processor[0]:7.1f} and {processor[1]:7.1f} ms",
        flush=True,
    )
    return {"p50": wall[0], "p95": wall[1], "cpu50": processor[0], "cpu95": processor[1]}


def bare_bm25s(engine: LocalEngine, queries: list[Query]) -> None:
    """`bm25s.BM25.retrieve` over the same index: unweighted words, best 200."""
    import bm25s
    import Stemmer

    assert engine._library is not None
    for segment in engine._library.segments:
        if not (segment.index("bm25") / "params.index.json").is_file():
            continue  # a compact segment, which bm25s cannot read
        opened = bm25s.BM25.load(str(segment.index("bm25")), mmap=True)
        stem = Stemmer.Stemmer("english").stemWords
        query_texts = [
            [word for word in stem(list(wanted(query).words)) if word in opened.vocab_dict]
            for query in queries
        ]
        calls = [
            lambda words=words, index=opened: index.retrieve([words], k=200, show_progress=False)
            for words in query_texts
        ]
        timed(f"bare bm25s.retrieve ({segment.count} papers)", calls)


def measure(options: Options, limit: int) -> dict[str, float]:
    """All figures of one library; what grows with it as numbers."""
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
    lists = []
    for name, retriever in engine._opened.retrievers.items():
        calls = [lambda q=q, r=retriever: r.search(q, DEPTH, Cancel()) for q in queries]
        timed(f"{name}, best {DEPTH}", calls)
        lists.append([call() for call in calls])
    names = list(engine._opened.retrievers)
    fusions = [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
    timed("fusion", [lambda f=f: fuse(f) for f in fusions])
    whole = timed("whole, 20 papers", [lambda q=q: engine.find(q, 20) for q in queries])
    stages: dict[str, list[float]] = {}
    for query in queries:
        for stage, spent in engine.find(query, 20).timings.items():
            stages.setdefault(stage, []).append(spent)
    print("  stages p50:", {stage: round(float(np.median(s)), 1) for stage, s in stages.items()})
    resident, mapped = rss_mb(), mapped_mb()
    print(
        f"  RSS {before:.0f} MB before opening, {resident:.0f} MB now, of which {mapped:.0f} MB are "
        "mapped files that processes share",
        flush=True,
    )
    plain = replace(options, retrieval=replace(options.retrieval, ranker="none"))
    unranked = LocalEngine.open(plain)
    timed("whole without the ranker", [lambda q=q: unranked.find(q, 20) for q in queries])
    batch = time.perf_counter()
    engine.find_batch(queries, 20)
    print(f"  batch {(time.perf_counter() - batch) * 1e3 / len(queries):.1f} ms per query")
    bare_bm25s(engine, queries)
    assert engine._library is not None
    disk = sum(f.stat().st_size for f in engine._library.path.rglob("*") if f.is_file()) / 1e6
    grown = {"papers": status.works, "first": (first - opened) * 1e3, **whole}
    return grown | {"open": (opened - begin) * 1e3, "rss": resident, "mapped": mapped, "disk": disk}


def mapped_mb() -> float:
    """Resident megabytes of mapped files; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(x.split()[1]) / 1024 for x in lines if x.startswith("RssFile")), 0.0)


def table(rows: list[dict[str, float]]) -> str:
    """How the whole search grows, as Markdown."""
    head = (
        "| papers | p50 ms | p95 ms | processor p50 | processor p95 | opening ms | memory MB | "
        "of it shared | disk MB |\n|---|---|---|---|---|---|---|---|---|"
    )
    names = ("p50", "p95", "cpu50", "cpu95", "open", "rss", "mapped", "disk")
    lines = [
        f"| {int(row['papers']):,} | " + " | ".join(f"{row[name]:,.0f}" for name in names) + " |"
        for row in rows
    ]
    return "\n".join([head, *lines])


def build(folder: Path, source: Path, count: int) -> None:
    """The library of `count` papers, made or brought up to the encoder of today."""
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    if not source.exists():
        source.parent.mkdir(parents=True, exist_ok=True)
        write_papers(count, source)
    wall, processor = time.perf_counter(), time.process_time()
    report = build_library(
        folder,
        add=[FileSource(path=str(source), format="records")],
        builders=default_builders(Options()),
    )
    print(
        f"built {report.works} papers in {time.perf_counter() - wall:.0f} s wall, "
        f"{time.process_time() - processor:.0f} s processor:", report.seconds, flush=True,
    )  # fmt: skip


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function gives in a process of its own, so that memory is that of one library."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, nargs="*", default=[50_000, 262_382])
    parser.add_argument("--library", type=Path, help="folder of a library that is there")
    parser.add_argument("--starter", action="store_true", help="the installed starter library")
    parser.add_argument("--keep", type=Path, help="folder for the libraries made; reused")
    parser.add_argument("--queries", type=int, default=200)
    arguments = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"the optional data folder {DATA} is not there")
    base = Options()
    folders: list[Path] = []
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        home = arguments.keep or Path(temporary)
        if arguments.starter:
            folders = [home / base.library.name]
        elif arguments.library:
            folders = [arguments.library.resolve()]
        else:
            for count in arguments.papers:
                folders.append(home / f"papers-{count}")
                alone(build, folders[-1], home / f"{count}.jsonl", count)
        rows = []
        for folder in folders:
            library = replace(
                base.library, path=folder.parent, name=folder.name, starter=arguments.starter
            )
            rows.append(alone(measure, replace(base, library=library), arguments.queries))
        print("\n" + table(rows))


if __name__ == "__main__":
    main()
