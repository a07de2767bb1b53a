"""The BEIR folder: `corpus.jsonl`, `queries.jsonl` and `qrels/*.tsv` (or JSON Lines)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.model import Provenance, Work
from citewell.model.query import Query, Question, Target
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek, refuse

_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")


class BeirDocument(msgspec.Struct, rename={"id": "_id"}):
    """One document of the corpus."""

    id: str
    title: str | None = None
    text: str | None = None


class _Search(msgspec.Struct, rename={"id": "_id"}):
    id: str
    text: str


class _Judgement(msgspec.Struct, rename={"query": "query-id", "document": "corpus-id"}):
    query: str
    document: str
    score: float = 1.0


class Beir:
    """Queries judged against their own corpus; ids of works have the prefix `beir:`."""

    name = "beir"
    kind: Kind = "questions"
    description = "BEIR folder: corpus, queries and qrels"
    prefix = "beir"

    def fits(self, peek: Peek) -> bool:
        return peek.shape == "folder" and all(
            any(_stem(name) == part for name in peek.names)
            for part in ("corpus", "queries", "qrels")
        )

    def read(self, path: Path) -> DataSet:
        reading = DataSetReading(path)
        judged, split = self._judgements(path, reading)
        questions = []
        queries = _part(path, "queries")
        for number, search in source.records(queries, _Search, reading):
            relevant = judged.get(search.id)
            if relevant is None:
                reading.count("queries without judgements")
                continue
            if not search.text.strip():
                reading.bad("The query is empty.", number, queries)
                continue
            targets = tuple(
                Target(ids=(f"{self.prefix}:{document}",), grade=grade)
                for document, grade in relevant.items()
            )
            questions.append(
                Question(
                    id=search.id,
                    query=Query(text=search.text),
                    gold=tuple(one.ids[0] for one in targets),
                    paper=search.id,
                    targets=targets,
                )
            )
        return reading.data_set(
            self.name,
            questions,
            ("A judgement above zero is a right answer; nDCG weighs it by its grade.",),
            lambda: self.works(path),
            name=path.resolve().name,
            split=split,
        )

    def works(self, path: Path) -> Iterator[Work]:
        """The corpus as works, in file order, without empty documents."""
        reading = DataSetReading(path)
        for _, one in source.records(_part(path, "corpus"), BeirDocument, reading):
            title, text = (one.title or "").strip(), (one.text or "").strip()
            if title or text:
                yield Work(
                    id=f"{self.prefix}:{one.id}",
                    title=title or text.partition("\n")[0][:300],
                    abstract=text,
                    provenance=(Provenance(source=self.prefix, source_id=one.id),),
                )

    def _judgements(
        self, path: Path, reading: DataSetReading
    ) -> tuple[dict[str, dict[str, float]], str]:
        """The grade of each relevant document, by query, and the split."""
        file = _qrels(path)
        out: dict[str, dict[str, float]] = {}
        rows: Iterator[_Judgement]
        if ".jsonl" not in file.name:
            rows = _tsv(file, reading)
        else:
            rows = (row for _, row in source.records(file, _Judgement, reading))
        for row in rows:
            reading.count("judgements")
            if row.score > 0:
                out.setdefault(row.query, {}).setdefault(row.document, row.score)
        return out, _stem(file.name)


def _stem(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def _part(path: Path, name: str) -> Path:
    """The file of one split, in the folder or in a subfolder of its name."""
    for ending in _ENDINGS:
        for file in (path / f"{name}{ending}", *sorted((path / name).glob(f"*{ending}"))):
            if file.is_file():
                return _readable(file)
    raise refuse(
        "data-set-part",
        f"The folder has no {name}.jsonl.",
        "Give a folder with corpus, queries and qrels.",
        path,
    )


def _qrels(path: Path) -> Path:
    """The judgements of the test split, else of dev, else the first found."""
    folder = path / "qrels"
    files = [
        *folder.glob("*.tsv*"),
        *folder.glob("*.txt"),
        *folder.glob("*.jsonl*"),
        *folder.glob("*.parquet"),
    ]
    files += [*path.glob("qrels.tsv*"), *path.glob("qrels.jsonl*"), *path.glob("qrels.parquet")]
    order = {"test": 0, "dev": 1, "valid": 2}
    for file in sorted(files, key=lambda file: (order.get(_stem(file.name), 3), file.name)):
        return _readable(file)
    raise refuse(
        "data-set-part", "The folder has no qrels.", "Add qrels/test.tsv with the judgements.", path
    )


def _readable(file: Path) -> Path:
    source.refuse_parquet(file)
    return file


def _tsv(file: Path, reading: DataSetReading) -> Iterator[_Judgement]:
    for number, line in source.lines(file):
        reading.count("records")
        text = line.decode("utf-8", "replace")
        row = next(csv.reader([text], delimiter="\t"), []) if "\t" in text else text.split()
        if number == 1 and row[:2] == ["query-id", "corpus-id"]:
            continue
        if len(row) == 4:  # the TREC form: query, iteration, document, relevance
            row = [row[0], row[2], row[3]]
        try:
            yield _Judgement(row[0], row[1], float(row[2]) if len(row) > 2 else 1.0)
        except (IndexError, ValueError):
            reading.bad("The judgement is not of the form query, document, score.", number, file)
