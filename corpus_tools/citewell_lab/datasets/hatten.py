"""ACL-200, FTPR (PeerRead), RefSeer and arXiv in the layout of HAtten: one folder each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.model import Provenance, Work
from citewell.model.query import MARK, OTHER, CitingPaper, Query, Question, Target
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek, refuse
from citewell_lab.datasets.source import around_mark

PREFIX = "hatten"
_TARGET = re.compile(r"\bTARGETCIT\b")
_OTHER = re.compile(r"\bOTHERCIT\b")
_SPLITS = ("test", "val", "valid", "train")


class _Context(msgspec.Struct):
    masked_text: str
    refid: str = ""
    citing_id: str = ""
    context_id: str = ""


class _HattenPaper(msgspec.Struct):
    title: str | None = None
    abstract: str | None = None


class _Item(msgspec.Struct):
    context_id: str
    positive_ids: list[str] = []


class Hatten:
    """`contexts.json`, `papers.json` and one JSON array of `{context_id, positive_ids}` a split."""

    name = "hatten"
    kind: Kind = "questions"
    description = "HAtten layout: contexts.json, papers.json, test.json"

    def fits(self, peek: Peek) -> bool:
        if peek.shape == "folder":
            return {"contexts.json", "papers.json"} <= set(peek.names)
        if peek.path.with_name("contexts.json").is_file():
            return peek.shape == "array" and "positive_ids" in peek.first
        return False

    def read(self, path: Path) -> DataSet:
        folder = path if path.is_dir() else path.parent
        file = path if path.is_file() else _split_file(folder)
        reading = DataSetReading(file)
        items = source.whole(file, list[_Item])
        contexts = source.whole(folder / "contexts.json", dict[str, msgspec.Raw])
        papers = source.whole(folder / "papers.json", dict[str, _HattenPaper])
        questions = []
        for item in items:
            reading.count("records")
            raw = contexts.get(item.context_id)
            if raw is None:
                reading.bad(f"contexts.json has no context {item.context_id!r}.")
                continue
            try:
                context = msgspec.json.decode(raw, type=_Context, strict=False)
            except msgspec.DecodeError as error:
                reading.bad(f"The context {item.context_id!r} cannot be read: {error}.")
                continue
            if not _TARGET.search(context.masked_text):
                reading.bad(f"The context {item.context_id!r} has no TARGETCIT.")
                continue
            questions.append(_question(item, context, papers))
        reading.count("questions", len(questions))
        return DataSet(
            name=folder.resolve().name,
            schema=self.name,
            path=str(path),
            questions=tuple(questions),
            counts=reading.counts,
            notes=(
                "Contexts are windows of characters, so the first and last sentence may be cut.",
                "The inductive protocol (no citing paper in the index) and the transductive one "
                "must not be compared: these figures are for the library named above.",
            ),
            problems=tuple(reading.problems),
            works=lambda: _works(folder / "papers.json"),
            split=file.name.split(".")[0],
        )


def _split_file(folder: Path) -> Path:
    for split in _SPLITS:
        if (folder / f"{split}.json").is_file():
            return folder / f"{split}.json"
    raise refuse(
        "data-set-part",
        "The folder has no test.json, val.json or train.json.",
        "Add the split to be evaluated.",
        folder,
    )


def _question(item: _Item, context: _Context, papers: dict[str, _HattenPaper]) -> Question:
    text = _OTHER.sub(OTHER, _TARGET.sub(MARK, context.masked_text, count=1))
    # More marks of the same target would be further places to fill.
    before, sentence, after = around_mark(_TARGET.sub(OTHER, text))
    citing = papers.get(context.citing_id, _HattenPaper())
    right = dict.fromkeys([*item.positive_ids, *([context.refid] if context.refid else [])])
    # One work is cited here; each of several ids is a right answer by itself.
    ids = tuple(f"{PREFIX}:{one}" for one in right)
    return Question(
        id=item.context_id,
        query=Query(
            sentence=sentence,
            before=before,
            after=after,
            paper=CitingPaper(title=citing.title or "", abstract=citing.abstract or ""),
        ),
        gold=ids,
        paper=context.citing_id or item.context_id,
        tags=(f"repository:{context.citing_id}",),
        targets=tuple(
            Target(ids=(one,), titles=_title(papers.get(one.partition(":")[2]))) for one in ids
        ),
    )


def _title(paper: _HattenPaper | None) -> tuple[str, ...]:
    return (paper.title,) if paper and paper.title else ()


def _works(papers: Path) -> Iterator[Work]:
    for name, raw in source.whole(papers, dict[str, msgspec.Raw]).items():
        try:
            paper = msgspec.json.decode(raw, type=_HattenPaper, strict=False)
        except msgspec.DecodeError:
            continue
        if paper.title:
            yield Work(
                id=f"{PREFIX}:{name}",
                title=paper.title,
                abstract=paper.abstract or "",
                provenance=(Provenance(source=PREFIX, source_id=name),),
            )
