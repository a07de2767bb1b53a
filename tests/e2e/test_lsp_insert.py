"""What accepting a paper writes, and that nothing is lost when it cannot be written."""

import asyncio
import re
import threading
import time

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = (
    "\\documentclass{article}\n\\begin{document}\n"
    "We build on \\cite<graph attention>| and others.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)
OWN = "% my papers\r\n@book{zuse1969,\r\n\ttitle={Rechnender Raum},\r\n\tyear={1969}\r\n}\r\n"


async def accept_first(editor, name="main.tex"):
    items = await editor.complete(name)
    assert items
    await editor.accept(name, items[0])
    return items[0]


async def test_the_entry_takes_the_style_of_the_file_and_changes_nothing_else(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    await accept_first(editor)
    text = editor.text("refs.bib")
    assert text.startswith(OWN)
    added = text.removeprefix(OWN)
    assert "@inproceedings{velickovic2018graph,\r\n\t" in added
    assert added.count("\n") == added.count("\r\n")


async def test_a_client_without_document_changes_gets_the_plain_form(start_editor):
    def plain(able):
        able.workspace.workspace_edit = types.WorkspaceEditClientCapabilities()

    editor = await start_editor(files={"refs.bib": OWN}, capabilities=plain)
    editor.open("main.tex", PAPER)
    editor.open("refs.bib", language="bibtex")
    await accept_first(editor)
    (params,) = editor.applied
    assert params.edit.document_changes is None
    assert "velickovic2018graph" in editor.text("refs.bib")


async def test_a_client_that_takes_no_edits_has_the_bib_written_on_disk(start_editor):
    def none(able):
        able.workspace.apply_edit = False

    editor = await start_editor(files={"refs.bib": OWN}, capabilities=none)
    editor.open("main.tex", PAPER)
    await accept_first(editor)
    assert editor.applied == []
    written = (editor.folder / "refs.bib").read_bytes().decode()
    assert written.startswith(OWN)
    assert "velickovic2018graph" in written


async def test_two_papers_accepted_at_once_both_arrive(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    text = PAPER.replace("|", "").replace("others", "\\cite<denoising diffusion> too")
    editor.open("main.tex", text)
    second = await editor.complete("main.tex", text.index("diffusion>") + len("diffusion>"))
    first = await editor.complete("main.tex", text.index("attention>") + len("attention>"))
    await asyncio.gather(editor.accept("main.tex", second[0]), editor.accept("main.tex", first[0]))
    bib = editor.text("refs.bib")
    assert bib.count("@inproceedings{velickovic2018graph,") == 1
    assert bib.count("@inproceedings{ho2020denoising,") == 1
    assert "\\cite{velickovic2018graph} and \\cite{ho2020denoising} too" in editor.text("main.tex")


async def test_a_key_taken_meanwhile_is_replaced_in_the_document_too(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    items = await editor.complete("main.tex")
    editor.write("refs.bib", OWN + "@misc{velickovic2018graph, title={Something else entirely}}\n")
    await editor.accept("main.tex", items[0])
    bib = editor.text("refs.bib")
    text = editor.text("main.tex")
    key = text[text.index("\\cite{") + 6 : text.index("} and")]
    assert key != "velickovic2018graph"
    assert f"@inproceedings{{{key}," in bib
    assert bib.count("{velickovic2018graph,") == 1


async def test_a_refused_edit_is_told_with_a_cure(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    editor.open("refs.bib", language="bibtex")
    editor.refuse = "the buffer is read-only"
    await accept_first(editor)
    assert any("read-only" in m and "Nothing was written" in m for m in editor.messages)
    assert editor.text("refs.bib") == OWN


async def test_a_bib_that_cannot_be_written_is_told_and_its_citation_taken_back(start_editor):
    editor = await start_editor()
    paper = PAPER.replace("{refs}", "{/nowhere/refs}")
    editor.open("main.tex", paper)
    await accept_first(editor)
    assert editor.text("main.tex") == paper.replace("|", "")
    assert not (editor.folder / "references.bib").exists()


async def test_a_bib_whose_encoding_lacks_a_letter_is_left_alone_and_told(start_editor):
    own = "@book{a, title = {Über}, year = 1969}\n".encode("cp1252")
    editor = await start_editor(files={"refs.bib": ""})
    (editor.folder / "refs.bib").write_bytes(own)
    editor.open("main.tex", PAPER)
    await accept_first(editor)
    assert any("cannot represent 'č'" in m and "as UTF-8" in m for m in editor.messages)
    assert not editor.applied or "refs.bib" not in str(editor.applied[0].edit)
    assert (editor.folder / "refs.bib").read_bytes() == own
    assert editor.text("main.tex") == PAPER.replace("|", "")


@pytest.mark.parametrize(
    "arguments",
    [[], ["text"], [{"uri": 5}], [{"uri": "file:///none.tex", "work": "fx:5", "key": "k"}]],
)
async def test_a_command_with_wrong_arguments_says_so_and_does_nothing(start_editor, arguments):
    editor = await start_editor(files={"refs.bib": OWN})
    try:
        await editor.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command="citewell.insert", arguments=arguments)
        )
    except Exception as error:
        assert "arguments" in str(error)
    else:
        assert editor.messages
    assert editor.text("refs.bib") == OWN


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_bib_that_the_editor_does_not_show_is_written_at_accept(start_editor, is_there):
    editor = await start_editor(files={"refs.bib": OWN} if is_there else {})
    editor.open("main.tex", PAPER)
    await accept_first(editor)
    assert editor.applied == []
    assert editor.text("main.tex") == PAPER.replace(
        "\\cite<graph attention>|", "\\cite{velickovic2018graph}"
    )
    saved = (editor.folder / "refs.bib").read_bytes().decode()
    assert saved.startswith(OWN if is_there else "@inproceedings{velickovic2018graph,")
    assert saved.count("{velickovic2018graph,") == 1
    # The server knows what it wrote: the same paper is cited again, and not added again.
    at = editor.text("main.tex").index(" and others")
    at = editor.type("main.tex", at, " \\cite<graph attention>")
    items = await editor.complete("main.tex", at)
    assert items[0].command is None


async def test_a_bib_that_the_editor_has_open_is_changed_there_and_not_saved(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    editor.open("refs.bib", language="bibtex")
    await accept_first(editor)
    assert "{velickovic2018graph," in editor.text("refs.bib")
    assert (editor.folder / "refs.bib").read_bytes().decode() == OWN


async def test_without_saving_the_editor_changes_a_bib_that_it_does_not_show(start_editor):
    editor = await start_editor(files={"refs.bib": OWN}, settings={"bib": {"save": False}})
    editor.open("main.tex", PAPER)
    await accept_first(editor)
    (params,) = editor.applied
    (change,) = params.edit.document_changes
    assert change.text_document.uri == editor.uri("refs.bib")


async def test_a_citation_that_the_editor_refuses_takes_its_written_entry_back(start_editor):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER)
    actions = await editor.actions("main.tex", "graph attention")
    editor.refuse = "the buffer is read-only"
    await editor.act(actions[0])
    assert editor.text("main.tex") == PAPER
    assert editor.text("refs.bib") == OWN
    assert [path.name for path in editor.folder.iterdir()] == ["refs.bib"]


async def test_an_entry_is_planned_again_while_another_program_writes_its_bib(start_editor):
    """Each accepted entry is there once and whole, and so is what the other program appends."""
    editor = await start_editor(files={"refs.bib": OWN})
    topics = ("graph attention", "denoising diffusion", "graph attention", "word2vec")
    editor.open("main.tex", PAPER.replace("<graph attention>|", "{}"))
    bib = editor.folder / "refs.bib"
    appended = 0
    running = True

    def write() -> None:
        nonlocal appended
        while running:
            with bib.open("a") as file:
                file.write(f"@misc{{other{appended},\n  title = {{Other {appended}}}\n}}\n")
            appended += 1
            time.sleep(0.1)

    writer = threading.Thread(target=write)
    writer.start()
    keys = set()
    try:
        for topic in topics:
            place = editor.text("main.tex").index(" and others")
            end = editor.type("main.tex", place, f" \\cite<{topic}>")
            items = await editor.complete("main.tex", end)
            await editor.accept("main.tex", items[0])
            keys.add(editor.key(items[0]))
    finally:
        running = False
        writer.join()
    text = editor.text("refs.bib")
    entries = re.findall(r"(?m)^@\w+\{([^,]+),", text)
    assert text.startswith(OWN)
    assert sorted(entries) == sorted(
        ["zuse1969", *keys, *(f"other{number}" for number in range(appended))]
    )
    assert not editor.messages
