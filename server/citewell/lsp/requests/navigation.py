"""textDocument/definition, references and documentHighlight."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from citewell.lsp.documents.buffers import Locator
from citewell.lsp.documents.edit_applier import TextOf, workspace_edit
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import DocumentHighlight, Encoded, LocationLink, Refused
from citewell.lsp.registry import Handlers, Request
from citewell.model import CitewellError

if TYPE_CHECKING:
    from citewell.features.navigation.rename import Renaming
    from citewell.lsp.documents.buffers import WorkspaceSnapshot
    from citewell.model.bib import FileEdit


def handlers(editor: Editor, projects: Projects) -> Handlers:
    """The ways from a key to the places where it stands."""

    async def definition(params: types.DefinitionParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        links = editor.flags.definition_links
        return await projects.read(lambda: _define(snapshot, offset, links))

    async def references(params: types.ReferenceParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        declarations = params.context.include_declaration
        return await projects.read(lambda: _references(snapshot, offset, declarations))

    async def document_highlight(params: types.DocumentHighlightParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        return await projects.read(lambda: _highlights(snapshot, offset))

    return (
        Request(types.TEXT_DOCUMENT_DEFINITION, definition, switches=("definition",)),
        Request(types.TEXT_DOCUMENT_REFERENCES, references, switches=("references",)),
        Request(
            types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, document_highlight, switches=("highlights",)
        ),
    )


def _define(snapshot: WorkspaceSnapshot, offset: int, links: bool) -> Encoded | None:
    from citewell.features.navigation.definition import define

    linked = snapshot.linked
    found = define(linked.all_keys, linked.projects, snapshot.path, offset)
    if found is None or not found.targets:
        return None
    locator = Locator(snapshot)
    if not links:
        return Encoded([locator.location(t.path, t.name) for t in found.targets])
    origin = locator.range(snapshot.path, found.origin)
    return Encoded(
        [
            LocationLink(
                origin,
                locator.uri(target.path),
                locator.range(target.path, target.whole),
                locator.range(target.path, target.name),
            )
            for target in found.targets
        ]
    )


def _references(snapshot: WorkspaceSnapshot, offset: int, declarations: bool) -> Encoded | None:
    from citewell.features.navigation.definition import references

    table = snapshot.linked.all_keys
    found = references(table, snapshot.path, offset, declarations=declarations)
    if not found:
        return None
    locator = Locator(snapshot)
    return Encoded([locator.location(place.path, place.span) for place in found])


def _highlights(snapshot: WorkspaceSnapshot, offset: int) -> Encoded | None:
    from citewell.features.navigation.definition import highlights

    found = highlights(snapshot.keys, snapshot.path, offset)
    if not found:
        return None
    kinds = types.DocumentHighlightKind
    locator = Locator(snapshot)
    return Encoded(
        [
            DocumentHighlight(
                locator.range(place.path, place.span), kinds.Write if place.defines else kinds.Read
            )
            for place in found
        ]
    )


# textDocument/prepareRename and rename: of a key in every file, of an @string macro in its own.


def rename_handlers(editor: Editor, projects: Projects) -> Handlers:
    """Renaming, and what can be renamed."""

    async def prepare_rename(
        params: types.PrepareRenameParams,
    ) -> types.PrepareRenamePlaceholder | None:
        from citewell.features.navigation.rename import renamed_span

        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        found = await projects.read(lambda: renamed_span(snapshot.keys, snapshot.path, offset))
        if found is None:
            return None
        return types.PrepareRenamePlaceholder(
            range=snapshot.index.range(found[0]), placeholder=found[1]
        )

    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | Refused | None:
        # A file that was not read may hold the key.
        try:
            snapshot = await projects.workspace(params.text_document.uri, complete=True)
        except CitewellError as error:
            return Refused(f"{error.problem.message} Nothing was renamed.")
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        found = await projects.read(lambda: _plan(snapshot, offset, params.new_name))
        if found is None:
            return None
        problem = found.problem
        if problem is None and not editor.flags.change_annotations:
            problem = found.joined
        if problem is not None:
            return Refused(f"{problem.message} {problem.hint}")
        try:
            return await projects.read(lambda: _edit(editor, snapshot, found, params.new_name))
        except CitewellError as error:
            return Refused(f"{error.problem.message} {error.problem.hint}")

    return (
        Request(
            types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename, switches=("rename",), is_part=True
        ),
        Request(types.TEXT_DOCUMENT_RENAME, rename, switches=("rename",)),
    )


def _plan(snapshot: WorkspaceSnapshot, offset: int, new: str) -> Renaming | None:
    from citewell.features.navigation.rename import rename

    linked = snapshot.linked
    return rename(linked.all_keys, linked.projects, snapshot.path, offset, new)


def _edit(
    editor: Editor, snapshot: WorkspaceSnapshot, plan: Renaming, new: str
) -> types.WorkspaceEdit:
    from citewell.documents.bib.reader import check_edits, parse_bib
    from citewell.documents.keys.table import BibKeys

    files = snapshot.linked.all_keys.files
    texts = {edit.path: files[Path(edit.path)].source.text for edit in plan.edits}
    known = {path: file.source for path, file in files.items() if isinstance(file, BibKeys)}
    check_edits(plan.edits, texts, lambda path, text: known.get(path) or parse_bib(text, str(path)))
    locator = Locator(snapshot)

    def text_of(path: Path) -> TextOf:
        opened = snapshot.opened.get(path)
        version = opened.version if opened is not None else None
        return TextOf(locator.uri(path), locator.index(path), version)

    def label_of(edit: FileEdit) -> str:
        if edit.path in plan.elsewhere:
            return f"Rename to {new}, in other papers that use the same .bib"
        return f"Rename to {new}"

    ask = plan.joined.message if plan.joined is not None else ""
    return workspace_edit(plan.edits, text_of, editor.flags, label_of, ask)
