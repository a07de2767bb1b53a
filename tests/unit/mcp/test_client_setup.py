"""The settings of clients: what is not meant stays, and what was entered can be taken back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import json5
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from citewell.cli.app import root
from citewell.mcp.client_setup import CLIENTS, planned, settings_file
from citewell.mcp.config_text import (
    Json,
    with_entry,
    with_toml_entry,
    without_entry,
    without_toml_entry,
)
from citewell.model import CitewellError

ENTRY = {"command": "citewell", "args": ["mcp", "--root", "/a b/ü"]}
COMMENTED = """\
// Zed settings
{
  "theme": "One Dark", // the best
  /* servers */
  "context_servers": {
    // a friend's
    "other": {
      "command": "other", // its path
      "args": ["//not a comment", "/* nor this */"],
    },
  },
  "vim_mode": true
}
"""
TOML = """\
# mine
model = "o9" # the best

[mcp_servers.other]
command = "other"
args = ["[mcp_servers.citewell]"]

# about profiles
[profiles.fast]
model = "o9-mini"
"""


def test_an_entry_is_put_among_comments_and_trailing_commas() -> None:
    new = with_entry(COMMENTED, "context_servers", "citewell", ENTRY)
    assert json5.loads(new) == {
        **json5.loads(COMMENTED),
        "context_servers": {**json5.loads(COMMENTED)["context_servers"], "citewell": ENTRY},
    }
    added = new.replace(
        '\n    "citewell": {\n      "command": "citewell",\n'
        '      "args": ["mcp", "--root", "/a b/ü"]\n    },',
        "",
    )
    assert added == COMMENTED
    assert without_entry(new, "context_servers", "citewell") == COMMENTED


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{"a": 1, "mcpServers": {"x": {"command": "y"}}}',
        '{\n\t"a": [1, 2, {"b": null}] // end\n}\n',
        '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "x": {}\r\n  }\r\n}\r\n',
        '{\n  "a": "}",\n  // last\n}\n',
        '{\n    "mcpServers": {\n        "x": {"command": "y"} /* z */\n        // end\n    },\n    "b": 2\n}',
        '/* top */ {"a": 1e5} // end',
    ],
)  # fmt: skip
def test_what_was_entered_can_be_taken_back_byte_for_byte(text: str) -> None:
    new = with_entry(text, "mcpServers", "citewell", ENTRY)
    assert json5.loads(new)["mcpServers"]["citewell"] == ENTRY
    assert with_entry(new, "mcpServers", "citewell", ENTRY) == new
    assert without_entry(new, "mcpServers", "citewell") == text
    assert ("\r\n" in text) == ("\r\n" in new) and ("\r" not in new.replace("\r\n", ""))


KEYS = st.sampled_from(["a", "b", "mcpServers", "x", "ü\n", '"'])
SPACE = st.sampled_from(["", " ", "\n", "\n  ", "\t", "\r\n", " // c }\n", "/* , { */", "\n// x\n"])


@st.composite
def texts(draw: Any, depth: int = 2) -> str:
    """Objects of JSON with comments, odd spaces and trailing commas."""
    names = draw(st.lists(KEYS, max_size=3, unique=True))
    parts = []
    for name in names:
        if depth and (name == "mcpServers" or draw(st.booleans())):
            value = draw(texts(depth=depth - 1))
        else:
            value = json.dumps(
                draw(st.one_of(st.integers(), st.text('ab"\\{},', max_size=5), st.none()))
            )
            value = "{}" if name == "mcpServers" else value
        space = [draw(SPACE) for _ in range(4)]
        parts.append(f"{space[0]}{json.dumps(name)}{space[1]}:{space[2]}{value}{space[3]}")
    comma = "," if parts and draw(st.booleans()) else ""
    return f"{{{','.join(parts)}{comma}{draw(SPACE)}}}"


@given(text=texts())
def test_nothing_else_changes_in_any_json(text: str) -> None:
    before = json5.loads(text)
    new = with_entry(text, "mcpServers", "citewell", ENTRY)
    wanted = {**before, "mcpServers": {**before.get("mcpServers", {}), "citewell": ENTRY}}
    assert json5.loads(new) == wanted == Json(new).root.value
    comments = re.compile(r"//[^\r\n]*|/\*.*?\*/")
    assert comments.findall(text) == comments.findall(new.replace("/a b/ü", ""))
    back = without_entry(new, "mcpServers", "citewell")
    if before.get("mcpServers"):
        assert back == text
    elif back:
        assert (
            json5.loads(back)
            == {name: value for name, value in before.items() if name != "mcpServers" or value}
            or json5.loads(back) == before
        )


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"a": }', "{'a': 1}", '{"mcpServers": 3}', '{"a": 1}{}', '{"mcpServers": []}',
     '{"a": "b}', "nonsense", "[" * 100_000],
)  # fmt: skip
def test_a_file_that_is_no_object_is_left_alone(text: str) -> None:
    with pytest.raises(CitewellError, match="cannot be changed safely"):
        with_entry(text, "mcpServers", "citewell", ENTRY)


def test_other_fields_of_an_own_entry_stay() -> None:
    text = '{"mcpServers": {"citewell": {"env": {"A": "b"}, "command": "old", "args": []}}}'
    new = with_entry(text, "mcpServers", "citewell", ENTRY)
    assert json.loads(new)["mcpServers"]["citewell"] == {"env": {"A": "b"}, **ENTRY}


def test_toml_keeps_what_it_has() -> None:
    new = with_toml_entry(TOML, "mcp_servers", "citewell", ENTRY)
    assert new.startswith(TOML)
    assert tomllib.loads(new)["mcp_servers"]["citewell"] == ENTRY
    assert without_toml_entry(new, "mcp_servers", "citewell") == TOML
    assert with_toml_entry(new, "mcp_servers", "citewell", ENTRY) == new
    windows = TOML.replace("\n", "\r\n")
    new = with_toml_entry(windows, "mcp_servers", "citewell", ENTRY)
    assert "\n" not in new.replace("\r\n", "")
    assert without_toml_entry(new, "mcp_servers", "citewell") == windows


def test_an_entry_in_the_middle_of_toml_is_changed_and_removed() -> None:
    own = (
        '[mcp_servers."citewell"]\ncommand = "old" # mine\nargs = [\n  "mcp",\n]\n'
        'timeout = 9\n\n[mcp_servers.citewell.env]\nA = "b"\n\n'
    )
    text = TOML.replace("# about", f"{own}# about")
    new = with_toml_entry(text, "mcp_servers", "citewell", ENTRY)
    found = tomllib.loads(new)["mcp_servers"]["citewell"]
    assert found == {**ENTRY, "timeout": 9, "env": {"A": "b"}}
    assert "# mine\nmodel" in new and "# about profiles" in new and "timeout = 9" in new
    left = without_toml_entry(new, "mcp_servers", "citewell")
    assert tomllib.loads(left) == tomllib.loads(TOML)
    assert "# about profiles\n[profiles.fast]" in left


@pytest.mark.parametrize(
    "text",
    ["a = ", "[mcp_servers]\ncitewell = { command = 'x' }\n", "mcp_servers = {}\n",
     "mcp_servers = 3\n"],
)  # fmt: skip
def test_toml_that_is_not_understood_is_left_alone(text: str) -> None:
    with pytest.raises(CitewellError, match="cannot be changed safely"):
        with_toml_entry(text, "mcp_servers", "citewell", ENTRY)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, and a folder of a paper as the current one."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "paper").mkdir()
    monkeypatch.chdir(tmp_path / "paper")
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(root, ["mcp", "setup", *arguments])


@pytest.mark.parametrize("name", CLIENTS)
def test_each_client_gets_its_file_and_loses_it_again(home: Path, name: str) -> None:
    path = settings_file(CLIENTS[name], Path.cwd(), user=False)
    assert path.is_relative_to(home)
    shown = run(name, "--allow-write")
    assert shown.exit_code == 0 and "+" in shown.output and not path.exists()
    assert run(name, "--allow-write", "--write").exit_code == 0
    text = path.read_text()
    held = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    entry = held[CLIENTS[name].key]["citewell"]
    assert entry["args"][-4] == "mcp" and entry["args"][-3] == "--root"
    assert entry["args"][-1] == "--allow-write"
    again = run(name, "--allow-write", "--write")
    assert "has this entry already" in again.output and path.read_text() == text
    gone = run(name, "--remove", "--write")
    assert gone.exit_code == 0 and not path.exists()
    assert "does not name Citewell" in run(name, "--remove", "--write").output


def test_a_file_with_a_mark_and_a_link_stay_what_they_are(home: Path) -> None:
    target = home / "dotfiles.json"
    target.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n')
    Path(".mcp.json").symlink_to(target)
    assert run("claude-code", "--write").exit_code == 0
    assert Path(".mcp.json").is_symlink()
    assert target.read_bytes().startswith(b'\xef\xbb\xbf{"a": 1, "mcpServers": ')
    assert run("claude-code", "--remove", "--write").exit_code == 0
    assert target.read_bytes() == b'\xef\xbb\xbf{"a": 1}\r\n'


def test_a_file_that_changes_in_between_is_not_written(home: Path) -> None:
    path = Path(".mcp.json")
    path.write_text("{}")
    plan = planned(CLIENTS["claude-code"], path, {"command": "citewell"})
    path.write_text('{"other": 1}')
    with pytest.raises(CitewellError, match="another program"):
        plan.write()
    assert path.read_text() == '{"other": 1}'


def test_what_cannot_be_changed_is_an_error_with_a_way(home: Path) -> None:
    Path(".mcp.json").write_text("nonsense")
    found = CliRunner().invoke(root, ["mcp", "setup", "claude-code", "--write"])
    assert found.exit_code and Path(".mcp.json").read_text() == "nonsense"
    found = CliRunner().invoke(root, ["mcp", "setup", "claude-code", "--user"])
    assert "claude mcp add --scope user" in f"{found.output}{found.exception}"
    assert run("--write").exit_code == 2


def test_without_a_client_the_entry_is_printed(home: Path) -> None:
    found = run("--root", "sub")
    (entry,) = json.loads(found.output)["mcpServers"].values()
    assert entry["args"][-3:] == ["mcp", "--root", str(Path.cwd() / "sub")]


async def test_what_is_written_starts_the_server(home: Path, paper_options: Any) -> None:
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    (Path.cwd() / "refs.bib").write_text("@misc{a, title={Nothing}}\n")
    env = {key: value for key, value in os.environ.items() if "CITEWELL" not in key}
    env["CITEWELL_LIBRARY_PATH"] = str(paper_options.library.path)
    subprocess.run(
        [sys.executable, "-m", "citewell", "mcp", "setup", "claude-code", "--write"],
        check=True, env=env,
    )  # fmt: skip
    entry = json.loads(Path(".mcp.json").read_text())["mcpServers"]["citewell"]
    command = [entry["command"], *entry["args"]]
    if command[0] == "citewell":  # whichever one is on the path
        command[:1] = [sys.executable, "-m", "citewell"]
    server = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=Path.cwd())
    async with Client(stdio_client(server)) as client:
        found = await client.call_tool("check_references", {"path": "refs.bib"})
    assert found.structured_content["references"][0]["key"] == "a"
