"""One embedded Neovim driven over its own RPC, for tests and for benchmarks."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec

PATIENCE = float(os.environ.get("CITEWELL_TEST_PATIENCE", "90"))
"""Seconds to wait for anything that will happen; long, since other tests may hold the cores."""


def runs_011(program: Path | str | None) -> bool:
    if not program or not Path(program).exists():
        return False
    shown = subprocess.run(
        [str(program), "--version"], capture_output=True, text=True, check=False, timeout=30
    )
    name, _, version = (
        shown.stdout.splitlines()[0].partition(" v") if shown.stdout else ("", "", "")
    )
    return name == "NVIM" and tuple(map(int, version.split("-")[0].split(".")[:2])) >= (0, 11)


class Neovim:
    """One embedded Neovim, driven by its own RPC; keys go through the real input queue."""

    def __init__(
        self, program: Path, folder: Path, environment: dict[str, str], init: str = ""
    ) -> None:
        self.process = subprocess.Popen(
            [str(program), "--embed", "--headless", "-n", "-u", init or str(folder / "init.lua")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self.numbers = itertools.count(1)
        self.buffer = b""

    def record_choices(self) -> None:
        """Keep what `vim.ui.select` offers, line by line, in `_G.offered`."""
        self.lua(
            """
            local select = vim.ui.select
            vim.ui.select = function(items, options, choose)
              _G.offered = vim.tbl_map(options.format_item or tostring, items)
              return select(items, options, choose)
            end
            """
        )

    def call(self, method: str, *arguments: Any) -> Any:
        number = next(self.numbers)
        assert self.process.stdin
        self.process.stdin.write(msgspec.msgpack.encode([0, number, method, arguments]))
        self.process.stdin.flush()
        while True:
            message = self._message()
            if message[0] == 1 and message[1] == number:
                assert message[2] is None, message[2]
                return message[3]

    def _message(self) -> list[Any]:
        decoder = msgspec.msgpack.Decoder(list, ext_hook=lambda code, data: bytes(data))
        assert self.process.stdout
        while True:
            # Messages are not framed: the shortest prefix that decodes is the next one.
            if self.buffer:
                try:
                    message = decoder.decode(self.buffer)
                    self.buffer = b""
                    return message
                except msgspec.DecodeError as error:
                    if "trailing" in str(error):
                        at = int(str(error).rsplit("byte ", 1)[1].rstrip(")"))
                        message = decoder.decode(self.buffer[:at])
                        self.buffer = self.buffer[at:]
                        return message
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            assert part, "Neovim ended"
            self.buffer += part

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.call("nvim_exec_lua", code, arguments)

    def keys(self, keys: str) -> None:
        self.call("nvim_input", keys)

    def accept(self) -> None:
        """Choose the first of the list and take it, once it is marked: a list that is shown anew
        in between would take the second key for its own."""
        self.keys("<C-n>")
        self.wait("vim.fn.complete_info({ 'selected' }).selected == 0")
        self.keys("<C-y>")

    def wait(self, code: str, seconds: float = PATIENCE) -> Any:
        """Until the Lua expression is true; its value."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            if value := self.lua(f"return {code}"):
                return value
            time.sleep(0.02)
        log = self.lua("return vim.lsp.log.get_filename()")
        told = Path(log).read_text(encoding="utf-8", errors="replace") if Path(log).exists() else ""
        raise AssertionError(
            f"never true: {code}\n{self.messages()}\n{self.text()}\n{told[-2000:]}"
        )

    def messages(self) -> str:
        """All that was told to the author."""
        return self.call("nvim_exec2", "messages", {"output": True}).get("output", "")

    def wait_for_message(self, words: str, seconds: float = PATIENCE) -> str:
        """Until the author was told something with these words."""
        limit = time.monotonic() + seconds
        while words not in (told := self.messages()):
            assert time.monotonic() < limit, f"never told: {words}\n{told}"
            time.sleep(0.05)
        return told

    def wait_for_question(self, kind: str, seconds: float = PATIENCE) -> str:
        """Until Neovim waits for words ("@") or a number ("-"), as `vim.ui` asks; the prompt."""
        limit = time.monotonic() + seconds
        while True:
            asked = self.lua("return { vim.fn.getcmdtype(), vim.fn.getcmdprompt() }")
            if asked[0] == kind:
                return asked[1]
            assert time.monotonic() < limit, f"no question\n{self.messages()}"
            time.sleep(0.05)

    def type(self, text: str, pause: float = 0.04) -> None:
        """As fast as a quick typist; `<` is a key of its own in Neovim's notation."""
        for letter in text:
            self.keys("<lt>" if letter == "<" else letter)
            time.sleep(pause)

    def buffer_text(self, name: str) -> str:
        """The text of a loaded file, as it would be written."""
        lines = self.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false)", name)
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        return "\n".join(self.call("nvim_buf_get_lines", 0, 0, -1, False)) + "\n"

    def close(self) -> None:
        try:
            self.keys("<C-\\><C-n>:qa!<CR>")
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
