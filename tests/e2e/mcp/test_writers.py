"""Editors, an agent, the command line and a program without locks write one project at once: each
accepted entry is in its file once and whole, and so is what the program wrote."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROUNDS = int(os.environ.get("CITEWELL_TEST_ROUNDS", "6"))
"""200 in a long run."""
OWN = "% my papers\n@book{zuse1969,\n  title = {Rechnender Raum},\n  year = {1969}\n}\n"
PAPER = "\\documentclass{article}\n\\begin{document}\nOn \\cite<%s>.\n\\bibliography{refs}\n"
TOPICS = ("graph attention", "denoising diffusion")
FILLED = PAPER % "attention is all you need"
WRONG = (
    "@article{hochreiter,\n  title = {Long Short-Term Memory},\n"
    '  author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},\n'
    "  journal = {Neural Computation},\n  year = {1987}\n}\n"
)
ENTRY = "@misc{%s,\n  title = {A Record of Another Program},\n  year = {2001}\n}\n"


def entries(bib: Path) -> Counter[str]:
    """The keys of the entries that begin and end at lines of their own."""
    text = bib.read_text("utf-8")
    assert text.startswith(OWN)
    return Counter(re.findall(r"(?ms)^@\w+\{([^,\n]+),\n(?:  [^\n]*\n)+\}$", text))


def key_of(text: str) -> list[str]:
    """The cited key; none where the place was left as it was."""
    return re.findall(r"\\cite\{(.+?)\}", text)


@contextlib.contextmanager
def appending(bib: Path, pause: float) -> Iterator[list[str]]:
    """A program that adds an entry at once and after each pause, and knows nothing of locks."""
    done, written = threading.Event(), list[str]()

    def append() -> None:
        while True:
            written.append(f"other{len(written)}")
            with bib.open("a", encoding="utf-8", newline="") as file:
                file.write(ENTRY % written[-1])
            if done.wait(pause):
                break

    thread = threading.Thread(target=append)
    thread.start()
    try:
        yield written
    finally:
        done.set()
        thread.join()


async def test_every_accepted_entry_is_there_once(
    start_editor: Any, env: dict[str, str], client: Any
) -> None:
    editors = [await start_editor(alone=True) for _ in TOPICS]
    root = editors[0].folder
    agent = client(env, "--root", str(root), "--allow-write")
    refused = 0
    async with agent as session:
        for number in range(ROUNDS):
            folder = root / f"round{number}"
            folder.mkdir()
            bib = folder / "refs.bib"
            bib.write_bytes(OWN.encode())
            (folder / "filled.tex").write_bytes(FILLED.encode())
            accepted = []
            for editor, topic in zip(editors, TOPICS, strict=True):
                editor.enter(folder)
                name = f"{topic.split()[0]}.tex"
                editor.write(name, PAPER % topic)
                editor.open(name)
                place = editor.text(name).index(">") + 1
                items = await editor.complete(name, place)
                accepted.append(editor.accept(name, items[0]))
            arguments = {"path": f"round{number}/filled.tex", "write": True}
            with appending(bib, 0.05) as written:
                answers = await asyncio.gather(
                    *accepted,
                    session.call_tool("fill_document", arguments),
                    session.call_tool(
                        "add_entry", {"id": "fx:2", "bib": f"round{number}/refs.bib", "write": True}
                    ),
                )
            *_, filled, added = answers
            wanted = ["zuse1969", *written]
            for editor, topic in zip(editors, TOPICS, strict=True):
                wanted += key_of(editor.text(f"{topic.split()[0]}.tex"))
                editor.leave()
            wanted += key_of((folder / "filled.tex").read_text("utf-8"))
            for answer in (filled, added):
                assert not answer.is_error or "[file-changed]" in str(answer.content)
                refused += answer.is_error
            if not added.is_error:
                wanted.append(added.structured_content["key"])
            assert entries(bib) == Counter(wanted)
            assert {path.suffix for path in folder.iterdir()} == {".bib", ".tex"}
    assert refused <= 1 + ROUNDS // 20


async def test_a_bib_that_changes_during_a_fill_gets_its_entry_all_the_same(
    env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "paper.tex").write_bytes(FILLED.encode())
    bib = tmp_path / "refs.bib"
    bib.write_bytes(OWN.encode())
    command = [sys.executable, "-m", "citewell", "fill", "paper.tex", "--yes"]
    with appending(bib, 0.05) as written:
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=tmp_path, env=env, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    assert "1 of 1 placeholders filled" in done.stderr
    (key,) = key_of((tmp_path / "paper.tex").read_text("utf-8"))
    assert entries(bib) == Counter(["zuse1969", key, *written])


async def test_a_bib_that_changes_during_a_check_is_corrected_all_the_same(
    env: dict[str, str], tmp_path: Path
) -> None:
    bib = tmp_path / "refs.bib"
    bib.write_bytes((OWN + WRONG).encode())
    command = [sys.executable, "-m", "citewell", "check", "refs.bib", "--fix", "--write"]
    with appending(bib, 0.05) as written:
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=tmp_path, env=env, capture_output=True, text=True
        )
    assert "1 entry corrected" in done.stderr, done.stderr
    assert bib.read_text("utf-8").startswith(OWN + WRONG.replace("1987", "1997"))
    assert entries(bib) == Counter(["zuse1969", "hochreiter", *written])


async def test_who_never_finds_a_bib_at_rest_is_told_so(
    env: dict[str, str], tmp_path: Path, client: Any
) -> None:
    """No error of the program itself, whoever asks, and nothing is lost."""
    (tmp_path / "paper.tex").write_bytes(FILLED.encode())
    bib = tmp_path / "refs.bib"
    bib.write_bytes(OWN.encode())
    command = [sys.executable, "-m", "citewell", "fill", "paper.tex", "--yes", "--json"]
    async with client(env, "--root", str(tmp_path), "--allow-write") as session:
        with appending(bib, 0.003) as written:
            done = await asyncio.to_thread(
                subprocess.run, command, cwd=tmp_path, env=env, capture_output=True, text=True
            )
            filled = await session.call_tool("fill_document", {"path": "paper.tex", "write": True})
            added = await session.call_tool(
                "add_entry", {"id": "fx:2", "bib": "refs.bib", "write": True}
            )
    messages = [done.stderr, str(filled.content), str(added.content)]
    for failed, words in zip(
        (done.returncode, filled.is_error, added.is_error), messages, strict=True
    ):
        assert not failed or "file-changed" in words or "has changed" in words
        assert "nternal error" not in words
        assert "Traceback" not in words
    keys = key_of((tmp_path / "paper.tex").read_text("utf-8"))
    if not added.is_error:
        keys.append(added.structured_content["key"])
    assert entries(bib) == Counter(["zuse1969", *keys, *written])


async def test_a_slow_editor_and_a_program_that_rewrites_a_closed_bib(start_editor: Any) -> None:
    """The editor makes each edit late; the entry is whole, and none of the others is cut."""
    editor = await start_editor(alone=True, files={"refs.bib": OWN})
    bib = editor.folder / "refs.bib"
    wanted = ["zuse1969"]

    def export() -> None:
        new = f"exported{len(wanted)}"
        text = bib.read_text("utf-8")
        bib.write_bytes((OWN + ENTRY % new + text.removeprefix(OWN)).encode())
        wanted.append(new)

    for number, topic in enumerate(TOPICS * 2):
        name = f"paper{number}.tex"
        editor.write(name, PAPER % topic)
        editor.open(name)
        editor.before_next = export
        if number % 2:
            items = await editor.complete(name, editor.text(name).index(">") + 1)
            await editor.accept(name, items[0])
        else:
            actions = await editor.actions(name, topic.split()[0])
            await editor.act(actions[0])
        keys = key_of(editor.text(name))
        assert len(keys) == 1
        wanted += [key for key in keys if key not in wanted]
        assert entries(bib) == Counter(wanted)
