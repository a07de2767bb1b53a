"""What takes more than a second shows progress with a button, and the button ends it.

Through the real protocol: `window/workDoneProgress/cancel` and `$/cancelRequest`. That work has
ended is measured in the processor time of the server and of its worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time

import psutil
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = "\\documentclass{article}\n\\begin{document}\n%s\n\\bibliography{refs}\n\\end{document}\n"
HUGE = 600_000
"""Entries that take some seconds to read."""
HALTS = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be halted there")


def huge() -> str:
    return "".join(f"@misc{{key{n},title={{T}}}}\n" for n in range(HUGE))


class Button:
    """The editor's progress, and the button beside it."""

    def __init__(self, editor):
        self.editor = editor
        self.known = set()

    def reports_of(self, kind, title=""):
        """Of what was told of a kind: token and value, once the title fits."""
        reports = self.editor.client.progress_reports
        titles = {
            token: value.title
            for token, values in reports.items()
            for value in values
            if isinstance(value, types.WorkDoneProgressBegin)
        }
        return [
            (token, value)
            for token, values in reports.items()
            if token not in self.known and titles.get(token, "").startswith(f"Citewell: {title}")
            for value in values
            if isinstance(value, kind)
        ]

    async def shown(self, title, kind=types.WorkDoneProgressBegin):
        await self.editor.wait_for(lambda: self.reports_of(kind, title), 60)
        return self.reports_of(kind, title)[0]

    async def press(self, title):
        """Press it; how long the progress stayed, and what it said last."""
        token, begin = await self.shown(title)
        assert begin.cancellable
        self.editor.client.window_work_done_progress_cancel(
            types.WorkDoneProgressCancelParams(token=token)
        )
        start = time.monotonic()
        _, end = await self.shown(title, types.WorkDoneProgressEnd)
        self.known.add(token)
        return time.monotonic() - start, end.message


def worker_of(editor):
    """The engine's process."""
    return next(iter(psutil.Process(editor.client._server.pid).children(recursive=True)))


def cpu(process):
    times = process.cpu_times()
    return times.user + times.system


async def is_at_rest(process):
    """Little processor time is spent within a second."""
    before = cpu(process)
    await asyncio.sleep(1.0)
    return cpu(process) - before < 0.3


async def test_a_huge_bib_shows_how_far_it_is_read(start_editor):
    editor = await start_editor(files={"refs.bib": huge()}, alone=True)
    button = Button(editor)
    editor.open("main.tex", PAPER % "\\cite{key7}")
    _, begin = await button.shown("reading")
    assert not begin.cancellable
    _, report = await button.shown("reading", types.WorkDoneProgressReport)
    assert report.message.startswith("refs.bib (")
    assert 0 <= report.percentage <= 100
    _, end = await button.shown("reading", types.WorkDoneProgressEnd)
    assert end.message == "Done."
    assert "T" in await editor.hover("main.tex", "key7")


async def halted(editor):
    """The worker that the first paper starts, halted while it opens the library."""
    editor.open("first.tex", PAPER % "So.")
    server = psutil.Process(editor.client._server.pid)
    for _ in range(500):
        if children := server.children(recursive=True):
            os.kill(children[0].pid, signal.SIGSTOP)
            return children[0]
        await asyncio.sleep(0.01)
    raise AssertionError("no worker")


@HALTS
async def test_a_library_that_takes_long_to_open_can_be_given_up_and_is_opened_by_a_search(
    start_editor,
):
    editor = await start_editor(alone=True)
    worker = await halted(editor)
    button = Button(editor)
    stayed, last = await button.press("opening the library default")
    assert (last, stayed < 2.0) == ("Cancelled.", True)
    psutil.wait_procs([worker], timeout=5)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    editor.open("main.tex", PAPER % "\\cite<graph attention>|")
    items = await asyncio.wait_for(editor.complete("main.tex"), 60)
    assert items[0].detail == "Graph Attention Networks"
    assert editor.messages == []


@HALTS
@pytest.mark.parametrize("able", [True, False], ids=["able", "not able"])
async def test_a_library_that_takes_long_to_open_is_waited_for(start_editor, able):
    def change(capabilities):
        capabilities.window.work_done_progress = able

    editor = await start_editor(capabilities=change)
    worker = await halted(editor)
    button = Button(editor)
    if able:
        await button.shown("opening the library default")
    else:
        # By the time that a later one is told, this one would have been.
        later = await start_editor(alone=True)
        other = await halted(later)
        await Button(later).shown("opening the library default")
        os.kill(other.pid, signal.SIGCONT)
        assert editor.client.progress_reports == {}, "a client is asked for what it cannot do"
    os.kill(worker.pid, signal.SIGCONT)
    if able:
        _, end = await button.shown("opening", types.WorkDoneProgressEnd)
        assert end.message == "Done."
    editor.open("main.tex", PAPER % "\\cite<graph attention>|")
    items = await asyncio.wait_for(editor.complete("main.tex"), 60)
    assert items[0].detail == "Graph Attention Networks"
    assert worker.is_running(), "it is the same worker"


MANY = PAPER % "".join(
    f"As {n} shows \\cite<attention networks number {n}>.\n\n" for n in range(1500)
)


async def fill(editor, number="fill"):
    actions = await editor.actions("main.tex", only=["source.fillCitations"])
    action = next(a for a in actions if a.command is not None)
    return editor.client.protocol.send_request_async(
        types.WORKSPACE_EXECUTE_COMMAND,
        types.ExecuteCommandParams(
            command=action.command.command, arguments=action.command.arguments
        ),
        msg_id=number,
    )


async def test_a_shutdown_while_a_command_runs_is_answered(start_editor):
    editor = await start_editor(files={"refs.bib": ""}, alone=True)
    editor.open("main.tex", MANY)
    button = Button(editor)
    running = asyncio.ensure_future(await fill(editor))
    await button.shown("Fill", types.WorkDoneProgressReport)
    assert await asyncio.wait_for(editor.client.shutdown_async(None), 30) is None
    with pytest.raises(JsonRpcException, match="canceled"):
        await asyncio.wait_for(running, 30)
    editor.client.exit(None)
    assert await asyncio.wait_for(editor.client._server.wait(), 30) == 0


async def test_filling_ends_by_its_button_and_changes_nothing(start_editor):
    editor = await start_editor(files={"refs.bib": ""}, alone=True)
    editor.open("main.tex", MANY)
    place = MANY.index("number 3>") + len("number 3>")
    assert await editor.complete("main.tex", place), "the worker is warm"
    button = Button(editor)
    running = asyncio.ensure_future(await fill(editor))
    await button.shown("Fill", types.WorkDoneProgressReport)
    stayed, last = await button.press("Fill")
    assert (last, stayed < 1.0) == ("Cancelled.", True)
    result = await asyncio.wait_for(running, 5)
    assert (result["applied"] if isinstance(result, dict) else result.applied) is False
    assert await is_at_rest(worker_of(editor))
    assert editor.applied == []
    assert editor.text("main.tex") == MANY
    assert editor.messages == []
    assert await editor.complete("main.tex", place)


async def test_a_request_that_is_cancelled_is_answered_at_once_and_its_worker_is_free(start_editor):
    editor = await start_editor(files={"refs.bib": ""}, alone=True)
    editor.open("main.tex", MANY)
    place = MANY.index("number 3>") + len("number 3>")
    assert await editor.complete("main.tex", place), "the worker is warm"
    document = types.TextDocumentIdentifier(editor.uri("main.tex"))
    position = editor.position(MANY, place)
    send = editor.client.protocol.send_request_async
    context = types.CodeActionContext([])

    async def begin(what, name):
        if what == "fill":
            request = await fill(editor, name)
        elif what == "completion":
            params = types.CompletionParams(document, position)
            request = send(types.TEXT_DOCUMENT_COMPLETION, params, msg_id=name)
        else:
            params = types.CodeActionParams(document, types.Range(position, position), context)
            request = send(types.TEXT_DOCUMENT_CODE_ACTION, params, msg_id=name)
        running = asyncio.ensure_future(request)
        await asyncio.sleep(0.4 if what == "fill" else 0.003)
        return running

    for what in ("completion", "code action", "fill"):
        answered = []
        for number in range(8):
            running = await begin(what, f"{what}-{number}")
            start = time.monotonic()
            editor.client.cancel_request(types.CancelParams(id=f"{what}-{number}"))
            try:
                await asyncio.wait_for(running, 10)
            except JsonRpcException as error:
                assert error.code == types.LSPErrorCodes.RequestCancelled
                answered.append(time.monotonic() - start)
            else:
                assert what != "fill", "it had ended before"
        print(what, [round(1000 * seconds) for seconds in sorted(answered)], "ms")
        assert not answered or min(answered) < 0.1, what
        assert await is_at_rest(worker_of(editor)), what
        assert await editor.complete("main.tex", place)
    assert editor.applied == []
    assert editor.text("main.tex") == MANY
    assert editor.messages == []


async def test_an_idle_search_process_ends_and_the_next_placeholder_starts_it_again(start_editor):
    idle = {"retrieval": {"idleMinutes": 0.02}}
    editor = await start_editor(alone=True, settings=idle)
    server = psutil.Process(editor.client._server.pid)
    for number in range(2):
        editor.open(f"paper{number}.tex", PAPER % "\\cite<graph attention>|")
        items = await asyncio.wait_for(editor.complete(f"paper{number}.tex"), 60)
        assert items[0].detail == "Graph Attention Networks"
        await editor.wait_for(lambda: not server.children(recursive=True), 60)
