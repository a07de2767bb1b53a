"""Compares the lists of two revisions: record them with the old one, compare with the new one.

    git worktree add ../old REVISION
    PYTHONPATH=../old/server python tests/bench/list_overlap.py --library FOLDER record lists.json
    python tests/bench/list_overlap.py --library FOLDER compare lists.json

Without `--library` the starter library alone is searched.

The queries are real citations of ../shared: every fourth with words typed into the placeholder,
every eighth with those words alone. Prints the share of the old list's twenty papers that the new
list holds, too (overlap@20), how many lists are the same in the same order, and each list that
loses more than one paper. Exits with 1 where the mean is below `--least`.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.model import CitingPaper, Query
from citewell.options import Options

CONTEXTS = Path(__file__).resolve().parents[3] / "shared" / "data" / "contexts"
SHOWN = 20
TYPED_WORDS = 4


def clean_records() -> Iterator[dict[str, Any]]:
    """The citations of `dev` and, where they are too few, those of `train`."""
    for name in ("dev", "train"):
        with gzip.open(CONTEXTS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            yield from (record for line in file if (record := json.loads(line))["clean"])


def query_of(number: int, record: dict[str, Any]) -> Query:
    """The citation as a query; by its number also, or only, with words of the cited title."""
    typed = " ".join((record["gold_title"] or "").split()[:TYPED_WORDS])
    if number % 8 == 4 and typed:
        return Query(text=typed)
    return Query(
        text=typed if number % 4 == 0 else "",
        sentence=record["sentence"],
        before=tuple(record.get("context_before_list") or ()),
        after=(record["context_after"],) if record.get("context_after") else (),
        paper=CitingPaper(title=record["source_title"] or ""),
    )


def lists(library: Path | None, count: int, part: int, parts: int) -> list[list[str]]:
    """The ids of the papers of every `parts`-th query, from `part` on."""
    base = Options()
    place = library or Path(tempfile.gettempdir()) / "no-library" / "default"
    options = replace(
        base,
        library=replace(base.library, path=place.parent, name=place.name, starter=library is None),
        # A retriever that is late on a busy machine would change the list.
        retrieval=replace(base.retrieval, timeout_ms=60_000),
    )
    engine = LocalEngine.open(options)
    chosen = itertools.islice(enumerate(clean_records()), part, count, parts)
    return [
        [hit.work.id for hit in engine.find(query_of(number, record), SHOWN).hits]
        for number, record in chosen
    ]


def all_lists(library: Path | None, count: int, jobs: int) -> list[list[str]]:
    """The lists of all queries in order, made by several processes."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        runs = [pool.submit(lists, library, count, part, jobs) for part in range(jobs)]
        found = [run.result() for run in runs]
    joined = itertools.chain.from_iterable(itertools.zip_longest(*found))
    return [one for one in joined if one is not None]


def compare(old: list[list[str]], new: list[list[str]]) -> float:
    """The mean overlap, after it and what differs were printed."""
    shares = [
        len(set(before) & set(after)) / len(before) if before else float(not after)
        for before, after in zip(old, new, strict=True)
    ]
    same = sum(before == after for before, after in zip(old, new, strict=True))
    mean = sum(shares) / len(shares)
    print(f"{len(old)} queries: overlap@{SHOWN} {mean:.5f}, {same} lists the same in order")
    for number, share in enumerate(shares):
        if share < 1 - 1.5 / SHOWN:
            print(f"  query {number}: {share:.2f}")
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--least", type=float, default=0.999)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    if not CONTEXTS.is_dir():
        sys.exit(f"the optional data folder {CONTEXTS} is not there")
    begin = time.perf_counter()
    library = arguments.library and arguments.library.resolve()
    found = all_lists(library, arguments.queries, arguments.jobs)
    print(f"{len(found)} lists in {time.perf_counter() - begin:.0f} s")
    if arguments.what == "record":
        arguments.file.write_text(json.dumps(found), encoding="utf-8")
        return
    recorded = json.loads(arguments.file.read_text(encoding="utf-8"))[: len(found)]
    if compare(recorded, found) < arguments.least:
        sys.exit(1)


if __name__ == "__main__":
    main()
