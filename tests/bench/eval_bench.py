"""The table of what is found: BM25, dense, RRF and Citewell, cold and warm, with intervals.

Run `python tests/bench/eval_bench.py [--out FOLDER] [--jobs N]`. The library of the 262,382 papers
in ../shared is built once below `.cache`; the questions are the test parts, which nothing trained.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SETS = ("dev", "autoscholar", "sparbench")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=REPOSITORY / "test-output" / "eval")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, help="Questions of each data set.")
    chosen = parser.parse_args()
    if not (REPOSITORY.parent / "shared" / "data").is_dir():
        print("skipped: ../shared/data is not beside the checkout")
        return 0
    chosen.out.mkdir(parents=True, exist_ok=True)
    status = 0
    for name in SETS:
        command = [
            *(sys.executable, "-m", "citewell", "eval", "--data", name),
            *("--corpus", "acl", "--corpus", "ml", "--jobs", str(chosen.jobs)),
            *("--json", str(chosen.out / f"{name}.json")),
            *("--html", str(chosen.out / f"{name}.html")),
            *(("--limit", str(chosen.limit)) if chosen.limit else ()),
        ]
        begin = time.perf_counter()
        print(f"$ {' '.join(command[1:])}", flush=True)
        status = subprocess.run(command, cwd=REPOSITORY, check=False).returncode or status
        print(f"{name}: {time.perf_counter() - begin:.0f} s\n", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
