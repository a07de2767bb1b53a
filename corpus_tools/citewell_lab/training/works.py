"""The works of all shared corpora without doubles, and the citations whose work is among them.

A citation without the id of the cited work is matched by title and author: the works that no id
names get their evidence so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell_corpus.compact.library import read_vectors
from citewell_lab.training.data import (
    CitationContext,
    TrainingPaper,
    context_of,
    fold_title,
    read_jsonl,
    read_papers,
)

CORPORA = ("acl", "ml", "titles", "robotics_graphics")
AGREED = ("most_cited_outside", "most_cited_other_fields")
TELLING = 8
"""Characters of a folded title from which it may name a work; from `ALONE` on without an author."""
ALONE = 20


class Works(msgspec.Struct, frozen=True):
    """Works, and by which names they are found."""

    papers: list[TrainingPaper]
    row: dict[str, int]
    """Row of every id, of doubles, too."""
    by_title: dict[str, int]
    """Row of every folded title."""

    def named(self, record: dict[str, Any]) -> int | None:
        """Row of the work that a record of a citation names by title and author."""
        key = fold_title(record.get("gold_title") or "")
        if len(key) < TELLING or key not in self.by_title:
            return None
        row = self.by_title[key]
        authors = self.papers[row].authors
        theirs = {surname(a) for a in record.get("gold_authors") or () if a.lower() != "others"}
        if theirs and authors:
            return row if theirs & {surname(a) for a in authors} else None
        return row if len(key) >= ALONE else None


def surname(name: str) -> str:
    """The last word of a display name, folded."""
    parts = re.sub(r"[^\w\s'-]", " ", name).split()
    return fold_title(parts[-1]) if parts else ""


def read_works(data: Path) -> Works:
    """The works of the shared corpora, in the order of the files."""
    names = [name for name in CORPORA if (data / "corpus" / f"{name}.jsonl.zst").exists()]
    return merged([*read_papers(data, tuple(names)), *_agreed(data)])


def merged(papers: Iterable[TrainingPaper]) -> Works:
    """The papers, those of one title and author once, with the abstract of any."""
    kept: list[TrainingPaper] = []
    row: dict[str, int] = {}
    by_title: dict[str, int] = {}
    for paper in papers:
        key = fold_title(paper.title)
        if not key:
            continue
        old = by_title.get(key)
        if old is not None and _same_authors(paper, kept[old]):
            row[paper.id] = old
            if paper.abstract and not kept[old].abstract:
                kept[old] = msgspec.structs.replace(kept[old], abstract=paper.abstract)
            continue
        row[paper.id] = len(kept)
        by_title.setdefault(key, len(kept))
        kept.append(paper)
    return Works(kept, row, by_title)


def _agreed(data: Path) -> Iterable[TrainingPaper]:
    for name in AGREED:
        path = data / "corpus" / f"{name}.jsonl.gz"
        for number, record in enumerate(read_jsonl(path) if path.exists() else ()):
            authors = tuple(
                f"{one[1]} {one[0]}".strip() if isinstance(one, list) else one
                for one in record["authors"] or ()
            )
            venue = record.get("journal") or record.get("booktitle") or ""
            yield TrainingPaper(
                f"{name}:{number}", record["title"] or "", "", authors, record["year"], venue
            )


def _same_authors(one: TrainingPaper, other: TrainingPaper) -> bool:
    """Whether two records of one title may be one work."""
    if not one.authors or not other.authors:
        return True
    if surname(one.authors[0]) == surname(other.authors[0]):
        return True
    shared = {surname(a) for a in one.authors} & {surname(a) for a in other.authors}
    return len(shared) * 2 >= min(len(one.authors), len(other.authors))


def matched_contexts(path: Path, works: Works) -> Iterable[CitationContext]:
    """The citations of a file, those without a known id with that of the work they name, if any."""
    for record in read_jsonl(path):
        context = context_of(record)
        if not context.gold or context.gold[0] not in works.row:
            found = works.named(record)
            gold = () if found is None else (works.papers[found].id,)
            context = msgspec.structs.replace(context, gold=gold)
        yield context


def works_vectors(folder: Path, papers: list[TrainingPaper], dim: int) -> NDArray[np.float32]:
    """The transformer's vectors of works in a folder (`compact.library.read_vectors`), of length 1,
    shape (n, dim); zeros where there are none."""
    names, coded = read_vectors(folder, dim)
    place = {name: number for number, name in enumerate(names)}
    rows = np.array([place.get(paper.id, -1) for paper in papers])
    out: NDArray[np.float32] = coded[np.maximum(rows, 0)].astype(np.float32)
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    out[rows < 0] = 0
    return out
