"""Writing planned edits: all of them or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from citewell.documents.bib.guard import BibOf, check_edits
from citewell.documents.textfile import apply_edits, new_file, read_text, write_texts
from citewell.model import CitewellError, Problem
from citewell.model.bib import FileEdit


def write_edits(
    edits: Sequence[FileEdit], texts: Mapping[str, str], bib_of: BibOf | None = None
) -> bool:
    """Write the edits, bibliographies first; true if there was anything to write.

    `texts` is what each file held when the edits were planned. Nothing is written when a file is
    not that any more (a question may wait for long while an editor saves), when an edit of a .bib
    would do something else than it says, or when one of the files cannot be written: a key without
    its entry would break the paper, and an entry without its citation is not what was asked for.
    """
    check_edits(edits, texts, bib_of)
    files = []
    for edit in edits:
        file = new_file(edit.path) if edit.create else read_text(edit.path)
        if file.text != texts[edit.path] or (edit.create and Path(edit.path).exists()):
            raise CitewellError(
                Problem(
                    code="file-changed",
                    message="The file has changed since the plan was made; nothing was written.",
                    hint="Run the command again.",
                    path=edit.path,
                )
            )
        files.append((file, apply_edits(file.text, edit.edits)))
    write_texts(files)
    return bool(files)
