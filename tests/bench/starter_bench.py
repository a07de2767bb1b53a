"""Measures opening the starter library, alone and below one's own, and adding papers beside it.

    python tests/bench/starter_bench.py --library FOLDER/NAME [--pdf paper.pdf]

`--library` is a large library of one's own, which is only read. Each run is a process of its own.
The figures are processor time (user and system) and the greatest memory of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATHS = (ROOT / "server", ROOT / "corpus_tools", ROOT / "corpus_tools" / "starter")
"""The code and the starter of this checkout, whatever is installed."""

OPEN = """
import json, resource, sys, time
from pathlib import Path
from citewell.corpus.library import Library
from citewell.corpus.layout import starter_folder
begin = time.process_time()
library = Library.open(starter_folder())
if sys.argv[1:]:
    library = Library.open(Path(sys.argv[1]), library)
took = 1e3 * (time.process_time() - begin)
print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""

ENTRY = """@inproceedings{{made{number}, title = {{On the Patience of Kettles, Part {number}}},
  author = {{Kettle, Ada}}, year = {{2024}}, booktitle = {{Proceedings of the Kitchen}}}}
"""


def opened(env: dict[str, str], *arguments: str) -> tuple[float, float]:
    """Milliseconds and MB that a process takes to open the starter, below a library if given."""
    command = [sys.executable, "-c", OPEN, *arguments]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    took, memory = json.loads(done.stdout)
    return took, memory


def ran(env: dict[str, str], *command: str) -> tuple[float, float]:
    """Milliseconds and MB of a process."""
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *command],
        env,
        file_actions=[(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)],
    )
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"This command failed: {' '.join(command)}")
    return 1e3 * (usage.ru_utime + usage.ru_stime), _megabytes(usage)


def _megabytes(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / 1024


def show(name: str, found: list[tuple[float, float]]) -> None:
    times = sorted(took for took, _ in found)
    p95 = times[min(len(times) - 1, round(0.95 * (len(times) - 1)))]
    memory = max(memory for _, memory in found)
    print(f"{name:<44} {statistics.median(times):>7.0f} {p95:>7.0f} {memory:>7.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=Path, help="a large library of one's own")
    parser.add_argument("--pdf", type=Path, help="a PDF to add")
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "config.toml").touch()
        env = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
        env |= {
            "CITEWELL_LIBRARY_PATH": str(place / "libraries"),
            "CITEWELL_CONFIG": str(place / "config.toml"),
            "PYTHONPATH": os.pathsep.join(map(str, PATHS)),
            "OMP_NUM_THREADS": "1",
            # Programs that are installed have their modules compiled.
            "PYTHONPYCACHEPREFIX": str(place / "compiled"),
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        print(f"{'':<44} {'p50 ms':>7} {'p95 ms':>7} {'MB':>7}")
        citewell = ("-m", "citewell")
        words = (*citewell, "find", "attention is all you need", "--json")
        ran(env, *words)
        opened(env)
        bare, own = [], []
        for _ in range(given.runs):
            bare.append(opened(env))
            if given.library:
                own.append(opened(env, str(given.library)))
        show("open the starter", bare)
        if own:
            show("open a large library on the starter", own)
        show("import citewell", [ran(env, "-c", "import citewell") for _ in range(given.runs)])
        show("find, cold, in the starter", [ran(env, *words) for _ in range(given.runs)])
        bibs, pdfs = [], []
        add = (*citewell, "library", "add")
        for number in range(given.runs + 1):
            path = place / f"made{number}.bib"
            path.write_text(ENTRY.format(number=number), encoding="utf-8")
            bibs.append(ran(env, *add, str(path)))
        show("add a .bib of one entry beside the starter", bibs[1:])
        for number in range(given.runs + 1 if given.pdf else 0):
            copy = place / f"paper{number}.pdf"
            copy.write_bytes(given.pdf.read_bytes())
            pdfs.append(ran(env, *add, str(copy)))
        if pdfs:
            show("add a PDF beside the starter", pdfs[1:])


if __name__ == "__main__":
    main()
