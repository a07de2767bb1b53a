"""The list of references beside a document, through the real protocol and on a real library."""

import asyncio

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

BIB = """@inproceedings{right,
  title = {Deep Residual Learning for Image Recognition},
  author = {He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian},
  booktitle = {CVPR},
  year = {2016},
}

@inproceedings{späte,
  title = {Semi-Supervised Classification with Graph Convolutional Networks},
  author = {Kipf, Thomas N. and Welling, Max},
  booktitle = {ICLR},
  year = {2012},
}
"""
PAPER = r"""\documentclass{article}
\begin{document}
𝔸 \cite{späte} and \cite{right,nobody}.
\bibliography{refs}
\end{document}
"""


def listing(capabilities: types.ClientCapabilities) -> None:
    """A client that shows the list."""
    capabilities.experimental = {"citewell": {"references": True}}


async def ask(editor, name):
    found = await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams("citewell.documentReferences", [editor.uri(name)])
    )
    return found


def plain(value):
    """The answer as the JSON that it was."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [plain(item) for item in value]
    if hasattr(value, "_asdict"):
        return {name: plain(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


async def test_states_come_as_they_are_known_and_a_fix_mends_the_entry(start_editor):
    editor = await start_editor(files={"refs.bib": BIB, "main.tex": PAPER}, capabilities=listing)
    published = []

    @editor.client.feature("citewell/referencesChanged")
    def changed(_params):
        published.append(True)

    editor.open("main.tex")
    for _ in range(100):
        found = plain(await ask(editor, "main.tex"))
        if all(one["state"] != "unchecked" for one in found["references"]):
            break
        await asyncio.sleep(0.1)
    assert [(r["key"], r["state"]) for r in found["references"]] == [
        ("nobody", "undefined"),
        ("späte", "wrong-detail"),
        ("right", "verified"),
    ]
    await editor.wait_for(lambda: published)
    late = found["references"][1]
    cited, defined = late["cited"][0], late["defined"]
    line = PAPER.splitlines()[2]
    start, end = cited["range"]["start"], cited["range"]["end"]
    # The letter before counts twice in the units of this client.
    assert (start["line"], start["character"]) == (2, line.index("späte") + 1)
    assert end["character"] - start["character"] == len("späte")
    assert defined["uri"] == editor.uri("refs.bib")
    fix = next(fix for fix in late["fixes"] if fix["preferred"])
    assert "2017" in fix["title"]

    editor.open("refs.bib", language="bibtex")
    done = await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams("citewell.act", [fix["act"]])
    )
    assert plain(done)["applied"] is True
    assert "year = {2017}" in editor.text("refs.bib")
    assert editor.text("refs.bib") == BIB.replace("2012", "2017")


async def test_a_client_that_shows_no_list_is_not_told(start_editor):
    def hints(capabilities: types.ClientCapabilities) -> None:
        capabilities.workspace.inlay_hint = types.InlayHintWorkspaceClientCapabilities(True)

    files = {"refs.bib": BIB, "main.tex": PAPER}
    editor = await start_editor(files=files, capabilities=hints)
    published = []
    editor.client.feature("citewell/referencesChanged")(lambda _params: published.append(True))
    refreshed = []
    editor.client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)(lambda *_: refreshed.append(True))
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    await editor.execute("citewell.check", editor.uri("refs.bib"))
    # The list is told of first, then the hints.
    await editor.wait_for(lambda: refreshed)
    assert not published


async def test_a_document_that_is_not_open_has_no_list(start_editor):
    editor = await start_editor(files={"main.tex": PAPER})
    assert await ask(editor, "main.tex") is None
