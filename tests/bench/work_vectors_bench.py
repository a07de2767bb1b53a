"""Dense retrieval where the transformer, or the token table, computes the vectors of works.

    python tests/bench/work_vectors_bench.py

Recall over the works of the starter library, for the citations of `../shared/data/contexts/dev` that
the encoder has not read, without the paper's references. "The cited work by the table": one's own
papers beside the starter library. Also the processor time of a work.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell.retrieval.encoders.citation import CitationEncoder
from citewell_lab.training.data import as_query, dev_part
from citewell_lab.training.works import matched_contexts, read_works, works_vectors
from citewell_lab.training.world import as_work

SHARED = Path(__file__).resolve().parents[3] / "shared"
TIMED = 100
Array = NDArray[np.float32]


def recall(passages: Array, works: Array, cited: Array, gold: NDArray[np.int64]) -> str:
    """Recall at 10, 100 and 400 where `cited` are the vectors of the cited works."""
    ranks = []
    for passage, row, own in zip(passages, gold.tolist(), cited, strict=True):
        cosines = works @ passage
        cosines[row] = own @ passage
        ranks.append(int((cosines > cosines[row]).sum()) + 1)
    found = np.array(ranks)
    return "  ".join(f"R@{k} {(found <= k).mean():.3f}" for k in (10, 100, 400))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    encoder = CitationEncoder()
    works = read_works(SHARED / "data")
    by_transformer = works_vectors(SHARED / "weights" / "encoder", works.papers, encoder.dim)
    begin = time.process_time()
    by_table = encoder.encode_papers([(one.title, one.abstract) for one in works.papers])
    print(f"table: {(time.process_time() - begin) / len(works.papers) * 1e6:.0f} us a work")
    some = [as_work(one) for one in works.papers[:: len(works.papers) // TIMED]]
    begin = time.process_time()
    encoder.read_works(some)
    print(f"transformer: {(time.process_time() - begin) / len(some) * 1e3:.0f} ms a work")
    contexts = [
        one
        for one in matched_contexts(SHARED / "data" / "contexts" / "dev.jsonl.gz", works)
        if one.clean and one.gold and dev_part(one.source) != "train"
    ]
    passages = encoder.encode_queries([as_query(one) for one in contexts])
    gold = np.array([works.row[one.gold[0]] for one in contexts])
    print(f"{len(contexts)} citations, {len(works.papers):,} works")
    for name, vectors, cited in (
        ("all by the transformer", by_transformer, by_transformer),
        ("all by the table", by_table, by_table),
        ("the cited work by the table", by_transformer, by_table),
    ):
        print(f"{name}: {recall(passages, vectors, cited[gold], gold)}", flush=True)


if __name__ == "__main__":
    main()
