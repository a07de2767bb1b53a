"""One embedded Neovim driven over its own RPC, for tests and for benchmarks."""

from __future__ import annotations

import itertools
import os
import select
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


QUIET = 2.0
"""Seconds without an answer after which Neovim is asked whether it waits for a key."""


class WaitsForKeyError(AssertionError):
    """Neovim shows "Press ENTER" or "-- More --", and does nothing before a key is pressed."""


class Screen:
    """The cells that Neovim draws, as a terminal would show them."""

    def __init__(self, columns: int, lines: int) -> None:
        self.cells = [[" "] * columns for _ in range(lines)]

    def draw(self, events: list[Any]) -> None:
        """Take a batch of redraw events."""
        for name, *calls in events:
            for call in calls:
                if name == "grid_line":
                    self._line(*call[1:4])
                elif name == "grid_clear":
                    self.cells = [[" "] * len(row) for row in self.cells]
                elif name == "grid_resize":
                    self.cells = [[" "] * call[1] for _ in range(call[2])]
                elif name == "grid_scroll":
                    self._scroll(*call[1:6])

    def _line(self, row: int, column: int, cells: list[Any]) -> None:
        for text, *rest in cells:
            for _ in range(rest[1] if len(rest) > 1 else 1):
                self.cells[row][column] = text
                column += 1

    def _scroll(self, top: int, bottom: int, left: int, right: int, rows: int) -> None:
        order = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in order:
            self.cells[row][left:right] = self.cells[row + rows][left:right]

    def __str__(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells)


class Neovim:
    """One Neovim with its own default options in a terminal of 80 x 24 cells, driven by its RPC;
    keys go through the real input queue."""

    def __init__(
        self,
        program: Path,
        folder: Path,
        environment: dict[str, str],
        arguments: tuple[str, ...] = (),
        size: tuple[int, int] = (80, 24),
    ) -> None:
        self.process = subprocess.Popen(
            [str(program), "--embed", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment,
        )
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.screen = Screen(*size)
        # Neovim reads its configuration and the files of its arguments once a terminal is there.
        self.call("nvim_ui_attach", *size, {"rgb": True, "ext_linegrid": True})

    def record_choices(self) -> None:
        """Keep what Neovim's `vim.ui.select` lists, line by line, in `_G.offered`."""
        self.lua(
            """
            local inputlist = vim.fn.inputlist
            vim.fn.inputlist = function(lines)
              _G.offered = vim.tbl_map(function(line)
                return (line:gsub('^%d+: ', ''))
              end, vim.list_slice(lines, 2))
              return inputlist(lines)
            end
            """
        )

    def call(self, method: str, *arguments: Any) -> Any:
        number, prompt = self._send(method, arguments), 0
        while True:
            message = self._message(QUIET)
            if message is None:
                prompt = self._send("nvim_get_mode", ())
            elif message[0] == 1 and message[1] == number:
                assert message[2] is None, message[2]
                return message[3]
            elif message[0] == 1 and message[1] == prompt:
                self._refuse_prompt(message[3])

    def _send(self, method: str, arguments: tuple[Any, ...]) -> int:
        number = next(self.numbers)
        assert self.process.stdin
        self.process.stdin.write(msgspec.msgpack.encode([0, number, method, arguments]))
        self.process.stdin.flush()
        return number

    def _refuse_prompt(self, mode: dict[str, Any]) -> None:
        if mode["blocking"] and mode["mode"] in ("r", "rm"):
            raise WaitsForKeyError(f"Neovim waits for a key:\n{self.screen}")

    def refuse_prompts(self) -> None:
        """Fail where Neovim shows "Press ENTER" or "-- More --" now."""
        self._refuse_prompt(self.call("nvim_get_mode"))

    def shown(self) -> str:
        """What the author sees, line by line."""
        self.call("nvim_get_mode")
        return str(self.screen)

    def wait_until_shown(self, words: str, seconds: float = PATIENCE) -> str:
        """Until the screen shows these words; the screen."""
        limit = time.monotonic() + seconds
        while words not in (shown := self.shown()):
            self.refuse_prompts()
            assert time.monotonic() < limit, f"never shown: {words}\n{shown}"
            time.sleep(0.02)
        return shown

    def _message(self, seconds: float) -> list[Any] | None:
        """The next message; None when none comes for so long. What is drawn is taken in."""
        while (message := self._any_message(seconds)) is not None:
            if message[0] != 2:
                return message
            if message[1] == "redraw":
                self.screen.draw(message[2])
        return None

    def _any_message(self, seconds: float) -> list[Any] | None:
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
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                return None
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
        log_text = (
            Path(log).read_text(encoding="utf-8", errors="replace") if Path(log).exists() else ""
        )
        raise AssertionError(
            f"never true: {code}\n{self.messages()}\n{self.text()}\n{log_text[-2000:]}"
        )

    def messages(self) -> str:
        """All that was told to the author: by Neovim, and in full by the plugin."""
        output = self.call("nvim_exec2", "messages", {"output": True}).get("output", "")
        own = self.lua(
            "return package.loaded['citewell.messages'] and require('citewell.messages').history() or ''"
        )
        return f"{output}\n{own}".strip("\n")

    def wait_for_message(self, words: str, seconds: float = PATIENCE) -> str:
        """Until the author was told something with these words."""
        limit = time.monotonic() + seconds
        while words not in (shown := self.messages()):
            assert time.monotonic() < limit, f"never told: {words}\n{shown}"
            time.sleep(0.05)
        return shown

    def wait_for_question(self, kind: str, seconds: float = PATIENCE) -> str:
        """Until Neovim waits for words ("@") or a number ("-"), as `vim.ui` asks; the prompt."""
        limit = time.monotonic() + seconds
        while True:
            prompt = self.lua("return { vim.fn.getcmdtype(), vim.fn.getcmdprompt() }")
            if prompt[0] == kind:
                return prompt[1]
            assert time.monotonic() < limit, f"no question\n{self.messages()}"
            time.sleep(0.05)

    def type(self, text: str, pause: float = 0.04) -> None:
        """As fast as a quick typist; `<` is a key of its own in Neovim's notation."""
        for letter in text:
            self.keys("<lt>" if letter == "<" else letter)
            time.sleep(pause)

    def file_text(self, name: str) -> str:
        """The text of a file of the folder; empty when there is none."""
        read = "return vim.fn.filereadable(...) == 1 and vim.fn.readfile(...) or {}"
        return "".join(f"{line}\n" for line in self.lua(read, name))

    def wait_for_file(self, name: str, words: str, seconds: float = PATIENCE) -> None:
        """Until a file of the folder holds these words."""
        limit = time.monotonic() + seconds
        while words not in (text := self.file_text(name)):
            assert time.monotonic() < limit, f"never written: {words}\n{text}"
            time.sleep(0.02)

    def buffer_text(self, name: str) -> str:
        """The text of a loaded file, as it would be written."""
        lines = self.lua("return vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false)", name)
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        return "\n".join(self.call("nvim_buf_get_lines", 0, 0, -1, False)) + "\n"

    def leave(self, keys: str, seconds: float = PATIENCE) -> None:
        """Press keys that end Neovim, and wait until it has ended."""
        self.keys(keys)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"Neovim is still there:\n{self.shown()}") from None

    def close(self) -> None:
        try:
            self.keys("<C-\\><C-n>:qa!<CR>")
            self.process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
