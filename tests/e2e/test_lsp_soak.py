"""Thousands of letters, hovers and lists: the server keeps nothing of them."""

import os

import psutil
import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

STEPS = int(os.environ.get("CITEWELL_TEST_STEPS", "500"))
"""20,000 in a long run."""
WARM = 500
"""Steps after which everything was asked for once."""
FIRST, PER_STEP = 2.0, 0.0004
"""Megabytes that a run may grow by: 10 in 20,000 steps."""
KEYS = [f"key{number:03d}" for number in range(100)]
BIB = "".join(
    f"@misc{{{key},\n  title = {{The Title of {key}}},\n  year = 1999\n}}\n" for key in KEYS
)
PAPER = (
    "\\documentclass{article}\n\\begin{document}\nSome words.\n"
    + "".join(f"See \\cite{{{key}}} for it.\n" for key in KEYS)
    + "\\bibliography{refs}\n\\end{document}\n"
)


async def megabytes(editor, process):
    await editor.come_to_rest()
    return process.memory_full_info().uss / 1e6


async def test_letters_and_hovers_leave_nothing_behind(start_editor):
    editor = await start_editor(alone=True, files={"refs.bib": BIB})
    editor.open("main.tex", PAPER)
    process = psutil.Process(editor.client._server.pid)
    document = types.TextDocumentIdentifier(editor.uri("main.tex"))
    words = PAPER.index("words")
    before = 0.0
    for step in range(WARM + STEPS):
        if step == WARM:
            before = await megabytes(editor, process)
        typed = step % 2 == 0
        editor.replace("main.tex", words, words if typed else words + 1, "x" if typed else "")
        place = types.Position(3 + step % len(KEYS), 12)
        hover = types.HoverParams(document, place)
        found = await editor.client.text_document_hover_async(hover)
        assert found is not None
        if step % 10:
            continue
        at = types.Position(place.line, 14)
        assert await editor.client.text_document_completion_async(
            types.CompletionParams(document, at)
        )
        where = types.Range(place, place)
        await editor.client.text_document_code_action_async(
            types.CodeActionParams(document, where, types.CodeActionContext([]))
        )
    grown = await megabytes(editor, process) - before
    assert grown < FIRST + PER_STEP * STEPS
