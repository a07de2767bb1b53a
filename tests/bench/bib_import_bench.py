"""Compares the import of .bib files through bibtexparser with the reader of the editor.

    python tests/bench/bib_import_bench.py

Read are the real files of ../shared, each by both in one run. Counted are the papers that an import
gets, and where the two disagree about one; and what bibtexparser alone, without the recovery of
`importers/bibtex.py`, cannot split. Times are seconds of processor time.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import bibtexparser

from citewell.documents.bib.reader import parse_bib
from citewell.model import Provenance, Work
from citewell.model.bib import BibEntry
from citewell_corpus.importers.bibtex import NO_PAPER, bib_entries, work_of
from citewell_corpus.importers.contract import ImportReport

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def works(entries: Iterable[BibEntry]) -> dict[str, Work | str]:
    """What an import makes of the first entry of each key."""
    origin = Provenance(source="bibtex", source_id="", retrieved="")
    found: dict[str, Work | str] = {}
    for entry in entries:
        if entry.type not in NO_PAPER and entry.key and entry.body.closed:
            found.setdefault(entry.key, work_of(entry, entry.key, origin))
    return found


def main() -> None:
    logging.disable(logging.CRITICAL)
    paths = sorted(DATA.rglob("*.bib"))
    seconds = [0.0, 0.0]
    totals: Counter[str] = Counter()
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        begin = time.process_time()
        ours = works(parse_bib(text).entries)
        middle = time.process_time()
        imported = works(entry for _, entry in bib_entries(text, path, ImportReport()))
        seconds[0] += middle - begin
        seconds[1] += time.process_time() - middle
        totals["papers"] += len(ours)
        for key in ours.keys() | imported.keys():
            if ours.get(key) != imported.get(key):
                totals["papers that differ"] += 1
                print(f"  {path.name}: {key}")
        for block in bibtexparser.parse_string(text).failed_blocks:
            totals[f"blocks that bibtexparser alone holds as {type(block).__name__}"] += 1
    print(
        f"{len(paths)} files: reader of the editor {seconds[0]:.2f} s, through bibtexparser "
        f"{seconds[1]:.2f} s ({seconds[1] / max(seconds[0], 1e-9):.1f} times)"
    )
    for name, count in totals.items():
        print(f"  {count:6} {name}")


if __name__ == "__main__":
    main()
