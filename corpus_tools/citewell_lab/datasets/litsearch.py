"""LitSearch: the `mteb/LitSearchRetrieval` folder, and the authors' own query records."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path

import msgspec

from citewell.model import Provenance, Work
from citewell.model.query import Query, Question, Target
from citewell_lab.datasets import source
from citewell_lab.datasets.beir import Beir
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek

PREFIX = "litsearch"
_SETS = {"inline": "inline", "manual": "author"}


class LitSearchMteb(Beir):
    """The retrieval layout: a BEIR folder with LitSearch in its name."""

    name = "litsearch-mteb"
    description = "LitSearch in the layout of mteb/LitSearchRetrieval"
    prefix = PREFIX

    def fits(self, peek: Peek) -> bool:
        return "litsearch" in peek.path.resolve().name.lower() and super().fits(peek)


class _LitSearchRecord(msgspec.Struct):
    query: str
    corpusids: list[int | str]
    query_set: str = ""
    specificity: int | str | None = None
    quality: int | str | None = None


class _LitSearchPaper(msgspec.Struct):
    corpusid: int | str
    title: str | None = None
    abstract: str | None = None


class LitSearch:
    """The authors' records: query_set, query, specificity (0 broad, 1 specific), corpusids."""

    name = "litsearch"
    kind: Kind = "questions"
    description = "LitSearch query records, with corpus_clean next to them"

    def fits(self, peek: Peek) -> bool:
        return peek.shape == "lines" and {"query", "corpusids"} <= peek.first.keys()

    def read(self, path: Path) -> DataSet:
        reading = DataSetReading(path)
        records = list(source.records(path, _LitSearchRecord, reading))
        corpus = source.beside(path, "corpus_clean*.jsonl*")
        wanted = {str(one) for _, record in records for one in record.corpusids}
        titles = _titles(corpus, wanted) if corpus else {}
        questions = []
        for number, record in records:
            ids = tuple(f"{PREFIX}:{one}" for one in record.corpusids)
            if not ids or not record.query.strip():
                reading.bad("The record has no query or no answers.", number)
                continue
            name = f"litsearch-{number}"
            questions.append(
                Question(
                    id=name,
                    query=Query(text=record.query),
                    gold=ids,
                    paper=name,
                    tags=_tags(record),
                    # By its title an answer is found in any library, not only in the corpus.
                    gold_titles=tuple(titles[one] for one in ids if one in titles),
                    targets=tuple(
                        Target(ids=(one,), titles=(titles[one],) if one in titles else ())
                        for one in ids
                    ),
                )
            )
        return reading.data_set(
            self.name,
            questions,
            ("That specificity 0 is broad and 1 specific is taken from secondary sources.",),
            (lambda: _works(corpus)) if corpus else None,
        )


def _tags(record: _LitSearchRecord) -> tuple[str, ...]:
    kind = next((name for cue, name in _SETS.items() if record.query_set.startswith(cue)), "")
    specificity = {"0": "broad", "1": "specific"}.get(str(record.specificity), "")
    return tuple(tag for tag in (kind, specificity) if tag)


def _titles(corpus: Path, wanted: Set[str]) -> dict[str, str]:
    """The titles of some papers of the corpus, by the id of the answer."""
    return {
        f"{PREFIX}:{paper.corpusid}": paper.title
        for _, paper in source.records(corpus, _LitSearchPaper, DataSetReading(corpus))
        if paper.title and str(paper.corpusid) in wanted
    }


def _works(corpus: Path) -> Iterator[Work]:
    for _, paper in source.records(corpus, _LitSearchPaper, DataSetReading(corpus)):
        if paper.title:
            yield Work(
                id=f"{PREFIX}:{paper.corpusid}",
                title=paper.title,
                abstract=paper.abstract or "",
                provenance=(Provenance(source=PREFIX, source_id=str(paper.corpusid)),),
            )
