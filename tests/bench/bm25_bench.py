"""Compares our BM25 with bm25s on the same papers in one run: build, save, open, score, memory.

    python tests/bench/bm25_bench.py [--works 50000] [--queries 60]

Built is an index of `--works` papers. What bm25s builds are the words alone, a word of the title four
times; the fields of each word, names, venues and years take our pass over the words beside it. Opened
and asked is the library of all papers of ../shared: bm25s opens the very files. Queries are real
citations with a weight per word. bm25s weighs papers, not words, so a word is one call whose mask is
its weight, and the calls are added up; or the scores of all words are copied, weighted, for one call;
one call that ignores the weights stands beside them. Scores differ where ours leaves out the weakest
words of a query that would cost too much. Times are milliseconds of processor time, p50 / p95.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from corpus_library import corpus_library
from retrieval_bench import questions

from citewell.engine.processes import rss_mb
from citewell.model import Work
from citewell.model.cancel import Cancel
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.bm25_build import Bm25Builder, Parameters, Terms
from citewell.retrieval.bm25_segment import Bm25Segment


def spent(call: Callable[[], Any]) -> float:
    """Milliseconds of processor time."""
    begin = time.process_time()
    call()
    return (time.process_time() - begin) * 1e3


def row(name: str, ours: list[float], theirs: list[float], note: str = "") -> None:
    """One line: p50 and p95 of both, and how many times as long bm25s takes."""
    a, b = np.percentile(ours, (50, 95)), np.percentile(theirs, (50, 95))
    print(
        f"  {name:44} ours {a[0]:9.2f} / {a[1]:9.2f}   bm25s {b[0]:9.2f} / {b[1]:9.2f}   "
        f"times {b[0] / a[0]:6.2f}  {note}",
        flush=True,
    )


def token_numbers(works: list[Work]) -> tuple[list[list[int]], dict[str, int]]:
    """The term numbers of each paper, those of its title four times, and the vocabulary."""
    terms, weight = Terms(), int(Parameters().title_weight)
    numbers: list[list[int]] = [[] for _ in works]
    for texts, times in (([w.title for w in works], weight), ([w.abstract for w in works], 1)):
        found, text_of = terms.of_texts(texts)
        for term, text in zip(found.tolist(), text_of.tolist(), strict=True):
            numbers[text] += [term] * times
    return numbers, {name.decode(): number for number, name in enumerate(terms.names())}


def build(works: list[Work]) -> None:
    """Building and saving; ours tokenizes too, and knows names, years, venues and fields."""
    import bm25s

    folder = Path(tempfile.mkdtemp())
    before = rss_mb()
    begin = time.process_time()
    numbers, vocabulary = token_numbers(works)
    tokens = (time.process_time() - begin) * 1e3
    held = rss_mb() - before
    p = Parameters()
    ours, theirs, whole = [], [], []
    for turn in range(2):
        into = folder / str(turn)
        into.mkdir()
        before = rss_mb()
        ours.append(
            spent(lambda into=into: Bm25Builder().build(
                lambda: iter(works), len(works), into, lambda n: None))
        )  # fmt: skip
        grown = rss_mb() - before
        index = bm25s.BM25(k1=p.k1, b=p.b, method="lucene", backend="numpy")
        before = rss_mb()
        theirs.append(
            spent(lambda index=index: index.index((numbers, vocabulary), show_progress=False))
        )
        note = f"memory grows by {grown:.0f} and {held + rss_mb() - before:.0f} MB"
    theirs = [tokens + one for one in theirs]
    row(f"build {len(works)} works, words alone by bm25s", ours, theirs, note)
    # Which field a word stands in takes ours the same pass over the words again.
    whole = [one + other - tokens for one, other in zip(ours, theirs, strict=True)]
    row("build with fields, names, venues and years", ours, whole)
    saved = [spent(lambda: index.save(str(folder / "saved"), show_progress=False)) for _ in (1, 2)]
    print(f"  bm25s saves in {min(saved):.0f} ms; ours is written while it is built")
    shutil.rmtree(folder)


def ask(library: Path, limit: int) -> None:
    """Opening and scoring, over one library."""
    import bm25s

    from citewell.corpus.library import Library

    opened = Library.open(library)
    retriever = Bm25Retriever(opened.segments)
    ours, theirs, named = [], [], []
    for _ in range(5):
        for view in opened.segments:
            folder = str(view.index("bm25"))
            ours.append(spent(lambda view=view: Bm25Segment(view)))
            theirs.append(
                spent(lambda folder=folder: bm25s.BM25.load(folder, mmap=True, load_vocab=False))
            )
            named.append(spent(lambda folder=folder: bm25s.BM25.load(folder, mmap=True)))
    row("open, words looked up in files", ours, theirs, "bm25s: without any words")
    row("open with the words", ours, named)
    print(
        f"  import of bm25s: {imported('bm25s'):.0f} ms, without scipy {imported('bm25s', 1):.0f}"
    )
    indexes = [bm25s.BM25.load(str(v.index("bm25")), mmap=True, load_vocab=False)
               for v in opened.segments]  # fmt: skip
    for view, index in zip(opened.segments, indexes, strict=True):
        index.scores["num_docs"] = view.count
    plain = [bm25s.BM25.load(str(v.index("bm25")), mmap=True, load_vocab=False)
             for v in opened.segments]  # fmt: skip
    for view, index in zip(opened.segments, plain, strict=True):
        arrays = {k: np.asarray(index.scores[k]).view(np.ndarray)
                  for k in ("data", "indices", "indptr")}  # fmt: skip
        index.scores = {**arrays, "num_docs": view.count}
    never = Cancel()
    typed: list[tuple[str, list[Any]]] = [("whole passages", questions(limit))]
    short = [type(q)(text=" ".join(q.sentence.replace("[CITATION]", "").split()[:4]))
             for q in typed[0][1]]  # fmt: skip
    typed.append(("four typed words", short))
    for name, queries in typed:
        times: dict[str, list[float]] = {
            "ours": [],
            "mask": [],
            "views": [],
            "gathered": [],
            "one": [],
        }
        widest = 0.0
        for turn, query in enumerate(queries):
            terms = retriever._terms(query)
            if not terms:
                continue

            def mask(some: list[Any], terms: Any = terms) -> np.ndarray:
                parts = []
                for at, index in enumerate(some):
                    total = np.zeros(index.scores["num_docs"], np.float32)
                    for _, columns, weights in terms:
                        if columns[at] >= 0:
                            total += index.get_scores_from_ids([columns[at]], weights[at])
                    parts.append(total)
                return np.concatenate(parts)

            def one(terms: Any = terms) -> np.ndarray:
                return np.concatenate([
                    index.get_scores_from_ids([c[at] for _, c, _ in terms if c[at] >= 0])
                    for at, index in enumerate(plain)
                ])  # fmt: skip

            def gathered(terms: Any = terms) -> np.ndarray:
                parts = []
                for at, index in enumerate(plain):
                    whole = index.scores
                    spans = [(int(whole["indptr"][c[at]]), int(whole["indptr"][c[at] + 1]), w[at])
                             for _, c, w in terms if c[at] >= 0]  # fmt: skip
                    index.scores = {
                        "data": np.concatenate([whole["data"][a:b] * w for a, b, w in spans]),
                        "indices": np.concatenate([whole["indices"][a:b] for a, b, _ in spans]),
                        "indptr": np.cumsum([0, *(b - a for a, b, _ in spans)]),
                        "num_docs": whole["num_docs"],
                    }
                    parts.append(index.get_scores_from_ids(range(len(spans))))
                    index.scores = whole
                return np.concatenate(parts)

            calls = {
                "gathered": gathered,
                "ours": lambda q=query: retriever.scores(q, never),
                "mask": lambda: mask(indexes),
                "views": lambda: mask(plain),
                "one": one,
            }
            if turn == 0:
                for call in calls.values():
                    call()
            for key in sorted(calls, key=lambda k, t=turn: (hash((k, t)) & 7, k)):
                times[key].append(spent(calls[key]))
            both = retriever.scores(query, never), mask(plain)
            assert both[0] is not None
            widest = max(widest, float(np.abs(both[0] - both[1]).max()))
        count = np.mean([len(retriever._terms(q)) for q in queries])
        row(f"{name}: a call per word, as loaded", times["ours"], times["mask"])
        row(f"{name}: a call per word, plain arrays", times["ours"], times["views"])
        row(f"{name}: one call, weighted copy", times["ours"], times["gathered"])
        row(f"{name}: one call, no weights", times["ours"], times["one"])
        print(
            f"  {count:.0f} words a query; scores differ by {widest:.1g} at most (a call per word)"
        )


def imported(name: str, without_scipy: int = 0) -> float:
    """Milliseconds that a new process needs to import a package after numpy; the best of three."""
    hide = "sys.modules['scipy'] = sys.modules['scipy.sparse'] = None; " * without_scipy
    code = (
        f"import sys, time, json, pathlib, logging, numpy; {hide}t = time.perf_counter(); "
        f"import {name}; print((time.perf_counter() - t) * 1e3)"
    )
    run = [sys.executable, "-c", code]
    return min(float(subprocess.check_output(run, text=True)) for _ in range(3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--works", type=int, default=50_000)
    parser.add_argument("--library", type=Path, help="default: all papers of ../shared")
    parser.add_argument("--queries", type=int, default=60)
    arguments = parser.parse_args()
    library = arguments.library or corpus_library()
    if library is None:
        return
    from citewell.corpus.library import Library

    opened = Library.open(library)
    build(list(islice(opened.iter_works(), arguments.works)))
    opened.close()
    ask(library, arguments.queries)


if __name__ == "__main__":
    main()
