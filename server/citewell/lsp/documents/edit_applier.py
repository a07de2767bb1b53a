"""Edits that go into the author's files through the editor, checked before and remembered after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.edits import TextOf, workspace_edit
from citewell.lsp.documents.file_version import read_file_version
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.line_index import LineIndex
from citewell.model import CitewellError, Problem
from citewell.model.bib import FileEdit

FileVersions = Mapping[Path, object]


class StaleEditError(CitewellError):
    """The author typed while the edit was on its way, so the editor did not apply it."""


class EditApplier:
    """Has the editor make edits; writes files itself where the editor takes none."""

    def __init__(self, editor: Editor, buffers: Buffers, projects: Projects) -> None:
        self._editor = editor
        self._buffers = buffers
        self._projects = projects

    @property
    def can_apply(self) -> bool:
        """True when the editor takes edits from a server."""
        return self._editor.flags.apply_edit

    async def check_meaning(self, edits: Sequence[FileEdit], texts: Mapping[Path, str]) -> None:
        """Raise `CitewellError` if an edit of a .bib would have an unintended effect."""
        if any(edit.path.lower().endswith((".bib", ".bibtex")) for edit in edits):
            from citewell.documents.bib.guard import check_edits

            options = self._buffers.options_for
            held = {str(path): text for path, text in texts.items()}
            await self._projects.look_up(
                lambda cache: check_edits(
                    edits, held, lambda path, text: cache.parsed(path, text, options(path))
                )
            )

    def edit_of(
        self, edits: Sequence[FileEdit], texts: Mapping[Path, str], label: str
    ) -> types.WorkspaceEdit:
        """Edits of `texts` for the editor, with the versions of the documents that it shows."""

        def text_of(path: Path) -> TextOf:
            document = self._buffers.open_document(path)
            if document is not None:
                return TextOf(document.uri, document.index, document.version)
            index = LineIndex.of(texts[path], self._editor.encoding)
            return TextOf(from_fs_path(str(path)) or "", index, None)

        return workspace_edit(edits, text_of, self._editor.flags, label)

    async def apply(self, edits: Sequence[FileEdit], texts: Mapping[Path, str], label: str) -> bool:
        """Have the editor make edits of `texts`. Returns False, and shows why, if it does not.

        Raises `StaleEditError` when the editor refused because a document is no longer the text
        that the edits were planned for: the caller plans them again.
        """
        try:
            await self.check_meaning(edits, texts)
            self._check_encodings(edits, texts)
            if not self._editor.flags.apply_edit:
                return self.write(edits, texts)
        except CitewellError as error:
            self._editor.show_problems([error.problem], again=True)
            return False
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
        """Raise `CitewellError` if a file that the editor does not show cannot hold a character:
        the editor would open it in its encoding and write another character."""
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
        """An edited document whose text in the editor is no longer that of `texts`."""
        for edit in edits:
            document = self._buffers.open_document(Path(edit.path))
            if document is not None and document.source != texts.get(Path(edit.path)):
                return Path(edit.path)
        return None

    def assume(
        self, edits: Sequence[FileEdit], texts: Mapping[Path, str], before: FileVersions
    ) -> None:
        """Assume that files which the editor does not show hold the edits that it has made.
        `before` are the versions of the files before the edits."""
        from citewell.documents.textfile import apply_edits as applied_to

        for edit in edits:
            path = Path(edit.path)
            if self._buffers.open_document(path) is None:
                text = applied_to(texts[path], edit.edits)
                self._projects.assume(path, text, before.get(path))

    def write(self, edits: Sequence[FileEdit], texts: Mapping[Path, str]) -> bool:
        """Write the files, if the editor shows none of them."""
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
        return write_edits(edits, {str(path): text for path, text in texts.items()})


def file_versions_of(edits: Sequence[FileEdit]) -> FileVersions:
    """The present versions of the files that the edits are for, by path."""
    return {Path(edit.path): read_file_version(Path(edit.path)) for edit in edits}
