"""How often is the paper written that typed words or a key mean, and how often another one?

Run `python tests/bench/identity_bench.py [--seeds 1 2 3]`; it asks the library that is installed
(the starter alone without one of one's own) and takes some minutes. Five tables:

1. phrases of three to five words cut from the end of a title ("... for X") that are no title
   themselves: how many `fill` writes a paper for;
2. usual names, as authors type them (`NAMES`): how many it fills, and how many wrongly;
3. acronyms of several things and words that are mere filters: how many it fills;
4. undefined keys as authors make them (`KEYS`): how often the paper is among the three offered, and
   what "add all missing entries" would add;
5. the undefined keys of ../shared/data/contexts/undefined_keys whose paper the library has.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.undefined_bench import SHARED, UNKNOWN, distinct, gold_ids, read
from tests.e2e.identity_cases import KEYS, NAMES, UNDECIDED, same_title, topics

from citewell.engine.local import LocalEngine
from citewell.engine.which_library import open_library
from citewell.features.citing.undefined_key import decide, identified, questions, read_key
from citewell.model import Query
from citewell.options import Options
from citewell.options.merge import load
from citewell.usecases.find import find_papers

REAL = SHARED / "undefined_keys.jsonl.gz"
TAILS = 200
SENTENCE = "The details are given in the next section [CITATION]."
"""Says nothing of any paper: the typed words decide."""


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--wrong", action="store_true", help="Name what was decided wrongly.")
    chosen = parser.parse_args()
    options = load(None, overrides={"retrieval.timeout_ms": 60_000}).options
    engine = LocalEngine.open(options)
    engine.load(60)
    library, _ = open_library(options)
    for seed in chosen.seeds:
        phrases = topics(library, seed, TAILS)
        filled = [one for one in written(engine, options, phrases) if one[1]]
        print(f"tails, seed {seed}: {len(filled)} of {len(phrases)} filled")
        if chosen.wrong:
            print(*(f"  {text}: {title}" for text, title in filled), sep="\n")
    begin = time.perf_counter()
    found = written(engine, options, list(NAMES))
    spent = (time.perf_counter() - begin) / len(NAMES)
    right = [name for name, title in found if title and same_title(title, NAMES[name])]
    wrong = [(name, title) for name, title in found if title and name not in right]
    print(f"names: {len(right)} of {len(NAMES)} filled rightly, {len(wrong)} wrongly: {wrong}")
    print(f"  open: {[name for name, title in found if not title]}; {spent * 1e3:.0f} ms each")
    sure = [one for one in written(engine, options, UNDECIDED) if one[1]]
    print(f"acronyms and filters: {len(sure)} of {len(UNDECIDED)} filled: {sure}")
    undefined = {key: meant(engine, key) for key in KEYS}
    among = [k for k, one in undefined.items() if any(same_title(t, KEYS[k]) for t in one[0])]
    sure = [k for k, (titles, is_sure) in undefined.items() if is_sure]
    wrong = [(k, undefined[k][0][0]) for k in sure if not same_title(undefined[k][0][0], KEYS[k])]
    print(
        f"undefined keys: {len(among)} of {len(KEYS)} among three, {len(sure)} sure, {wrong} wrong"
    )
    print(f"  not there: {[(key, undefined[key][0]) for key in KEYS if key not in among]}")
    print(f"  not sure: {[key for key in KEYS if key not in sure]}")
    if REAL.exists():
        print(real_keys(engine))
    engine.close()
    return 0


def meant(engine: LocalEngine, key: str, context: Query | None = None) -> tuple[list[str], bool]:
    """The titles that are offered for an undefined key, and whether the first counts as sure."""
    meaning = read_key(key)
    answers = [
        (query, engine.find(query, count).hits)
        for query, count in questions(meaning, context or Query(sentence=SENTENCE))
    ]
    found = decide(meaning, identified(engine, meaning), answers)
    return [work.title for work in found.works], found.is_sure


def real_keys(engine: LocalEngine) -> str:
    """How many real undefined keys have their paper among the three, of those whose paper is
    held."""
    held = right = sure = wrong = 0
    for row in distinct(read(REAL.name)):
        gold = [work.title for work in engine.works(gold_ids(row)) if work is not None]
        if row["key"] in UNKNOWN or not gold:
            continue
        context = Query(sentence=row["sentence"], before=(row["context_before"],))
        titles, is_sure = meant(engine, row["key"], context)
        is_right = [any(same_title(title, one) for one in gold) for title in titles]
        held, right, sure = held + 1, right + any(is_right), sure + is_sure
        wrong += is_sure and not is_right[0]
    return f"real undefined keys: {right} of {held} among three, {sure} sure, {wrong} of them wrong"


def written(engine: LocalEngine, options: Options, texts: Sequence[str]) -> list[tuple[str, str]]:
    """Each text with the title that `fill` writes for it, "" where it leaves it open."""
    queries = [Query(text=text, sentence=SENTENCE) for text in texts]
    found = find_papers(engine, queries, 8, pick=False)
    return [
        (text, one.hits[0].work.title if one.sure_id(options) else "")
        for text, one in zip(texts, found, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main())
