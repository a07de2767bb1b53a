"""What five hot paths cost, in processor time and memory, against bare Python in the same run.

    python tests/cost/hot_paths.py             # print the ratios of this machine
    python tests/cost/hot_paths.py --record    # write them into recorded.json: the new limits

`test_hot_paths.py` runs this in a process of its own and fails when a ratio has grown by a third
(`ALLOWED`). After a change that has to cost more, record again and say why in the commit; each
version of Python has its own ratios.

A ratio of time is the median over many short rounds of path and reference in turns, so that other
programs slow down both. Memory is the peak that Python's allocators report, numpy's arrays
included, so that it is the same in each run.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json"
PAPERS = HERE.parent / "fixtures" / "papers.jsonl"
ALLOWED = 4 / 3
ROUNDS = 40
"""Many and short, so that a path and its reference meet the same other programs."""
RECORDED_RUNS = 5
"""Measurements from which the limits are taken: how busy the cores are changes them by a tenth."""
ENTRIES = 500
"""Of the .bib."""

TITLE_WORDS = (
    "alignment attention corpus decoding encoder fusion graph hybrid inference kernel latent memory "
    "neural optimal parsing query ranking sparse transfer unsupervised"
).split()
NAMES = "Adams Bauer Chen Dubois Evans Fischer Garcia Haddad Ito".split()
PAPER = (
    "\\documentclass{article}\n\\begin{document}\nAs shown by \\cite{%s} and others.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)

HotPath = Callable[[int], object]
"""A call of a path; the number makes its question differ from that of the call before."""
Ratios = dict[str, dict[str, float]]
"""By path and by "time" or "memory"."""


def bib_text(entries: int) -> str:
    """A .bib of invented entries."""
    dice = random.Random(7)
    parts = []
    for number in range(entries):
        authors = " and ".join(
            f"{dice.choice(NAMES)}, {dice.choice('ABCDEFGH')}." for _ in range(dice.randint(1, 4))
        )
        title = " ".join(dice.choices(TITLE_WORDS, k=7)).capitalize()
        parts.append(
            f"@inproceedings{{key{number:05d},\n  author = {{{authors}}},\n"
            f"  title = {{{title}}},\n  booktitle = {{Proceedings of the Meeting}},\n"
            f"  year = {{{dice.randint(1990, 2024)}}},\n  doi = {{10.9999/{number}}},\n}}\n\n"
        )
    return "".join(parts)


def bare_python(text: str) -> HotPath:
    """The reference: matching, counting, sorting and encoding by the standard library alone."""
    word = re.compile(r"\w+")

    def run(number: int) -> object:
        found = [(match[0], match.start()) for match in word.finditer(text)]
        counts = Counter(name for name, _ in found)
        rows = [{"name": name, "at": at, "often": counts[name]} for name, at in found]
        rows.sort(key=lambda row: (row["name"], row["at"]))
        return json.dumps(rows[number % 7 :: 9])

    return run


def hot_paths(text: str, folder: Path) -> dict[str, HotPath]:
    """Each path, warm: what is done once for a process is done before it is measured."""
    from citewell.documents.bib.reader import parse_bib, reparse
    from citewell.features.citing.complete import complete, own_entries, wanted
    from citewell.lsp.documents.project_state import DocumentInput, ProjectCache
    from citewell.lsp.protocol import wire
    from citewell.lsp.requests.completion import row_of
    from citewell.lsp.requests.outline import _outline
    from citewell.lsp.state.memory import render
    from citewell.model import Query
    from citewell.options import Options

    bib_path = folder / "refs.bib"
    bib_path.write_text(text, encoding="utf-8")
    bib = parse_bib(text, str(bib_path))
    _outline(bib, "utf-16", None)
    papers, options = ProjectCache(), Options()
    engine = _engine(folder, options)

    def read(number: int) -> object:
        return len(parse_bib(text + "\n" * (number % 5)).entries)

    def edit(number: int) -> object:
        at = bib.entries[number * 37 % len(bib.entries)].start + 40
        return _outline(reparse(bib, f"{text[:at]}x{text[at:]}"), "utf-16", None)

    def keys(number: int) -> object:
        paper = PAPER % f"key{number % 10}"
        at = paper.index("}", paper.index("\\cite"))
        document, state = papers.read(
            DocumentInput(folder / "main.tex", paper, {}, (folder,), options, epoch=0)
        )
        place = wanted(document, at)
        assert place is not None
        own, more = own_entries(place, state.index, 50)
        found = complete(
            place,
            own=own,
            more=more,
            hits=(),
            find_work=state.find_work,
            new_key=state.new_key,
            limit=50,
        )
        assert len(found.candidates) == 50
        return wire.Encoded([row_of(one, columns=True) for one in found.candidates])

    def card(number: int) -> object:
        entry = bib.entries[number * 41 % len(bib.entries)]
        markdown, problem = render(bib, entry, "apa", ())
        assert markdown and problem is None
        return markdown

    def search(number: int) -> object:
        words = " ".join(TITLE_WORDS[number % 9 :: 5])
        found = engine.find(Query(text=f"We use {words} for neural machine translation."), 10)
        assert found.hits
        return found

    return {"read": read, "edit": edit, "keys": keys, "card": card, "search": search}


def _engine(folder: Path, options: Any) -> Any:
    """An engine over the papers of the tests, opened."""
    import msgspec

    from citewell.engine.local import LocalEngine
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    build_library(
        folder / "library",
        add=[FileSource(path=str(PAPERS), format="records")],
        builders=default_builders(options),
    )
    chosen = msgspec.structs.replace(options.library, path=folder, name="library", starter=False)
    engine = LocalEngine.open(msgspec.structs.replace(options, library=chosen))
    engine.load(seconds=60.0)
    return engine


REPEATS = {"edit": 3, "keys": 3, "card": 3}
"""Calls in a round, so that each round takes some milliseconds."""


def relative_times(reference: HotPath, paths: dict[str, HotPath]) -> dict[str, float]:
    """The processor time of a round of each path, in rounds of the reference."""
    gc.collect()
    gc.freeze()
    gc.disable()
    ratios: dict[str, list[float]] = {name: [] for name in paths}
    for turn in range(ROUNDS):
        for name, path in paths.items():
            begin = time.process_time()
            reference(turn)
            middle = time.process_time()
            repeats = REPEATS.get(name, 1)
            for number in range(repeats):
                path(turn * repeats + number)
            ratios[name].append((time.process_time() - middle) / (middle - begin))
    gc.enable()
    gc.unfreeze()
    return {name: statistics.median(found) for name, found in ratios.items()}


def peak(path: HotPath) -> int:
    """The most bytes that a call of a path holds beyond what was there before it."""
    path(0)
    gc.collect()
    tracemalloc.start()
    kept = path(1)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return found


def measure() -> Ratios:
    """For each path the ratios of its time and of its memory to those of the reference."""
    text = bib_text(ENTRIES)
    reference = bare_python(text[: len(text) // 5])
    with tempfile.TemporaryDirectory() as folder:
        paths = hot_paths(text, Path(folder).resolve())
        for number in range(20):
            for path in paths.values():
                path(number)
        memory = {name: peak(path) / peak(reference) for name, path in paths.items()}
        times = relative_times(reference, paths)
    return {
        name: {"time": round(times[name], 3), "memory": round(memory[name], 4)} for name in paths
    }


def grown(found: Ratios, recorded: Ratios) -> list[str]:
    """What has grown by more than `ALLOWED`, a line each."""
    return [
        f"{name}: {what} {ratios[what]:.3g} times the reference, recorded {before:.3g}"
        for name, ratios in found.items()
        for what, before in recorded[name].items()
        if ratios[what] > before * ALLOWED
    ]


def largest(runs: Sequence[Ratios]) -> Ratios:
    """Each ratio as the run has it in which it is largest: what the limits must allow for."""
    return {
        name: {what: max(run[name][what] for run in runs) for what in ratios}
        for name, ratios in runs[0].items()
    }


def python_version() -> str:
    """ "3.11": ratios of one version say nothing of another one."""
    return ".".join(map(str, sys.version_info[:2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="make these ratios the limits")
    arguments = parser.parse_args()
    # Read by numpy when it is imported: more threads would add the time of waiting for each other.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    found = measure()
    if arguments.record:
        found = largest([found, *(measure() for _ in range(RECORDED_RUNS - 1))])
        recorded = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
        recorded[python_version()] = found
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
