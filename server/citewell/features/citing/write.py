"""Writing planned edits: all of them or none."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from citewell.documents.bib.reader import BibOf, check_edits
from citewell.documents.textfile import (
    CHANGED,
    apply_edits,
    new_file,
    read_text,
    write_text,
    write_texts,
)
from citewell.model import CitewellError, Problem
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Span
from citewell.model.system.files import FileError, locked

TRIES = 3
"""Number of attempts to plan for files that change meanwhile."""


class Plan(Protocol):
    """Edits to be written."""

    @property
    def edits(self) -> Sequence[FileEdit]: ...
    @property
    def texts(self) -> Mapping[str, str]:
        """By path: the text that the edits of that file refer to."""
        ...


P = TypeVar("P", bound=Plan)


def write_plan(
    plan: P, plan_again: Callable[[], P] | None, write: Callable[[P], object] | None = None
) -> P:
    """Write a plan, and return the one written: if a file has changed, it is planned again while
    other writers wait. `write` defaults to `write_edits`.

    Raises `CitewellError` "file-changed" if another program changes the files constantly.
    """

    def done(plan: P) -> P:
        write(plan) if write is not None else write_edits(plan.edits, plan.texts)
        return plan

    for left in reversed(range(TRIES)):
        try:
            if left == TRIES - 1 or plan_again is None:
                return done(plan)
            # Slow steps, such as a search, finish before others have to wait.
            plan = plan_again()
            with locked(Path(edit.path) for edit in plan.edits):
                return done(plan_again())
        except CitewellError as error:
            if error.problem.code != CHANGED or plan_again is None or not left:
                raise
    raise AssertionError("the last try returns or raises")


def write_edits(
    edits: Sequence[FileEdit], texts: Mapping[str, str], bib_of: BibOf | None = None
) -> bool:
    """Write the edits, bibliographies first; true if there was anything to write.

    `texts` holds each file's text when the edits were planned. Nothing is written if a file has
    changed (an editor may save while a question waits), if an edit of a .bib has unintended
    effects, or if one of the files cannot be written: a key without its entry would break the
    paper.
    """
    check_edits(edits, texts, bib_of)
    files = []
    for edit in edits:
        there = Path(edit.path).exists()
        # A missing file may reappear: some programs remove it and create it again.
        file = read_text(edit.path) if there and not edit.create else new_file(edit.path)
        if file.text != texts[edit.path] or there is edit.create:
            raise CitewellError(
                Problem(
                    code="file-changed",
                    message=f"{Path(edit.path).name} has changed since the plan was made; nothing "
                    "was written.",
                    hint="Run the command again.",
                    path=edit.path,
                )
            )
        files.append((file, apply_edits(file.text, edit.edits)))
    write_texts(files)
    return bool(files)


def take_back(edits: Sequence[FileEdit], texts: Mapping[str, str]) -> None:
    """Undo written edits, in files that have not changed since."""
    for edit in edits:
        path = Path(edit.path)
        with suppress(FileError, OSError), locked([path]):
            file = read_text(path)
            if file.text != apply_edits(texts[edit.path], edit.edits):
                continue
            if edit.create:
                path.unlink()
            else:
                write_text(file, texts[edit.path])


# A text under a sequence of edits, returned as one set of edits of the original.
#
# Each planned change sees the text after the earlier changes, but the author's file takes all of
# them at once. Edits are applied in sequence here and then stated against the original.


class RebasedText:
    """The original as pieces: spans of it, and inserted texts."""

    def __init__(self, original: str) -> None:
        self.original = original
        self.text = original
        """The text after the edits so far."""
        self._pieces: list[Span | str] = [Span(0, len(original))]

    def apply(self, edits: Sequence[TextEdit]) -> None:
        """Apply edits to the current text; ValueError if they overlap or leave it."""
        text = apply_edits(self.text, edits)
        for edit in reversed(sorted(edits, key=lambda edit: edit.span)):
            self._replace(edit)
        self.text = text

    def now(self, offset: int) -> int:
        """The current offset of the character at an offset of the original.

        Text inserted at that very offset precedes the character. For a character that has been
        replaced, this is the end of its replacement.
        """
        position = 0
        for piece in self._pieces:
            if isinstance(piece, str):
                position += len(piece)
            elif piece.start <= offset < piece.end:
                return position + offset - piece.start
            elif piece.start > offset:
                return position
            else:
                position += piece.end - piece.start
        return position

    def edits(self) -> tuple[TextEdit, ...]:
        """Edits of the original that yield the current text, sorted and without overlap."""
        found: list[TextEdit] = []
        position = 0  # end of the processed part of the original
        added = ""
        for piece in [*self._pieces, Span(len(self.original), len(self.original))]:
            if isinstance(piece, str):
                added += piece
                continue
            if added or piece.start > position:
                found.append(TextEdit(Span(position, piece.start), added))
            position, added = piece.end, ""
        return tuple(found)

    def _replace(self, edit: TextEdit) -> None:
        start, end = edit.span.start, edit.span.end
        kept: list[Span | str] = []
        position = 0
        placed = False
        for piece in self._pieces:
            length = len(piece) if isinstance(piece, str) else piece.end - piece.start
            if not placed and position >= start:
                kept.append(edit.text)
                placed = True
            before = _cut(piece, 0, min(max(start - position, 0), length))
            after = _cut(piece, min(max(end - position, 0), length), length)
            if before:
                kept.append(before)
            if not placed and position + length >= start:
                kept.append(edit.text)
                placed = True
            if after:
                kept.append(after)
            position += length
        if not placed:
            kept.append(edit.text)
        self._pieces = [piece for piece in kept if piece]


def _cut(piece: Span | str, start: int, end: int) -> Span | str:
    """Part of a piece; the empty string when nothing is left."""
    if end <= start:
        return ""
    if isinstance(piece, str):
        return piece[start:end]
    return Span(piece.start + start, piece.start + end)


# Changes of file edits as a unified diff.


def unified_diff(before: str, after: str, path: str, *, new: bool = False) -> str:
    """A unified diff of one file, ready for `patch -p1`; empty when nothing changes.

    Lines are split at line feeds only, so that a carriage return stays part of its line and the
    diff of a file with Windows line ends applies to it.
    """
    if before == after:
        return ""
    old, young = _lines(before), _lines(after)
    parts: list[str] = []
    origin = "/dev/null" if new else f"a/{path}"
    for line in difflib.unified_diff(old, young, origin, f"b/{path}", n=2):
        if line.endswith("\n"):
            parts.append(line)
        else:
            parts.append(f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])
