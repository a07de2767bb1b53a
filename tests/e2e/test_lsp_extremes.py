"""Texts that no author writes and every server meets: processor time and memory stay in bounds.

The bounds are those of docs/editors-features.md. Time is the server's processor time, which other
programs on the machine do not change.
"""

from __future__ import annotations

import psutil
import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = "\\documentclass{article}\n\\begin{document}\n%s\n\\bibliography{refs}\n\\end{document}\n"


class Meter:
    """Processor time and memory of a server since the last look."""

    def __init__(self, editor):
        self.process = psutil.Process(editor.client._server.pid)
        self.last = self.cpu()

    def cpu(self):
        times = self.process.cpu_times()
        return times.user + times.system

    def lap(self):
        now = self.cpu()
        spent, self.last = now - self.last, now
        return spent

    @property
    def megabytes(self):
        return self.process.memory_info().rss / 1e6


async def ask_all(editor, name, offset):
    """Every request about a place, one after the other; the answers by method."""
    text = editor.texts[editor.uri(name)]
    document = types.TextDocumentIdentifier(editor.uri(name))
    place = {"text_document": document, "position": editor.position(text, offset)}
    context = types.ReferenceContext(include_declaration=True)
    requests = {
        types.TEXT_DOCUMENT_DEFINITION: types.DefinitionParams(**place),
        types.TEXT_DOCUMENT_REFERENCES: types.ReferenceParams(context=context, **place),
        types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: types.DocumentHighlightParams(**place),
        types.TEXT_DOCUMENT_PREPARE_RENAME: types.PrepareRenameParams(**place),
        types.TEXT_DOCUMENT_RENAME: types.RenameParams(new_name="another", **place),
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: types.DocumentSymbolParams(document),
        types.TEXT_DOCUMENT_FOLDING_RANGE: types.FoldingRangeParams(document),
        types.TEXT_DOCUMENT_DOCUMENT_LINK: types.DocumentLinkParams(document),
        types.TEXT_DOCUMENT_HOVER: types.HoverParams(**place),
        types.TEXT_DOCUMENT_COMPLETION: types.CompletionParams(**place),
    }  # fmt: skip
    return {
        method: await editor.client.protocol.send_request_async(method, params)
        for method, params in requests.items()
    }


async def test_a_line_of_five_megabytes_is_served(start_editor):
    prose = "and a good deal of prose in between, of no interest to anybody, é " * 8
    line = f"We follow \\cite{{a}}, $x_{{1}}$ {prose} " * 9_000
    assert len(line) > 5_000_000
    editor = await start_editor(files={"refs.bib": "@misc{a, title={A}}\n"}, alone=True)
    meter = Meter(editor)
    editor.open("main.tex", PAPER % line)
    text = editor.texts[editor.uri("main.tex")]
    found = await ask_all(editor, "main.tex", text.rindex("\\cite{a}") + 6)
    assert len(found[types.TEXT_DOCUMENT_REFERENCES]) == 9_001
    assert len(found[types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT]) == 9_000
    assert meter.lap() < 60
    assert meter.megabytes < 600
    editor.replace("main.tex", 0, 0, "%")
    found = await ask_all(editor, "main.tex", text.index("\\cite{a}") + 7)
    assert len(found[types.TEXT_DOCUMENT_REFERENCES]) == 9_001
    assert meter.lap() < 60


@pytest.mark.nightly
async def test_a_bib_of_a_hundred_thousand_entries_is_served(start_editor):
    entries = "".join(
        f"@article{{key{n:06},\n  title = {{On the matter of {n}}},\n  author = {{Doe, J. and Roe, R.}},\n"
        f"  journal = {{Letters}}, year = {{{1900 + n % 120}}}, doi = {{10.1234/{n}}},\n}}\n"
        for n in range(100_000)
    )
    editor = await start_editor(files={"refs.bib": entries}, alone=True)
    meter = Meter(editor)
    editor.open("main.tex", PAPER % "\\cite{key099999}")
    at = editor.texts[editor.uri("main.tex")].index("key099999") + 9
    found = await ask_all(editor, "main.tex", at)
    assert len(found[types.TEXT_DOCUMENT_DEFINITION]) == 1
    assert meter.lap() < 40
    editor.open("refs.bib", language="bibtex")
    found = await ask_all(editor, "refs.bib", entries.rindex("key099999"))
    assert len(found[types.TEXT_DOCUMENT_DOCUMENT_SYMBOL]) == 100_000
    assert len(found[types.TEXT_DOCUMENT_REFERENCES]) == 2
    assert meter.lap() < 40
    editor.replace("refs.bib", 0, 0, "@misc{new, title={N}}\n")
    editor.replace("main.tex", at, at, ",new")
    place = types.TextDocumentIdentifier(editor.uri("main.tex"))
    position = editor.position(editor.text("main.tex"), at + 2)
    found = await editor.client.text_document_definition_async(
        types.DefinitionParams(place, position)
    )
    assert len(found) == 1
    assert meter.lap() < 5
    assert meter.megabytes < 1_000


@pytest.mark.parametrize(
    "unit", ["{", "\\begin{x}", "\\cite{", "[@", "\\footnote{", "$", "\\iffalse ", "@misc{"]
)
async def test_deep_nesting_is_served(start_editor, unit):
    editor = await start_editor(files={"refs.bib": "@misc{a, title={A}}\n"})
    meter = Meter(editor)
    deep = unit * (100_000 // len(unit))
    for name, language in (("main.tex", "latex"), ("notes.md", "markdown"), ("refs.bib", "bibtex")):
        editor.open(name, deep, language)
        await ask_all(editor, name, len(deep) // 2)
    assert meter.lap() < 60
    assert not editor.has_ended


async def test_sources_that_include_each_other_are_served(start_editor):
    files = {
        f"part{n}.tex": f"\\input{{part{(n + 1) % 50}}}\\input{{main}}\\cite{{a}}\n"
        for n in range(50)
    }
    files |= {
        "refs.bib": "@misc{a, title={A}}\n",
        "main.tex": PAPER % "\\input{main}\\input{part0}\\cite{a}",
    }
    editor = await start_editor(files=files)
    meter = Meter(editor)
    editor.open("main.tex")
    found = await ask_all(editor, "main.tex", editor.text("main.tex").index("\\cite") + 6)
    assert len(found[types.TEXT_DOCUMENT_REFERENCES]) == 52
    assert meter.lap() < 10


async def test_two_workspace_folders_are_one_workspace(start_editor):
    files = {
        "one/main.tex": PAPER % "\\cite{a}",
        "one/refs.bib": "@misc{a, title={A}}\n",
        "two/notes.md": "---\nbibliography: ../one/refs.bib\n---\n@a\n",
    }
    editor = await start_editor(files=files, root=False, alone=True)
    added = [types.WorkspaceFolder(editor.uri(name), name) for name in ("one", "two")]
    editor.client.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent(added, []))
    )
    editor.open("one/main.tex")
    at = editor.text("one/main.tex").index("{a}") + 1
    found = (await ask_all(editor, "one/main.tex", at))[types.TEXT_DOCUMENT_REFERENCES]
    assert sorted(p.uri.rpartition("/")[2] for p in found) == ["main.tex", "notes.md", "refs.bib"]
    editor.client.workspace_did_change_workspace_folders(
        types.DidChangeWorkspaceFoldersParams(types.WorkspaceFoldersChangeEvent([], added[1:]))
    )
    found = (await ask_all(editor, "one/main.tex", at))[types.TEXT_DOCUMENT_REFERENCES]
    assert sorted(p.uri.rpartition("/")[2] for p in found) == ["main.tex", "refs.bib"]


async def test_a_bib_that_is_replaced_while_it_is_open_elsewhere_is_followed(start_editor):
    editor = await start_editor(files={"refs.bib": "@misc{old, title={A}}\n"})
    editor.open("main.tex", PAPER % "\\cite{new}")
    at = editor.text("main.tex").index("{new}") + 1
    assert not (await ask_all(editor, "main.tex", at))[types.TEXT_DOCUMENT_DEFINITION]
    editor.write("export.tmp", "@misc{new, title={A}}\n")
    (editor.folder / "export.tmp").replace(editor.folder / "refs.bib")
    assert (await ask_all(editor, "main.tex", at))[types.TEXT_DOCUMENT_DEFINITION]
