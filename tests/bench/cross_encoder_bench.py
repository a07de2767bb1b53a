"""What a cross-encoder trained on citations costs: milliseconds for one search, and memory.

    python tests/bench/cross_encoder_bench.py --model FOLDER [--papers 64]

FOLDER is what `citewell_lab.training.crossencoder` wrote. Passages and papers are real ones from
../shared; wall time on a busy machine is longer than on an idle one, processor time is not.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from citewell.engine.process_memory import rss_mb
from citewell.model.cancel import Cancel
from citewell.ranking.citation_cross_encoder import CitationCrossEncoder
from citewell.ranking.pair_models import load_cross_encoder
from citewell_lab.training.data import as_query, read_contexts, read_papers
from citewell_lab.training.world import as_work

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SEARCHES = 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--papers", type=int, default=64)
    chosen = parser.parse_args()
    if chosen.model is None or not DATA.is_dir():
        print("skipped: give --model FOLDER, with ../shared/data beside the checkout")
        return 0
    papers = [as_work(paper) for paper in read_papers(DATA, ("acl",))]
    queries = [as_query(one) for one in read_contexts(DATA / "contexts" / "dev.jsonl.gz")]
    random = np.random.default_rng(0)
    before = rss_mb()
    begin = time.perf_counter()
    model = load_cross_encoder(str(chosen.model))
    assert isinstance(model, CitationCrossEncoder)
    loaded = time.perf_counter() - begin
    walls, busy = [], []
    for number in random.choice(len(queries), SEARCHES, replace=False):
        works = [papers[n] for n in random.choice(len(papers), chosen.papers, replace=False)]
        wall, processor = time.perf_counter(), time.process_time()
        model.scores(queries[number], works, Cancel())
        walls.append((time.perf_counter() - wall) * 1e3)
        busy.append((time.process_time() - processor) * 1e3)
    size = sum(file.stat().st_size for file in chosen.model.iterdir()) / 1e6
    print(
        f"files {size:.1f} MB; loaded in {loaded * 1e3:.0f} ms; memory +{rss_mb() - before:.0f} MB"
    )
    for name, spent in (("wall", walls), ("processor, all threads", busy)):
        p50, p95 = np.percentile(spent[2:], (50, 95))
        print(f"{chosen.papers} papers, {name}: p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
