"""CiteME: excerpts with one missing citation that a reader can identify (CSV or TSV, CC BY 4.0)."""

from __future__ import annotations

import re
from pathlib import Path

from citewell.model.query import MARK, CitingPaper, Query, Question, Target
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek
from citewell_lab.datasets.source import around_mark, year_in

COLUMNS = frozenset(("excerpt", "target_paper_title"))
_SEPARATOR = re.compile(r"\s*\[TITLE_SEPARATOR\]\s*")
_ARXIV = re.compile(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})")


class CiteMe:
    """One row per excerpt; a target may have several titles."""

    name = "citeme"
    kind: Kind = "questions"
    description = "CiteME: excerpts with one [CITATION] to name"

    def fits(self, peek: Peek) -> bool:
        return peek.shape == "table" and peek.first.keys() >= COLUMNS

    def read(self, path: Path) -> DataSet:
        reading = DataSetReading(path)
        questions = []
        for line, row in source.table(path, reading):
            titles = tuple(t for t in _SEPARATOR.split(row["target_paper_title"].strip()) if t)
            if MARK not in row["excerpt"] or not titles:
                reading.bad("The row has no [CITATION] or no target title.", line)
                continue
            before, sentence, after = around_mark(row["excerpt"])
            arxiv = _ARXIV.search(row.get("target_paper_url", ""))
            title = row.get("source_paper_title", "").strip()
            questions.append(
                Question(
                    id=f"citeme-{row.get('id') or line}",
                    query=Query(
                        sentence=sentence,
                        before=before,
                        after=after,
                        paper=CitingPaper(title=title),
                    ),
                    gold_titles=titles,
                    paper=title or f"row {line}",
                    tags=tuple(tag for tag in (row.get("split", ""),) if tag),
                    targets=(Target(titles=titles, arxiv=arxiv.group(1) if arxiv else ""),),
                    year=year_in(row.get("year")),
                )
            )
        return reading.data_set(
            self.name,
            questions,
            (
                "CiteME was published for search over the live web. A figure over a local library "
                "is another task and not comparable with published figures.",
                "CiteME's accuracy: the first paper's title is its target's with a SequenceMatcher "
                "ratio above 0.8; an error counts as wrong.",
            ),
            name="citeme",
        )
