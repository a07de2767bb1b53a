"""Pools: the papers of several methods for each query, to be graded by hand in a table.

A pool hides which method found a paper, and at what rank: they do not sway the judgement.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from citewell.model import Query, Work
from citewell.model.display_text import shorten
from citewell.model.query import Question, Target
from citewell.options import Options
from citewell.usecases.find import in_sentence
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek

COLUMNS = ("query_id", "query", "id", "title", "year", "abstract", "grade")
MAX_ABSTRACT = 600


def pool_text(queries: Mapping[str, str], found: Mapping[str, Iterable[Work]]) -> str:
    """The pool as a table with tabs: the papers of each query, each once, by title, with an empty
    grade. `queries` are texts by id."""
    out = io.StringIO(newline="")
    table = csv.writer(out, delimiter="\t", lineterminator="\n")
    table.writerow(COLUMNS)
    for name, text in queries.items():
        papers = {work.id: work for work in found[name]}
        for work in sorted(papers.values(), key=lambda one: (one.title.lower(), one.id)):
            cells = (name, text, work.id, work.title, work.year or "", work.abstract, "")
            table.writerow([" ".join(shorten(str(one), MAX_ABSTRACT).split()) for one in cells])
    return out.getvalue()


class Pool:
    """A graded pool: a grade above 0 is a right answer, 0 a wrong one, and an empty one unknown."""

    name = "pool"
    kind: Kind = "questions"
    description = "the papers of several methods, graded: citewell eval pool"

    def fits(self, peek: Peek) -> bool:
        return peek.shape == "table" and {"query_id", "query", "id", "grade"} <= peek.first.keys()

    def read(self, path: Path) -> DataSet:
        reading = DataSetReading(path)
        texts: dict[str, str] = {}
        answers: dict[str, list[Target]] = {}
        for line, row in source.table(path, reading):
            try:
                grade = float(row["grade"] or "nan")
            except ValueError:
                reading.bad(f"The grade {row['grade'][:20]!r} is no number.", line)
                continue
            texts.setdefault(row["query_id"], row["query"])
            if grade != grade:  # noqa: PLR0124 - not a number: not graded
                reading.count("papers without a grade")
            elif grade > 0:
                title = row.get("title", "")
                year = source.year_in(row.get("year"))
                target = Target(ids=(row["id"],), titles=(title,), year=year, grade=grade)
                answers.setdefault(row["query_id"], []).append(target)
        reading.count("queries without a right answer", len(texts) - len(answers))
        questions = [_question(name, texts[name], found) for name, found in answers.items()]
        note = "Papers that no method of the pool found are not graded, and count as wrong."
        return reading.data_set(self.name, questions, (note,))


def _question(name: str, text: str, answers: Sequence[Target]) -> Question:
    return Question(
        id=name,
        query=in_sentence(Query(text=text), Options()),
        gold=tuple(one.ids[0] for one in answers),
        paper=name,
        targets=tuple(answers),
    )
