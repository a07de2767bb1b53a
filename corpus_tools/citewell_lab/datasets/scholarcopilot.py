"""ScholarCopilot's evaluation file: whole papers with `<|cite_0|>` marks, and its corpus.

Its protocol (arXiv 2504.00824): one hundred words on each side of the mark, other marks removed,
contexts of fewer than ten words skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.model import Provenance, Work
from citewell.model.query import MARK, CitingPaper, Query, Question, Reference, Target
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetReading, Kind, Peek
from citewell_lab.datasets.source import around_mark, letters_only

PREFIX = "scholarcopilot"
WINDOW = 100
SHORTEST = 10
_CITE = re.compile(r"<\|cite_\d+\|>")
_TOKEN = re.compile(r"<\|[a-z_]+_?\d*\|>")


class _CopilotCitation(msgspec.Struct):
    citation_key: str = ""
    paper_id: str | None = None
    title: str | None = None
    abstract: str | None = None


class _CopilotPaper(msgspec.Struct):
    title: str | None = None
    abstract: str | None = None
    paper: str | list[str] | None = None
    paper_id: str | None = None
    arxiv_id: str | None = None
    bib_info: dict[str, list[_CopilotCitation]] = {}


class _CopilotEntry(msgspec.Struct):
    corpus_id: str | int | None = None
    paper_id: str | int | None = None
    title: str | None = None
    abstract: str | None = None
    citation_key: str | None = None


class ScholarCopilot:
    """One question per mark; all papers cited there are right answers."""

    name = "scholarcopilot"
    kind: Kind = "questions"
    description = "ScholarCopilot evaluation JSON: papers with <|cite_N|> marks"

    def fits(self, peek: Peek) -> bool:
        return peek.shape in ("array", "lines") and {"paper", "bib_info"} <= peek.first.keys()

    def read(self, path: Path) -> DataSet:
        reading = DataSetReading(path)
        questions: list[Question] = []
        for number, paper in self._papers(path, reading):
            name = paper.paper_id or paper.arxiv_id or f"paper-{number}"
            questions.extend(_questions(name, paper, reading))
        corpus = source.beside(path, "*corpus*.jsonl*")
        return reading.data_set(
            self.name,
            questions,
            (
                f"{WINDOW} words on each side of the mark, other marks removed, "
                f"contexts of fewer than {SHORTEST} words skipped.",
                "Warm: what the paper cites at its other marks, without the targets.",
            ),
            (lambda: _works(corpus)) if corpus else None,
        )

    def _papers(self, path: Path, reading: DataSetReading) -> Iterator[tuple[int, _CopilotPaper]]:
        if source.peek(path).shape == "lines":
            yield from source.records(path, _CopilotPaper, reading)
            return
        for number, raw in enumerate(source.whole(path, list[msgspec.Raw]), start=1):
            reading.count("records")
            try:
                yield number, msgspec.json.decode(raw, type=_CopilotPaper, strict=False)
            except msgspec.DecodeError as error:
                reading.bad(f"Paper {number} of the array cannot be read: {error}.")


def _questions(name: str, paper: _CopilotPaper, reading: DataSetReading) -> Iterator[Question]:
    text = paper.paper or ""
    text = text if isinstance(text, str) else "\n".join(text)
    everything = {
        letters_only(cited.title or ""): cited
        for group in paper.bib_info.values()
        for cited in group
        if cited.title
    }
    for mark in _CITE.finditer(text):
        reading.count("marks")
        # A citation repeated within a group is one right answer.
        targets = {
            letters_only(cited.title or ""): cited
            for cited in paper.bib_info.get(mark.group(), ())
            if cited.title
        }
        if not targets:
            reading.count("marks without a record")
            continue
        left = _plain(text[: mark.start()])[-WINDOW:]
        right = _plain(text[mark.end() :])[:WINDOW]
        if len(left) + len(right) < SHORTEST:
            reading.count("contexts too short")
            continue
        before, sentence, after = around_mark(" ".join((*left, MARK, *right)))
        yield Question(
            id=f"{name}:{mark.group().strip('<|>')}:{mark.start()}",
            query=Query(
                sentence=sentence,
                before=before,
                after=after,
                paper=CitingPaper(
                    title=paper.title or "",
                    abstract=paper.abstract or "",
                    references=tuple(
                        Reference(title=one.title or "", key=one.citation_key)
                        for letters, one in everything.items()
                        if letters not in targets
                    ),
                ),
            ),
            gold=tuple(one for cited in targets.values() for one in _ids(cited)),
            gold_titles=tuple(cited.title or "" for cited in targets.values()),
            paper=name,
            tags=(f"repository:{name}",),
            targets=tuple(
                Target(ids=_ids(cited), titles=(cited.title or "",)) for cited in targets.values()
            ),
        )


def _plain(text: str) -> list[str]:
    """The words without reference marks and control tokens."""
    return _TOKEN.sub(" ", text).split()


def _ids(cited: _CopilotCitation) -> tuple[str, ...]:
    return (f"{PREFIX}:{cited.paper_id}",) if cited.paper_id else ()


def _works(corpus: Path) -> Iterator[Work]:
    for _, entry in source.records(corpus, _CopilotEntry, DataSetReading(corpus)):
        name = entry.paper_id if entry.paper_id is not None else entry.corpus_id
        if entry.title and name is not None:
            yield Work(
                id=f"{PREFIX}:{name}",
                title=entry.title,
                abstract=" ".join(_plain(entry.abstract or "")),
                bibkey=entry.citation_key or "",
                provenance=(Provenance(source=PREFIX, source_id=str(name)),),
            )
