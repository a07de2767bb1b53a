"""Speed and memory of the offline check, beside other checkers in the same run.

    python tests/bench/check_bench.py [--library FOLDER] [--peers VENV] [--json out.json]

200 entries are HALLMARK's, 20,000 those of real bibliographies; both lie in `../shared`, as do the
corpora of which a library is built when none is given (kept under `.cache`). `--peers` names an
environment into which `veracite` and `academic-refchecker` were installed by pip; what it lacks is
skipped. veracite runs `--offline`; academic-refchecker gets a database of the same library, in the
schema that it reads, and no way to the network.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from corpus_library import corpus_library

from citewell.corpus.library import Library
from citewell.engine.records import LibraryRecords
from citewell.features.checking.check import references_in, tally
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.check import Claim
from citewell.verification.checker import Checker

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
HALLMARK = DATA / "references" / "hallmark_dev.jsonl.gz"
NO_NETWORK = {name: "http://127.0.0.1:9" for name in (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")}  # fmt: skip
"""Requests of the peers end at a closed port of this machine."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--library", type=Path, help="folder of a library")
    parser.add_argument("--peers", type=Path, help="environment that holds the other checkers")
    parser.add_argument("--entries", type=int, default=200)
    parser.add_argument("--many", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--peer-entries", type=int, default=40, help="for the one that is slow")
    parser.add_argument("--json", type=Path)
    flags = parser.parse_args()
    if not HALLMARK.exists():
        print(f"skipped: needs {HALLMARK}")
        return
    folder = flags.library or corpus_library(("acl", "ml", "titles"))
    if folder is None:
        return
    claims, bib = _hallmark(flags.entries)
    figures: dict[str, Any] = {"entries": len(claims), "library": str(folder)}
    figures["start"] = _start(folder, bib)
    with Library.open(folder) as library:
        figures["works"] = len(library)
        figures["few"] = _few(library, claims, flags.rounds)
        figures["many"] = _many(library, _bibliographies(flags.many))
        figures["cancel_ms"] = _cancel(library, _bibliographies(flags.many))
        if flags.peers:
            few = _hallmark(flags.peer_entries)[1]
            figures["peers"] = _peers(flags.peers, library, bib, few, flags.peer_entries)
    _print(figures)
    if flags.json:
        flags.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _hallmark(count: int) -> tuple[list[Claim], str]:
    """The first entries of HALLMARK, valid and not, as claims and as a .bib."""
    import gzip

    from citewell_lab.datasets import open_data

    references = open_data(HALLMARK).references[:count]
    blocks = []
    with gzip.open(HALLMARK, "rt", encoding="utf-8") as stream:
        for line, _ in zip(stream, range(count), strict=False):
            record = json.loads(line)
            fields = "".join(f"  {k} = {{{v}}},\n" for k, v in record["fields"].items() if v)
            blocks.append(f"@{record['bibtex_type']}{{{record['bibtex_key']},\n{fields}}}\n")
    return [reference.claim for reference in references], "\n".join(blocks)


def _bibliographies(count: int) -> list[Claim]:
    """Entries of the real bibliographies beside the checkout, begun again where they end."""
    claims: list[Claim] = []
    for path in sorted((DATA / "projects").rglob("*.bib")):
        claims += references_in(
            path.read_text(encoding="utf-8", errors="replace"), str(path)
        ).claims
    return [claims[n % len(claims)] for n in range(count)] if claims else []


def _start(folder: Path, bib: str) -> dict[str, float]:
    """A whole run of the command, from a cold process."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "refs.bib")
        path.write_text(bib, encoding="utf-8")
        command = [sys.executable, "-m", "citewell", "--library", str(folder), "check", str(path)]
        return _timed([*command, "--fail-on", "never", "--format", "json"])


def _timed(command: Sequence[str], env: dict[str, str] | None = None) -> dict[str, float]:
    """Wall and processor seconds of a command and its children, and how it ended."""
    before, begin = os.times(), time.perf_counter()
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return {"wall_s": time.perf_counter() - begin, "cpu_s": cpu, "exit": run.returncode}


def _few(library: Library, claims: Sequence[Claim], rounds: int) -> dict[str, Any]:
    """The same few hundred entries again and again, each time with nothing remembered."""
    Checker([LibraryRecords(library)]).check(claims)
    process = psutil.Process()
    wall, cpu, memory = [], [], [process.memory_info().rss]
    for _ in range(rounds):
        checker = Checker([LibraryRecords(library)])
        begin, used = time.perf_counter(), time.process_time()
        checks = checker.check(claims)
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - used)
        memory.append(process.memory_info().rss)
    ordered = sorted(wall)
    return {
        "p50_s": statistics.median(wall),
        "p95_s": ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))],
        "cpu_s": statistics.median(cpu),
        "rss_mb": memory[-1] / 1e6,
        "growth_mb": (memory[-1] - memory[1]) / 1e6,
        "verdicts": {verdict.value: n for verdict, n in tally(checks).items()},
    }


def _many(library: Library, claims: Sequence[Claim]) -> dict[str, Any]:
    process = psutil.Process()
    before = process.memory_info().rss
    steps: list[float] = []
    begin, used = time.perf_counter(), time.process_time()
    checker = Checker([LibraryRecords(library)])
    checks = checker.check(claims, lambda _: steps.append(time.perf_counter() - begin))
    wall = time.perf_counter() - begin
    gaps = [b - a for a, b in zip([0.0, *steps], steps, strict=False)]
    return {
        "entries": len(claims),
        "wall_s": wall,
        "cpu_s": time.process_time() - used,
        "progress_steps": len(steps),
        "longest_step_ms": 1000 * max(gaps),
        "grown_mb": (process.memory_info().rss - before) / 1e6,
        "own_mb": _own_mb(process),
        "verdicts": {verdict.value: n for verdict, n in tally(checks).items()},
    }


def _own_mb(process: psutil.Process) -> float:
    """Memory without the pages of files, which processes share; nan where the system is not
    Linux."""
    memory = process.memory_info()
    return (memory.rss - memory.shared) / 1e6 if hasattr(memory, "shared") else float("nan")


def _cancel(library: Library, claims: Sequence[Claim]) -> float:
    """Milliseconds from a cancel, a second into a long check, to its end."""
    cancel, at = Cancel(), [0.0]

    def stop() -> None:
        at[0] = time.perf_counter()
        cancel.set()

    timer = threading.Timer(1.0, stop)
    timer.start()
    try:
        Checker([LibraryRecords(library)]).check(claims, cancel=cancel)
    except Cancelled:
        return 1000 * (time.perf_counter() - at[0])
    finally:
        timer.cancel()
    return float("nan")


def _peers(venv: Path, library: Library, bib: str, few: str, count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        path, small = Path(scratch, "refs.bib"), Path(scratch, "few.bib")
        path.write_text(bib, encoding="utf-8")
        small.write_text(few, encoding="utf-8")
        if veracite := _program(venv, "veracite"):
            out = Path(scratch, "veracite.json")
            command = [veracite, "--bib", str(path), "--offline", "--json", str(out), "--no-color"]
            found["veracite --offline"] = _timed(command, NO_NETWORK) | {
                "entries": bib.count("\n@")
            }
        if refchecker := _program(venv, "academic-refchecker"):
            database = Path(scratch, "database")
            database.mkdir()
            begin = time.perf_counter()
            _database(library, database / "semantic_scholar.db")
            made = time.perf_counter() - begin
            report = Path(scratch, "report.json")
            command = [refchecker, "--paper", str(small), "--database-dir", str(database),
                       "--report-file", str(report), "--report-format", "json"]  # fmt: skip
            found["academic-refchecker"] = _timed(command, NO_NETWORK) | {
                "entries": count, "database_s": made}  # fmt: skip
    return found


def _program(venv: Path, name: str) -> str:
    for folder in ("bin", "Scripts"):
        for suffix in ("", ".exe"):
            path = venv / folder / f"{name}{suffix}"
            if path.exists():
                return str(path)
    print(f"skipped: {name} is not in {venv}")
    return ""


def _database(library: Library, path: Path) -> None:
    """The library in the SQLite schema that academic-refchecker reads."""
    columns = ("paperId", "title", "normalized_paper_title", "venue", "year", "externalIds_DOI",
               "externalIds_ArXiv", "authors", "source_url")  # fmt: skip
    connection = sqlite3.connect(path)
    connection.execute(f"CREATE TABLE papers ({', '.join(columns)})")
    connection.execute("CREATE TABLE metadata (key, value)")
    connection.execute("INSERT INTO metadata VALUES ('last_release_id', 'citewell')")
    marks = ", ".join("?" * len(columns))
    connection.executemany(
        f"INSERT INTO papers VALUES ({marks})",
        (
            (
                work.id,
                work.title,
                re.sub(r"[^a-z0-9]", "", work.title.lower()),
                work.booktitle or work.journal or work.venue,
                work.year,
                work.doi or None,
                work.arxiv or None,
                json.dumps([{"name": author.display} for author in work.authors]),
                work.url,
            )
            for work in library.iter_works()
        ),
    )
    for column in ("normalized_paper_title", "externalIds_DOI", "externalIds_ArXiv"):
        connection.execute(f"CREATE INDEX idx_papers_{column.lower()} ON papers ({column})")
    connection.commit()
    connection.close()


def _print(figures: dict[str, Any]) -> None:
    start, few, many = figures["start"], figures["few"], figures["many"]
    print(f"library: {figures['works']:,} works")
    print(f"command, cold, {figures['entries']} entries: {start['wall_s']:.2f} s wall, "
          f"{start['cpu_s']:.2f} s processor")  # fmt: skip
    print(f"{figures['entries']} entries after start: p50 {few['p50_s']:.2f} s, "
          f"p95 {few['p95_s']:.2f} s, processor {few['cpu_s']:.2f} s, {few['rss_mb']:.0f} MB, "
          f"grown {few['growth_mb']:.1f} MB; {few['verdicts']}")  # fmt: skip
    print(f"{many['entries']:,} entries: {many['wall_s']:.1f} s wall, {many['cpu_s']:.1f} s "
          f"processor, {many['progress_steps']} steps of progress, the longest "
          f"{many['longest_step_ms']:.0f} ms, grown {many['grown_mb']:.0f} MB, "
          f"of its own {many['own_mb']:.0f} MB")  # fmt: skip
    print(f"cancelled within {figures['cancel_ms']:.0f} ms")
    for name, peer in figures.get("peers", {}).items():
        print(f"{name}, {peer['entries']} entries: {peer['wall_s']:.1f} s wall, "
              f"{peer['cpu_s']:.1f} s processor, exit {peer['exit']}")  # fmt: skip


if __name__ == "__main__":
    main()
