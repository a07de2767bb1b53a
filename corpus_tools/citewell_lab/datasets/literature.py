"""Questions of literature search: AutoScholarQuery (PaSa) and SPARBench (SPAR)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from citewell.model.query import Query, Question, Target
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek
from citewell_lab.datasets.source import letters_only, year_in

_NOTES = (
    "Answers are matched by title, letters only and lower case (PaSa's rule), or by arXiv id.",
    "There is no document, so there is no warm setting.",
    "The year of a question is that of its published_time.",
)


class _Answer(msgspec.Struct):
    title: str | None = None
    year: int | str | None = None


class _Meta(msgspec.Struct):
    published_time: str | int | None = None
    answers: list[_Answer] | None = None


class _LiteratureRecord(msgspec.Struct):
    question: str
    answer: list[str] = []
    answer_arxiv_id: list[str] | None = None
    source_meta: _Meta = msgspec.field(default_factory=_Meta)
    qid: str | None = None


class _Literature:
    name = ""
    kind: Kind = "questions"
    description = ""

    def read(self, path: Path) -> DataSet:
        reading = DataSetReading(path)
        questions = []
        for number, record in source.records(path, _LiteratureRecord, reading):
            targets = _targets(record)
            if not targets:
                reading.bad("The question has no answers.", number)
                continue
            name = record.qid or f"{self.name}-{number}"
            questions.append(
                Question(
                    id=name,
                    query=Query(text=record.question),
                    gold_titles=tuple(target.titles[0] for target in targets),
                    paper=name,
                    tags=(f"repository:{name}",),
                    targets=targets,
                    year=year_in(str(record.source_meta.published_time or "")[:4]),
                )
            )
        data = reading.data_set(self.name, questions, _NOTES)
        reading.count("answers", sum(len(one.targets) for one in questions))
        return data


def _targets(record: _LiteratureRecord) -> tuple[Target, ...]:
    """The distinct answers. SPARBench repeats them with their year, and lists have duplicates."""
    years = {
        letters_only(one.title or ""): year_in(one.year) for one in record.source_meta.answers or ()
    }
    titles = record.answer or [one.title or "" for one in record.source_meta.answers or ()]
    arxiv = record.answer_arxiv_id or []
    out: dict[str, Target] = {}
    for i, title in enumerate(titles):
        title = " ".join(title.split())
        letters = letters_only(title)
        if letters and letters not in out:
            identifier = arxiv[i] if len(arxiv) == len(titles) else ""
            out[letters] = Target(titles=(title,), arxiv=identifier, year=years.get(letters))
    return tuple(out.values())


class AutoScholar(_Literature):
    """A question, answered by the papers that a citing sentence of a real paper cites."""

    name = "autoscholar"
    description = "AutoScholarQuery: literature questions with the papers that answer them"

    def fits(self, peek: Peek) -> bool:
        meta = peek.first.get("source_meta")
        nested = isinstance(meta, dict) and "answers" in meta
        return peek.shape == "lines" and {"question", "answer"} <= peek.first.keys() and not nested


class SparBench(_Literature):
    """One question with its answers' records under `source_meta`."""

    name = "sparbench"
    description = "SPARBench: complex literature questions with judged answers"

    def fits(self, peek: Peek) -> bool:
        meta = peek.first.get("source_meta")
        nested = isinstance(meta, dict) and "answers" in meta
        return peek.shape == "lines" and "question" in peek.first and nested
