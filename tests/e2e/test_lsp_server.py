"""The life of the server: start, settings, cancelling, the death of its worker, its end."""

import asyncio
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = (
    "\\documentclass{article}\n\\begin{document}\nSo \\cite<graph attention>|.\n"
    "\\bibliography{refs}\n\\end{document}\n"
)


async def status(editor):
    return await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command="citewell.status", arguments=[])
    )


def field(found, name):
    return found[name] if isinstance(found, dict) else getattr(found, name)


async def test_nothing_heavy_is_imported_before_initialize_is_answered(tmp_path):
    script = textwrap.dedent(
        """
        import sys
        from citewell.lsp.server import create_server
        server = create_server()
        heavy = {"numpy", "scipy", "bm25s", "rich", "usearch", "rapidfuzz", "torch", "onnxruntime",
                 "sqlite3", "pylatexenc", "bibtexparser", "Stemmer", "zstandard", "dspy"}
        print(sorted(heavy & {name.partition(".")[0] for name in sys.modules}))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


async def test_the_garbage_collector_runs_once_the_server_has_started():
    script = textwrap.dedent(
        """
        import atexit, gc, sys
        from citewell.lsp import serve
        atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 0, file=sys.stderr))
        serve()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr.split()[-2:] == ["True", "True"]


async def test_the_worker_can_be_killed_in_the_middle_of_a_request(start_editor):
    editor = await start_editor()
    editor.open("main.tex", PAPER)
    items = await editor.complete("main.tex")
    assert items
    first = field(await status(editor), "pid")
    at = editor.text("main.tex").index(">") + 1
    waiting = asyncio.ensure_future(editor.complete_list("main.tex", at))
    assert first > 1, "0 would kill the whole process group"
    os.kill(first, getattr(signal, "SIGKILL", signal.SIGTERM))
    found = await asyncio.wait_for(waiting, 20)
    assert found is None or not found.items or found.items[0].label == items[0].label
    again = await asyncio.wait_for(editor.complete("main.tex", at), 20)
    assert [item.label for item in again] == [item.label for item in items]
    assert field(await status(editor), "pid") != first


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be halted there")
async def test_a_cancelled_request_is_answered_as_cancelled_and_the_next_one_normally(start_editor):
    editor = await start_editor()
    editor.open("main.tex", PAPER.replace("|", ""))
    at = editor.text("main.tex").index(">") + 1
    params = types.CompletionParams(
        types.TextDocumentIdentifier(editor.uri("main.tex")),
        editor.position(editor.text("main.tex"), at),
    )
    assert await editor.complete("main.tex", at)
    pid = field(await status(editor), "pid")
    assert pid > 1, "0 would halt the whole process group"
    os.kill(pid, signal.SIGSTOP)
    request = asyncio.ensure_future(
        editor.client.protocol.send_request_async(
            "textDocument/completion", params, msg_id="to-be-cancelled"
        )
    )
    assert await editor.hover("main.tex", "document") == "", "what was sent later is answered"
    assert not request.done()
    start = time.monotonic()
    editor.client.cancel_request(types.CancelParams(id="to-be-cancelled"))
    with pytest.raises(JsonRpcException) as error:
        await request
    assert time.monotonic() - start < 15
    os.kill(pid, signal.SIGCONT)
    assert error.value.code == types.LSPErrorCodes.RequestCancelled
    assert await editor.complete("main.tex", at)


async def test_a_missing_library_is_told_once_with_a_cure(start_editor, tmp_path):
    editor = await start_editor(library=tmp_path / "empty")
    editor.open("main.tex", PAPER)
    items = await editor.complete("main.tex")
    assert items == []
    await editor.wait_for(lambda: editor.messages)
    at = editor.text("main.tex").index(">") + 1
    await editor.complete("main.tex", at)
    reported = [m for m in editor.messages if "library" in m.lower()]
    assert len(reported) == 1
    assert "citewell library" in reported[0]


async def test_changed_settings_are_followed(start_editor, library_folder):
    editor = await start_editor(alone=True)
    editor.open("main.tex", PAPER)
    assert len(await editor.complete("main.tex")) > 3
    editor.client.set_configuration(
        {"citewell": {"library": {"path": str(library_folder)}, "completion": {"limit": 3}}}
    )
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    at = editor.text("main.tex").index(">") + 1
    for _ in range(50):
        items = await editor.complete("main.tex", at)
        if len(items) == 3:
            break
        await asyncio.sleep(0.05)
    assert len(items) == 3


async def test_a_document_without_workspace_works_on_its_own_folder(start_editor):
    editor = await start_editor(root=False, files={"refs.bib": ""})
    editor.open("main.tex", PAPER)
    items = await editor.complete("main.tex")
    await editor.accept("main.tex", items[0])
    assert "velickovic2018graph" in editor.text("refs.bib")


async def test_latin_1_files_and_odd_line_ends_keep_the_right_places(start_editor):
    editor = await start_editor()
    (editor.folder / "refs.bib").write_bytes(
        "@book{m\xfcller1950, title={\xdcber Graphen}, author={M\xfcller}}\n".encode("latin-1")
    )
    text = "\\documentclass{article}\r\n\\begin{document}\r\n\x0cé \u2028 \\cite{ber|}\r\n\\bibliography{refs}\r\n\\end{document}\r\n"
    editor.open("main.tex", text.replace("ber|", "ller|"))
    items = await editor.complete("main.tex")
    assert items[0].label == "müller1950"
    await editor.accept("main.tex", items[0])
    assert "é \u2028 \\cite{müller1950}\r\n" in editor.text("main.tex")


async def test_the_server_and_its_worker_end_with_the_client(start_editor):
    import psutil

    editor = await start_editor(alone=True)
    editor.open("main.tex", PAPER)
    await editor.complete("main.tex")
    server = psutil.Process(editor.client._server.pid)
    family = [server, *server.children(recursive=True)]
    assert len(family) >= 2
    editor.client._server.kill()
    _, alive = await asyncio.to_thread(psutil.wait_procs, family[1:], 5)
    assert alive == []


async def test_the_server_speaks_tcp(tmp_path):
    from pytest_lsp import make_test_lsp_client

    server = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "citewell", "lsp", "--tcp", "127.0.0.1:0",
        stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    line = (await asyncio.wait_for(server.stderr.readline(), 20)).decode()
    port = int(line.strip().rpartition(":")[2])
    client = make_test_lsp_client()
    await client.start_tcp("127.0.0.1", port)
    result = await client.initialize_session(
        types.InitializeParams(capabilities=types.ClientCapabilities())
    )
    assert result.capabilities.completion_provider
    await client.shutdown_async(None)
    client.exit(None)
    assert await asyncio.wait_for(server.wait(), 10) == 0
    await client.stop()


async def test_a_module_in_the_working_directory_is_not_imported_by_the_worker(
    start_editor, tmp_path
):
    trap = tmp_path / "trap"
    for name in ("numpy.py", "msgspec.py", "citewell.py"):
        (tmp_path / name).write_text(f"open({str(trap)!r}, 'w').close()\n", encoding="utf-8")
    environment = dict(os.environ)
    done = subprocess.run(
        [*_worker(), ],
        input=b"", cwd=tmp_path, env=environment, capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not trap.exists()


def _worker() -> tuple[str, ...]:
    from citewell.engine.processes import worker_command

    assert Path(sys.executable).exists()
    return worker_command()


README = "# A program\n\nRecent work has shown that @octocat maintains it. See [the docs](docs/).\n"


def workers(editor):
    import psutil

    return psutil.Process(editor.client._server.pid).children(recursive=True)


async def all_that_an_editor_asks_by_itself(editor, name):
    uri = types.TextDocumentIdentifier(editor.uri(name))
    here = types.Range(types.Position(2, 5), types.Position(2, 5))
    client = editor.client
    await client.workspace_execute_command_async(
        types.ExecuteCommandParams("citewell.check", [uri.uri])
    )
    await client.text_document_document_symbol_async(types.DocumentSymbolParams(uri))
    await client.text_document_hover_async(types.HoverParams(uri, here.start))
    await client.text_document_code_action_async(
        types.CodeActionParams(
            uri,
            here,
            types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Automatic),
        )
    )


async def test_a_readme_alone_starts_no_worker(start_editor):
    editor = await start_editor(alone=True)
    editor.open("README.md", README, language="markdown")
    await all_that_an_editor_asks_by_itself(editor, "README.md")
    state = await status(editor)
    assert workers(editor) == []
    assert field(state, "works") > 0
    assert Path(field(state, "library")).name == "default"


async def test_the_first_citation_in_a_readme_starts_the_worker(start_editor):
    editor = await start_editor(alone=True)
    editor.open("README.md", README, language="markdown")
    await all_that_an_editor_asks_by_itself(editor, "README.md")
    assert workers(editor) == []
    at = editor.type("README.md", len(README), "See [@graph attention")
    assert await editor.complete("README.md", at)
    assert len(workers(editor)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.tex", "\\documentclass{article}\n\\begin{document}\nSo.\n\\end{document}\n"),
        ("paper.md", "So it is [CITATION].\n"),
        ("own.md", "So it is [@own1969].\n"),
    ],
)
async def test_a_document_that_cites_starts_the_worker_when_it_is_opened(start_editor, name, text):
    files = {"refs.bib": "@book{own1969,\n  title = {Own},\n  year = {1969}\n}\n"}
    editor = await start_editor(alone=True, files=files)
    editor.open(name, text, language="markdown" if name.endswith(".md") else "latex")
    await editor.wait_for(lambda: workers(editor))


async def test_the_state_names_a_missing_library_before_anything_is_searched(
    start_editor, tmp_path
):
    editor = await start_editor(settings={"library": {"path": str(tmp_path / "none")}})
    editor.open("README.md", README, language="markdown")
    (problem,) = field(await status(editor), "problems")
    assert field(problem, "code") == "library-missing"
    assert workers(editor) == []


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ({}, "position"),
        ({"position": {"line": -1, "character": 0}}, "line"),
        ({"position": {"line": 0, "character": -3}}, "character"),
        ({"position": {"line": 0}}, "character"),
        ({"position": {"line": "one", "character": 0}}, "line"),
        ({"position": None}, "position"),
    ],
)
@pytest.mark.parametrize("method", ["textDocument/completion", "textDocument/hover"])
async def test_a_request_without_a_usable_position_is_refused(start_editor, method, place, reason):
    editor = await start_editor()
    editor.open("main.tex", PAPER.replace("|", ""))
    params = {"textDocument": {"uri": editor.uri("main.tex")}, **place}
    # By hand: the client's own library sends nothing that is no message of the protocol.
    protocol = editor.client.protocol
    body = {"jsonrpc": "2.0", "id": "by hand", "method": method, "params": params}
    sent = json.dumps(body).encode()
    answer = protocol._request_futures["by hand"] = concurrent.futures.Future()
    protocol.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(sent), sent))
    request = asyncio.wrap_future(answer)
    with pytest.raises(JsonRpcException) as error:
        await asyncio.wait_for(request, 20)
    assert error.value.code == types.ErrorCodes.InvalidParams
    assert method in error.value.message
    assert reason in error.value.message
    assert await editor.complete("main.tex", PAPER.index("|"))
