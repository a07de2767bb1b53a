"""What a literature search costs: `python tests/bench/explore_bench.py`.

Milliseconds until the first list and until the last one, and of each pass; wall time, and processor
time of all threads. Without network. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from corpus_library import REPOSITORY, corpus_library
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.usecases.explore.contract import ExploreQuery
from citewell.usecases.explore.passes import explore
from citewell_lab.datasets import open_data

QUESTIONS = REPOSITORY.parent / "shared" / "data" / "queries" / "autoscholar_dev.jsonl.gz"
WARM_UP = 5


def main() -> None:
    """Print p50 and p95 of each pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library")
    parser.add_argument("--questions", type=int, default=100)
    arguments = parser.parse_args()
    folder = arguments.library or corpus_library()
    if folder is None or not QUESTIONS.exists():
        return
    options = Options()
    library = replace(options.library, path=folder.parent, name=folder.name)
    learning = replace(options.learning, enabled=False)
    engine = LocalEngine.open(replace(options, library=library, learning=learning))
    engine.load(120)
    texts = [one.query.text for one in open_data(QUESTIONS, "").questions]
    spent: dict[str, list[tuple[float, float]]] = {}
    for number, text in enumerate(texts[: WARM_UP + arguments.questions]):
        wall = begin = time.perf_counter()
        cpu = begin_cpu = time.process_time()
        for state in explore(engine, ExploreQuery(text=text)):
            now, now_cpu = time.perf_counter(), time.process_time()
            if number >= WARM_UP:
                record = (now - wall, now_cpu - cpu)
                spent.setdefault(state.passes[-1].name, []).append(record)
            wall, cpu = now, now_cpu
        if number >= WARM_UP:
            spent.setdefault("all passes", []).append((wall - begin, cpu - begin_cpu))
    print(f"{engine.status().works:,} works, {arguments.questions} questions, milliseconds")
    print("pass           wall p50    p95   CPU p50    p95")
    for name, times in spent.items():
        wall50, cpu50 = 1e3 * np.percentile(np.array(times), 50, axis=0)
        wall95, cpu95 = 1e3 * np.percentile(np.array(times), 95, axis=0)
        print(f"{name:14} {wall50:8.0f} {wall95:6.0f} {cpu50:9.0f} {cpu95:6.0f}")
    engine.close()


if __name__ == "__main__":
    main()
