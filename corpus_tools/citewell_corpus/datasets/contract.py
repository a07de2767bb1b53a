"""What every reader of a data set gives, and what it may know before it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from citewell.model import CitewellError, Problem, Question, Work
from citewell.model.check import LabelledReference

Kind = Literal["questions", "references"]
"""`questions` ask for papers; `references` ask whether a reference is real."""

MAX_PROBLEMS = 50
"""Bad records that are named one by one; the rest is counted."""


class DataSetError(CitewellError):
    """The data cannot be read at all: not there, too large, or of no known schema."""

    code = "data-set"


def refuse(code: str, message: str, hint: str, path: Path | str) -> DataSetError:
    """An error that carries the problem to show."""
    return DataSetError(Problem(code=code, message=message, hint=hint, path=str(path)))


class Peek(msgspec.Struct, frozen=True):
    """What is known of a file or folder after a look at its first record."""

    path: Path
    shape: Literal["folder", "lines", "array", "mapping", "table"]
    """JSON Lines, one JSON array, one JSON object of records, or a CSV/TSV table."""
    first: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The first record (for a table: its columns, without values)."""
    names: tuple[str, ...] = ()
    """Names in the folder, in order."""


class DataSet(msgspec.Struct, frozen=True, kw_only=True):
    """Questions, whether or not the library at hand can answer them, and how many there are."""

    name: str
    schema: str
    path: str
    kind: Kind = "questions"
    questions: tuple[Question, ...] = ()
    references: tuple[LabelledReference, ...] = ()
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    """Records by what became of them: "records", "questions", "bad", "clean" ..."""
    notes: tuple[str, ...] = ()
    """Facts that a reader of the figures must know: how a year was inferred, what was skipped."""
    problems: tuple[Problem, ...] = ()
    works: Callable[[], Iterable[Work]] | None = None
    """The data set's own corpus, streamed, where it brings one."""
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
        """Every record that can be read. Raises `DataSetError` only when nothing can."""
        ...


class Reading:
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
        """The questions that were read, named after the file; they are counted too."""
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
        """Note a record that cannot be used; reading goes on."""
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
