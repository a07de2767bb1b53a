"""How often is the detector of sentences without a citation right?

Run `python tests/bench/uncited_bench.py [FOLDER]` (default: the real papers of ../shared/data; a minute).
All citations are taken out of each paper; then the detector is asked at every sentence. Right is a
sentence that cited somebody before. The others are not all wrong: the sentence beside may have cited.

Printed with 95% intervals (a bootstrap over repositories): how often a sentence cites at all, how
often one that the detector names did (precision), and which share of the citing ones it names
(recall). Two phrases were taken out after a look at these papers, so the figures flatter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.features.checking.support import sentence_end, uncited_at
from citewell.model.document import Document

PAPERS = Path(__file__).resolve().parents[3] / "shared" / "data" / "projects"
STEP = 25
"""Characters between the places that are asked: no sentence of seven words is shorter."""


def without_citations(document: Document) -> tuple[str, list[int]]:
    """The text without its citations and the blank before each, and where they stood."""
    pieces, places, at, length = [], [], 0, 0
    for citation in sorted(document.citations, key=lambda one: one.span):
        if citation.command == "nocite" or citation.span.start < at:
            continue
        piece = document.text[at : citation.span.start].rstrip("~ ")
        pieces.append(piece)
        length += len(piece)
        places.append(length)
        at = citation.span.end
    return "".join(pieces) + document.text[at:], places


def count(text: str, places: list[int], scan: Callable[[str], Document]) -> np.ndarray:
    """Sentences, citing ones, named ones, named ones that cited: four numbers."""
    document = scan(text)
    body = document.body
    first, last = (body.start, body.end) if body else (0, len(text))
    ends = {end for at in range(first, last, STEP) if (end := sentence_end(document, at))}
    citing = {end for at in places if (end := sentence_end(document, at))} & ends
    named = {end for end in ends if uncited_at(document, end - 1) is not None}
    return np.array([len(ends), len(citing), len(named), len(named & citing)])


def papers(folder: Path) -> Iterator[tuple[Project, FileCache]]:
    """Each paper of a repository once."""
    cache, seen = FileCache(), set()
    sources = [p for s in (".tex", ".md", ".qmd", ".Rmd") for p in folder.rglob(f"*{s}")]
    for source in sorted(sources):
        if source not in seen:
            project = Project.open(source, roots=[folder], cache=cache)
            seen |= {*project.documents}
            yield project, cache


def repository(folder: Path) -> np.ndarray:
    total = np.zeros(4, int)
    for project, _ in papers(folder):
        for path, document in project.documents.items():
            text, places = without_citations(document)
            if places:
                total += count(text, places, lambda text, path=path, p=project: p.scan(path, text))
    return total


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else PAPERS
    if not root.is_dir():
        raise SystemExit(f"{root} is not there: name a folder that holds repositories of papers.")
    for kind in sorted(path for path in root.iterdir() if path.is_dir()):
        rows = np.array([repository(folder) for folder in sorted(kind.iterdir())])
        rows = rows[rows[:, 1] > 0]
        dice = np.random.default_rng(1)
        sums = rows[dice.integers(0, len(rows), (2000, len(rows)))].sum(1)
        print(f"{kind.name}: {len(rows)} repositories, {rows[:, 0].sum():,} sentences")
        for label, top, bottom in (
            ("sentences that cite", 1, 0),
            ("precision", 3, 2),
            ("recall", 3, 1),
        ):
            value = rows[:, top].sum() / max(1, rows[:, bottom].sum())
            low, high = np.quantile(sums[:, top] / np.maximum(1, sums[:, bottom]), [0.025, 0.975])
            print(f"  {label:20} {value:.3f} [{low:.3f}, {high:.3f}]  of {rows[:, bottom].sum():,}")


if __name__ == "__main__":
    main()
