"""Code actions over the protocol: titles at once, edits when chosen, one undoable step."""

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = (
    "\\documentclass{article}\n\\begin{document}\n"
    "😀 We build on \\cite<graph attention> and on \\cite<denoising diffusion>.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)
OWN = "% Größe 😀\n@book{zuse1969,\n\ttitle={Rechnender Raum},\n\tyear={1969}\n}\n"
ENCODINGS = pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])


def titled(actions, beginning):
    return next(action for action in actions if action.title.startswith(beginning))


@ENCODINGS
async def test_a_paper_is_cited_and_entered_in_one_annotated_edit(start_editor, encoding):
    editor = await start_editor(files={"refs.bib": OWN}, encodings=(encoding,))
    editor.open("main.tex", PAPER)
    actions = await editor.actions("main.tex", "graph attention")
    assert [action.title for action in actions][-2:] == [
        "Cite the best paper (searches longer)",
        "Fill all 2 placeholders in this file",
    ]
    first = actions[0]
    assert first.title == "Cite Veličković et al. 2018: Graph Attention Networks"
    assert first.edit is None
    assert first.is_preferred
    edit = await editor.act(first)
    assert {type(change) for change in edit.document_changes} == {types.TextDocumentEdit}
    assert len(edit.document_changes) == 2
    assert all(
        one.annotation_id in edit.change_annotations
        for change in edit.document_changes
        for one in change.edits
    )
    assert "on \\cite{velickovic2018graph} and" in editor.text("main.tex")
    assert editor.text("refs.bib").startswith(OWN)
    assert editor.text("refs.bib").count("@inproceedings{velickovic2018graph,") == 1


@ENCODINGS
async def test_all_placeholders_are_filled_in_one_edit(start_editor, encoding):
    editor = await start_editor(files={"refs.bib": OWN}, encodings=(encoding,))
    editor.open("main.tex", PAPER.replace("denoising diffusion", "denoising diffusion models"))
    actions = await editor.actions("main.tex", "graph attention", only=["source"])
    assert [action.title for action in actions] == ["Fill all 2 placeholders in this file"]
    await editor.act(actions[0])
    (applied,) = editor.applied
    assert len(applied.edit.document_changes) == 2
    text = editor.text("main.tex")
    assert "\\cite{velickovic2018graph}" in text
    assert editor.text("refs.bib").startswith(OWN)


async def test_the_best_paper_is_cited_after_a_longer_search(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    actions = await editor.actions("main.tex", "graph attention")
    await editor.act(titled(actions, "Cite the best"))
    assert "\\cite{velickovic2018graph}" in editor.text("main.tex")
    assert "velickovic2018graph" in editor.text("refs.bib")


async def test_an_entry_of_ones_own_is_offered_under_its_key(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER.replace("graph attention", "rechnender raum"))
    actions = await editor.actions("main.tex", "rechnender")
    assert actions[0].title == "Cite 1969: Rechnender Raum"
    await editor.act(actions[0])
    assert "\\cite{zuse1969}" in editor.text("main.tex")
    assert editor.text("refs.bib") == OWN


async def test_the_paper_goes_where_its_placeholder_stands_now(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    actions = await editor.actions("main.tex", "graph attention")
    editor.replace("main.tex", 0, 0, "% a line above\n")
    await editor.act(actions[0])
    assert "on \\cite{velickovic2018graph} and" in editor.text("main.tex")


async def test_an_action_whose_placeholder_is_gone_says_so(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    actions = await editor.actions("main.tex", "graph attention")
    text = editor.text("main.tex")
    start = text.index("\\cite<graph")
    editor.replace("main.tex", start, text.index(">", start) + 1, "nothing")
    before = editor.text("main.tex")
    assert await editor.act(actions[0]) is None
    assert editor.text("main.tex") == before
    assert any("no longer fits" in message for message in editor.messages)


async def test_a_client_without_literals_gets_commands(start_editor):
    def old(able):
        able.text_document.code_action = types.CodeActionClientCapabilities()

    editor = await start_editor(files={"refs.bib": OWN}, capabilities=old)
    editor.open("main.tex", PAPER)
    actions = await editor.actions("main.tex", "graph attention")
    assert all(isinstance(action, types.Command) for action in actions)
    await editor.act(actions[0])
    assert "\\cite{velickovic2018graph}" in editor.text("main.tex")
    assert "velickovic2018graph" in editor.text("refs.bib")


async def test_no_actions_where_nothing_is_to_be_done(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open(
        "main.tex", "\\documentclass{article}\n\\begin{document}\nHello.\n\\end{document}\n"
    )
    assert await editor.actions("main.tex", "Hello") == []
    assert await editor.actions("main.tex", "Hello", only=["source.organizeImports"]) == []
