"""What learning from use costs: `python tests/bench/history_bench.py`.

Milliseconds of processor time: opening an engine, one search's share, one event kept; by the number
of events. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
from corpus_library import corpus_library
from msgspec.structs import replace

from citewell.corpus.columns import title_key
from citewell.engine.history_store import MAX_EVENTS, REST_NS, HistoryStore
from citewell.engine.local import LocalEngine
from citewell.model import CitingPaper, Query
from citewell.model.feedback import Event, Feedback, name_of
from citewell.model.query import Reference
from citewell.options import Options

ROUNDS = 300
REFERENCES = 100
"""What the paper being written cites."""
SENTENCES = (
    "Sentences are parsed with attention over words [CITATION], as in translation.",
    "We train a convolutional network on images [CITATION] and compare its features.",
    "Word vectors are learned from counts [CITATION] of their neighbours in a large corpus.",
)


def main() -> None:
    """Print one line for each size of the history."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="FOLDER/NAME of a library")
    folder = parser.parse_args().library or corpus_library()
    if folder is None:
        return
    options = Options()
    options = replace(
        options, library=replace(options.library, path=folder.parent, name=folder.name)
    )
    queries = [Query(sentence=s, paper=CitingPaper(project="/paper/3")) for s in SENTENCES]
    print("events  first read  a search p50   p95  an event kept p50")
    for count in (0, 400, MAX_EVENTS):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            _measure(options, queries, count, Path(place) / "history.sqlite")


def _measure(options: Options, queries: list[Query], count: int, path: Path) -> None:
    store = HistoryStore(path)
    engine = LocalEngine.open(options, history=store)
    history, signals = engine._history, engine._signals
    assert history is not None and signals is not None
    hits = [hit for query in queries for hit in engine.find(query, 100).hits]
    vectors = signals.encode(queries)
    assert vectors is not None
    cited = tuple(Reference(title=hit.work.title, times=1) for hit in hits[:REFERENCES])
    paper = CitingPaper(project="/paper/3", references=cited)
    queries = [msgspec.structs.replace(query, paper=paper) for query in queries]
    events = [
        Event(
            time=1.0,
            kind="dismissed" if number % 3 == 0 else "accepted",
            work=hits[number % len(hits)].work.id,
            title=hits[number % len(hits)].work.title,
            key=title_key(hits[number % len(hits)].work.title),
            project=f"/paper/{number % 20}",
            encoder=signals.encoder,
            asked=np.rint(100 * vectors[number % len(queries)]).astype(np.int8).tobytes(),
        )
        for number in range(count)
    ]
    if events:
        store.add(events)
    started = time.thread_time()
    history._current()
    first = 1e3 * (time.thread_time() - started)
    spent = []
    reorder = history.reorder

    def timed(*given: object) -> object:
        begin = time.thread_time()
        found = reorder(*given)  # type: ignore[arg-type]
        spent.append(1e3 * (time.thread_time() - begin))
        return found

    history.reorder = timed  # type: ignore[method-assign, assignment]
    if events:
        time.sleep(REST_NS / 1e9 + 0.1)  # as between two sessions of writing
    for number in range(ROUNDS):
        engine.find(queries[number % len(queries)], 20)
    kept = []
    for number in range(ROUNDS if count else 0):
        begin = time.thread_time()
        engine.learn(
            Feedback(accepted=name_of(hits[number].work), query=queries[number % len(queries)])
        )
        kept.append(1e3 * (time.thread_time() - begin))
    p50, p95 = np.percentile(spent, [50, 95])
    event = f"{np.median(kept):>17.2f}" if kept else f"{'-':>17}"
    print(f"{count:>6}  {first:>10.2f}  {p50:>12.2f}  {p95:>4.2f}  {event}")
    engine.close()


if __name__ == "__main__":
    main()
