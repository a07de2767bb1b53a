"""Folders whose names have a meaning in an address: every answer is about the right file."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAMES = ["a#b", "what?", "a%20b", "a b", "Übung – ß", "paper (1)", "100%", "a&b;c=d+e", "%23"]
PAPER = r"""
\documentclass{article}
\begin{document}
We build on \cite<graph attention>. See \cite{nobody2020}.
\bibliography{refs}
\end{document}
"""
OWN = "@misc{own, title = {Own}, year = {20x0}}\n@misc{own, title = {Twice}}\n"
SAFE = {"vscode": "/", "neovim": "/!*'()", "as it is": "/!$&'()*+,;=:@~"}
"""Which characters an editor leaves as they are in an address."""


@pytest.fixture(params=SAFE)
def spelled(request):
    """How an editor writes the address of a file."""
    return lambda path: "file://" + quote(str(path), safe=SAFE[request.param])


def enter(editor, top: Path, name: str, spelled) -> None:
    folder = top / name
    folder.mkdir(exist_ok=True)
    editor.enter(folder)
    editor.uri = lambda file: spelled(folder / file)
    editor.write("refs.bib", OWN)
    editor.write("main.tex", PAPER)


def possible(name: str) -> bool:
    return os.name != "nt" or not any(char in name for char in '?"<>|*:')


async def test_an_entry_goes_into_the_bib_of_the_right_folder(start_editor, spelled):
    editor = await start_editor(alone=True)
    top = editor.folder
    for name in filter(possible, NAMES):
        for opens_bib in (False, True):
            enter(editor, top, name, spelled)
            editor.open("main.tex", PAPER)
            if opens_bib:
                editor.open("refs.bib", OWN, "bibtex")
            at = PAPER.index("attention>") + len("attention>")
            items = await editor.complete("main.tex", at)
            assert items, name
            await editor.accept("main.tex", items[0])
            assert "@inproceedings{velickovic2018graph," in editor.text("refs.bib"), name
            assert "{velickovic2018graph}" in editor.text("main.tex"), name
            editor.leave()
        assert sorted(p.name for p in editor.folder.iterdir()) == ["main.tex", "refs.bib"], name


async def test_pushed_and_pulled_diagnostics_speak_of_the_same_file(start_editor, spelled):
    found = {}
    for pulls in (False, True):
        editor = await start_editor(settings=SETTINGS, capabilities=asks if pulls else None)
        top = editor.folder
        for name in filter(possible, NAMES):
            enter(editor, top, name, spelled)
            editor.open("main.tex", PAPER)
            editor.open("refs.bib", OWN, "bibtex")
            for file in ("main.tex", "refs.bib"):
                uri = editor.uri(file)
                if pulls:
                    document = types.TextDocumentIdentifier(uri)
                    answer = await editor.client.text_document_diagnostic_async(
                        types.DocumentDiagnosticParams(document)
                    )
                    assert codes(answer.items) == found[name, file], name
                else:
                    expected = "undefined-key" if file == "main.tex" else "bib-duplicate-key"
                    published = editor.client.diagnostics
                    await editor.wait_for(lambda: expected in codes(published.get(uri)))  # noqa: B023
                    found[name, file] = codes(published[uri])
            editor.leave()


SETTINGS = {"diagnostics": {"verification": "off", "delayMs": 50}}


def asks(capabilities: types.ClientCapabilities) -> None:
    capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(
        refresh_support=True
    )


def codes(diagnostics) -> set[str]:
    return {str(one.code) for one in diagnostics or ()}
