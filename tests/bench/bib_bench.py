"""How long .bib files take: reading, reading an edit again, searching, inserting.

    python tests/bench/bib_bench.py [--sizes 1000 10000 20000 100000] [--parser-limit 20000]

Each size runs in a process of its own, so that its memory is its own. Entries are made from real
records of ../shared/data/corpus where that is there, else from generated ones. bibtexparser 2 reads
the same text in the same run. Times are milliseconds of processor time, which other programs on the
machine disturb less than the clock: the least and the median of a few runs of the same work, or p50
and p95 over different queries.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import logging
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import zstandard

CORPUS = Path(__file__).parents[3] / "shared" / "data" / "corpus"
WORDS = (
    "neural attention graph translation parsing learning deep model language vision semantic "
    "robust efficient sparse kernel Bayesian inference speech dialogue retrieval generation "
    "transfer adversarial federated causal reward policy tree embedding alignment question"
)
NAMES = "Smith Müller García Nguyen Li Kowalski O'Neil Søren Tanaka Ivanov Costa Haddad Okafor"


def real_records() -> Iterator[dict[str, object]]:
    for name in ("acl", "ml"):
        path = CORPUS / f"{name}.jsonl.zst"
        with path.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            for line in io.TextIOWrapper(stream, encoding="utf-8"):
                yield json.loads(line)


def made_records(count: int) -> Iterator[dict[str, object]]:
    dice = random.Random(5)
    words, names = WORDS.split(), NAMES.split()
    for number in range(count):
        title = " ".join(dice.choice(words) for _ in range(dice.randrange(4, 12))).capitalize()
        author = [f"{dice.choice('ABCDEFGH')}. {dice.choice(names)}" for _ in range(4)]
        yield {
            "title": title, "authors": author, "year": dice.randrange(1980, 2026),
            "kind": "inproceedings", "booktitle": "Proceedings of the Conference on Things",
            "pages": f"{number}-{number + 9}", "doi": f"10.1234/conf.{number}",
            "url": f"https://papers.example.org/{number}", "abstract": " ".join(words * 4),
            "bibkey": f"{author[0].split()[-1].lower()}{number}{title.split()[0].lower()}",
        }  # fmt: skip


def bib_text(size: int) -> str:
    """A .bib of `size` entries with some eleven fields each, one in ten with an abstract."""
    if CORPUS.is_dir():
        records = list(real_records())
        random.Random(7).shuffle(records)
    else:
        records = list(made_records(size))
    dice = random.Random(3)
    entries = []
    for number in range(size):
        record = records[number % len(records)]
        kind = record.get("kind") or "misc"
        fields = {
            "title": record["title"],
            "author": " and ".join(record["authors"]),  # type: ignore[arg-type]
            "year": record["year"],
            "booktitle" if kind == "inproceedings" else "journal": record.get("booktitle") or "X",
            "pages": record.get("pages"),
            "volume": record.get("volume"),
            "publisher": record.get("publisher") or "Somebody",
            "doi": record.get("doi"),
            "url": record.get("url"),
            "address": "Somewhere, Country",
            "editor": "Smith, John and Doe, Jane",
            "abstract": record.get("abstract") if dice.random() < 0.1 else None,
        }
        lines = [
            f"    {name} = {{{str(value).replace('{', '').replace('}', '')}}},\n"
            for name, value in fields.items()
            if value
        ]
        lines.append("    month = may\n")
        entries.append(f"@{kind}{{{record['bibkey']}:{number},\n{''.join(lines)}}}\n")
    return "\n".join(entries)


def timed(work: Callable[[], object], runs: int) -> list[float]:
    found = []
    for _ in range(runs):
        gc.collect()
        begin = time.process_time()
        work()
        found.append((time.process_time() - begin) * 1e3)
    return found


def row(name: str, times: list[float], note: str = "") -> None:
    print(f"  {name:34} {min(times):10.1f} {statistics.median(times):10.1f}   {note}")


def spread(name: str, times: list[float], note: str = "") -> None:
    times = sorted(times)
    p95 = times[min(len(times) - 1, int(0.95 * len(times)))]
    print(f"  {name:34} {statistics.median(times):10.2f} {p95:10.2f}   {note}")


def megabytes() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss) / 1e6


def bench(path: Path, size: int, parser_limit: int) -> None:
    from citewell.documents.bib.edit import insert_entry
    from citewell.documents.bib.reader import parse_bib, reparse
    from citewell.documents.keys.index import KeyIndex
    from citewell.model import Author, Work
    from citewell.options.tree import BibOptions

    text = path.read_text(encoding="utf-8")
    print(f"\n{size} entries, {len(text) / 1e6:.1f} M characters")
    print(f"  {'':34} {'least ms':>10} {'median ms':>10}")
    before = megabytes()
    bib = parse_bib(text, "refs.bib")
    after = megabytes()
    row(
        "parse",
        timed(lambda: parse_bib(text), 5 if size <= 20_000 else 3),
        f"{after - before:.0f} MB",
    )
    row("problems of all entries", timed(lambda: parse_bib(text).problems, 3), "with a parse")
    for place in (0.0, 0.5, 1.0):
        at = bib.entries[int(place * (size - 1))].start + 30
        edited = text[:at] + "x" + text[at:]
        row(
            f"reparse, one letter at {place:.0%}",
            timed(lambda edited=edited: reparse(bib, edited), 9),
        )
    before = megabytes()
    index = KeyIndex.build([bib])
    after = megabytes()
    row(
        "key index: build",
        timed(lambda: KeyIndex.build([bib]), 3),
        f"{after - before:.0f} MB incl. freed temporaries",
    )
    changed = reparse(bib, edited)
    row("key index: refresh after an edit", timed(lambda: index.refreshed([changed]), 5))
    work = Work(
        id="x", title="Zyxology of attention", authors=(Author("Tester", "Ann"),), year=2021,
        kind="article", journal="Tests", doi="10.9999/zyx",
    )  # fmt: skip
    row(
        "insert: first (reads identities)",
        timed(lambda: insert_entry(bib, work, None, BibOptions()), 1),
    )
    row("insert: next", timed(lambda: insert_entry(bib, work, None, BibOptions()), 5))

    print(f"  {'':34} {'p50 ms':>10} {'p95 ms':>10}")
    dice = random.Random(1)
    kinds: dict[str, list[float]] = {}
    for _ in range(600):
        entry = dice.choice(bib.entries)
        words = entry.get("title").split() or ["x"]
        names = entry.get("author").split(" and ")[0].split() or ["x"]
        kind, typed = dice.choice(
            [
                ("key beginning", entry.key[: dice.randrange(1, 12)]),
                ("title words", " ".join(dice.sample(words, min(2, len(words))))),
                ("author year word", f"{names[-1]} {entry.get('year')} {dice.choice(words)[:5]}"),
                ("misspelt key", entry.key[:5] + "q" + entry.key[6:12]),
                ("nothing fits", "zzqx" + dice.choice(words)),
            ]
        )
        kinds.setdefault(kind, []).extend(timed_once(lambda typed=typed: index.search(typed, 50)))
    for kind, times in sorted(kinds.items()):
        spread(f"search: {kind}", times)
    spread("search: all", [time for times in kinds.values() for time in times], "goal p95 50 ms")
    if size <= parser_limit:
        peer(text)


def timed_once(work: Callable[[], object]) -> list[float]:
    begin = time.process_time()
    work()
    return [(time.process_time() - begin) * 1e3]


def peer(text: str) -> None:
    import bibtexparser
    from bibtexparser.splitter import Splitter

    logging.disable(logging.CRITICAL)
    print(f"  {'':34} {'least ms':>10} {'median ms':>10}")
    before = megabytes()
    library = Splitter(text).split()
    after = megabytes()
    row(
        "bibtexparser 2: splitter only",
        timed(lambda: Splitter(text).split(), 2),
        f"{after - before:.0f} MB",
    )
    row("bibtexparser 2: parse_string", timed(lambda: bibtexparser.parse_string(text), 2))
    del library


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 20_000, 100_000])
    options.add_argument("--parser-limit", type=int, default=20_000)
    options.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.file:
        bench(chosen.file, chosen.sizes[0], chosen.parser_limit)
        return
    load = psutil.getloadavg()[0]
    source = "real" if CORPUS.is_dir() else "generated"
    print(f"load average {load:.1f} on {psutil.cpu_count()} processors; {source} records")
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "refs.bib"
            path.write_text(bib_text(size), encoding="utf-8")
            limit = str(chosen.parser_limit)
            subprocess.run(
                [
                    sys.executable,
                    __file__,
                    "--file",
                    str(path),
                    "--sizes",
                    str(size),
                    "--parser-limit",
                    limit,
                ],
                check=True,
                stdin=subprocess.DEVNULL,
            )


if __name__ == "__main__":
    main()
