"""Writing planned edits: all of them or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from citewell.documents.textfile import apply_edits, new_file, read_text, write_text
from citewell.model import CitewellError, Problem
from citewell.model.bib import FileEdit


def write_edits(edits: Sequence[FileEdit], texts: Mapping[str, str]) -> bool:
    """Write the edits, bibliographies first; true if there was anything to write.

    `texts` is what each file held when the edits were planned. Nothing is written when a file is
    not that any more: a question may wait for long while an editor saves. A key without its entry
    would break the paper, an entry without its citation does not: so a disk that fills up in
    between leaves a paper that still compiles.
    """
    files = []
    for edit in edits:
        file = new_file(edit.path) if edit.create else read_text(edit.path)
        if file.text != texts[edit.path] or (edit.create and Path(edit.path).exists()):
            raise CitewellError(
                Problem(
                    code="file-changed",
                    message="The file has changed since the plan was made; nothing was written.",
                    cure="Run the command again.",
                    path=edit.path,
                )
            )
        files.append((file, apply_edits(file.text, edit.edits)))
    for file, text in files:
        write_text(file, text)
    return bool(files)
