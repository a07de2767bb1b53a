"""A bare JSON-RPC client over pipes, so that a server's time is measured and not a library's."""

from __future__ import annotations

import gc
import itertools
import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec


class RpcError(Exception):
    """The server answered with an error, or ended."""


class RpcClient:
    """One server process. `request` waits for the reply; `start_request` does not."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        configuration: dict[str, Any] | None = None,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        unread: Sequence[str] = (),
    ) -> None:
        """`unread` are notifications that are only counted: a client that decodes megabytes would
        measure itself."""
        # A collection walks over all that was decoded: with it, and with `json` instead of msgspec, an
        # answer of ten megabytes would take this client five times as long as an editor.
        gc.disable()
        self.spawned = time.perf_counter()
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if "RPC_DEBUG" in os.environ else subprocess.DEVNULL,
            cwd=cwd,
            env=as_installed(os.environ if env is None else env),
        )
        self.configuration = configuration or {}
        self.edits: list[dict[str, Any]] = []
        self.notifications: list[dict[str, Any]] = []
        self.unread = dict.fromkeys(unread, 0)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._write_lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin
        with self._write_lock:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def start_request(self, method: str, params: Any) -> Callable[[float], Any]:
        """Send a request; the returned function waits for its result."""
        number = next(self._numbers)
        inbox: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._waiting[number] = inbox
        self.send({"id": number, "method": method, "params": params})

        def result(seconds: float = 60.0) -> Any:
            try:
                reply = inbox.get(timeout=seconds)
            except queue.Empty:
                raise RpcError(f"no reply to {method} in {seconds} s") from None
            if "error" in reply:
                raise RpcError(f"{method}: {reply['error']}")
            return reply.get("result")

        result.number = number  # type: ignore[attr-defined]
        return result

    def request(self, method: str, params: Any, seconds: float = 60.0) -> Any:
        return self.start_request(method, params)(seconds)

    def initialize(self, folder: Path, **more: Any) -> Any:
        """`initialize` and `initialized` with the capabilities of a modern editor."""
        reply = self.start(folder, **more)
        self.notify("initialized", {})
        return reply

    def start(self, folder: Path, **more: Any) -> Any:
        """`initialize` alone."""
        return self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": folder.as_uri(),
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
                "capabilities": CAPABILITIES,
                **more,
            },
        )

    def open(self, path: Path, language: str, text: str) -> None:
        self.notify(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": path.as_uri(),
                    "languageId": language,
                    "version": 1,
                    "text": text,
                }
            },
        )

    def close(self) -> None:
        try:
            self.request("shutdown", None, 5.0)
            self.notify("exit", None)
            self.process.wait(5.0)
        except (RpcError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream
        while True:
            length = 0
            while (line := stream.readline()).strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if not line:
                break
            body = stream.read(length)
            head = body[:200]
            for method in self.unread:
                if b'"method":' in head and method.encode() in head and b'"id"' not in head:
                    self.unread[method] += 1
                    break
            else:
                self._receive(msgspec.json.decode(body))
        for inbox in self._waiting.values():
            inbox.put({"error": "the server ended"})

    def _receive(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            if inbox := self._waiting.pop(message["id"], None):
                inbox.put(message)
        elif "id" in message:
            self.send({"id": message["id"], "result": self._answer(message)})
        else:
            self.notifications.append(message)

    def _answer(self, message: dict[str, Any]) -> Any:
        match message["method"]:
            case "workspace/configuration":
                return [
                    self.configuration.get(item.get("section", ""), {})
                    for item in message["params"]["items"]
                ]
            case "workspace/applyEdit":
                self.edits.append(message["params"])
                return {"applied": True}
            case _:
                return None


def as_installed(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a server keeps its bytecode, as every installation has it: where a
    setting of the measuring shell forbids that, each start compiles every module anew."""
    return {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}


CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create"]},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceFolders": True,
    },
    "textDocument": {
        "completion": {
            "completionItem": {
                "labelDetailsSupport": True,
                "documentationFormat": ["markdown"],
                "resolveSupport": {"properties": ["documentation", "detail"]},
            },
            "contextSupport": True,
        },
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "hover": {"contentFormat": ["markdown"]},
    },
}


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """p50, p95, p99 and the largest, in milliseconds."""
    ordered = sorted(seconds)

    def at(share: float) -> float:
        return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)

    return {"n": len(ordered), "p50": at(0.5), "p95": at(0.95), "p99": at(0.99), "max": at(1.0)}
