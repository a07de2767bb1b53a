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
    editor.open("refs.bib", language="bibtex")
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
    editor.open("refs.bib", language="bibtex")
    actions = await editor.actions("main.tex", "graph attention", only=["source"])
    assert [action.title for action in actions] == ["Fill all 2 placeholders in this file"]
    await editor.act(actions[0])
    (applied,) = editor.applied
    assert len(applied.edit.document_changes) == 2
    text = editor.text("main.tex")
    assert "\\cite{velickovic2018graph}" in text
    assert editor.text("refs.bib").startswith(OWN)


async def test_a_place_without_words_stays_open_and_its_best_papers_are_named(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    text = PAPER.replace("<denoising diffusion>", "{}")
    editor.open("main.tex", text)
    actions = await editor.actions("main.tex", "graph attention", only=["source"])
    await editor.act(actions[0])
    assert "\\cite{velickovic2018graph}" in editor.text("main.tex")
    assert "\\cite{}" in editor.text("main.tex")
    (message,) = editor.messages
    assert "1 of 2 filled; 1 left open: `\\cite{}`." in message
    assert "; best: “" in message


async def test_the_best_paper_is_cited_after_a_longer_search(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    actions = await editor.actions("main.tex", "graph attention")
    await editor.act(titled(actions, "Cite the best"))
    assert "\\cite{velickovic2018graph}" in editor.text("main.tex")
    assert "velickovic2018graph" in editor.text("refs.bib")


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
    assert any("no longer applies" in message for message in editor.messages)


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


UNDEFINED = (
    "\\documentclass{article}\n\\begin{document}\n"
    "😀 Attention over neighbours \\cite{velickovic-gat-2018} and computing space \\cite{zuse-1969}.\n"
    "We optimise with \\citep{kingma-ba-2015-adam}.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)


@ENCODINGS
async def test_the_paper_that_an_undefined_key_means_is_added_under_that_key(
    start_editor, encoding
):
    editor = await start_editor(files={"refs.bib": OWN}, encodings=(encoding,))
    editor.open("main.tex", UNDEFINED)
    editor.open("refs.bib", language="bibtex")
    actions = await editor.actions("main.tex", "kingma")
    assert actions[0].title == (
        "Add Kingma, Ba 2015: Adam: A Method for Stochastic Optimization as `kingma-ba-2015-adam`"
    )
    assert actions[0].kind == types.CodeActionKind.QuickFix
    edit = await editor.act(actions[0])
    assert len(edit.document_changes) == 1
    bib = editor.text("refs.bib")
    assert bib.startswith(OWN)
    assert "@inproceedings{kingma-ba-2015-adam," in bib
    assert editor.text("main.tex") == UNDEFINED
    assert await editor.actions("main.tex", "kingma") == []


async def test_a_misspelt_key_is_changed_to_the_one_that_is_meant(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", UNDEFINED)
    action, together = await editor.actions("main.tex", "zuse-1969")
    assert together.title.startswith("Add all ")
    assert action.title == "Change to `zuse1969` (1969: Rechnender Raum)"
    assert action.is_preferred
    await editor.act(action)
    assert editor.text("main.tex") == UNDEFINED.replace("zuse-1969", "zuse1969")
    assert editor.text("refs.bib") == OWN


async def test_the_fix_names_the_diagnostic_that_it_takes_away(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", UNDEFINED)
    start = UNDEFINED.index("zuse-1969")
    shown = types.Diagnostic(
        range=types.Range(
            editor.position(UNDEFINED, start), editor.position(UNDEFINED, start + len("zuse-1969"))
        ),
        message="The key is not in the bibliographies.",
        source="citewell",
        code="undefined-key",
    )
    other = types.Diagnostic(range=shown.range, message="x", source="texlab", code="undefined-key")
    action, _ = await editor.actions("main.tex", "zuse-1969", diagnostics=[shown, other])
    assert [d.source for d in action.diagnostics] == ["citewell"]


async def test_a_sentence_that_cites_nobody_is_given_a_citation_before_its_full_stop(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    text = UNDEFINED.replace(
        "We optimise with \\citep{kingma-ba-2015-adam}.",
        "Residual learning has been proposed for image recognition with deep residual networks.",
    )
    editor.open("main.tex", text)
    actions = await editor.actions("main.tex", "Residual")
    assert actions, "the detector or the search gave nothing"
    he = titled(actions, "Cite He et al. 2016: Deep Residual Learning")
    await editor.act(he)
    assert "deep residual networks~\\cite{he2016deep}.\n" in editor.text("main.tex")
    assert "@inproceedings{he2016deep," in editor.text("refs.bib")


def open_placeholder(editor, name, code="unresolved-placeholder"):
    """The diagnostic that an editor shows at the first placeholder."""
    text = editor.text(name)
    start = text.index("\\cite<")
    place = types.Range(
        editor.position(text, start), editor.position(text, text.index(">", start) + 1)
    )
    return types.Diagnostic(place, "still open", source="citewell", code=code)


async def test_the_actions_at_a_placeholder_are_quick_fixes_of_its_diagnostic(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    shown = open_placeholder(editor, "main.tex")
    actions = await editor.actions(
        "main.tex", "\\cite<graph", end="attention>", only=["quickfix"], diagnostics=[shown]
    )
    assert [action.title.split(":")[0] for action in actions][:1] == ["Cite Veličković et al. 2018"]
    assert actions[-1].title == "Fill all 2 placeholders in this file"
    for action in actions:
        assert action.kind == "quickfix"
        assert [one.code for one in action.diagnostics] == ["unresolved-placeholder"]


async def test_filling_says_that_there_is_nothing_to_fill(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER.replace("\\cite<", "<"))
    answer = await editor.execute("citewell.fillPlaceholders", editor.uri("main.tex"))
    assert answer == {"applied": False}
    assert "Citewell: No placeholders in main.tex." in editor.messages


MISSING = (
    "\\documentclass{article}\n\\begin{document}\n"
    "Attention over graphs \\cite{velickovic2018graph, nobody1801nothing} and\n"
    "\\cite{vaswani2017attention} and \\cite{zuse-1969}.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)


async def test_a_command_adds_the_missing_entries_that_are_sure(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", MISSING)
    editor.open("refs.bib", language="bibtex")
    answer = await editor.execute("citewell.addMissingEntries", editor.uri("main.tex"))
    assert answer == {"applied": True}
    assert editor.text("main.tex") == MISSING
    bib = editor.text("refs.bib")
    assert bib.startswith(OWN)
    assert bib.count("@") == 3
    assert "{velickovic2018graph," in bib
    assert "{vaswani2017attention," in bib
    assert len(editor.applied) == 1
    (message,) = [m for m in editor.messages if "missing entries were added" in m]
    assert "2 of 4" in message
    assert "`nobody1801nothing`, `zuse-1969`" in message


async def test_missing_entries_are_offered_together_at_one_of_them(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", MISSING)
    at_key = await editor.actions("main.tex", "velickovic", only=["quickfix"])
    (together,) = [a for a in at_key if a.title == "Add all 4 missing entries of this paper"]
    await editor.act(together)
    assert editor.text("refs.bib").count("@") == 3
    source = await editor.actions("main.tex", "Attention over", only=["source"])
    assert [action.title for action in source] == ["Add all 2 missing entries of this paper"]


async def test_commands_on_a_document_refuse_a_bibliography(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("refs.bib", language="bibtex")
    for name in ("citewell.fillPlaceholders", "citewell.addMissingEntries"):
        assert await editor.execute(name, editor.uri("refs.bib")) == {"applied": False}
    assert sum("needs the URI" in message for message in editor.messages) == 2


PROSE = (
    " in the middle of a sentence, where p > 0.05 and more follow.\nAnd so on \\cite{zuse1969}.\n"
)


@ENCODINGS
@pytest.mark.parametrize(
    ("name", "opened", "citation"),
    [
        ("main.tex", "\\citep<graph attention", "\\citep{velickovic2018graph}"),
        ("main.tex", "\\citep{graph attention", "\\citep{velickovic2018graph}"),
        ("main.tex", "\\citep{zuse1969, graph attention", "\\citep{zuse1969, velickovic2018graph}"),
        ("paper.md", "[@graph attention", "[@velickovic2018graph]"),
        ("paper.md", "[@?graph attention", "[@velickovic2018graph]"),
        ("paper.md", "\\citep<graph attention", "\\citep{velickovic2018graph}"),
    ],
)
async def test_a_fix_of_an_open_placeholder_leaves_the_prose(
    start_editor, encoding, name, opened, citation
):
    editor = await start_editor(files={"refs.bib": OWN}, encodings=(encoding,))
    head = {"main.tex": "\\bibliography{refs}\n", "paper.md": "---\nbibliography: refs.bib\n---\n"}
    before = head[name] + "😀 We follow "
    editor.open(name, before + opened + PROSE, language="latex")
    actions = await editor.actions(name, PROSE)  # an empty range, behind what was typed
    await editor.act(titled(actions, "Cite Veličković"))
    assert editor.text(name) == before + citation + PROSE
    assert "velickovic2018graph" in editor.text("refs.bib")

    items = await editor.complete(name, len(before + citation))
    assert all(item.text_edit.range.start.line == head[name].count("\n") for item in items)


async def test_the_diagnostic_of_an_open_placeholder_is_fixed_by_closing_it(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    text = "We follow \\citep<graph attention, as is said" + PROSE
    editor.open("main.tex", text)
    actions = await editor.actions("main.tex", "\\citep", end="attention")
    assert not [action for action in actions if action.title.startswith("Cite")]
    await editor.act(titled(actions, "End the placeholder after “graph attention”"))
    assert editor.text("main.tex") == text.replace("attention,", "attention>,", 1)


async def test_filling_the_file_leaves_an_open_placeholder_and_its_prose(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    text = "We follow \\citep<graph attention" + PROSE + "Adam \\cite<graph attention networks>.\n"
    editor.open("main.tex", text)
    actions = await editor.actions("main.tex", "Adam", only=["source"])
    await editor.act(actions[0])
    done = text.replace("\\cite<graph attention networks>", "\\cite{velickovic2018graph}")
    assert editor.text("main.tex") == done
    assert any("it is not closed" in message for message in editor.messages)
