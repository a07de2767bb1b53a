"""The interface of the readers of data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from citewell.model import CitewellError, Problem, Question, Work
from citewell.model.check import LabelledReference

Kind = Literal["questions", "references"]
"""`questions`: find papers; `references`: judge whether a reference is real."""

MAX_PROBLEMS = 50
"""Maximum bad records listed; others are only counted."""


class DataSetError(CitewellError):
    """The data cannot be read: missing, too large, or of unknown schema."""

    code = "data-set"


def refuse(code: str, message: str, hint: str, path: Path | str) -> DataSetError:
    """An error that carries the problem to show."""
    return DataSetError(Problem(code=code, message=message, hint=hint, path=str(path)))


class Peek(msgspec.Struct, frozen=True):
    """Facts about a file or folder from its first record."""

    path: Path
    shape: Literal["folder", "lines", "array", "mapping", "table"]
    """JSON Lines, one JSON array, one JSON object of records, or a CSV/TSV table."""
    first: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The first record; for a table, its columns without values."""
    names: tuple[str, ...] = ()
    """Names in the folder, in order."""


class DataSet(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of a data set, answerable by a library or not, and counts."""

    name: str
    schema: str
    path: str
    kind: Kind = "questions"
    questions: tuple[Question, ...] = ()
    references: tuple[LabelledReference, ...] = ()
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    """Counts of records: "records", "questions", "bad", "clean" ..."""
    notes: tuple[str, ...] = ()
    """Notes for readers of the figures: how a year was inferred, what was skipped."""
    problems: tuple[Problem, ...] = ()
    works: Callable[[], Iterable[Work]] | None = None
    """The data set's own corpus as a stream, if it has one."""
    split: str = ""
    """The split that the file itself declares, if any."""


class Schema(Protocol):
    """One published format."""

    name: str
    kind: Kind
    description: str

    def fits(self, peek: Peek) -> bool:
        """True when the first record has this schema's fields."""
        ...

    def read(self, path: Path) -> DataSet:
        """All readable records. Raises `DataSetError` if there are none."""
        ...


class DataSetReading:
    """Counts and problems gathered while a file is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: dict[str, int] = {"records": 0}
        self.problems: list[Problem] = []

    def count(self, what: str, n: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + n

    def data_set(
        self,
        schema: str,
        questions: Sequence[Question],
        notes: tuple[str, ...] = (),
        works: Callable[[], Iterable[Work]] | None = None,
        *,
        name: str = "",
        split: str = "",
    ) -> DataSet:
        """The counted questions, named after the file."""
        self.count("questions", len(questions))
        return DataSet(
            name=name or self.path.name.split(".")[0],
            schema=schema,
            path=str(self.path),
            questions=tuple(questions),
            counts=self.counts,
            notes=notes,
            problems=tuple(self.problems),
            works=works,
            split=split,
        )

    def bad(self, message: str, line: int | None = None, path: Path | None = None) -> None:
        """Count and maybe list a record that cannot be used."""
        self.count("bad")
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(
                Problem(
                    code="data-set-record",
                    message=message,
                    hint="The record is skipped.",
                    path=str(path or self.path),
                    line=line,
                )
            )
