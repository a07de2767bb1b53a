"""The start of the server in each client: the place of its settings, and the entry in them."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import platformdirs

from citewell.features.citing.write import unified_diff
from citewell.mcp.config_text import (
    unreadable,
    with_entry,
    with_toml_entry,
    without_entry,
    without_toml_entry,
)
from citewell.model import CitewellError, Problem
from citewell.model.system.files import locked, write_atomically

NAME = "citewell"
MAX_FILE = 8_000_000
"""Maximum bytes of a settings file."""
_BOM = "\ufeff"


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a client."""

    title: str
    key: str = "mcpServers"
    """Name of the object with the servers."""
    project: str = ""
    """The file in the folder of the paper; empty if a client has none, or none by default."""
    user: Sequence[str] = ()
    """The parts of the path of the user's file, beginning with a name for `_folder`."""
    root: str = "."
    """The folder of the paper, as written in its own file."""
    form: Literal["json", "toml"] = "json"
    more: dict[str, str] = {}
    """Further fields of an entry."""


CLIENTS = {
    "claude-code": ClientConfig(title="Claude Code", project=".mcp.json"),
    "claude-desktop": ClientConfig(
        title="Claude Desktop", user=("config", "Claude", "claude_desktop_config.json")
    ),
    "codex": ClientConfig(
        title="Codex", key="mcp_servers", form="toml", user=("codex", "config.toml")
    ),
    "cursor": ClientConfig(
        title="Cursor",
        project=".cursor/mcp.json",
        user=("home", ".cursor", "mcp.json"),
        root="${workspaceFolder}",
    ),
    "vscode": ClientConfig(
        title="VS Code",
        key="servers",
        project=".vscode/mcp.json",
        root="${workspaceFolder}",
        more={"type": "stdio"},
    ),
    "zed": ClientConfig(title="Zed", key="context_servers", user=("zed", "settings.json")),
    "gemini": ClientConfig(
        title="Gemini CLI",
        project=".gemini/settings.json",
        user=("home", ".gemini", "settings.json"),
    ),
}
"""By the name on the command line."""


class SetupPlan(msgspec.Struct, frozen=True):
    """The planned change of a settings file."""

    path: Path
    before: str
    after: str
    """The new text; empty if the file is to be removed."""

    @property
    def diff(self) -> str:
        """The change as a diff; empty without one."""
        new = not self.before
        return unified_diff(self.before, self.after, self.path.name, new=new)

    def write(self) -> None:
        """Write the file, or remove it. Raises `CitewellError` if it has changed since."""
        real = Path(os.path.realpath(self.path))
        real.parent.mkdir(parents=True, exist_ok=True)
        with locked([real]):
            if _text(real) != self.before:
                raise unreadable("another program has changed it just now")
            if self.after:
                write_atomically(real, self.after.encode())
            elif real.exists():
                real.unlink()


def settings_file(client: ClientConfig, folder: Path, *, user: bool) -> Path:
    """The file with a client's servers: in the folder, or the user's. Raises `CitewellError` if the
    client has no user file that programs may change."""
    if client.project and not user:
        return folder / client.project
    if not client.user:
        raise CitewellError(
            Problem(
                "mcp-client-settings",
                f"{client.title} changes the user's file itself.",
                f"Use its command: `claude mcp add --scope user {NAME} -- {NAME} mcp`.",
            )
        )
    return _folder(client.user[0]).joinpath(*client.user[1:])


def _folder(name: str) -> Path:
    home = Path.home()
    if name == "home":
        return home
    if name == "codex":
        return Path(os.environ.get("CODEX_HOME") or home / ".codex")
    if name == "zed" and sys.platform != "win32":
        return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "zed"
    # Claude Desktop and Zed on Windows store roaming settings there.
    config = platformdirs.user_config_path(roaming=True)
    return config / "Zed" if name == "zed" else config


def entry_of(
    client: ClientConfig, folder: Path, roots: Sequence[Path], *, user: bool, allow_write: bool
) -> dict[str, Any]:
    """The entry that starts the server."""
    shared = bool(client.project) and not user
    command = _command(portable=shared)
    folders = [str(root.resolve()) for root in roots]
    if not folders:
        folders = [client.root if shared else str(folder.resolve())]
    args = [*command[1:], "mcp", *(part for root in folders for part in ("--root", root))]
    if allow_write:
        args.append("--allow-write")
    return {**client.more, "command": command[0], "args": args}


def _command(*, portable: bool) -> list[str]:
    """The command line of Citewell: its name in a shared file, if it is on the PATH; otherwise its
    path, since desktop programs do not see the user's PATH."""
    found = shutil.which(NAME)
    if portable and found:
        return [NAME]
    beside = Path(sys.executable).with_name(f"{NAME}.exe" if sys.platform == "win32" else NAME)
    path = str(beside) if beside.is_file() else found
    return [path] if path else [sys.executable, "-m", NAME]


def printed(client: ClientConfig, entry: dict[str, Any]) -> str:
    """The entry in the form of a client's settings."""
    if client.form == "toml":
        return with_toml_entry("", client.key, NAME, entry)
    return json.dumps({client.key: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"


def planned(client: ClientConfig, path: Path, entry: dict[str, Any] | None) -> SetupPlan:
    """Plan a settings file with an entry, or without Citewell's. Raises `CitewellError` if it
    cannot be read or changed safely."""
    before = _text(path)
    mark = _BOM if before.startswith(_BOM) else ""
    text = before.removeprefix(_BOM)
    toml = client.form == "toml"
    if entry is not None:
        change = with_toml_entry if toml else with_entry
        return SetupPlan(path, before, mark + change(text, client.key, NAME, entry))
    if not text.strip():
        return SetupPlan(path, before, before)
    after = (without_toml_entry if toml else without_entry)(text, client.key, NAME)
    return SetupPlan(path, before, mark + after if after else "")


def _text(path: Path) -> str:
    """The text of a file with its line ends; empty if it is missing."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise unreadable("it is too large")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise unreadable("it is not UTF-8") from error
