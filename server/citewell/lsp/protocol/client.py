"""The capabilities of the client, read once; features look here, never at its name."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types
from msgspec import Struct


class ClientFlags(Struct, frozen=True, kw_only=True):
    """The capabilities that change what the server sends."""

    apply_edit: bool = False
    document_changes: bool = False
    """Versioned edits and file creation in one workspace edit."""
    create_files: bool = False
    change_annotations: bool = False
    label_details: bool = False
    item_tags: bool = False
    """Can show an item of a completion list as deprecated, that is, better not accepted."""
    markdown_documentation: bool = True
    markdown_hover: bool = True
    configuration: bool = False
    watch_configuration: bool = False
    watch_files: bool = False
    progress: bool = False
    pull_diagnostics: bool = False
    """Requests diagnostics, and can be asked to do so again; a client that cannot is sent them."""
    diagnostic_tags: bool = False
    related_information: bool = False
    workspace_folders: bool = False
    definition_links: bool = False
    """A definition may include the whole range that contains it."""
    nested_symbols: bool = False
    """Takes symbols with a detail and a range for the name."""
    folding_limit: int = 0
    """How many folds the client takes; 0: all."""
    action_literals: bool = False
    """Code actions with a kind; a client without them takes commands only."""
    resolve_edits: bool = False
    """Edits of a code action may come when it is chosen."""
    show_document: bool = False
    snippets: bool = False
    refresh_hints: bool = False
    refresh_tokens: bool = False
    refresh_lenses: bool = False
    takes_problems: bool = False
    """Shows problems itself; it is sent their codes, so that an author can silence each."""
    lists_references: bool = False
    """Shows a list of references, and is notified when the list may have changed."""

    register_formatting: bool = False
    """Takes a formatter for some documents only."""
    cursor_on_character: bool = False
    """The author's cursor is on a character, not between two: a position that the client sends from
    within a word may mean the end of the word."""

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities) -> ClientFlags:
        """The flags for a client's capabilities; what it does not announce, it cannot do."""
        workspace = capabilities.workspace or types.WorkspaceClientCapabilities()
        text = capabilities.text_document or types.TextDocumentClientCapabilities()
        window = capabilities.window or types.WindowClientCapabilities()
        edit = workspace.workspace_edit or types.WorkspaceEditClientCapabilities()
        completion = text.completion or types.CompletionClientCapabilities()
        item = completion.completion_item or types.ClientCompletionItemOptions()
        hover = text.hover or types.HoverClientCapabilities()
        operations = edit.resource_operations or ()
        watched = workspace.did_change_watched_files
        configuration = workspace.did_change_configuration
        action = text.code_action or types.CodeActionClientCapabilities()
        resolved = action.resolve_support.properties if action.resolve_support else ()
        shown = text.publish_diagnostics or types.PublishDiagnosticsClientCapabilities()
        refreshed = workspace.diagnostics
        pulls = text.diagnostic is not None and bool(refreshed and refreshed.refresh_support)
        return cls(
            apply_edit=bool(workspace.apply_edit),
            document_changes=bool(edit.document_changes),
            create_files=bool(edit.document_changes)
            and types.ResourceOperationKind.Create in operations,
            change_annotations=bool(edit.document_changes)
            and edit.change_annotation_support is not None,
            label_details=bool(item.label_details_support),
            item_tags=bool(
                item.tag_support
                and types.CompletionItemTag.Deprecated in item.tag_support.value_set
            ),
            markdown_documentation=_takes_markdown(item.documentation_format),
            markdown_hover=_takes_markdown(hover.content_format),
            configuration=bool(workspace.configuration),
            watch_configuration=bool(configuration and configuration.dynamic_registration),
            watch_files=bool(watched and watched.dynamic_registration),
            pull_diagnostics=pulls,
            diagnostic_tags=pulls or shown.tag_support is not None,
            related_information=pulls or bool(shown.related_information),
            progress=bool(window.work_done_progress),
            workspace_folders=bool(workspace.workspace_folders),
            definition_links=bool(text.definition and text.definition.link_support),
            nested_symbols=bool(
                text.document_symbol and text.document_symbol.hierarchical_document_symbol_support
            ),
            folding_limit=(text.folding_range.range_limit or 0) if text.folding_range else 0,
            action_literals=action.code_action_literal_support is not None,
            resolve_edits=bool(action.data_support) and "edit" in resolved,
            snippets=bool(item.snippet_support),
            show_document=bool(window.show_document and window.show_document.support),
            refresh_hints=bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support),
            refresh_tokens=bool(
                workspace.semantic_tokens and workspace.semantic_tokens.refresh_support
            ),
            refresh_lenses=bool(workspace.code_lens and workspace.code_lens.refresh_support),
            takes_problems=_announces(capabilities.experimental, "citewell", "problems"),
            lists_references=_announces(capabilities.experimental, "citewell", "references"),
            register_formatting=all(
                able is not None and bool(able.dynamic_registration)
                for able in (text.formatting, text.range_formatting)
            ),
            cursor_on_character=_announces(
                capabilities.experimental, "citewell", "cursorOnCharacter"
            ),
        )


def _takes_markdown(formats: object) -> bool:
    return isinstance(formats, (list, tuple)) and types.MarkupKind.Markdown in formats


def _announces(experimental: object, *names: str) -> bool:
    """True when a capability beyond the protocol is announced, at this place of the tree."""
    node = experimental
    for name in names:
        node = node.get(name) if isinstance(node, Mapping) else getattr(node, name, None)
    return bool(node)
