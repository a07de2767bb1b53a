"""The language model in an editor: it chooses for “cite the best” and “fill”, in the worker."""

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")
pytest.importorskip("dspy")

PAPER = (
    "\\documentclass{article}\n\\begin{document}\n"
    "We build on \\cite<graph attention> and on \\cite<denoising diffusion>.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)


@pytest.fixture
def model(chat, monkeypatch, tmp_path):
    """A scripted server, and the settings that name it."""
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "reason": "It fits."}'))
    server.settings = {
        "llm": {
            "provider": "llamacpp", "model": "scripted", "baseUrl": server.url, "pickThreshold": 0,
        }
    }  # fmt: skip
    yield server
    server.close()


async def chosen(editor, name, beginning):
    actions = await editor.actions("main.tex", name)
    await editor.act(next(action for action in actions if action.title.startswith(beginning)))


async def test_the_paper_that_the_model_picks_is_cited(start_editor, model):
    editor = await start_editor(files={"refs.bib": ""}, settings=model.settings)
    editor.open("main.tex", PAPER)
    await chosen(editor, "graph attention", "Cite the best")
    (request,) = model.requests
    second = str(request).split("[2] ")[1].split(" (")[0]
    assert "velickovic2018graph" not in editor.text("refs.bib")
    assert second in editor.text("refs.bib").replace("{", "").replace("}", "")


async def test_nothing_is_cited_where_the_model_finds_none_fitting(start_editor, model, chat):
    model.script = lambda request: chat.Reply('{"choice": "none", "reason": "No."}')
    editor = await start_editor(files={"refs.bib": ""}, settings=model.settings)
    editor.open("main.tex", PAPER)
    await chosen(editor, "graph attention", "Cite the best")
    assert model.requests
    assert editor.text("main.tex") == PAPER
    assert not editor.applied


async def test_the_first_paper_stands_where_the_model_gives_no_choice(start_editor, model, chat):
    model.script = lambda request: chat.Reply("I cite Smith (2021).")
    editor = await start_editor(files={"refs.bib": ""}, settings=model.settings)
    editor.open("main.tex", PAPER)
    await chosen(editor, "graph attention", "Fill all")
    assert len(model.requests) == 2
    assert "\\cite{velickovic2018graph}" in editor.text("main.tex")
