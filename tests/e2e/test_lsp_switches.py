"""Each part of what an editor is offered can be turned off, at the start and at any time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAIN = (
    "\\documentclass{article}\n\\begin{document}\n"
    "One \\cite{zuse1969}, two \\cite{zuse1969,nobody}, three \\cite<graph attention networks>.\n"
    "\\cite{zus}\n\\bibliography{refs}\n\\end{document}\n"
)
NOTES = "---\nbibliography: refs.bib\n---\n\nOne @zuse1969 and @nobody.\n"
BIB = "@book{zuse1969,\n  title = {Rechnender Raum},\n  author = {Zuse, Konrad},  \n  doi = {10.1234/x},\n}\n"
FILES = {"main.tex": MAIN, "notes.md": NOTES, "refs.bib": BIB}
PROVIDERS = (
    "completion", "hover", "definition", "references", "document_highlight", "rename",
    "document_symbol", "workspace_symbol", "folding_range", "document_link", "code_action",
    "semantic_tokens",
)  # fmt: skip


async def opened(start_editor: Any, features: dict[str, Any], **more: Any) -> Any:
    editor = await start_editor(files=FILES, settings={"features": features}, **more)
    for name in FILES:
        editor.open(name)
    return editor


async def change(editor: Any, features: dict[str, Any]) -> None:
    """What an editor does when the author changes the settings."""
    wanted = editor.client.get_configuration(section="citewell") | {"features": features}
    editor.client.set_configuration({"citewell": wanted})
    editor.client.workspace_did_change_configuration(
        types.DidChangeConfigurationParams(settings={"citewell": wanted})
    )


def at(editor: Any, name: str, needle: str) -> dict[str, Any]:
    before = editor.text(name)[: editor.text(name).index(needle) + len(needle)]
    start = before.rfind("\n") + 1
    return {
        "text_document": types.TextDocumentIdentifier(editor.uri(name)),
        "position": types.Position(before.count("\n"), len(before) - start),
    }


def whole(editor: Any, name: str) -> dict[str, Any]:
    return {"text_document": types.TextDocumentIdentifier(editor.uri(name))}


async def ask(editor: Any, switch: str, name: str = "main.tex", key: str = "zuse19") -> Any:
    """The answer to the request that a switch stands for; None or empty where there is none."""
    client, bib = editor.client, "refs.bib"
    if switch == "complete-keys":
        word = "\\cite{zus" if name == "main.tex" else "@zuse"
        return await client.text_document_completion_async(
            types.CompletionParams(**at(editor, name, word))
        )
    if switch == "complete-papers":
        place = at(editor, name, "graph attention networks")
        return await client.text_document_completion_async(types.CompletionParams(**place))
    if switch == "complete-bib":
        place = at(editor, bib, "  ti")
        return await client.text_document_completion_async(types.CompletionParams(**place))
    if switch == "complete-paths":
        place = at(editor, name, "\\bibliography{re")
        return await client.text_document_completion_async(types.CompletionParams(**place))
    if switch == "hover-keys":
        return await client.text_document_hover_async(types.HoverParams(**at(editor, name, key)))
    if switch == "hover-placeholders":
        place = at(editor, name, "graph att")
        return await client.text_document_hover_async(types.HoverParams(**place))
    if switch == "definition":
        place = at(editor, name, key)
        return await client.text_document_definition_async(types.DefinitionParams(**place))
    if switch == "references":
        context = types.ReferenceContext(include_declaration=True)
        return await client.text_document_references_async(
            types.ReferenceParams(**at(editor, name, key), context=context)
        )
    if switch == "highlights":
        return await client.text_document_document_highlight_async(
            types.DocumentHighlightParams(**at(editor, name, key))
        )
    if switch == "rename":
        return await client.text_document_rename_async(
            types.RenameParams(**at(editor, name, key), new_name="raum")
        )
    if switch == "symbols":
        return await client.text_document_document_symbol_async(
            types.DocumentSymbolParams(**whole(editor, bib))
        )
    if switch == "workspace-symbols":
        return await client.workspace_symbol_async(types.WorkspaceSymbolParams("zuse1969"))
    if switch == "folding":
        return await client.text_document_folding_range_async(
            types.FoldingRangeParams(**whole(editor, bib))
        )
    if switch == "formatting":
        return await client.text_document_formatting_async(
            types.DocumentFormattingParams(
                **whole(editor, bib),
                options=types.FormattingOptions(tab_size=2, insert_spaces=True),
            )
        )
    if switch == "links":
        return await client.text_document_document_link_async(
            types.DocumentLinkParams(**whole(editor, bib))
        )
    if switch == "code-actions":
        place = at(editor, name, "nobo")["position"]
        context = types.CodeActionContext(diagnostics=[])
        return await client.text_document_code_action_async(
            types.CodeActionParams(
                **whole(editor, name), range=types.Range(place, place), context=context
            )
        )
    assert switch == "semantic-tokens"
    return await client.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(**whole(editor, name))
    )


SWITCHES = (
    "complete-keys", "complete-papers", "complete-bib", "complete-paths", "hover-keys",
    "hover-placeholders", "definition", "references", "highlights", "rename", "symbols",
    "workspace-symbols", "folding", "formatting", "links", "code-actions", "semantic-tokens",
)  # fmt: skip


async def test_every_switch_turns_its_part_off_and_on_again(start_editor: Any) -> None:
    editor = await opened(start_editor, {})
    for provider in PROVIDERS:
        assert getattr(editor.capabilities, f"{provider}_provider"), provider
    for switch in SWITCHES:
        assert await ask(editor, switch), switch
        await change(editor, {"switches": {switch: False}})
        await answers(editor, switch, False)
        other = SWITCHES[SWITCHES.index(switch) - 1]
        assert await ask(editor, other), (switch, other)
    await change(editor, {})
    for switch in SWITCHES:
        await answers(editor, switch, True)


async def test_what_is_off_at_the_start_is_not_announced_and_registered_when_turned_on(
    start_editor: Any,
) -> None:
    off = dict.fromkeys(SWITCHES, False)
    editor = await opened(start_editor, {"switches": off})
    for provider in PROVIDERS:
        assert getattr(editor.capabilities, f"{provider}_provider") is None, provider
    await change(editor, {"switches": {**off, "rename": True}})
    await until(lambda: "citewell-rename_provider" in editor.registered)
    rename = editor.registered["citewell-rename_provider"]
    assert rename.method == "textDocument/rename"
    assert rename.register_options["prepareProvider"] is True
    await answers(editor, "rename", True)
    assert not await ask(editor, "definition")
    await change(editor, {"switches": off})
    await until(lambda: "citewell-rename_provider" not in editor.registered)


async def answers(editor: Any, switch: str, wanted: bool) -> None:
    """Wait until the server has taken the settings, which it asks the editor for."""
    async with asyncio.timeout(60):
        while bool(await ask(editor, switch)) is not wanted:
            await asyncio.sleep(0.02)


async def until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)


def languages(registration: types.Registration) -> set[str]:
    return {one["language"] for one in registration.register_options["documentSelector"]}


async def test_beside_texlab_only_what_it_lacks_remains_and_markdown_keeps_all(
    start_editor: Any,
) -> None:
    editor = await opened(start_editor, {"coexist": "texlab"})
    for provider in ("rename", "definition", "references", "document_symbol", "folding_range"):
        assert getattr(editor.capabilities, f"{provider}_provider") is None, provider
    await until(lambda: "citewell-rename_provider" in editor.registered)
    # An editor that asks one server alone for a rename must not ask us in LaTeX.
    assert languages(editor.registered["citewell-rename_provider"]) == {
        "markdown", "quarto", "rmd",
    }  # fmt: skip
    assert "citewell-document_symbol_provider" not in editor.registered
    for switch in (
        "complete-keys",
        "hover-keys",
        "definition",
        "references",
        "rename",
        "folding",
        "formatting",
    ):
        assert not await ask(editor, switch), switch
    for switch in ("complete-keys", "hover-keys", "definition", "references", "rename"):
        assert await ask(editor, switch, "notes.md"), switch
    for switch in ("complete-papers", "hover-placeholders", "code-actions", "semantic-tokens"):
        assert await ask(editor, switch), switch

    await until(lambda: "undefined-key" in codes_of(editor, "notes.md"))
    assert "undefined-key" not in codes_of(editor, "main.tex")
    await change(editor, {"coexist": "none"})
    await until(lambda: languages_of(editor, "rename") >= {"latex", "bibtex", "markdown"})
    assert await ask(editor, "rename")
    await until(lambda: "undefined-key" in codes_of(editor, "main.tex"))


def languages_of(editor: Any, name: str) -> set[str]:
    found = editor.registered.get(f"citewell-{name}_provider")
    return languages(found) if found is not None else set()


def codes_of(editor: Any, name: str) -> set[str]:
    return {str(one.code) for one in editor.client.diagnostics.get(editor.uri(name), ())}


async def test_an_editor_without_registrations_is_told_what_some_files_have(
    start_editor: Any,
) -> None:
    def able(capabilities: types.ClientCapabilities) -> None:
        assert capabilities.text_document
        assert capabilities.text_document.rename
        capabilities.text_document.rename.dynamic_registration = False

    editor = await opened(start_editor, {"coexist": "texlab"}, capabilities=able)
    assert editor.capabilities.rename_provider
    assert not await ask(editor, "rename")
    assert await ask(editor, "rename", "notes.md")
