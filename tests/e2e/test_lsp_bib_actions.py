"""Code actions in a .bib, over the protocol: one edit over the .bib and every file that cites it."""

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")
ENCODINGS = pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])

PAPER = (
    "\\documentclass{article}\n\\begin{document}\n"
    "😀 See \\cite{bert1,zuse1969} and \\citep{bert2}.\n\\input{part}\n"
    "\\bibliography{refs}\n\\end{document}\n"
)
BIB = """% 😀 Größe
@book{zuse1969, title={Rechnender Raum}, author={Zuse, Konrad}, year=1969}

@inproceedings{bert2,
  title  = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei},
  year   = {2018},
  note   = {mine},
}

@misc{bert1, title={{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding}, author={Devlin, J. and others}, year=2019}

@misc{alone, title={Nobody Cites This One}, author={No, Body}, year=2000}
"""


async def start(start_editor, encoding="utf-16"):
    editor = await start_editor(
        files={"main.tex": PAPER, "part.tex": "Part \\cite{bert2}.\n", "refs.bib": BIB},
        encodings=(encoding,),
    )
    editor.open("refs.bib", language="bibtex")
    return editor


def titled(actions, beginning):
    return next(action for action in actions if action.title.startswith(beginning))


@ENCODINGS
async def test_an_entry_is_completed_from_its_record(start_editor, encoding):
    editor = await start(start_editor, encoding)
    actions = await editor.actions("refs.bib", "bert2")
    action = titled(actions, "Complete and correct `bert2` from its record")
    await editor.act(action)
    bib = editor.text("refs.bib")
    assert "  year   = {2019},\n  note   = {mine},\n" in bib
    assert "  doi    = {10.18653/v1/n19-1423},\n}" in bib
    assert "@inproceedings{bert2,\n  title  = {{BERT}: Pre-training of Deep" in bib
    assert not any(
        action.title.startswith("Complete") for action in await editor.actions("refs.bib", "bert2")
    )


async def test_the_file_is_sorted_and_what_nobody_cites_is_removed(start_editor):
    editor = await start(start_editor)
    actions = await editor.actions("refs.bib", only=["source"])
    assert [action.title for action in actions] == [
        "Sort the entries by key",
        "Sort the entries by author and year",
        "Remove the unused entry",
    ]
    await editor.act(titled(actions, "Remove"))
    assert "alone" not in editor.text("refs.bib")
    actions = await editor.actions("refs.bib", only=["source.sortBib"])
    await editor.act(titled(actions, "Sort the entries by key"))
    bib = editor.text("refs.bib")
    assert bib.index("bert1") < bib.index("bert2") < bib.index("zuse1969")
    assert bib.index("% 😀 Größe\n@book{zuse1969") > 0
    assert sorted(BIB.split("@misc{alone", maxsplit=1)[0].split()) == sorted(bib.split())


LAID_OUT = "@article{a,\n  author = {Ä 😀},\n  title  = {T},\n  year   = 2000,\n}\n"
ODD = "\n@misc{b,title={😀 B},\n year=  {2001}}\n"
FORMED = "\n@misc{b,\n  title  = {😀 B},\n  year   = {2001}\n}\n"


def fixed(able):
    able.text_document.formatting = types.DocumentFormattingClientCapabilities()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("capabilities", [None, fixed])
async def test_a_bib_is_formatted_as_its_entries_are(start_editor, encoding, capabilities):
    editor = await start_editor(
        files={"main.tex": "\\cite{a}"},
        encodings=(encoding,),
        capabilities=capabilities,
        alone=True,
    )
    editor.open("refs.bib", LAID_OUT + ODD, language="bibtex")
    editor.open("main.tex")
    options = types.FormattingOptions(tab_size=4, insert_spaces=True)

    async def edits(name):
        document = types.TextDocumentIdentifier(editor.uri(name))
        params = types.DocumentFormattingParams(document, options)
        return await editor.client.text_document_formatting_async(params)

    await editor.actions("refs.bib")  # a formatter is asked once the client has been told of it
    editor._apply_edits(editor.uri("refs.bib"), await edits("refs.bib"))
    assert editor.text("refs.bib") == LAID_OUT + FORMED
    assert not await edits("refs.bib")
    assert await edits("main.tex") is None


@ENCODINGS
async def test_a_part_of_a_bib_is_formatted_and_for_bib_files_alone(start_editor, encoding):
    editor = await start_editor(encodings=(encoding,), alone=True)
    text = LAID_OUT + ODD + ODD.replace("{b", "{c")
    editor.open("refs.bib", text, language="bibtex")
    await editor.actions("refs.bib")  # a formatter is asked once the client has been told of it
    place = editor.position(text, text.index("{c"))
    found = await editor.client.text_document_range_formatting_async(
        types.DocumentRangeFormattingParams(
            types.TextDocumentIdentifier(editor.uri("refs.bib")),
            types.Range(place, place),
            types.FormattingOptions(tab_size=4, insert_spaces=True),
        )
    )
    editor._apply_edits(editor.uri("refs.bib"), found)
    assert editor.text("refs.bib") == LAID_OUT + ODD + FORMED.replace("{b", "{c")
