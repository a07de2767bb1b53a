"""The picker's two commands over the protocol: search while typing, cite what is chosen."""

import asyncio
import os
import signal
import sys

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = """\\documentclass{article}
\\usepackage{natbib}
\\title{Learning on graphs}
\\begin{document}
Attention over the neighbours of a node works well.
As shown in \\citep{zuse1969, } and in \\citep{zuse1969}.
\\bibliography{refs}
\\end{document}
"""
BIB = "@book{zuse1969,\n  title = {Rechnender Raum},\n  author = {Zuse, Konrad},\n  year = {1969},\n}\n"
GAT = "velickovic2018graph"


async def call(editor, command, **arguments):
    return await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=f"citewell.{command}", arguments=[arguments])
    )


def place(editor, name, needle, behind=True):
    text = editor.texts[editor.uri(name)]
    at = text.index(needle) + (len(needle) if behind else 0)
    found = editor.position(text, at)
    return {"line": found.line, "character": found.character}


async def first(editor, query, **more):
    answer = await call(editor, "search", query=query, **more)
    assert answer["problems"] == []
    return answer["rows"][0]


async def test_a_search_without_a_document_lists_papers_of_the_library(start_editor):
    editor = await start_editor()
    answer = await call(editor, "search", query="graph attention", limit=3)
    assert len(answer["rows"]) == 3
    row = answer["rows"][0]
    assert row["title"] == "Graph Attention Networks"
    assert row["key"] == GAT
    assert row["id"]
    assert row["authors"].startswith("Veličković")
    assert row["year"] == 2018
    assert row["abstract"]
    assert row["source"]
    assert row["known"] is False


async def test_own_entries_stand_first_and_keep_their_key(start_editor):
    bib = BIB + "@misc{gat, title={Graph attention networks}, author={Veličković, P.}, year=2018}\n"
    editor = await start_editor(files={"refs.bib": bib})
    editor.open("main.tex", PAPER)
    row = await first(editor, "graph attention networks", uri=editor.uri("main.tex"))
    assert (row["id"], row["key"], row["known"], row["source"]) == ("", "gat", True, "refs.bib")
    answer = await call(editor, "search", query="graph attention", uri=editor.uri("main.tex"))
    assert [r["title"].lower() for r in answer["rows"]].count("graph attention networks") == 1
    row = await first(editor, "zuse raum", uri=editor.uri("main.tex"))
    assert row["key"] == "zuse1969"


async def test_papers_chosen_for_a_citation_bring_others_and_are_not_offered_again(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    uri, here = editor.uri("main.tex"), place(editor, "main.tex", "a node")

    async def titles(*chosen):
        answer = await call(
            editor, "search", query="", uri=uri, position=here, chosen=chosen, limit=40
        )
        assert answer["problems"] == []
        return [row["title"] for row in answer["rows"]]

    def rank(title, found):
        return next(n for n, one in enumerate(found) if one.startswith(title))

    alone = await titles()
    row = await first(editor, "global vectors for word representation")
    beside = await titles({"work": row["id"]}, {"key": "zuse1969"}, {"work": "unknown"})
    assert row["title"] in await titles({"key": "zuse1969"})
    assert row["title"] not in beside
    for title in ("BERT: Pre-training", "Sentence-BERT", "Long Short-Term"):
        assert rank(title, beside) < rank(title, alone)


async def test_without_words_the_sentence_at_the_place_is_what_is_asked(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    uri, here = editor.uri("main.tex"), place(editor, "main.tex", "a node")
    row = await first(editor, "", uri=uri, position=here)
    assert row["title"] == "Graph Attention Networks"
    nothing = await call(editor, "search", query="  ", uri=uri)
    assert nothing == {"rows": [], "problems": []}


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be halted there")
async def test_a_search_can_be_cancelled_and_the_next_one_is_answered(start_editor):
    editor = await start_editor(files={"refs.bib": BIB}, alone=True)
    editor.open("main.tex", PAPER)
    await first(editor, "graph attention")
    state = await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command="citewell.status", arguments=[])
    )
    assert state["pid"] > 1, "0 would halt the whole process group"
    os.kill(state["pid"], signal.SIGSTOP)
    command = types.ExecuteCommandParams(
        command="citewell.search",
        arguments=[{"query": "graph", "uri": editor.uri("main.tex")}],
    )
    request = editor.client.protocol.send_request_async(
        types.WORKSPACE_EXECUTE_COMMAND, command, msg_id="given-up"
    )
    request = asyncio.ensure_future(request)
    assert "Rechnender" in await editor.hover("main.tex", "zuse1969}"), "sent later, answered"
    assert not request.done()
    editor.client.cancel_request(types.CancelParams(id="given-up"))
    with pytest.raises(JsonRpcException) as error:
        await request
    os.kill(state["pid"], signal.SIGCONT)
    assert error.value.code == types.LSPErrorCodes.RequestCancelled
    row = await first(editor, "graph attention", uri=editor.uri("main.tex"))
    assert row["key"] == GAT


async def test_a_missing_library_is_told_in_the_answer(start_editor, tmp_path):
    editor = await start_editor(library=tmp_path / "none")
    answer = await call(editor, "search", query="graph attention")
    assert answer["rows"] == []
    assert answer["problems"][0]["code"] == "library-missing"
    assert "citewell library add" in answer["problems"][0]["hint"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_a_chosen_paper_is_cited_with_its_entry_in_one_edit(start_editor, encoding):
    editor = await start_editor(files={"refs.bib": BIB}, encodings=(encoding,))
    text = PAPER.replace("Attention", "Für 😋 Attention")
    editor.open("main.tex", text)
    uri = editor.uri("main.tex")
    row = await first(editor, "graph attention", uri=uri)
    here = place(editor, "main.tex", "a no")
    answer = await call(editor, "insertPaper", uri=uri, work=row["id"], position=here)
    after = text.replace("a node", f"a node~\\citep{{{GAT}}}")
    assert editor.text("main.tex") == after
    end = editor.position(after, after.index(GAT) + len(GAT) + 1)
    assert answer == {
        "applied": True,
        "key": GAT,
        "end": {"line": end.line, "character": end.character},
    }
    assert editor.text("refs.bib").startswith(BIB)
    assert editor.text("refs.bib").count(f"{{{GAT},") == 1
    assert len(editor.applied) == 1


async def test_from_an_open_bib_the_entry_goes_into_that_file(start_editor):
    editor = await start_editor(files={"refs.bib": BIB, "main.tex": PAPER})
    editor.open("refs.bib", language="bibtex")
    uri = editor.uri("refs.bib")
    row = await first(editor, "graph attention", uri=uri)
    answer = await call(editor, "insertPaper", uri=uri, work=row["id"])
    assert answer == {"applied": True, "key": GAT}
    assert editor.text("refs.bib").startswith(BIB)
    row = await first(editor, "graph attention", uri=uri)
    assert (row["key"], row["known"]) == (GAT, True)
    again = await call(editor, "insertPaper", uri=uri, work=row["id"])
    assert again["applied"]
    assert editor.text("refs.bib").count(f"{{{GAT},") == 1


async def test_what_is_typed_while_a_citation_is_planned_does_not_move_it(start_editor):
    """The plan was made from a text that no longer is: it is made again."""
    filler = "Many words stand before the place that is cited.\n" * 8000
    text = PAPER.replace("Attention over", f"{filler}Attention over")
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", text)
    uri = editor.uri("main.tex")
    here = place(editor, "main.tex", "works well")
    arguments = {"uri": uri, "key": "zuse1969", "position": here}
    command = types.ExecuteCommandParams("citewell.insertPaper", [arguments])
    request = editor.client.workspace_execute_command(command)
    await editor.type_slowly("main.tex", text.index("Learning"), "Deep ")
    answer = await asyncio.wrap_future(request)
    assert answer["applied"]
    expected = text.replace("works well", "works well~\\citep{zuse1969}")
    assert editor.text("main.tex") == expected.replace("Learning", "Deep Learning")


async def test_what_is_typed_while_a_citation_is_on_its_way_does_not_cost_it(start_editor):
    """The editor refuses an edit of an older text: the citation is planned again."""
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    uri = editor.uri("main.tex")
    here = place(editor, "main.tex", "works well")
    editor.before_next = lambda: editor.type("main.tex", PAPER.index("Learning"), "Deep ")
    answer = await call(editor, "insertPaper", uri=uri, key="zuse1969", position=here)
    assert answer["applied"]
    expected = PAPER.replace("works well", "works well~\\citep{zuse1969}")
    assert editor.text("main.tex") == expected.replace("Learning", "Deep Learning")
    assert editor.messages == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"work": "fx:none"}, "no longer has it"),
        ({}, "`work` or `key` is missing"),
        ({"key": "zuse1969", "bibOnly": True}, "`work` is missing"),
        ({"key": "zuse1969", "position": {"line": "x"}}, "Invalid arguments"),
    ],
)
async def test_a_wrong_call_says_so_and_changes_nothing(start_editor, arguments, expected):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    answer = await call(editor, "insertPaper", uri=editor.uri("main.tex"), **arguments)
    assert answer == {"applied": False}
    assert any(expected in message for message in editor.messages)
    assert editor.text("main.tex") == PAPER
