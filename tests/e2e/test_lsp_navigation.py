"""Definition, references, highlights, symbols, folds and links through the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENCODINGS = pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
# Each line has characters of one, two, three and four bytes before what is asked for.
MAIN = (
    "\\documentclass{article}\r\n\\begin{document}\r\n"
    "aé神🎉 \\cite{kant1781} \x0c\u2028 é \\cite{kant1781,zuse1969}\r\n"
    "\\bibliography{refs}\r\n\\end{document}\r\n"
)
NOTES = "---\nbibliography: refs.bib\n---\n🎉🎉 @kant1781 and [-@kant1781].\n"
BIB = (
    "% 🎉 comment\n% of two lines\n"
    "@string{pub = {É 神}}\n"
    "@book{kant1781,\n  title = {Kritik 🎉},\n  author = {Kant, Immanuel},\n  year = 1781,\n}\n"
    "@misc{🎉zuse, title={🎉}, crossref={kant1781}}\n"
    "@book{zuse1969,\n  title = {Rechnender\n  Raum},\n  author = {Zuse, Konrad},\n"
    "  doi = {10.1234/é🎉/x}, url={https://zuse.example/a},\n"
    "  eprint = {1706.03762}, archiveprefix = {arXiv},\n"
    "  file = {Full Text:files/raum.pdf:application/pdf}\n}\n"
)
FILES = {"main.tex": MAIN, "notes.md": NOTES, "refs.bib": BIB}


def place(editor, name, needle, nth=0, shift=1):
    """Position of the nth occurrence of a text, `shift` characters behind its beginning."""
    text = editor.text(name)
    at = -1
    for _ in range(nth + 1):
        at = text.index(needle, at + 1)
    return {
        "text_document": types.TextDocumentIdentifier(editor.uri(name)),
        "position": position(editor, text, at + shift),
    }


def position(editor, text, offset):
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    start = before.rfind("\n") + 1
    codec, size = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[
        editor.encoding
    ]
    return types.Position(before.count("\n"), len(before[start:].encode(codec)) // size)


def shown(editor, uri, range_):
    """ "main.tex 3 word" of a range, read in the editor's own encoding."""
    path = Path(to_fs_path(uri) or "")
    name = path.relative_to(editor.folder).as_posix()
    lines = editor.text(name).replace("\r\n", "\n").split("\n")
    codec, size = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[
        editor.encoding
    ]

    def cut(where):
        return where.line, len(
            lines[where.line].encode(codec)[: where.character * size].decode(codec)
        )

    (first, start), (last, end) = cut(range_.start), cut(range_.end)
    text = "\n".join(lines[first : last + 1])
    return f"{name} {first + 1} {text[start : len(text) - (len(lines[last]) - end)]}"


async def ask(editor, method, params):
    return await editor.client.protocol.send_request_async(method, params)


async def references(editor, name, needle, nth=0, declarations=True):
    found = await ask(
        editor,
        types.TEXT_DOCUMENT_REFERENCES,
        types.ReferenceParams(
            context=types.ReferenceContext(include_declaration=declarations),
            **place(editor, name, needle, nth),
        ),
    )
    return [shown(editor, p.uri, p.range) for p in found or ()]


@ENCODINGS
async def test_definition_leads_to_the_entry(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,))
    editor.open("main.tex")
    found = await ask(
        editor, types.TEXT_DOCUMENT_DEFINITION,
        types.DefinitionParams(**place(editor, "main.tex", "zuse1969")),
    )  # fmt: skip
    (link,) = found
    assert shown(editor, link.target_uri, link.target_selection_range) == "refs.bib 10 zuse1969"
    assert shown(editor, link.target_uri, link.target_range).startswith(
        "refs.bib 10 @book{zuse1969"
    )
    assert shown(editor, link.target_uri, link.target_range).endswith("}")
    origin = link.origin_selection_range
    assert shown(editor, editor.uri("main.tex"), origin) == "main.tex 3 zuse1969"
    # The .bib may be open and unsaved.
    editor.open("refs.bib", language="bibtex")
    editor.replace("refs.bib", 0, 0, "% new 🎉\n\n")
    (link,) = await ask(
        editor, types.TEXT_DOCUMENT_DEFINITION,
        types.DefinitionParams(**place(editor, "main.tex", "zuse1969")),
    )  # fmt: skip
    assert shown(editor, link.target_uri, link.target_selection_range) == "refs.bib 12 zuse1969"
    (link,) = await ask(
        editor, types.TEXT_DOCUMENT_DEFINITION,
        types.DefinitionParams(**place(editor, "refs.bib", "crossref", shift=11)),
    )  # fmt: skip
    assert shown(editor, link.target_uri, link.target_selection_range) == "refs.bib 6 kant1781"


@ENCODINGS
async def test_references_are_found_from_document_and_bib(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,))
    editor.open("refs.bib", language="bibtex")
    everywhere = {
        "refs.bib 4 kant1781", "refs.bib 9 kant1781", "main.tex 3 kant1781",
        "notes.md 4 kant1781",
    }  # fmt: skip
    found = await references(editor, "refs.bib", "kant1781")
    assert set(found) == everywhere
    assert len(found) == 6
    editor.open("notes.md", language="markdown")
    assert set(await references(editor, "notes.md", "kant1781")) == everywhere
    assert set(await references(editor, "notes.md", "kant1781", declarations=False)) == (
        everywhere - {"refs.bib 4 kant1781"}
    )
    # What is typed in one buffer is seen from another at once.
    editor.replace("notes.md", len(NOTES), len(NOTES), "@kant1781\n")
    assert len(await references(editor, "refs.bib", "kant1781")) == 7
    assert await references(editor, "refs.bib", "Kritik") == []


@ENCODINGS
async def test_highlights_mark_the_key_in_this_file(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,))
    editor.open("main.tex")
    found = await ask(
        editor, types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT,
        types.DocumentHighlightParams(**place(editor, "main.tex", "kant1781", 1)),
    )  # fmt: skip
    uri = editor.uri("main.tex")
    assert [shown(editor, uri, h.range) for h in found] == ["main.tex 3 kant1781"] * 2
    editor.open("refs.bib", language="bibtex")
    found = await ask(
        editor, types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT,
        types.DocumentHighlightParams(**place(editor, "refs.bib", "kant1781")),
    )  # fmt: skip
    kinds = types.DocumentHighlightKind
    assert [h.kind for h in found] == [kinds.Write, kinds.Read]


@ENCODINGS
async def test_the_outline_of_a_bib_shows_keys_authors_and_titles(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,))
    editor.open("refs.bib", language="bibtex")
    uri = editor.uri("refs.bib")
    document = types.TextDocumentIdentifier(uri)
    found = await ask(
        editor, types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(document)
    )
    assert [(s.name, s.detail) for s in found] == [
        ("pub", "É 神"),
        ("kant1781 · Kritik 🎉", "Kant 1781"),
        ("🎉zuse · 🎉", ""),
        ("zuse1969 · Rechnender Raum", "Zuse"),
    ]
    assert shown(editor, uri, found[2].selection_range) == "refs.bib 9 🎉zuse"
    assert shown(editor, uri, found[3].range).startswith("refs.bib 10 @book{zuse1969")
    editor.open("main.tex")
    document = types.TextDocumentIdentifier(editor.uri("main.tex"))
    assert not await ask(
        editor, types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(document)
    )


@ENCODINGS
async def test_workspace_symbols_are_found_by_key_title_and_author(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,), alone=True)
    for query in ("zuse1969", "rechnender raum", "konrad zuse", "zuse rechnnder"):
        found = await ask(editor, types.WORKSPACE_SYMBOL, types.WorkspaceSymbolParams(query=query))
        assert found[0].name == "zuse1969 · Rechnender Raum · Zuse", query
        assert (
            shown(editor, found[0].location.uri, found[0].location.range) == "refs.bib 10 zuse1969"
        )
        assert found[0].container_name == "refs.bib"
    everything = await ask(editor, types.WORKSPACE_SYMBOL, types.WorkspaceSymbolParams(query=""))
    assert len(everything) == 3


async def test_symbols_are_flat_for_a_client_that_knows_no_other(start_editor):
    def plain(able: types.ClientCapabilities) -> None:
        able.text_document.document_symbol = None
        able.text_document.definition = None

    editor = await start_editor(files=FILES, capabilities=plain)
    editor.open("refs.bib", language="bibtex")
    document = types.TextDocumentIdentifier(editor.uri("refs.bib"))
    found = await ask(
        editor, types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(document)
    )
    assert [s.name for s in found][1] == "kant1781 · Kritik 🎉 · Kant 1781"
    assert found[1].location.range.start == types.Position(3, 0)
    (location,) = await ask(
        editor, types.TEXT_DOCUMENT_DEFINITION,
        types.DefinitionParams(**place(editor, "refs.bib", "crossref", shift=11)),
    )  # fmt: skip
    assert shown(editor, location.uri, location.range) == "refs.bib 4 kant1781"


@ENCODINGS
async def test_entries_long_fields_and_comments_fold(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,))
    editor.open("refs.bib", language="bibtex")
    document = types.TextDocumentIdentifier(editor.uri("refs.bib"))
    found = await ask(editor, types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams(document))
    assert [(f.start_line, f.end_line, f.kind) for f in found] == [
        (0, 1, "comment"), (3, 7, None), (9, 16, None), (10, 11, None),
    ]  # fmt: skip


@ENCODINGS
async def test_links_lead_to_papers_files_and_bibliographies(start_editor, encoding):
    editor = await start_editor(files={**FILES, "files/raum.pdf": "%PDF"}, encodings=(encoding,))
    editor.open("refs.bib", language="bibtex")
    uri = editor.uri("refs.bib")
    found = await ask(
        editor, types.TEXT_DOCUMENT_DOCUMENT_LINK,
        types.DocumentLinkParams(types.TextDocumentIdentifier(uri)),
    )  # fmt: skip
    assert [(shown(editor, uri, link.range).split(" ", 2)[2], link.target) for link in found] == [
        ("10.1234/é🎉/x", "https://doi.org/10.1234/é🎉/x"),
        ("https://zuse.example/a", "https://zuse.example/a"),
        ("1706.03762", "https://arxiv.org/abs/1706.03762"),
        ("Full Text:files/raum.pdf:application/pdf", None),
    ]
    resolved = await ask(editor, types.DOCUMENT_LINK_RESOLVE, found[3])
    assert resolved.target == from_fs_path(str(editor.folder / "files" / "raum.pdf"))
    for name, language, word in [
        ("main.tex", "latex", "refs"),
        ("notes.md", "markdown", "refs.bib"),
    ]:
        editor.open(name, language=language)
        uri = editor.uri(name)
        (link,) = await ask(
            editor, types.TEXT_DOCUMENT_DOCUMENT_LINK,
            types.DocumentLinkParams(types.TextDocumentIdentifier(uri)),
        )  # fmt: skip
        assert shown(editor, uri, link.range).split(" ", 2)[2] == word
        resolved = await ask(editor, types.DOCUMENT_LINK_RESOLVE, link)
        assert resolved.target == editor.uri("refs.bib")


# -- rename ------------------------------------------------------------------------------------


async def rename(editor, name, needle, new, nth=0):
    return await ask(
        editor,
        types.TEXT_DOCUMENT_RENAME,
        types.RenameParams(new_name=new, **place(editor, name, needle, nth)),
    )


@ENCODINGS
async def test_a_key_is_renamed_in_every_file_open_or_not(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,))
    editor.open("refs.bib", language="bibtex")
    editor.open("notes.md", language="markdown")
    found = await ask(
        editor, types.TEXT_DOCUMENT_PREPARE_RENAME,
        types.PrepareRenameParams(**place(editor, "refs.bib", "kant1781")),
    )  # fmt: skip
    assert found.placeholder == "kant1781"
    assert shown(editor, editor.uri("refs.bib"), found.range) == "refs.bib 4 kant1781"
    edit = await rename(editor, "refs.bib", "kant1781", "kant神é")
    versions = {Path(to_fs_path(e.text_document.uri)).name: e.text_document.version
                for e in edit.document_changes}  # fmt: skip
    assert versions == {"refs.bib": 1, "notes.md": 1, "main.tex": None}
    labels = {a.label for a in edit.change_annotations.values()}
    assert labels == {"Rename to kant神é"}
    assert edit.changes is None
    editor._apply(edit)
    for name, text in FILES.items():
        assert editor.text(name) == text.replace("kant1781", "kant神é"), name


async def test_a_client_without_versions_gets_plain_changes(start_editor):
    def plain(able: types.ClientCapabilities) -> None:
        able.workspace.workspace_edit = None

    editor = await start_editor(files=FILES, capabilities=plain)
    editor.open("main.tex")
    edit = await rename(editor, "main.tex", "kant1781", "kant")
    assert edit.document_changes is None
    assert edit.change_annotations is None
    editor._apply(edit)
    assert editor.text("refs.bib") == BIB.replace("kant1781", "kant")
    assert editor.text("main.tex") == MAIN.replace("kant1781", "kant")


async def test_a_rename_that_collides_is_refused_with_the_reason(start_editor):
    from pygls.exceptions import JsonRpcException

    editor = await start_editor(files=FILES)
    editor.open("main.tex")
    with pytest.raises(JsonRpcException) as error:
        await rename(editor, "main.tex", "kant1781", "Zuse1969")
    assert error.value.code == types.LSPErrorCodes.RequestFailed
    assert "`zuse1969` is taken: refs.bib, line 10" in error.value.message
    with pytest.raises(JsonRpcException) as error:
        await rename(editor, "main.tex", "kant1781", "two words")
    assert "blank" in error.value.message
    assert await rename(editor, "main.tex", "begin", "x") is None


async def test_papers_that_share_a_bib_are_renamed_together_and_annotated_apart(start_editor):
    files = {
        "one.md": "---\nbibliography: refs.bib\n---\n@kant1781\n",
        "two.md": "---\nbibliography: refs.bib\n---\n@kant1781\n",
        "else.md": "---\nbibliography: own.bib\n---\n@kant1781\n",
        "own.bib": "@misc{kant1781, title={Another}}\n",
        "refs.bib": BIB,
    }
    editor = await start_editor(files=files)
    editor.open("one.md", language="markdown")
    edit = await rename(editor, "one.md", "kant1781", "kant")
    labels = {
        Path(to_fs_path(change.text_document.uri)).name:
            edit.change_annotations[change.edits[0].annotation_id].label
        for change in edit.document_changes
    }  # fmt: skip
    other = "Rename to kant, in other papers that use the same .bib"
    assert labels == {"one.md": "Rename to kant", "refs.bib": "Rename to kant", "two.md": other}
    editor._apply(edit)
    assert editor.text("else.md") == files["else.md"]
    assert editor.text("two.md").endswith("@kant\n")


async def test_a_bib_that_no_paper_uses_is_served_too(start_editor):
    editor = await start_editor(files={"alone.bib": BIB}, root=False)
    editor.open("alone.bib", language="bibtex")
    assert await references(editor, "alone.bib", "kant1781") == [
        "alone.bib 4 kant1781", "alone.bib 9 kant1781",
    ]  # fmt: skip
    edit = await rename(editor, "alone.bib", "kant1781", "kant")
    editor._apply(edit)
    assert editor.text("alone.bib") == BIB.replace("kant1781", "kant")


@pytest.mark.parametrize("annotated", [True, False])
async def test_a_rename_that_joins_an_undefined_key_has_to_be_confirmed(start_editor, annotated):
    from pygls.exceptions import JsonRpcException

    def able(capabilities: types.ClientCapabilities) -> None:
        edit = capabilities.workspace.workspace_edit
        edit.change_annotation_support = types.ChangeAnnotationsSupportOptions()
        if not annotated:
            edit.change_annotation_support = None

    main = MAIN.replace("\\begin{document}", "\\begin{document}\nSoon \\cite{later2026}.")
    editor = await start_editor(files=FILES | {"main.tex": main}, capabilities=able)
    editor.open("main.tex")
    if annotated:
        edit = await rename(editor, "main.tex", "kant1781", "later2026")
        annotations = edit.change_annotations.values()
        assert all(one.needs_confirmation for one in annotations)
        assert all("`later2026` is cited in main.tex" in one.description for one in annotations)
        plain = await rename(editor, "main.tex", "kant1781", "kant")
        assert not any(one.needs_confirmation for one in plain.change_annotations.values())
        return
    with pytest.raises(JsonRpcException) as error:
        await rename(editor, "main.tex", "kant1781", "later2026")
    assert "`later2026` is cited in main.tex" in error.value.message
    # An undefined key that gets the name of another one joins it, too.
    at = editor.text("main.tex").index("later2026}.")
    editor.replace("main.tex", at, at, "also2026,")
    with pytest.raises(JsonRpcException) as error:
        await rename(editor, "main.tex", "also2026", "later2026")
    assert "`later2026` is cited in main.tex" in error.value.message
    assert (await rename(editor, "main.tex", "also2026", "new2026")) is not None
