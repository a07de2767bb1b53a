"""What an author accepts is kept, shown, erased and never written where learning is off."""

import json
import subprocess
import sys

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = (
    "\\documentclass{article}\n\\begin{document}\n"
    "Sentences are parsed by \\cite<attention>| and others.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)


@pytest.fixture
def history(tmp_path, monkeypatch):
    """The folder of the history, with learning as it is by default."""
    monkeypatch.delenv("CITEWELL_LEARNING_ENABLED", raising=False)
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "history"))
    return tmp_path / "history"


def citewell(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "citewell", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept():
    return json.loads(citewell("history", "--json"))["events"]


async def test_an_accepted_completion_is_kept_with_those_above_it(start_editor, history):
    editor = await start_editor(alone=True)
    editor.open("main.tex", PAPER)
    items = await editor.complete("main.tex")
    assert not history.exists(), "nothing was accepted yet"
    await editor.accept("main.tex", items[2])
    events = kept()
    shown = [(event["kind"], event["title"]) for event in events]
    assert shown == [
        ("dismissed", items[0].detail),
        ("dismissed", items[1].detail),
        ("accepted", items[2].detail),
    ]
    for event in events:
        assert event["project"] == str(editor.folder)
        assert (event["through"], event["variant"]) == ("completion", "learned")
        assert event["query"]
    stored = b"".join(file.read_bytes() for file in history.iterdir())
    assert b"Sentences are parsed" not in stored, "the manuscript's words are not kept"


async def test_a_code_action_is_kept_once_its_edit_was_made(start_editor, history):
    editor = await start_editor(alone=True)
    editor.open("main.tex", PAPER.replace("|", ""))
    cite = [one for one in await editor.actions("main.tex", "<attention") if "Cite" in one.title]
    await editor.act(cite[1])
    assert "@" in editor.text("refs.bib")
    assert [(e["kind"], e["through"]) for e in kept()] == [
        ("dismissed", "action"),
        ("accepted", "action"),
    ]


async def test_a_refused_edit_is_no_acceptance(start_editor, history):
    editor = await start_editor(alone=True, files={"refs.bib": ""})
    editor.open("main.tex", PAPER)
    editor.open("refs.bib", language="bibtex")
    items = await editor.complete("main.tex")
    editor.refuse = "read-only"
    await editor.accept("main.tex", items[0])
    assert not history.exists()


async def test_with_learning_off_nothing_is_on_the_disk(start_editor, history):
    editor = await start_editor(settings={"learning": {"enabled": False}})
    editor.open("main.tex", PAPER)
    items = await editor.complete("main.tex")
    await editor.accept("main.tex", items[1])
    assert "@" in editor.text("refs.bib")
    assert not history.exists()
    assert json.loads(citewell("history", "--json"))["events"] == []
    assert not history.exists()


async def test_filling_a_paper_is_kept_and_a_dry_run_is_not(start_editor, history, library_folder):
    editor = await start_editor()
    editor.write("main.tex", PAPER.replace("|", ""))
    paper = editor.folder / "main.tex"
    library = ["--set", f"library.path={library_folder}"]
    citewell(*library, "fill", paper, "--dry-run", "--threshold", "0")
    assert not history.exists()
    citewell(*library, "fill", paper, "--yes", "--threshold", "0")
    (event,) = kept()
    assert (event["kind"], event["through"]) == ("accepted", "fill")
    shown = citewell("history")
    assert "filled" in shown and "dismissed" not in shown
    assert event["project"] == str(editor.folder)


async def test_the_command_shows_the_events_and_erases_a_paper_a_project_or_all(
    start_editor, history
):
    editor = await start_editor(alone=True)
    editor.open("main.tex", PAPER)
    items = await editor.complete("main.tex")
    await editor.accept("main.tex", items[1])
    await editor.wait_for(lambda: len(kept()) == 2)
    lines = [line.split("\t") for line in citewell("history").splitlines()]
    assert [line[1:3] for line in lines] == [
        ["dismissed", items[0].detail], ["accepted", items[1].detail],
    ]  # fmt: skip
    assert citewell("history", "erase", "--paper", items[0].detail, "--yes") == "Erased: 1.\n"
    assert [event["kind"] for event in kept()] == ["accepted"]
    assert citewell("history", "erase", "--project", editor.folder, "--yes") == "Erased: 1.\n"
    assert kept() == []
    editor.open("other.tex", PAPER.replace("refs", "more"))
    items = await editor.complete("other.tex")
    await editor.accept("other.tex", items[0])
    assert len(kept()) == 1
    assert citewell("history", "erase", "--yes") == "Erased: 1.\n"
    assert kept() == []


async def test_a_paper_chosen_in_the_picker_is_kept_with_those_above_it(start_editor, history):
    editor = await start_editor(alone=True)
    editor.open("main.tex", PAPER.replace("\\cite<attention>|", "them"))

    async def call(command, **arguments):
        return await editor.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command=command, arguments=[arguments])
        )

    uri = editor.uri("main.tex")
    place = {"line": 2, "character": 5}
    found = await call("citewell.search", query="attention", uri=uri, position=place)
    await call("citewell.insertPaper", uri=uri, work=found["rows"][1]["id"], position=place)
    assert [(e["kind"], e["title"], e["through"]) for e in kept()] == [
        ("dismissed", found["rows"][0]["title"], "picker"),
        ("accepted", found["rows"][1]["title"], "picker"),
    ]


async def offered(editor, name):
    editor.open(name, PAPER)
    return await editor.complete(name)


def titles(items):
    return [item.detail for item in items]


async def test_a_new_server_knows_what_an_earlier_one_learned_unless_learning_is_off(
    start_editor, history
):
    first = await start_editor(alone=True)
    first.open("main.tex", PAPER)
    items = await first.complete("main.tex")
    before = titles(items)
    await first.accept("main.tex", items[3])
    for folder in ("second", "third"):
        first.write(f"{folder}/refs.bib", "% none yet\n")
    second = await start_editor(alone=True)
    assert titles(await offered(second, "second/main.tex")).index(before[3]) < 3
    off = await start_editor(settings={"learning": {"enabled": False}})
    assert titles(await offered(off, "third/main.tex")) == before
