"""Measures how a library grows: its build, its size on disk, its opening and its searches.

    python tests/bench/scale_bench.py --folder /data/scale 62500 250000 1000000
    python tests/bench/scale_plot.py /data/scale/figures.jsonl docs/images/scale.svg

The works are those of `../shared/data/corpus` (acl, ml); beyond their number they are perturbed
copies, whose title, authors, year and abstract are mixed from three works, with rare words of their
own. Each size is a folder of files, a library, and a line in FOLDER/figures.jsonl; files and
libraries that exist are used again. The memory of a build is the sum over its processes of what
they do not share.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import zstandard

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
PER_FILE = 50_000
LETTERS = "abcdefghijklmnopqrstuvwxyz"

BUILD = """
import json, sys
from pathlib import Path
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.cli.bars import bars
from citewell_corpus.sources import source_at
if __name__ == "__main__":
    folder, pattern, jobs = sys.argv[1:]
    with bars() as progress:
        report = build_library(
            Path(folder), add=[source_at(pattern)], builders=default_builders(Options()),
            jobs=int(jobs), progress=progress,
        )
    print(json.dumps({"works": report.works, "seconds": report.seconds}))
"""

SEARCH = """
import gzip, json, sys, time
from pathlib import Path
import numpy as np
from msgspec.structs import replace
from citewell.engine.local import LocalEngine
from citewell.model import Query
from citewell.options import Options
folder, contexts, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def memory():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    table = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {name: round(table[name]) for name in ("Rss", "Pss_Anon")}
queries = []
with gzip.open(contexts, "rt", encoding="utf-8") as lines:
    for line in lines:
        record = json.loads(line)
        if record.get("clean") and len(queries) < count:
            queries.append(Query(sentence=record["sentence"]))
options = Options()
options = replace(
    options,
    library=replace(options.library, path=folder.parent, name=folder.name, starter=False),
    retrieval=replace(options.retrieval, timeout_ms=60_000),
    sources=replace(options.sources, keep=False),
)
begin = time.perf_counter()
engine = LocalEngine.open(options)
opened = time.perf_counter() - begin
out = {"open_s": round(opened, 2), "open_mb": memory()}
def ask(some):
    wall, processor, stages = [], [], {}
    for query in some:
        begin, cpu = time.perf_counter(), time.process_time()
        result = engine.find(query, 10)
        wall.append(1e3 * (time.perf_counter() - begin))
        processor.append(1e3 * (time.process_time() - cpu))
        for stage, spent in result.timings.items():
            stages.setdefault(stage, []).append(spent)
    p = lambda values, q: round(float(np.percentile(values, q)), 1)
    return {"wall_ms": [p(wall, 50), p(wall, 95)], "processor_ms": [p(processor, 50), p(processor, 95)],
            "first_ms": round(wall[0], 1),
            "stages": {name: [p(v, 50), p(v, 95)] for name, v in stages.items()}}
out["cold"] = ask(queries[:20])
out["warm"] = ask(queries[20:])
out["search_mb"] = memory()
print(json.dumps(out))
"""


@cache
def real_works() -> list[dict[str, Any]]:
    """The real records."""
    found = []
    for name in ("acl", "ml"):
        with (SHARED / "corpus" / f"{name}.jsonl.zst").open("rb") as stream:
            reader = zstandard.ZstdDecompressor().stream_reader(stream)
            found += [json.loads(line) for line in io.TextIOWrapper(reader, encoding="utf-8")]
    return found


def perturbed(works: list[dict[str, Any]], begin: int, end: int) -> Iterator[dict[str, Any]]:
    """The real works, then made-up ones that resemble them: those of the places [begin, end), which
    are the same in every call for the same places."""
    yield from works[begin:end]
    dice = random.Random(7 + begin)
    for number in range(max(begin, len(works)), end):
        one, two, three = (dice.choice(works) for _ in range(3))
        title, other = one["title"].split(), two["title"].split()
        title = title[: max(2, len(title) // 2)] + other[len(other) // 2 :]
        title.insert(dice.randrange(len(title)), rare_word(dice, number))
        text = (one.get("abstract") or "").split(". ")
        text = (
            text[: len(text) // 2 + 1] + (two.get("abstract") or "").split(". ")[len(text) // 2 :]
        )
        words = " ".join(text).split()
        for _ in range(len(words) // 60):
            words[dice.randrange(len(words))] = rare_word(dice, number)
        yield {
            "id": f"made-up:{number}",
            "title": " ".join(title),
            "authors": (one["authors"][:1] + two["authors"][:2] + three["authors"][:2])
            or ["A. Lee"],
            "year": (one["year"] or 2010) - dice.randrange(6),
            "kind": one["kind"],
            "venue": one["venue"],
            "booktitle": one["booktitle"],
            "journal": one["journal"],
            "pages": one["pages"],
            "abstract": " ".join(words),
            "source": "made-up",
        }


def rare_word(dice: random.Random, number: int) -> str:
    """A word of a vocabulary that grows with the square root of the number of works (Heaps)."""
    return "".join(random.Random(int(dice.random() * 400 * number**0.5)).choices(LETTERS, k=8))


def write_works(folder: Path, count: int, jobs: int) -> None:
    """The works as files of `PER_FILE` records."""
    folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool:
        for _ in pool.map(partial(write_file, folder, count), range(0, count, PER_FILE)):
            pass


def write_file(folder: Path, count: int, begin: int) -> None:
    """One file of works, unless it is there."""
    path = folder / f"{begin // PER_FILE:04d}.jsonl.gz"
    if path.is_file():
        return
    fresh = path.with_suffix(".part")
    with gzip.open(fresh, "wt", compresslevel=1) as stream:
        for work in perturbed(real_works(), begin, min(begin + PER_FILE, count)):
            stream.write(json.dumps(work) + "\n")
    fresh.replace(path)


def tree_pss(root: int) -> float:
    """Megabytes of a process and its descendants."""
    import psutil

    total = 0.0
    try:
        process = psutil.Process(root)
        every = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0.0
    for one in every:
        try:
            lines = Path(f"/proc/{one.pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:
            continue
        table = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
        total += table.get("Pss_Anon", 0.0)
    return total


def build(folder: Path, pattern: Path, jobs: int) -> dict[str, Any]:
    """Build in processes of their own; the report, with time, memory and disk."""
    script = folder.parent / "build.py"
    script.write_text(BUILD, encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    command = [sys.executable, str(script), str(folder), str(pattern), str(jobs)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peak = [0.0]

    def watch() -> None:
        while child.poll() is None:
            peak[0] = max(peak[0], tree_pss(child.pid))
            time.sleep(1.0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = child.communicate()
    watcher.join()
    if child.returncode:
        sys.exit(f"the build ended with {child.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        **json.loads(output),
        "wall_s": round(time.perf_counter() - begin),
        "cpu_s": round(cpu),
        "peak_anon_mb": round(peak[0]),
        "load": round(os.getloadavg()[0], 1),
    }


def disk(folder: Path) -> dict[str, float]:
    """Megabytes of the library by part."""
    sizes: dict[str, float] = {}
    for path in folder.glob("segments/*/**/*"):
        if path.is_file():
            part = path.relative_to(folder / "segments").parts[1]
            sizes[part] = sizes.get(part, 0.0) + path.stat().st_size / 1e6
    return {name: round(size) for name, size in sorted(sizes.items()) if size >= 1}


def forget_cache(folder: Path) -> None:
    """Ask the system to drop the library's pages from memory."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def search(folder: Path, count: int) -> dict[str, Any]:
    """Open and ask, in a process of its own, first without pages in memory."""
    forget_cache(folder)
    contexts = SHARED / "contexts" / "dev.jsonl.gz"
    command = [sys.executable, "-c", SEARCH, str(folder), str(contexts), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(folder: Path, size: int, jobs: int, queries: int) -> None:
    """One size, appended to the figures."""
    works, library = folder / f"works-{size}", folder / f"library-{size}"
    if not (library / "CURRENT").is_file():
        write_works(works, size, jobs)
    row: dict[str, Any] = {"size": size, "jobs": jobs}
    if not (library / "CURRENT").is_file():
        row["build"] = build(library, works / "*.gz", jobs)
    row["disk_mb"] = disk(library)
    row |= search(library, queries)
    row["load"] = round(os.getloadavg()[0], 1)
    line = json.dumps(row)
    print(line, flush=True)
    with (folder / "figures.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(line + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sizes", nargs="*", type=int, default=[62_500])
    parser.add_argument("--folder", type=Path, help="Keeps works, libraries and figures.")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--queries", type=int, default=220)
    given = parser.parse_args()
    if not SHARED.is_dir():
        sys.exit(f"skipped: needs {SHARED}")
    with tempfile.TemporaryDirectory(prefix="citewell-scale-") as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for size in given.sizes:
            measure(folder, size, given.jobs, given.queries)


if __name__ == "__main__":
    main()
