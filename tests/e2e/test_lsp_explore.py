"""A literature search in an editor over the protocol: passes, parts, and one citation of several."""

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = """\\documentclass{article}
\\usepackage{natbib}
\\begin{document}
\\section{Graphs}

Attention over the \\emph{neighbours} of a node works well \\citep{zuse1969}.

Words are something else.
\\bibliography{refs}
\\end{document}
"""
BIB = "@book{zuse1969,\n  title = {Rechnender Raum},\n  author = {Zuse, Konrad},\n  year = {1969},\n}\n"
LIMIT = 5


async def call(editor, command, **arguments):
    return await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=f"citewell.{command}", arguments=[arguments])
    )


def place(editor, name, needle):
    text = editor.texts[editor.uri(name)]
    found = editor.position(text, text.index(needle) + len(needle))
    return {"line": found.line, "character": found.character}


def plain(value):
    """What the client read, as plain data."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


async def test_each_pass_is_sent_and_adds_papers_below_those_listed(start_editor):
    editor = await start_editor(alone=True)
    passes = []
    editor.client.feature("citewell/explored")(lambda params: passes.append(plain(params)))
    answer = await call(
        editor, "explore", query="graph attention networks", limit=LIMIT, token="one"
    )
    answer = plain(answer)
    assert answer["problems"] == []
    assert [one["name"] for one in answer["passes"]] == [
        "search", "references", "papers", "citations"
    ]  # fmt: skip
    assert answer["ending"]
    assert answer["rows"][0]["title"] == "Graph Attention Networks"
    assert answer["rows"][0]["why"].startswith("its title is what you typed")
    assert [one["passes"] for one in passes] == [
        answer["passes"][:number] for number in range(1, len(passes) + 1)
    ]
    assert {one["token"] for one in passes} == {"one"}
    assert len(passes[0]["rows"]) == LIMIT
    listed = [row["id"] for one in passes for row in one["rows"]]
    assert listed == [row["id"] for row in answer["rows"]]
    assert len(set(listed)) == len(listed) > LIMIT


async def test_without_a_name_no_pass_is_sent(start_editor):
    editor = await start_editor(alone=True)
    passes = []
    editor.client.feature("citewell/explored")(lambda params: passes.append(plain(params)))
    answer = await call(editor, "explore", query="graph attention networks", limit=LIMIT)
    assert len(answer["rows"]) > LIMIT
    assert passes == []


async def test_what_was_understood_comes_with_the_words_that_are_left_without_it(start_editor):
    editor = await start_editor()
    query = "graph attention by Veličković since 2015"
    answer = await call(editor, "explore", query=query)
    parts = {part["kind"]: part for part in answer["understood"]}
    assert parts["author"]["rest"] == "graph attention since 2015"
    assert parts["year"]["rest"] == "graph attention by Veličković"
    found = await call(editor, "search", query=query)
    assert found["understood"] == answer["understood"]
    fewer = await call(editor, "explore", query=parts["year"]["rest"])
    assert [part["kind"] for part in fewer["understood"]] == ["author"]


async def test_the_paragraph_or_the_selection_is_the_question(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    uri, here = editor.uri("main.tex"), place(editor, "main.tex", "of a node")
    answer = await call(editor, "explore", uri=uri, position=here)
    assert answer["query"] == "Attention over the neighbours of a node works well."
    assert any(row["title"] == "Graph Attention Networks" for row in answer["rows"])
    chosen = {"start": place(editor, "main.tex", "over the"), "end": here}
    answer = await call(editor, "explore", uri=uri, range=chosen)
    assert answer["query"] == "neighbours of a node"


@pytest.mark.parametrize(
    ("before", "name", "wanted"),
    [
        ("Graphs| are useful.", "main.tex", "Graphs~\\cite{{{0},{1}}}| are useful."),
        ("See \\citep[p.~5]{zuse1969}|.", "main.tex", "See \\citep[p.~5]{{zuse1969,{0},{1}}}|."),
        ("Graphs| are useful.", "notes.md", "Graphs [@{0}; @{1}]| are useful."),
    ],
)
async def test_several_papers_become_one_citation_with_their_entries_in_one_edit(
    start_editor, before, name, wanted
):
    head = {"main.tex": "\\usepackage{natbib}\n\\bibliography{refs}\n\n", "notes.md": ""}[name]
    if name == "notes.md":
        head = "---\nbibliography: refs.bib\n---\n\n"
    editor = await start_editor(files={"refs.bib": BIB})
    cursor = before.index("|")
    text = head + before.replace("|", "") + "\n"
    editor.open(name, text)
    answer = await call(editor, "explore", query="graph networks", uri=editor.uri(name))
    first, second = answer["rows"][:2]
    at = editor.position(text, len(head) + cursor)
    done = await call(
        editor,
        "insertPaper",
        uri=editor.uri(name),
        papers=[{"work": first["id"]}, {"work": second["id"]}],
        position={"line": at.line, "character": at.character},
    )
    keys = done["keys"]
    assert keys == [first["key"], second["key"]]
    after = head + wanted.format(*keys) + "\n"
    assert editor.text(name) == after.replace("|", "")
    end = editor.position(after, after.index("|"))
    assert done["end"] == {"line": end.line, "character": end.character}
    assert len(editor.applied) == 1
    bib = editor.text("refs.bib")
    assert bib.startswith(BIB)
    assert [bib.count(f"{{{key},") for key in keys] == [1, 1]


async def test_where_one_of_several_is_unknown_nothing_is_cited(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    uri = editor.uri("main.tex")
    (row, *_) = (await call(editor, "explore", query="graph attention", uri=uri))["rows"]
    done = await call(
        editor,
        "insertPaper",
        uri=uri,
        papers=[{"work": row["id"]}, {"work": "s2:none"}],
        position=place(editor, "main.tex", "of a node"),
    )
    assert done == {"applied": False}
    assert editor.applied == []


async def test_an_editor_that_refuses_gets_neither_citation_nor_entries(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    uri = editor.uri("main.tex")
    rows = (await call(editor, "explore", query="graph attention", uri=uri))["rows"]
    editor.refuse = "no"
    done = await call(
        editor,
        "insertPaper",
        uri=uri,
        papers=[{"work": row["id"]} for row in rows[:2]],
        position=place(editor, "main.tex", "of a node"),
    )
    editor.refuse = ""
    assert done["applied"] is False
    assert editor.text("main.tex") == PAPER
    assert editor.text("refs.bib") == BIB


async def test_kept_papers_come_first_and_rejected_ones_go(start_editor):
    editor = await start_editor(alone=True)
    passes = []
    editor.client.feature("citewell/explored")(lambda params: passes.append(plain(params)))
    query = "graph attention networks"
    before = plain(await call(editor, "explore", query=query, limit=LIMIT))["rows"]
    kept, rejected = before[-1], before[0]
    after = await call(
        editor,
        "explore",
        query=query,
        kept=[kept["id"]],
        rejected=[rejected["id"]],
        limit=LIMIT,
        token="again",
    )
    after = plain(after)["rows"]
    ids = [row["id"] for row in after]
    assert passes[0]["rows"][0]["id"] == ids[0] == kept["id"]
    assert after[0]["why"].startswith("kept")
    assert after[0]["relevant"]
    assert rejected["id"] not in ids
    (references,) = [one for one in passes[-1]["passes"] if one["name"] == "references"]
    assert f"beside “{kept['title']}”" in references["queries"]


async def test_each_row_states_whether_and_how_likely_it_answers(start_editor):
    editor = await start_editor(alone=True)
    passes = []
    editor.client.feature("citewell/explored")(lambda params: passes.append(plain(params)))
    answer = await call(editor, "explore", query="graph attention networks", token="one")
    rows = plain(answer)["rows"]
    assert rows[0]["relevant"] and 0 < rows[0]["relevance"] <= 1
    assert not rows[-1]["relevant"]
    assert all(0 <= row["relevance"] < rows[0]["relevance"] for row in rows[5:])
    first = {row["id"]: row for row in passes[0]["rows"]}
    last = {row["id"]: row for row in rows}
    # The answer holds what all passes say of a paper; it was listed by what the first one says.
    assert "references #" not in first[rows[0]["id"]]["why"]
    assert "its title is what you typed" in last[rows[0]["id"]]["why"]
    unjudged = await call(editor, "explore", query="", kept=[rows[0]["id"]])
    assert all(row["relevance"] is None for row in plain(unjudged)["rows"])


async def test_an_overview_names_papers_of_the_list_alone(start_editor):
    editor = await start_editor()
    query = "graph attention networks"
    rows = plain(await call(editor, "explore", query=query))["rows"]
    titles = {row["id"]: row["title"] for row in rows}
    found = plain(await call(editor, "overview", query=query, ids=[*titles, "s2:none"]))
    assert found["problems"] == []
    assert found["themes"] and "summary" not in found
    ids = [name for theme in found["themes"] for name in theme["ids"]]
    assert sorted(ids) == sorted(titles)
    quoted = [one for theme in found["themes"] for one in theme.get("sentences", ())]
    assert quoted
    for one in quoted:
        assert set(one["ids"]) <= set(titles)
        assert one["text"] in found["text"]
        assert f": {titles[one['ids'][0]]}]" in found["text"]
    nothing = plain(await call(editor, "overview", ids=["s2:none"]))
    assert nothing == {"text": "", "themes": [], "problems": []}
