"""A real server process, a real library, and a client that edits as an editor does."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Union

import psutil
import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.uris import from_fs_path, to_fs_path
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client
from tests.fakes.bulk import BulkServer

_FOLDERS = itertools.count()
TESTS = Path(__file__).resolve().parents[1]
REPOSITORY = TESTS.parent
PAPERS = TESTS / "fixtures" / "papers.jsonl"
EVERY_PAPER = sorted((TESTS / "fixtures").glob("*papers.jsonl"))
CORPORA = tuple(
    REPOSITORY.parent / "shared" / "data" / "corpus" / f"{name}.jsonl.zst" for name in ("acl", "ml")
)
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test here gets a second try, which the summary shows (`R`): editors drop keys, and processes
    time out, while tests beside them keep the machine busy."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.flaky(reruns=1))


def clean_env(folder: Path) -> dict[str, str]:
    """An environment with nothing of the user's."""
    (folder / "config.toml").touch()
    clean = {name: value for name, value in os.environ.items() if "CITEWELL" not in name}
    return clean | {
        "CITEWELL_CONFIG": str(folder / "config.toml"),
        "CITEWELL_DATA": str(folder / "history"),
        "CITEWELL_LEARNING_ENABLED": "false",
        "CITEWELL_SOURCES_KEEP": "false",
        "CITEWELL_CACHE": str(folder / "cache"),
        "CITEWELL_RETRIEVAL_TIMEOUT_MS": "60000",
        "OMP_NUM_THREADS": "1",
        "PYTHONIOENCODING": "utf-8",
    }


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def citewell_in(folder: Path, env: dict[str, str], *before: str) -> Run:
    """Runs `citewell BEFORE ARGUMENTS` in a folder; `text` is its input, other keywords are variables
    of its environment."""

    def run(*arguments: str | Path, text: str = "", **more: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "citewell", *before, *map(str, arguments)],
            cwd=folder, env=env | more, input=text, capture_output=True, encoding="utf-8",
            timeout=600, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def new_env(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has nothing yet; the library is called `mine`."""
    return clean_env(tmp_path) | {
        "CITEWELL_LIBRARY_PATH": str(tmp_path / "libraries"),
        "CITEWELL_LIBRARY_NAME": "mine",
        "HOME": str(tmp_path),
    }


@pytest.fixture
def bulk() -> Iterator[BulkServer]:
    """A server that speaks as the sources of whole collections do."""
    server = BulkServer()
    yield server
    server.close()


@pytest.fixture
def fetch_env(new_env: dict[str, str], bulk: BulkServer) -> dict[str, str]:
    """The environment of a user who allows every source, all of which are `bulk`."""
    return new_env | {
        "CITEWELL_SOURCES_ALLOW": "all",
        "CITEWELL_SOURCES_BASE_URL": bulk.url,
        "OPENALEX_API_KEY": "",
    }


@pytest.fixture
def bulk_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk: BulkServer) -> Path:
    """The settings of an author whose sources are `bulk`, none of them allowed yet."""
    path = tmp_path / "user.toml"
    path.write_text(f'[sources]\nsearch = false\nbase_url = "{bulk.url}"\n', encoding="utf-8")
    monkeypatch.setenv("CITEWELL_CONFIG", str(path))
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    return path


@pytest.fixture(scope="session")
def env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment whose library holds the papers of the fixtures."""
    folder = tmp_path_factory.mktemp("home")
    clean = clean_env(folder) | {"CITEWELL_LIBRARY_PATH": str(folder / "libraries")}
    add = [sys.executable, "-m", "citewell", "library", "add", *map(str, EVERY_PAPER)]
    subprocess.run(add, env=clean, cwd=folder, check=True, capture_output=True)
    return clean


@pytest.fixture(scope="session")
def real_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with a library of a quarter of a million papers."""
    if not all(path.exists() for path in CORPORA):
        pytest.skip("needs ../shared/data/corpus beside the checkout")
    from citewell.options import Options
    from citewell_lab.datasets.cached_library import cached_library

    folder, _ = cached_library(CORPORA, REPOSITORY / ".cache", Options())
    return clean_env(tmp_path_factory.mktemp("home")) | {
        "CITEWELL_LIBRARY_PATH": str(folder.parent),
        "CITEWELL_LIBRARY_NAME": folder.name,
    }


@contextlib.contextmanager
def server(
    env: dict[str, str], *arguments: str | Path, token: str = "", before: Sequence[str] = ()
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server on a free port of this machine: its address and its process. `before` are arguments
    before the command."""
    given = {"CITEWELL_HTTP_TOKEN": token} if token else {}
    command = [sys.executable, "-m", "citewell", *before, "serve", "--port", "0"]
    command += map(str, arguments)
    # A group of its own: a signal that a test sends must not end the tests.
    alone: dict[str, Any] = (
        {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        if sys.platform == "win32"
        else {"start_new_session": True}
    )
    process = subprocess.Popen(
        command, env=env | given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **alone
    )
    assert process.stdout is not None and process.stderr is not None
    lines: list[str] = []
    # Nobody may wait because a pipe that nobody reads is full.
    reader = threading.Thread(target=lambda: lines.append(process.stderr.read()), daemon=True)  # type: ignore[union-attr]
    reader.start()
    try:
        line = process.stdout.readline()
        if not line:
            process.wait(timeout=180)
            reader.join(60)
            raise AssertionError(f"the server ended: {lines}")
        ready = json.loads(line)
        yield ready["url"], process
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=180)
        process.stdout.close()


@pytest.fixture(scope="session")
def serving() -> Callable[..., Any]:
    """`with serving(env, "--allow-origin", page, token="") as (url, process)`."""
    return server


def _units(text: str, encoding: str) -> int:
    codec, size = _CODECS[encoding]
    return len(text.encode(codec)) // size


def _read_actions(client: LanguageClient) -> None:
    """The library reads an action that has a command as a bare command: put that right."""
    converter = client.protocol._converter

    def read(sent: Any, _: Any) -> types.CodeAction | types.Command:
        bare = isinstance(sent.get("command"), str)
        return converter.structure(sent, types.Command if bare else types.CodeAction)

    converter.register_structure_hook(Union[types.Command, types.CodeAction], read)  # noqa: UP007


class Editor:
    """Keeps files as an editor does: open texts with versions, the others on disk."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        _read_actions(client)
        self.workspace = Path()
        self.folder = Path()
        self.encoding = "utf-16"
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.applied: list[types.ApplyWorkspaceEditParams] = []
        self.refuse = ""
        """Why every edit is refused; empty: none is."""
        self.refuse_next = ""
        """Why the next one is."""
        self.before_next: Callable[[], object] | None = None
        """What the author does while the next edit is on its way."""
        self.messages_seen = 0
        self.capabilities = types.ServerCapabilities()
        self.registered: dict[str, types.Registration] = {}

        @client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply_edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            if reason := self.refuse_next or self.refuse:
                self.refuse_next = ""
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason=reason)
            if self.before_next is not None:
                act, self.before_next = self.before_next, None
                act()
            if self._is_stale(params.edit):
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason="stale edit")
            self.applied.append(params)
            self._apply(params.edit)
            return types.ApplyWorkspaceEditResult(applied=True)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered |= {one.id: one for one in params.registrations}

        @client.feature(types.CLIENT_UNREGISTER_CAPABILITY)
        def unregister(params: types.UnregistrationParams) -> None:
            for one in params.unregisterations:
                assert self.registered.pop(one.id).method == one.method

    # -- life ------------------------------------------------------------------------------

    def enter(self, folder: Path) -> None:
        """Begin anew in a folder."""
        self.folder = folder
        self.applied.clear()
        self.refuse = ""
        self.messages_seen = len(self.client.messages)

    def leave(self) -> None:
        """Close every document."""
        for uri in list(self.texts):
            self.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
            )
        self.texts.clear()
        self.versions.clear()

    @property
    def has_ended(self) -> bool:
        server = self.client._server
        return server is None or server.returncode is not None

    async def end(self) -> None:
        """Shut the server down, unless the test did."""
        if not self.has_ended:
            await self.client.shutdown_session()
        await self.client.stop()

    # -- files ----------------------------------------------------------------------------

    def uri(self, name: str) -> str:
        return from_fs_path(str(self.folder / name)) or ""

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))

    def text(self, name: str) -> str:
        """The text as the author sees it: the open document, else the file."""
        uri = self.uri(name)
        if uri in self.texts:
            return self.texts[uri]
        return (self.folder / name).read_bytes().decode("utf-8")

    def open(self, name: str, text: str | None = None, language: str = "latex") -> None:
        uri = self.uri(name)
        self.texts[uri] = self.text(name) if text is None else text
        self.versions[uri] = 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(
                types.TextDocumentItem(uri, language, 1, self.texts[uri])
            )
        )

    # -- positions and edits ------------------------------------------------------------------

    def position(self, text: str, offset: int) -> types.Position:
        before = text[:offset]
        line_start = before.rfind("\n") + 1
        return types.Position(before.count("\n"), _units(before[line_start:], self.encoding))

    def offset(self, text: str, position: types.Position) -> int:
        lines = text.split("\n")
        start = sum(len(line) + 1 for line in lines[: position.line])
        line = lines[position.line]
        codec, size = _CODECS[self.encoding]
        return start + len(line.encode(codec)[: position.character * size].decode(codec))

    def replace(self, name: str, start: int, end: int, new: str) -> None:
        uri = self.uri(name)
        text = self.texts[uri]
        range_ = types.Range(self.position(text, start), self.position(text, end))
        self.texts[uri] = text[:start] + new + text[end:]
        self.versions[uri] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri),
                [types.TextDocumentContentChangePartial(range=range_, text=new)],
            )
        )

    def type(self, name: str, at: int, text: str) -> int:
        """Type letter by letter; the offset after them."""
        for letter in text:
            self.replace(name, at, at, letter)
            at += len(letter)
        return at

    async def type_slowly(self, name: str, at: int, text: str, pause: float = 0.02) -> int:
        """Type letter by letter, with time after each for the server to work; the offset after
        them."""
        for letter in text:
            at = self.type(name, at, letter)
            await asyncio.sleep(pause)
        return at

    def _is_stale(self, edit: types.WorkspaceEdit) -> bool:
        """True when a document has changed since: no editor makes such an edit."""
        changes = edit.document_changes or ()
        documents = [
            one.text_document for one in changes if isinstance(one, types.TextDocumentEdit)
        ]
        return any(one.version not in (None, self.versions.get(one.uri)) for one in documents)

    def _apply(self, edit: types.WorkspaceEdit) -> None:
        for uri, edits in (edit.changes or {}).items():
            self._apply_edits(uri, edits)
        for change in edit.document_changes or ():
            if isinstance(change, types.CreateFile):
                path = Path(to_fs_path(change.uri) or "")
                assert not path.exists() or (change.options and change.options.ignore_if_exists)
                if not path.exists():
                    path.write_bytes(b"")
            elif isinstance(change, types.TextDocumentEdit):
                uri = change.text_document.uri
                self._apply_edits(uri, change.edits)

    def _apply_edits(self, uri: str, edits: Any) -> None:
        name = str(Path(to_fs_path(uri) or "").relative_to(self.folder))
        text = self.text(name)
        spans = [
            (self.offset(text, e.range.start), self.offset(text, e.range.end), e.new_text)
            for e in edits
        ]
        for start, end, new in sorted(spans, reverse=True):
            if uri in self.texts:
                self.replace(name, start, end, new)
            else:
                text = text[:start] + new + text[end:]
        if uri not in self.texts:
            self.write(name, text)

    # -- requests -------------------------------------------------------------------------------

    async def complete(
        self, name: str, offset: int | None = None, trigger: str = ""
    ) -> list[types.CompletionItem]:
        """The items at an offset (default: where the text has `|`, which is taken out first)."""
        found = await self.complete_list(name, offset, trigger)
        return list(found.items) if found is not None else []

    async def complete_list(
        self, name: str, offset: int | None = None, trigger: str = ""
    ) -> types.CompletionList | None:
        text = self.texts[self.uri(name)]
        if offset is None:
            offset = text.index("|")
            self.replace(name, offset, offset + 1, "")
            text = self.texts[self.uri(name)]
        kinds = types.CompletionTriggerKind
        context = (
            types.CompletionContext(kinds.TriggerCharacter, trigger)
            if trigger
            else types.CompletionContext(kinds.Invoked)
        )
        found = await self.client.text_document_completion_async(
            types.CompletionParams(
                types.TextDocumentIdentifier(self.uri(name)),
                self.position(text, offset),
                context=context,
            )
        )
        assert found is None or isinstance(found, types.CompletionList)
        return found

    async def accept(
        self, name: str, item: types.CompletionItem, *, end: types.Position | None = None
    ) -> None:
        """Apply an item as an editor does: its edit, then its command.

        With `end`, the edit stops there, as in an editor that replaces up to the cursor only.
        """
        edit = item.text_edit
        assert isinstance(edit, types.TextEdit)
        text = self.texts[self.uri(name)]
        start = self.offset(text, edit.range.start)
        self.replace(name, start, self.offset(text, end or edit.range.end), edit.new_text)
        if item.command is not None:
            await self.client.workspace_execute_command_async(
                types.ExecuteCommandParams(
                    command=item.command.command, arguments=item.command.arguments
                )
            )

    @staticmethod
    def key(item: types.CompletionItem) -> str:
        """The key that an item cites, which its label shows for own entries alone."""
        arguments = item.command.arguments if item.command is not None else None
        return str(arguments[0]["key"]) if arguments else item.label

    async def hover(self, name: str, needle: str) -> str:
        text = self.texts[self.uri(name)]
        found = await self.client.text_document_hover_async(
            types.HoverParams(
                types.TextDocumentIdentifier(self.uri(name)),
                self.position(text, text.index(needle) + 1),
            )
        )
        if found is None:
            return ""
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    async def actions(
        self,
        name: str,
        needle: str = "",
        *,
        end: str = "",
        only: list[str] | None = None,
        diagnostics: list[types.Diagnostic] | None = None,
    ) -> list[types.CodeAction | types.Command]:
        """The code actions at the first letter of `needle`, or from there to the end of `end`."""
        text = self.text(name)
        start = text.index(needle) if needle else 0
        stop = text.index(end, start) + len(end) if end else start
        found = await self.client.protocol.send_request_async(
            types.TEXT_DOCUMENT_CODE_ACTION,
            types.CodeActionParams(
                types.TextDocumentIdentifier(self.uri(name)),
                types.Range(self.position(text, start), self.position(text, stop)),
                types.CodeActionContext(diagnostics or [], only=only),
            ),
        )
        return list(found or ())

    async def act(self, action: types.CodeAction | types.Command) -> types.WorkspaceEdit | None:
        """Do an action as an editor does: resolve it, make its edit, run its command."""
        command = action if isinstance(action, types.Command) else action.command
        edit = None
        if isinstance(action, types.CodeAction):
            if action.command is None and action.edit is None:
                action = await self.client.code_action_resolve_async(action)
            edit, command = action.edit, action.command
        if edit is not None:
            self._apply(edit)
        if command is not None:
            await self.client.workspace_execute_command_async(
                types.ExecuteCommandParams(command=command.command, arguments=command.arguments)
            )
        return edit

    async def execute(self, command: str, *arguments: Any) -> Any:
        """Run a command of the server."""
        return await self.client.workspace_execute_command_async(
            types.ExecuteCommandParams(command=command, arguments=list(arguments))
        )

    @property
    def messages(self) -> list[str]:
        return [message.message for message in self.client.messages[self.messages_seen :]]

    async def come_to_rest(self, seconds: float = 60.0) -> None:
        """Wait until the server and its engine use next to no processor time."""
        server = self.client._server
        assert server is not None
        process = psutil.Process(server.pid)

        def used() -> float:
            family = (process, *process.children(recursive=True))
            return sum(sum(one.cpu_times()[:2]) for one in family)

        limit = asyncio.get_running_loop().time() + seconds
        while True:
            before = used()
            await asyncio.sleep(1.0)
            if used() - before < 0.1:
                return
            assert asyncio.get_running_loop().time() < limit, "the server works on"

    async def wait_for(self, condition: Callable[[], Any], seconds: float = 10.0) -> None:
        for _ in range(int(seconds / 0.02)):
            if condition():
                return
            await asyncio.sleep(0.02)
        raise AssertionError(f"not within {seconds} s; messages: {self.messages}")


@pytest.fixture(scope="session", autouse=True)
def no_user_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The settings of whoever runs the tests do not count."""
    empty = tmp_path_factory.mktemp("settings") / "config.toml"
    empty.touch()
    os.environ["CITEWELL_CONFIG"] = str(empty)
    os.environ["CITEWELL_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    # Tests share servers and libraries: what one accepts must not change what another expects. A
    # server of its own (`start_editor(alone=True)`) and Neovim learn, as they do by default.
    os.environ["CITEWELL_LEARNING_ENABLED"] = "false"
    os.environ["CITEWELL_SOURCES_KEEP"] = "false"


@pytest.fixture(scope="session")
def library_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that holds a library "default", built by the real builder from our papers."""
    from citewell.options import Options
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    folder = tmp_path_factory.mktemp("libraries")
    build_library(
        folder / "default",
        add=[FileSource(path=str(PAPERS), format="records")],
        builders=default_builders(Options()),
    )
    return folder


StartEditor = Callable[..., Awaitable[Editor]]


async def launch(
    workspace: Path | None,
    library: Path,
    *,
    encodings: tuple[str, ...] = ("utf-16",),
    settings: dict[str, Any] | None = None,
    capabilities: Callable[[types.ClientCapabilities], None] | None = None,
    data: Path | None = None,
) -> Editor:
    """A new server process, and an editor connected to it.

    With a `data` folder of its own the server learns from what is accepted, as it does by default.
    """
    client = make_test_lsp_client()
    config = ClientServerConfig([sys.executable, "-P", "-m", "citewell", "lsp"])
    with pytest.MonkeyPatch.context() as patch:
        if data is not None:
            patch.delenv("CITEWELL_LEARNING_ENABLED", raising=False)
            patch.setenv("CITEWELL_DATA", str(data))
        await client.start_io(*config.get_server_command())
    editor = Editor(client)
    wanted = {"library": {"path": str(library)}} | (settings or {})
    client.set_configuration({"citewell": wanted})
    able = client_capabilities("visual-studio-code")
    able.general = able.general or types.GeneralClientCapabilities()
    able.general.position_encodings = [types.PositionEncodingKind(e) for e in encodings]
    completion = able.text_document and able.text_document.completion
    if completion and completion.completion_item:
        completion.completion_item.label_details_support = True
    if capabilities is not None:
        capabilities(able)
    uri = from_fs_path(str(workspace)) if workspace is not None else None
    result = await client.initialize_session(
        types.InitializeParams(
            capabilities=able,
            root_uri=uri,
            workspace_folders=[types.WorkspaceFolder(uri, "workspace")] if uri else None,
            initialization_options=wanted,
        )
    )
    editor.capabilities = result.capabilities
    chosen = result.capabilities.position_encoding
    editor.encoding = str(getattr(chosen, "value", chosen) or "utf-16")
    return editor


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_editors(
    tmp_path_factory: pytest.TempPathFactory, library_folder: Path
) -> AsyncIterator[Callable[[str], Awaitable[Editor]]]:
    """One server per position encoding for the tests of a module that need no other set-up."""
    workspace = tmp_path_factory.mktemp("workspace").resolve()
    running: dict[str, Editor] = {}

    async def get(encoding: str) -> Editor:
        editor = running.get(encoding)
        if editor is None or editor.has_ended:
            editor = await launch(workspace, library_folder, encodings=(encoding,))
            editor.workspace = workspace
            running[encoding] = editor
        return editor

    yield get
    for editor in running.values():
        await editor.end()


@pytest_asyncio.fixture(loop_scope="module")
async def start_editor(
    tmp_path: Path,
    library_folder: Path,
    shared_editors: Callable[[str], Awaitable[Editor]],
) -> AsyncIterator[StartEditor]:
    """`await start_editor(...)` gives an editor in an empty folder, connected to a server.

    What has no special set-up shares a server with the other tests of its module; it has a folder
    of its own in the workspace.
    """
    own: list[Editor] = []
    shared: list[Editor] = []

    async def start(
        *,
        files: dict[str, str] | None = None,
        encodings: tuple[str, ...] = ("utf-16",),
        library: Path | None = None,
        settings: dict[str, Any] | None = None,
        capabilities: Callable[[types.ClientCapabilities], None] | None = None,
        root: bool = True,
        alone: bool = False,
    ) -> Editor:
        special = library or settings or capabilities or not root or alone
        folder = (tmp_path / "paper").resolve()
        if special:
            folder.mkdir(exist_ok=True)
            editor = await launch(
                folder if root else None,
                library or library_folder,
                encodings=encodings,
                settings=settings,
                capabilities=capabilities,
                data=tmp_path / "history",
            )
            own.append(editor)
        else:
            editor = await shared_editors(encodings[0])
            folder = editor.workspace / f"paper{next(_FOLDERS)}"
            folder.mkdir()
            shared.append(editor)
        editor.enter(folder)
        for name, text in (files or {}).items():
            editor.write(name, text)
        return editor

    yield start
    for editor in own:
        await editor.end()
    for editor in shared:
        editor.leave()
