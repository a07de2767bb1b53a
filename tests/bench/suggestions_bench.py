"""How often is a hidden reference among the works that the others suggest?

`python tests/bench/suggestions_bench.py` hides references of the papers of
`../shared/data/contexts/citation_lists_train3`, eight of each at most and one at a time, and ranks
all works of the citation priors by what the review's suggestions use and by plain co-citation: the
same counts, damped by the square root of how often a work is cited. Lists of the paper itself, or
that share 40% of its references, are left out. Recall is of hidden works that other lists cite.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from citewell import open_library
from citewell.corpus.columns import title_key, title_keys
from citewell.model import Query
from citewell.model.query import CitingPaper
from citewell.retrieval.citation_context import CitationContextRetriever
from citewell.retrieval.citation_priors import PriorSignals, QueryVectors
from citewell_lab.training.data import CORPORA, read_jsonl

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
HIDDEN, LEAST, SHARED_PART, SHARED_GOLDS = 8, 5, 0.4, 6
DEPTHS = (10, 20, 50)


def doubles(priors: PriorSignals, title: str, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lists of the paper itself, and those that share most of its references."""
    data = priors._priors.priors
    shared: Counter[int] = Counter()
    for one in numbers.tolist():
        shared.update(set(priors._priors.cocitations.lists_citing(one).tolist()))
    lengths = np.diff(data.list_starts)
    least = min(SHARED_GOLDS, SHARED_PART * len(numbers))
    key = title_key(title)
    return np.array(
        [
            one
            for one, count in shared.items()
            if data.list_key[one] == key
            or (count >= least and count >= SHARED_PART * min(len(numbers), lengths[one]))
        ],
        np.int64,
    )


def main() -> None:
    titles = {
        record["id"]: record["title"] or ""
        for name in CORPORA
        for record in read_jsonl(DATA / "corpus" / f"{name}.jsonl.zst")
    }
    random_number = random.Random(0)
    ranks: dict[str, list[int]] = {"suggestions": [], "co-citation": []}
    papers: list[int] = []
    with open_library() as library:
        retriever = library.engine._opened.of(CitationContextRetriever)
        assert retriever is not None, "the library has no citation priors"
        priors = retriever._citation_priors
        lists = read_jsonl(DATA / "contexts" / "citation_lists_train3.jsonl.gz")
        for paper, record in enumerate(lists):
            title = record["source_title"] or ""
            keys = np.unique(title_keys([titles.get(one, "") for one in record["cited_ids"]]))
            numbers = priors.priors.find(keys)
            if len(keys) < LEAST:
                continue
            own = Query(paper=CitingPaper(title=title))
            topic = retriever._dense.encoder.encode_topics([own])[0]
            for place in random_number.sample(range(len(keys)), min(HIDDEN, len(keys))):
                gold = int(numbers[place])
                rest = np.delete(numbers, place)
                rest = rest[rest >= 0]
                found = PriorSignals(priors, QueryVectors(np.zeros_like(topic), topic, rest))
                leave_out(found, doubles(found, title, numbers[numbers >= 0]))
                if gold < 0 or found._degree[gold] <= 0 or not len(rest):
                    continue
                papers.append(paper)
                best = [one for one, *_ in found.suggested(max(DEPTHS))]
                ranks["suggestions"].append(best.index(gold) if gold in best else 10**6)
                assert found._company is not None
                plain = found._company.counts[:, 1].copy()
                plain[rest] = -1
                ranks["co-citation"].append(int((plain > plain[gold]).sum()))
    print(f"{len(papers)} hidden references of {len(set(papers))} papers")
    for name, found_ranks in ranks.items():
        values = np.array(found_ranks)
        print(name, *(f"R@{depth} {(values < depth).mean():.3f}" for depth in DEPTHS))
    by_paper = np.array(papers)
    generator = np.random.default_rng(0)
    for depth in DEPTHS:
        gain = np.array(ranks["suggestions"]) < depth
        gain = gain.astype(float) - (np.array(ranks["co-citation"]) < depth)
        parts = [gain[by_paper == one] for one in np.unique(by_paper)]
        drawn = [
            np.concatenate([parts[n] for n in generator.integers(0, len(parts), len(parts))]).mean()
            for _ in range(2000)
        ]
        low, high = np.percentile(drawn, (2.5, 97.5))
        print(f"gain at {depth}: {gain.mean():+.3f}, 95% from {low:+.3f} to {high:+.3f}")


def leave_out(signals: PriorSignals, lists: NDArray[np.int64]) -> None:
    """Take lists out of the evidence of a query."""
    data = signals._priors.priors
    signals._own = lists
    signals._degree = signals._priors.degree.copy()
    for one in lists.tolist():
        signals._degree[data.list_cited[data.list_starts[one] : data.list_starts[one + 1]]] -= 1
    references = signals._query.references
    signals._company = signals._priors.cocitations.of(references, lists, signals._degree)


if __name__ == "__main__":
    main()
