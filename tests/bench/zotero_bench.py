"""What the keys of a running Zotero cost: the first export, one after a change, and each letter.

    python tests/bench/zotero_bench.py [ITEMS]

Made-up items in a server on this machine that answers as Better BibTeX does.
"""

from __future__ import annotations

import random
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from citewell.documents.latex.scanner import scan_latex
from citewell.features.citing.complete import wanted
from citewell.features.citing.insert import ZoteroLibrary
from citewell.sources import local

LETTERS = ("a", "au", "auth12", "w1f w2a", "")


def better_bibtex() -> Any:
    path = Path(__file__).parents[1] / "fakes" / "better_bibtex.py"
    spec = spec_from_file_location("citewell_fake_better_bibtex", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def items(count: int) -> dict[str, str]:
    rng = random.Random(1)
    words = [f"w{number:x}" for number in range(5000)]
    found = {}
    for number in range(count):
        key = f"auth{number}Word{2000 + number % 25}"
        found[key] = (
            f"@article{{{key},\n  title = {{{{{' '.join(rng.choices(words, k=8))}}}}},\n"
            f"  author = {{Auth{number}, A. and Other{number % 500}, B.}},\n"
            f"  year = {2000 + number % 25},\n  journal = {{Journal {number % 50}}},\n"
            f"  abstract = {{{' '.join(rng.choices(words, k=120))}}}\n}}\n"
        )
    return found


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    running = better_bibtex().Zotero(items(count))
    data = pull(running.url)
    start = time.process_time()
    zotero_library = ZoteroLibrary.of(data.decode())
    print(f"{count} items, {len(data) / 1e6:.0f} MB: {time.process_time() - start:.2f} s")
    running.entries["new2024"] = "@misc{new2024, title = {Brand new}}\n"
    data = pull(running.url)
    start = time.process_time()
    zotero_library = ZoteroLibrary.of(data.decode(), zotero_library)
    print(f"after one more item: {time.process_time() - start:.3f} s")
    for typed in LETTERS:
        at = wanted(scan_latex(f"\\cite{{{typed}}}"), 6 + len(typed))
        assert at is not None
        times = []
        for _ in range(21):
            start = time.process_time()
            found = zotero_library.entries_for(at, 50, frozenset(), lambda work: None)
            times.append(time.process_time() - start)
        print(f"{typed!r}: {len(found)} keys, {sorted(times)[10] * 1000:.1f} ms")


def pull(url: str) -> bytes:
    found = local.pull(url, "", "bibtex", seconds=600, max_bytes=1 << 30)
    assert isinstance(found, bytes), found
    return found


if __name__ == "__main__":
    main()
