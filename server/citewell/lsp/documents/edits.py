"""Citewell's own edits in the protocol's terms, as far as the client can take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lsprotocol import types

from citewell.lsp.documents.positions import Ranges
from citewell.lsp.protocol.client import ClientFlags
from citewell.lsp.protocol.line_index import LineIndex
from citewell.model.bib import FileEdit

ANNOTATION = "citewell"


class TextOf:
    """What an edit of one file refers to: its present text and, if it is open, its version."""

    def __init__(self, uri: str, index: LineIndex | Ranges, version: int | None) -> None:
        self.uri = uri
        self.index = index
        self.version = version


def workspace_edit(
    edits: Sequence[FileEdit],
    text_of: Callable[[Path], TextOf],
    flags: ClientFlags,
    label: str | Callable[[FileEdit], str],
) -> types.WorkspaceEdit:
    """One undoable edit of several files, annotated with one label or with each file's own.

    Offsets of each `FileEdit` refer to the text that `text_of` gives. A client without
    `documentChanges` gets the plain form; it cannot create files, so the caller does that first.
    """
    if not flags.document_changes:
        return types.WorkspaceEdit(
            changes={
                (target := text_of(Path(edit.path))).uri: [
                    types.TextEdit(range=target.index.range(change.span), new_text=change.text)
                    for change in edit.edits
                ]
                for edit in edits
            }
        )
    changes: list[
        types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile
    ] = []
    annotations: dict[str, types.ChangeAnnotation] = {}
    for edit in edits:
        target = text_of(Path(edit.path))
        shown = label if isinstance(label, str) else label(edit)
        name = next((n for n, known in annotations.items() if known.label == shown), "")
        if not name:
            name = ANNOTATION + (f"-{len(annotations)}" if annotations else "")
            annotations[name] = types.ChangeAnnotation(label=shown, needs_confirmation=False)
        if edit.create:
            changes.append(
                types.CreateFile(
                    uri=target.uri, options=types.CreateFileOptions(ignore_if_exists=True)
                )
            )
        changes.append(
            types.TextDocumentEdit(
                text_document=types.OptionalVersionedTextDocumentIdentifier(
                    uri=target.uri, version=target.version
                ),
                edits=[
                    types.AnnotatedTextEdit(
                        annotation_id=name,
                        range=target.index.range(change.span),
                        new_text=change.text,
                    )
                    if flags.change_annotations
                    else types.TextEdit(range=target.index.range(change.span), new_text=change.text)
                    for change in edit.edits
                ],
            )
        )
    return types.WorkspaceEdit(
        document_changes=changes,
        change_annotations=annotations if flags.change_annotations else None,
    )
