"""Papers outside of the opened folder, and a .bib that cannot take an entry: never a citation
without its entry."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = (
    "\\documentclass{article}\n\\begin{document}\n"
    "We build on \\cite<graph attention>| and others.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)
CITED = PAPER.replace("\\cite<graph attention>|", "\\cite{velickovic2018graph}")
OPEN = PAPER.replace("|", "")
OWN = "@book{zuse1969,\n  title = {Rechnender Raum},\n  year = {1969}\n}\n"


@pytest.fixture
def beside(tmp_path_factory):
    """Makes a folder that no workspace holds: a function of the editor and the texts of files."""

    def make(editor, **texts: str) -> None:
        folder = tmp_path_factory.mktemp("elsewhere")
        editor.enter(folder)
        for name, text in texts.items():
            editor.write(name.replace("_", "."), text)

    return make


def nothing(titles: list[str]) -> None:
    """Press no button."""


def first(titles: list[str]) -> str:
    """Press the first button."""
    return titles[0]


def press(editor, choose: Callable[[list[str]], str | None]) -> list[str]:
    """Answer questions from now on; the questions."""
    requests: list[str] = []

    def ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        requests.append(params.message)
        title = choose([action.title for action in params.actions or ()])
        return types.MessageActionItem(title) if title else None

    editor.client.protocol.fm.features[types.WINDOW_SHOW_MESSAGE_REQUEST] = ask
    return requests


async def accept_first(editor) -> None:
    items = await editor.complete("main.tex")
    assert items
    await editor.accept("main.tex", items[0])


async def test_a_paper_outside_of_the_opened_folder_takes_the_entry(start_editor, beside):
    editor = await start_editor(files={"other.tex": OPEN})
    beside(editor, refs_bib=OWN)
    editor.open("main.tex", PAPER)
    await accept_first(editor)
    assert editor.text("main.tex") == CITED
    assert editor.text("refs.bib").startswith(OWN)
    assert "@inproceedings{velickovic2018graph," in editor.text("refs.bib")
    assert editor.messages == []


async def test_a_part_outside_of_the_opened_folder_belongs_to_its_paper(start_editor, beside):
    editor = await start_editor(files={"other.tex": OPEN})
    beside(editor, refs_bib=OWN)
    root = PAPER.replace("We build on \\cite<graph attention>| and others.", "\\input{parts/one}")
    editor.write("paper.tex", root)
    editor.write("parts/one.tex", "")
    editor.open("parts/one.tex", "We build on \\cite<graph attention>|.\n")
    items = await editor.complete("parts/one.tex")
    await editor.accept("parts/one.tex", items[0])
    assert "\\cite{velickovic2018graph}" in editor.text("parts/one.tex")
    assert "@inproceedings{velickovic2018graph," in editor.text("refs.bib")
    assert not (editor.folder / "parts" / "references.bib").exists()


async def test_a_bib_that_is_open_may_be_written_wherever_it_stands(start_editor, beside):
    editor = await start_editor(files={"other.tex": OPEN})
    inside = editor.folder
    beside(editor, refs_bib=OWN)
    outside = editor.folder
    (inside / "main.tex").write_text(PAPER.replace("{refs}", f"{{{outside}/refs}}"))
    editor.enter(Path("/"))
    paper, bib = f"{inside}/main.tex".lstrip("/"), f"{outside}/refs.bib".lstrip("/")
    editor.open(bib, language="bibtex")
    editor.open(paper)
    items = await editor.complete(paper)
    await editor.accept(paper, items[0])
    assert "velickovic2018graph" in editor.text(bib)
    assert not (inside / "references.bib").exists()


async def test_a_citation_is_taken_back_when_the_editor_refuses_its_entry(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    editor.open("refs.bib", language="bibtex")
    items = await editor.complete("main.tex")
    # The first edit, which holds the entry, is refused: the one that takes back is not.
    editor.refuse_next = "the buffer is read-only"
    await editor.accept("main.tex", items[0])
    assert editor.text("main.tex") == OPEN
    assert editor.text("refs.bib") == OWN
    assert any("read-only" in message for message in editor.messages)


async def test_a_citation_is_taken_back_when_the_bib_is_write_protected(start_editor):
    editor = await start_editor(files={"refs.bib": OWN, "references.bib": OWN})
    pressed = press(editor, nothing)
    (editor.folder / "refs.bib").chmod(0o444)
    (editor.folder / "references.bib").chmod(0o444)
    editor.open("main.tex", PAPER)
    await accept_first(editor)
    assert editor.text("main.tex") == OPEN
    await editor.wait_for(lambda: any("write-protected" in words for words in pressed))
    assert editor.text("refs.bib") == editor.text("references.bib") == OWN


@pytest.mark.parametrize("by", ["completion", "action", "picker"])
async def test_a_button_writes_the_bib_outside_of_the_workspace_and_cites(start_editor, beside, by):
    editor = await start_editor(files={"other.tex": OPEN})
    paper = editor.folder / "part.tex"
    inside = editor.folder
    beside(editor, refs_bib=OWN)
    outside = editor.folder
    editor.write("paper.tex", PAPER.replace("We build on \\cite<graph attention>| and others.", ""))
    editor.enter(Path("/"))
    name = str(paper).lstrip("/")
    before = f"% !TEX root = {outside}/paper.tex\nWe build on \\cite<graph attention>.\n"
    editor.open(name, before)
    pressed = press(editor, nothing)
    await cite(editor, name, by)
    await editor.wait_for(lambda: any("outside the workspace" in words for words in pressed))
    assert editor.text(name) == before
    assert [path.name for path in outside.iterdir() if path.suffix == ".bib"] == ["refs.bib"]

    press(editor, first)
    await cite(editor, name, by)
    await editor.wait_for(lambda: "{velickovic2018graph}" in editor.text(name))
    entries = [path.read_text() for path in outside.glob("*.bib")]
    assert sum("@inproceedings{velickovic2018graph," in text for text in entries) == 1
    assert not list(inside.glob("*.bib"))


async def cite(editor, name: str, by: str) -> None:
    """Cite the first paper for the placeholder, by one of the ways that there are."""
    if by == "completion":
        at = editor.text(name).index("attention>") + len("attention>")
        await editor.accept(name, (await editor.complete(name, at))[0])
    elif by == "action":
        actions = await editor.actions(name, "\\cite<")
        await editor.act(next(one for one in actions if one.title.startswith("Cite ")))
    else:
        text = editor.text(name)
        position = editor.position(text, text.index("attention>"))
        arguments = {"uri": editor.uri(name), "query": "graph attention networks"}
        found = await command(editor, "citewell.search", arguments)
        arguments = {
            "uri": editor.uri(name),
            "work": found["rows"][0]["id"],
            "position": {"line": position.line, "character": position.character},
        }
        await command(editor, "citewell.insertPaper", arguments)


async def command(editor, name: str, argument: dict) -> dict:
    return await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=name, arguments=[argument])
    )
