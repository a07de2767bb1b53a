"""Edits of the author's files, validated first and recorded afterwards: the editor makes them,
except in bibliographies that it does not show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.buffers import Buffers, read_file_version
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import ClientFlags, Editor
from citewell.lsp.protocol.open_document import LineIndex
from citewell.model import CitewellError, Problem
from citewell.model.bib import FileEdit

# Citewell's edits in the protocol's types, within the client's capabilities.

ANNOTATION = "citewell"


class TextOf:
    """The current text of the edited file and, if it is open, its version."""

    def __init__(self, uri: str, index: LineIndex, version: int | None) -> None:
        self.uri = uri
        self.index = index
        self.version = version


def workspace_edit(
    edits: Sequence[FileEdit],
    text_of: Callable[[Path], TextOf],
    flags: ClientFlags,
    label: str | Callable[[FileEdit], str],
    ask: str = "",
) -> types.WorkspaceEdit:
    """One undoable edit of several files, annotated with one label or with each file's own, and
    with a question that the author must confirm.

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
            annotations[name] = types.ChangeAnnotation(
                label=shown, needs_confirmation=bool(ask), description=ask or None
            )
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


FileVersions = Mapping[Path, object]


class StaleEditError(CitewellError):
    """The author typed, or another program wrote, while the edit was planned or applied: it was not
    made, and can be planned again."""


class EditApplier:
    """Applies edits through the editor; writes files itself if the editor applies none."""

    def __init__(self, editor: Editor, buffers: Buffers, projects: Projects) -> None:
        self._editor = editor
        self._buffers = buffers
        self._projects = projects

    @property
    def can_apply(self) -> bool:
        """True when the editor applies edits from a server."""
        return self._editor.flags.apply_edit

    async def check_meaning(self, edits: Sequence[FileEdit], texts: Mapping[Path, str]) -> None:
        """Raise `CitewellError` if an edit of a .bib would have an unintended effect."""
        if any(edit.path.lower().endswith((".bib", ".bibtex")) for edit in edits):
            from citewell.documents.bib.reader import check_edits

            options = self._buffers.options_for
            held = _by_name(texts)
            await self._projects.look_up(
                lambda cache: check_edits(
                    edits, held, lambda path, text: cache.parsed(path, text, options(path))
                )
            )

    def edit_of(
        self, edits: Sequence[FileEdit], texts: Mapping[Path, str], label: str
    ) -> types.WorkspaceEdit:
        """Edits of `texts` for the editor, with the versions of the open documents."""

        def text_of(path: Path) -> TextOf:
            document = self._buffers.open_document(path)
            if document is not None:
                return TextOf(document.uri, document.index, document.version)
            index = LineIndex(texts[path], self._editor.encoding)
            return TextOf(from_fs_path(str(path)) or "", index, None)

        return workspace_edit(edits, text_of, self._editor.flags, label)

    async def apply(self, edits: Sequence[FileEdit], texts: Mapping[Path, str], label: str) -> bool:
        """Apply edits of `texts`, all or none. Returns False, and shows the reason, for none.

        Raises `StaleEditError` when a file is no longer the text that the edits were planned for:
        the caller plans them again.
        """
        from citewell.features.citing.write import take_back

        written = self.written(edits)
        others = [edit for edit in edits if edit not in written]
        try:
            await self.check_meaning(edits, texts)
            if not self.can_apply:
                return await self._write(edits, texts)
            self._check_encodings(others, texts)
            await self._write(written, texts)
        except StaleEditError:
            raise
        except CitewellError as error:
            self._editor.show_problems([error.problem], again=True)
            return False
        if not others:
            return True
        done = False
        try:
            done = await self._have_applied(others, texts, label)
        finally:
            if written and not done:
                await asyncio.to_thread(take_back, written, _by_name(texts))
                self._buffers.changed()
        return done

    def written(self, edits: Sequence[FileEdit]) -> list[FileEdit]:
        """Edits of bibliographies that the server writes itself. The editor does not show these:
        its edit would have no version, and might end inside an entry that another program writes.
        """
        return [
            edit
            for edit in edits
            if edit.path.lower().endswith((".bib", ".bibtex"))
            and self._buffers.open_document(Path(edit.path)) is None
            and self._buffers.options_for(Path(edit.path)).bib.save
        ]

    async def _have_applied(
        self, edits: Sequence[FileEdit], texts: Mapping[Path, str], label: str
    ) -> bool:
        """Apply the edits through the editor, as in `apply`."""
        if not self._editor.flags.create_files:
            for edit in edits:
                if edit.create:
                    Path(edit.path).touch()
        change = self.edit_of(edits, texts, label)
        before = file_versions_of(edits)
        reason = await self._editor.apply(change, label)
        if reason:
            if stale := self._changed(edits, texts):
                message = f"{stale.name} changed in the meantime; nothing was done."
                raise StaleEditError(
                    Problem("action-outdated", message, "Request the action again.")
                )
            names = ", ".join(dict.fromkeys(Path(e.path).name for e in edits))
            message = f"The editor did not apply the change to {names} ({reason})."
            hint = "Nothing was written. Save or revert the file, then complete the key again."
            self._editor.show_problems([Problem("edit-refused", message, hint)], again=True)
            return False
        self.assume(edits, texts, before)
        return True

    def _check_encodings(self, edits: Sequence[FileEdit], texts: Mapping[Path, str]) -> None:
        """Raise `CitewellError` if the encoding of a file that the editor does not show lacks a
        character: the editor would open it in its encoding and write another character."""
        from citewell.documents.textfile import apply_edits as applied_to
        from citewell.documents.textfile import read_text

        for edit in edits:
            path = Path(edit.path)
            is_plain = all(change.text.isascii() for change in edit.edits)
            if edit.create or is_plain or self._buffers.open_document(path) is not None:
                continue
            if path.is_file():
                read_text(path).encode(applied_to(texts[path], edit.edits))

    def _changed(self, edits: Sequence[FileEdit], texts: Mapping[Path, str]) -> Path | None:
        """An edited document with another text in the editor than in `texts`."""
        for edit in edits:
            document = self._buffers.open_document(Path(edit.path))
            if document is not None and document.source != texts.get(Path(edit.path)):
                return Path(edit.path)
        return None

    def assume(
        self, edits: Sequence[FileEdit], texts: Mapping[Path, str], before: FileVersions
    ) -> None:
        """Assume the edited texts of files that the editor does not show. `before` are the versions
        of the files before the edits."""
        from citewell.documents.textfile import apply_edits as applied_to

        for edit in edits:
            path = Path(edit.path)
            if self._buffers.open_document(path) is None:
                text = applied_to(texts[path], edit.edits)
                self._projects.assume(path, text, before.get(path))

    async def _write(self, edits: Sequence[FileEdit], texts: Mapping[Path, str]) -> bool:
        """Write the files, if the editor shows none of them, as in `apply`."""
        from citewell.documents.textfile import CHANGED
        from citewell.features.citing.write import write_edits

        for edit in edits:
            if self._buffers.open_document(Path(edit.path)) is not None:
                name = Path(edit.path).name
                problem = Problem(
                    "edit-unsupported",
                    f"This editor does not apply edits from a server, so {name} was not changed.",
                    "Save it, close it and complete the key again.",
                )
                self._editor.show_problems([problem], again=True)
                return False
        if not edits:
            return False
        try:
            return await asyncio.to_thread(write_edits, edits, _by_name(texts))
        except CitewellError as error:
            if error.problem.code == CHANGED:
                raise StaleEditError(error.problem) from error
            raise
        finally:
            self._buffers.changed()


def _by_name(texts: Mapping[Path, str]) -> dict[str, str]:
    return {str(path): text for path, text in texts.items()}


def file_versions_of(edits: Sequence[FileEdit]) -> FileVersions:
    """The current versions of the edited files, by path."""
    return {Path(edit.path): read_file_version(Path(edit.path)) for edit in edits}
