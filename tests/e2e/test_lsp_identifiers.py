"""Identifiers in the editor: what they name is offered, and nothing else."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = (
    "\\documentclass{article}\n\\begin{document}\nWe build on CITE and go on.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)
OWN = """@misc{mine2020,
  author = {Me, Ann},
  title  = {A Report Outside of Every Library},
  year   = {2020},
  doi    = {10.1000/MINE.7},
}
"""


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        ("main.tex", r"\cite<10.18653/v1/N19-1423>|", "devlin2019bert"),
        ("main.tex", r"\cite<https://aclanthology.org/N19-1423/>|", "devlin2019bert"),
        ("main.tex", r"\citep<arXiv:1710.10903v2>|", "velickovic2018graph"),
        ("main.tex", r"\cite{1710.10903|}", "velickovic2018graph"),
        ("main.tex", r"\cite<doi:10.1000/mine.7>|", "mine2020"),
        ("paper.md", "[@?https://arxiv.org/abs/1710.10903]|", "velickovic2018graph"),
    ],
)
async def test_an_identifier_offers_the_one_paper_that_it_names(start_editor, name, text, key):
    editor = await start_editor(files={"refs.bib": OWN})
    document = PAPER.replace("CITE", text) if name.endswith(".tex") else f"We use {text} here.\n"
    editor.open(name, document)
    found = await editor.complete_list(name)
    (item,) = found.items
    assert key in item.text_edit.new_text


@pytest.mark.parametrize("identifier", ["10.1000/attention", "arXiv:2001.00001", "N19-9999"])
async def test_an_identifier_that_nothing_has_offers_nothing(start_editor, identifier):
    editor = await start_editor(files={"refs.bib": OWN})
    editor.open("main.tex", PAPER.replace("CITE", rf"\cite<{identifier}>|"))
    found = await editor.complete_list("main.tex")
    assert not found.items
    rows = await editor.client.workspace_execute_command_async(
        command("citewell.search", {"query": identifier, "uri": editor.uri("main.tex")})
    )
    assert rows["rows"] == []
    assert identifier.lower().removeprefix("arxiv:") in rows["problems"][0]["message"].lower()


def command(name, arguments):
    from lsprotocol import types

    return types.ExecuteCommandParams(name, [arguments])
