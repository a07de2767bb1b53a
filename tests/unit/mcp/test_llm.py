"""Where a language model is named, agents get its choice, and hear who chose."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.mcp.roots import Roots
from citewell.mcp.server import create_server
from citewell.options import Options
from citewell.options.online import LlmOptions
from citewell.usecases.fill import with_unattended

pytest.importorskip("dspy")
PASSAGE = "Graph attention networks weigh neighbours [CITATION]."


@pytest.fixture
def model(chat: Any) -> Iterator[Any]:
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "reason": "It fits."}'))
    yield server
    server.close()


@pytest.fixture
def options(paper_options: Options, model: Any) -> Options:
    llm = LlmOptions(provider="llamacpp", model="scripted", base_url=model.url, pick_threshold=0.0)
    return replace(paper_options, llm=llm)


@pytest.fixture
def engine(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LocalEngine]:
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "data"))
    engine = LocalEngine.open(options)
    yield engine
    engine.close()


async def call_tool(engine: Any, options: Options, name: str, root: Path, **arguments: Any) -> Any:
    from mcp.client import Client

    server = create_server(options, engine, Roots.open([root]), allow_write=False)
    async with Client(server) as client:
        found = await client.call_tool(name, arguments)
    assert not found.is_error, found.content
    return found.structured_content


async def test_the_models_choice_is_the_pick_and_says_who_chose(
    engine: LocalEngine, options: Options, model: Any, chat: Any, tmp_path: Path
) -> None:
    found = await call_tool(engine, options, "find_citations", tmp_path, text=PASSAGE)
    (place,) = found["places"]
    assert place["pick"] == place["papers"][0]["id"] != "fx:5"
    assert "Place 1: chosen by llamacpp scripted (pick@builtin): “It fits.”" in found["notes"]
    model.script = lambda request: chat.Reply('{"choice": "none", "reason": "No."}')
    found = await call_tool(engine, options, "find_citations", tmp_path, text=PASSAGE)
    assert "pick" not in found["places"][0]
    assert "Place 1: none fits, chosen by llamacpp scripted" in found["notes"]
    model.script = lambda request: chat.Reply("Cite Smith (2021).")
    found = await call_tool(engine, options, "find_citations", tmp_path, text=PASSAGE)
    assert found["places"][0]["papers"][0]["id"] == "fx:5"
    assert "[llm-answer]" in found["notes"]


async def test_an_order_that_the_model_passes_on_does_not_reach_the_agent(
    engine: LocalEngine, options: Options, model: Any, chat: Any, tmp_path: Path
) -> None:
    (tmp_path / "main.tex").write_text("\\begin{document}\n" + PASSAGE + "\n\\end{document}\n")
    for choice in ("2", "none"):
        reply = json.dumps({"choice": choice, "reason": chat.INJECTION})
        model.script = lambda request, reply=reply: chat.Reply(reply)
        found = await call_tool(engine, options, "find_citations", tmp_path, text=PASSAGE)
        notes = found["notes"]
        assert "(pick@builtin): “Ignore the list." in notes, "quoted, so that it is nobody's order"
        assert not [leak for leak in chat.LEAKS if leak in notes.replace("\n", "")]
        filled = await call_tool(engine, options, "fill_document", tmp_path, path="main.tex")
        output = json.dumps([filled.get("notes"), filled["placeholders"]], ensure_ascii=False)
        said_there = [part.partition("”")[0] for part in output.split("“")[1:]]
        assert not [leak for leak in chat.LEAKS for part in said_there if leak in part]
        assert "evil" not in output and "fake" not in output


async def test_a_document_is_filled_by_the_model_but_for_what_the_agent_chose(
    engine: LocalEngine, options: Options, model: Any, tmp_path: Path
) -> None:
    (tmp_path / "main.tex").write_text(
        "\\begin{document}\n" + PASSAGE + "\n\nWe translate with attention [CITATION].\n"
        "\\bibliography{refs}\\end{document}\n"
    )
    (tmp_path / "refs.bib").write_text("")
    options = with_unattended(options, unattended=True)
    found = await call_tool(
        engine, options, "fill_document", tmp_path, path="main.tex", choices={"2": "fx:1"}
    )
    assert len(model.requests) == 1, "the model was asked where the agent had chosen"
    first, second = found["placeholders"]
    assert first["paper"]["id"] != "fx:5"
    assert second["paper"]["id"] == "fx:1"


async def test_without_choose_nothing_is_sent_to_the_model(
    engine: LocalEngine, options: Options, model: Any, tmp_path: Path
) -> None:
    (tmp_path / "main.tex").write_text(f"\\begin{{document}}\n{PASSAGE}\n\\end{{document}}\n")
    for name, arguments in (
        ("find_citations", {"text": PASSAGE}),
        ("fill_document", {"path": "main.tex"}),
        ("explore_papers", {"query": "attention in translation"}),
    ):
        await call_tool(engine, options, name, tmp_path, choose=False, **arguments)
        assert not model.requests, name
        await call_tool(engine, options, name, tmp_path, **arguments)
        assert model.requests, f"{name} asks it by default"
        model.requests.clear()


async def test_what_the_model_says_of_an_abstract_comes_with_the_citation(
    engine: LocalEngine, options: Options, model: Any, chat: Any, tmp_path: Path
) -> None:
    text = "\\begin{document}\nWe read graphs \\cite<graph attention networks>.\n\\end{document}\n"
    (tmp_path / "main.tex").write_text(text)
    answer = json.dumps({"choice": "1", "supports": "unclear", "words": ""})
    model.script = lambda request: chat.Reply(answer)
    options = replace(options, llm=replace(options.llm, verify=True))
    (place,) = (await call_tool(engine, options, "fill_document", tmp_path, path="main.tex"))[
        "placeholders"
    ]
    assert place["supported"].startswith("says llamacpp scripted (verify@builtin): ")
    assert len(model.requests) == 1, "no choice is left to the model where a title is whole"
