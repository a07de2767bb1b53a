"""Real papers, whole and cut off at random places, through the real server: never an error."""

import random
from pathlib import Path

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

CUTS = 2
LARGEST = 1


def sources(folder: Path) -> list[Path]:
    found = [p for p in folder.rglob("*") if p.suffix in (".tex", ".md", ".Rmd", ".qmd")]
    return sorted(found, key=lambda path: -path.stat().st_size)[:LARGEST]


async def ask_everywhere(editor, name: str, rng: random.Random) -> int:
    """Hover and complete at random places and at every placeholder; how many lists came."""
    text = editor.texts[editor.uri(name)]
    places = [rng.randint(0, len(text)) for _ in range(3)]
    places += [at + 2 for at in range(len(text)) if text.startswith(("{}", "[@", "e<"), at)][:3]
    lists = 0
    for offset in places:
        position = editor.position(text, min(offset, len(text)))
        document = types.TextDocumentIdentifier(editor.uri(name))
        await editor.client.text_document_hover_async(types.HoverParams(document, position))
        found = await editor.client.text_document_completion_async(
            types.CompletionParams(document, position)
        )
        lists += found is not None
        await ask_for_keys(editor, document, position)
    return lists


async def ask_for_keys(editor, document, position) -> None:
    """What concerns the key at a place, if there is one; none of it may fail."""
    context = types.ReferenceContext(include_declaration=True)
    for method, params in (
        (types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams(document, position)),
        (types.TEXT_DOCUMENT_REFERENCES, types.ReferenceParams(context, document, position)),
        (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, types.DocumentHighlightParams(document, position)),
        (types.TEXT_DOCUMENT_PREPARE_RENAME, types.PrepareRenameParams(document, position)),
        (types.TEXT_DOCUMENT_DOCUMENT_LINK, types.DocumentLinkParams(document)),
    ):
        await editor.client.protocol.send_request_async(method, params)


async def ask_of_bib(editor, path: Path, text: str, rng: random.Random) -> int:
    """Open a .bib whole, then cut off; outline, folds, links and keys at random places."""
    editor.open(path.name, text, "bibtex")
    document = types.TextDocumentIdentifier(editor.uri(path.name))
    symbols = 0
    for cut in (len(text), *(rng.randint(0, len(text)) for _ in range(CUTS))):
        now = editor.texts[editor.uri(path.name)]
        editor.replace(path.name, 0, len(now), text[:cut])
        found = await editor.client.text_document_document_symbol_async(
            types.DocumentSymbolParams(document)
        )
        symbols += len(found or ())
        await editor.client.text_document_folding_range_async(types.FoldingRangeParams(document))
        for at in (rng.randint(0, cut), text.find("{", 0, cut) + 1):
            await ask_for_keys(editor, document, editor.position(text[:cut], min(at, cut)))
    return symbols


async def test_every_real_paper_whole_and_cut_off_is_served_without_an_error(
    start_editor, shared_data
):
    editor = await start_editor(alone=True)
    rng = random.Random(11)
    folders = sorted(
        folder for kind in ("latex", "markdown") for folder in (shared_data / "projects" / kind).iterdir()
        if folder.is_dir()
    )  # fmt: skip
    assert folders
    served = symbols = 0
    for folder in folders:
        for path in sources(folder):
            editor.folder = path.parent
            text = path.read_bytes().decode("utf-8", "replace")
            language = "latex" if path.suffix == ".tex" else "markdown"
            editor.open(path.name, text, language)
            served += await ask_everywhere(editor, path.name, rng)
            for _ in range(CUTS):
                now = editor.texts[editor.uri(path.name)]
                cut = rng.randint(0, len(text))
                editor.replace(path.name, 0, len(now), text[:cut])
                served += await ask_everywhere(editor, path.name, rng)
            editor.leave()
        for path in sorted(folder.rglob("*.bib"), key=lambda path: -path.stat().st_size)[:1]:
            editor.folder = path.parent
            text = path.read_bytes().decode("utf-8", "replace")
            symbols += await ask_of_bib(editor, path, text, rng)
            editor.leave()
    assert served > 10
    assert symbols > 1_000
    assert not editor.has_ended
    assert not [m for m in editor.messages if "failed" in m or "Error" in m]
