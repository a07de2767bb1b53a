"""Measures building, adding to, opening and reading a library of the shared corpora.

    python tests/bench/library_bench.py --corpora acl ml
    python tests/bench/library_bench.py --corpora acl ml titles --keep /tmp/bench
    python tests/bench/library_bench.py --use /tmp/bench/library     (no build)

Each build runs in a process of its own, so that its memory can be told apart. Needs ../shared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CORPORA = Path(__file__).resolve().parents[3] / "shared" / "data" / "corpus"

BUILD = """
import json, resource, sys, time
from pathlib import Path
import msgspec
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at
folder, *paths = sys.argv[1:]
begin, cpu = time.perf_counter(), time.process_time()
report = build_library(
    Path(folder), add=[source_at(p) for p in paths], builders=default_builders(Options())
)
print(json.dumps({
    "wall": time.perf_counter() - begin,
    "cpu": time.process_time() - cpu,
    "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "report": msgspec.to_builtins(report),
}))
"""

READER = """
import sys
from pathlib import Path
import numpy as np
from citewell.corpus.library import Library
def memory():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    table = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {name: round(table[name], 1) for name in ("Rss", "Pss", "Pss_Anon")}
with Library.open(Path(sys.argv[1])) as library:
    before = memory()
    for segment in library.segments:
        arrays = [
            np.load(path, mmap_mode="r", allow_pickle=False)
            for path in sorted(segment.path.rglob("*.npy"))
            if path.stat().st_size > 1000
        ]
        total = sum(int(np.asarray(array).view(np.uint8).sum()) for array in arrays)
    works = sum(1 for _ in library.iter_works())
    print("read", works, flush=True)
    sys.stdin.readline()
    import json
    print(json.dumps({"before": before, "after": memory()}), flush=True)
    sys.stdin.readline()
"""


def build(folder: Path, paths: list[Path]) -> dict[str, Any]:
    """Build or add in a process of its own."""
    arguments = [sys.executable, "-c", BUILD, str(folder), *map(str, paths)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def size(folder: Path) -> float:
    """Megabytes of all files."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def show_build(name: str, outcome: dict[str, Any], folder: Path) -> None:
    report = outcome["report"]
    seconds = ", ".join(f"{stage} {s:.1f}" for stage, s in report["seconds"].items())
    merged = report["by_identifier"] + report["by_title"]
    print(f"{name}: {outcome['wall']:.1f} s ({outcome['cpu']:.1f} s of CPU; {seconds})")
    print(
        f"  {report['works']:,} works, {report['titles']:,} distinct titles, {merged:,} merged "
        f"({report['by_identifier']:,} by identifier, {report['by_title']:,} by title), "
        f"{report['doubtful_doi']:,} doubtful DOIs"
    )
    print(f"  peak RSS {outcome['rss']:.0f} MB, on disk {size(folder):.0f} MB")


def made_up(path: Path, count: int, seed: int) -> Path:
    """Records that no library has."""
    dice = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(dice.choices(letters, k=dice.randint(3, 9))) for _ in range(3000)]
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            record = {
                "id": f"bench:{seed}-{number}",
                "title": " ".join(dice.sample(words, 8)),
                "authors": [f"Kim {dice.choice(words).title()}" for _ in range(4)],
                "year": dice.randint(1990, 2025),
                "abstract": " ".join(dice.choices(words, k=150)),
                "source": "bench",
            }
            stream.write(json.dumps(record) + "\n")
    return path


def additions(folder: Path, scratch: Path) -> None:
    """Add 1,000 papers three times; then as many that the library has already."""
    before = size(folder)
    for turn in range(3):
        path = made_up(scratch / f"add{turn}.jsonl", 1000, turn)
        names = {f for f in folder.rglob("*") if f.is_file()}
        outcome = build(folder, [path])
        new = [f for f in folder.rglob("*") if f.is_file() and f not in names]
        written = sum(f.stat().st_size for f in new) / 1e6
        report = outcome["report"]
        print(
            f"add 1,000: {outcome['wall']:.2f} s ({outcome['cpu']:.2f} s of CPU), "
            f"{written:.1f} MB written of {before:.0f}, {report['segments']} segments, "
            f"peak RSS {outcome['rss']:.0f} MB"
        )


def timed(label: str, action: Callable[[], object], repeats: int = 300) -> None:
    """Median and 95th percentile of a call, in milliseconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        action()
        times.append((time.perf_counter() - begin) * 1e3)
    times.sort()
    p95 = times[int(0.95 * len(times))]
    print(f"  {label}: p50 {statistics.median(times):.2f} ms, p95 {p95:.2f} ms")


def reading(folder: Path) -> None:
    """Time to open, and of each kind of look-up."""
    from citewell.corpus.library import Library

    print("reading:")
    timed("open and close", lambda: Library.open(folder).close(), 50)
    dice = random.Random(0)
    with Library.open(folder) as library:
        works = library.works(dice.sample(range(library.rows), 2000))
        dois = [work.doi for work in works if work.doi]
        timed("works(50)", lambda: library.works(dice.sample(range(library.rows), 50)))
        timed("works(20)", lambda: library.works(dice.sample(range(library.rows), 20)))
        timed("work(id)", lambda: library.work(dice.choice(works).id))
        timed("rows_of(100 ids)", lambda: library.rows_of([w.id for w in dice.sample(works, 100)]))
        timed("lookup(doi)", lambda: library.lookup(doi=dice.choice(dois)))
        timed("lookup(title)", lambda: library.lookup(title=dice.choice(works).title))
        timed("lookup of nothing", lambda: library.lookup(title=f"no such {dice.random()}"))
        begin = time.perf_counter()
        count = sum(1 for _ in library.iter_works())
        print(f"  all {count:,} works: {time.perf_counter() - begin:.1f} s")
        begin = time.perf_counter()
        problems = library.verify()
        print(f"  verify: {time.perf_counter() - begin:.1f} s, {len(problems)} problems")


def sharing(folder: Path) -> None:
    """What one process more costs when both have read every page."""
    if not Path("/proc/self/smaps_rollup").exists():
        print("sharing: not measured, the system tells no PSS")
        return
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for reader in readers:
        assert reader.stdout is not None
        reader.stdout.readline()
    print("two processes, every file read by both (MB):")
    for reader in readers:
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write("\n")
        reader.stdin.flush()
        table = json.loads(reader.stdout.readline())
        print(f"  after opening {table['before']}, after reading all {table['after']}")
    for reader in readers:
        reader.communicate("\n")


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--corpora", nargs="+", default=["acl", "ml"])
    parser.add_argument("--keep", type=Path, help="Build here and leave it.")
    parser.add_argument("--use", type=Path, help="Measure a copy of this library, build nothing.")
    arguments = parser.parse_args()
    if not CORPORA.is_dir() and not arguments.use:
        sys.exit(f"There is no {CORPORA}.")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as name:
        scratch = Path(name)
        folder = (arguments.keep or scratch) / "library"
        if arguments.use:
            shutil.copytree(arguments.use, folder, copy_function=os.link)
        else:
            paths = [CORPORA / f"{corpus}.jsonl.zst" for corpus in arguments.corpora]
            show_build(" + ".join(arguments.corpora), build(folder, paths), folder)
        reading(folder)
        sharing(folder)
        additions(folder, scratch)


if __name__ == "__main__":
    main()
