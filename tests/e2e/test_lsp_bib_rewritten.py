"""A .bib that another program writes anew, as Zotero does: a new file is moved over the old one.

What is unsaved in the editor is not lost, the keys follow what counts (the editor's text while the
file is open there, the disk otherwise), and no edit of ours lands in a text it was not made for;
whether or not the editor tells of changed files.
"""

import asyncio
import threading

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = "\\documentclass{article}\n\\begin{document}\n%s\n\\bibliography{refs}\n\\end{document}\n"
ENTRY = "@book{%s,\n  title = {Of %s},\n  year = {1999}\n}\n"

ANNOUNCED = pytest.mark.parametrize("announced", [True, False], ids=["announced", "not told"])


def bib(*keys):
    return "\n".join(ENTRY % (key, key) for key in keys)


class Rewritten:
    """An editor, and the other program that writes the .bib."""

    def __init__(self, editor, announced):
        self.editor, self.announced = editor, announced

    def rewrite(self, text):
        """Create and move."""
        editor = self.editor
        editor.write("refs.bib.new", text)
        (editor.folder / "refs.bib.new").replace(editor.folder / "refs.bib")
        if self.announced:
            kinds = types.FileChangeType
            events = [kinds.Deleted, kinds.Created]
            editor.client.workspace_did_change_watched_files(
                types.DidChangeWatchedFilesParams(
                    [types.FileEvent(editor.uri("refs.bib"), kind) for kind in events]
                )
            )

    async def keys(self, typed):
        """What is completed for the typed beginning of a key."""
        editor, name = self.editor, "main.tex"
        text = PAPER % f"\\cite{{{typed}}}"
        editor.replace(name, 0, len(editor.texts[editor.uri(name)]), text)
        items = await editor.complete(name, text.index(typed) + len(typed))
        return [item.label for item in items if item.command is None]

    async def is_known(self, key):
        """Whether the paper's citation of a key leads to an entry."""
        editor, text = self.editor, PAPER % f"\\cite{{{key}}}"
        editor.replace("main.tex", 0, len(editor.texts[editor.uri("main.tex")]), text)
        return "No entry" not in await editor.hover("main.tex", key)


@pytest.fixture
def rewritten(start_editor):
    async def start(announced, text):
        def deaf(able):
            able.workspace.did_change_watched_files = None

        editor = await start_editor(
            files={"refs.bib": text, "main.tex": PAPER % "\\cite{x}"},
            capabilities=None if announced else deaf,
        )
        editor.open("main.tex")
        return Rewritten(editor, announced)

    return start


@ANNOUNCED
async def test_unsaved_edits_stay_and_the_disk_counts_once_the_file_is_closed(rewritten, announced):
    other = await rewritten(announced, bib("alder1999"))
    editor = other.editor
    editor.open("refs.bib", language="bibtex")
    unsaved = bib("alder1999", "birch1999")
    end = len(editor.text("refs.bib"))
    editor.replace("refs.bib", end, end, unsaved[end:])
    for generation in ("cedar1999", "dogwood1999"):
        other.rewrite(bib("alder1999", generation))
        assert await other.keys("birch") == ["birch1999"], "what is not saved is lost"
        assert not await other.is_known(generation), "the editor's text counts"
        assert editor.text("refs.bib") == unsaved
    uri = editor.uri("refs.bib")
    editor.client.text_document_did_close(
        types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
    )
    del editor.texts[uri]
    assert await other.keys("dogwood") == ["dogwood1999"]
    assert not await other.is_known("birch1999")
    other.rewrite(bib("elm1999"))
    assert await other.keys("elm") == ["elm1999"]
    assert not await other.is_known("dogwood1999")


@ANNOUNCED
async def test_an_editor_that_merges_the_new_file_into_its_text_has_all_keys(rewritten, announced):
    other = await rewritten(announced, bib("alder1999"))
    editor = other.editor
    editor.open("refs.bib", language="bibtex")
    editor.replace("refs.bib", 0, 0, bib("birch1999"))
    other.rewrite(bib("alder1999", "cedar1999"))
    merged = bib("birch1999", "alder1999", "cedar1999")
    editor.replace("refs.bib", 0, len(editor.text("refs.bib")), merged)
    for key in ("alder1999", "birch1999", "cedar1999"):
        assert await other.is_known(key)


@ANNOUNCED
async def test_a_paper_accepted_into_the_unsaved_text_leaves_the_new_file_alone(
    rewritten, announced
):
    other = await rewritten(announced, bib("alder1999"))
    editor = other.editor
    editor.open("refs.bib", language="bibtex")
    end = len(editor.text("refs.bib"))
    editor.replace("refs.bib", end, end, bib("birch1999"))
    text = PAPER % "\\cite<graph attention>"
    editor.replace("main.tex", 0, len(editor.text("main.tex")), text)
    items = await editor.complete("main.tex", text.index(">") + 1)
    disk = bib("alder1999", "cedar1999", "dogwood1999")
    other.rewrite(disk)
    await editor.accept("main.tex", items[0])
    shown = editor.text("refs.bib")
    assert "velickovic2018graph" in shown and "birch1999" in shown and "alder1999" in shown
    assert (editor.folder / "refs.bib").read_text("utf-8") == disk


@ANNOUNCED
async def test_every_new_file_is_followed_by_the_next_answer(rewritten, announced):
    other = await rewritten(announced, bib("key0of1999"))
    for generation in range(30):
        other.rewrite(bib(f"key{generation}of1999"))
        assert await other.keys("key") == [f"key{generation}of1999"]


@ANNOUNCED
async def test_a_paper_accepted_after_the_file_was_replaced_goes_into_the_new_one(
    rewritten, announced
):
    other = await rewritten(announced, bib("alder1999"))
    editor = other.editor
    editor.replace(
        "main.tex", 0, len(editor.text("main.tex")), text := PAPER % "\\cite<graph attention>"
    )
    items = await editor.complete("main.tex", text.index(">") + 1)
    grown = bib(*(f"tree{number}of1999" for number in range(50)))
    other.rewrite(grown)
    await editor.accept("main.tex", items[0])
    assert editor.text("refs.bib").startswith(grown)
    assert editor.text("refs.bib").count("velickovic2018graph") == 1
    other.rewrite(grown + bib("elm1999"))
    assert await other.keys("elm") == ["elm1999"], "the editor's edit hides the new file"
    assert not await other.is_known("velickovic2018graph")


@ANNOUNCED
async def test_the_last_file_counts_after_papers_were_accepted_between_many(rewritten, announced):
    """Whoever writes last wins on disk; what the server believes must be what stands there."""
    other = await rewritten(announced, bib("alder1999"))
    editor = other.editor
    over = threading.Event()
    path = editor.folder / "refs.bib"

    def write():
        number = 0
        while not over.wait(0.002):
            number += 1
            keys = [f"tree{n}of{number}" for n in range(number % 7)]
            (editor.folder / "new").write_bytes(bib("alder1999", *keys).encode())
            (editor.folder / "new").replace(path)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for words in ("graph attention", "neural machine translation", "deep residual learning"):
            text = PAPER % f"\\cite<{words}>"
            editor.replace("main.tex", 0, len(editor.text("main.tex")), text)
            items = await editor.complete("main.tex", text.index(">") + 1)
            await editor.accept("main.tex", items[0])
            await asyncio.sleep(0.05)
    finally:
        over.set()
        writer.join()
    other.rewrite(bib("alder1999", "elm1999"))
    assert await other.keys("elm") == ["elm1999"]
    assert await other.is_known("alder1999")
