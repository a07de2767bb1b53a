"""The page about editors says what the server offers."""

import re
from pathlib import Path

from packaging.version import Version

from citewell import __version__
from citewell.lsp.requests import completion
from citewell.lsp.server import create_server

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "editors.md").read_text(encoding="utf-8")


def test_every_command_of_the_server_is_on_the_page() -> None:
    commands = list(create_server().protocol.fm.commands)
    assert commands
    for name in commands:
        assert f"`{name}`" in PAGE


def test_every_argument_of_the_commands_is_on_the_page() -> None:
    from citewell.features.citing.complete import PaperRow
    from citewell.lsp.commands.execute import InsertArguments
    from citewell.lsp.commands.explore import ExploreArguments, OverviewArguments
    from citewell.lsp.commands.picker import InsertPaperArguments, SearchArguments

    structures = (InsertArguments, SearchArguments, InsertPaperArguments, PaperRow)
    for structure in (*structures, ExploreArguments, OverviewArguments):
        for name in structure.__struct_encode_fields__:
            assert f"`{name}`" in PAGE


def test_the_neovim_help_speaks_of_every_option_of_setup() -> None:
    lua = (REPOSITORY / "clients/neovim/lua/citewell/config.lua").read_text(encoding="utf-8")
    doc = (REPOSITORY / "clients/neovim/doc/citewell.txt").read_text(encoding="utf-8")
    options = [
        line.split()[1].rstrip("?") for line in lua.splitlines() if line.startswith("---@field")
    ]
    assert options == ["enabled", "cmd", "settings", "completion", "picker", "save", "limit"]
    for option in options:
        assert f"`{option}`" in doc
        assert f"`{option}`" in PAGE


def test_the_neovim_help_speaks_of_every_subcommand() -> None:
    lua = (REPOSITORY / "clients/neovim/lua/citewell/command.lua").read_text(encoding="utf-8")
    doc = (REPOSITORY / "clients/neovim/doc/citewell.txt").read_text(encoding="utf-8")
    table = lua[lua.index("M.subcommands = {") : lua.index("\n}\n")]
    names = re.findall(r"^  (\w+) = \{$", table, re.MULTILINE)
    assert len(names) == 12
    for name in names:
        assert f"*:Citewell-{name}*" in doc
        assert name in PAGE


def test_the_plugin_asks_for_a_server_that_exists() -> None:
    lua = (REPOSITORY / "clients/neovim/lua/citewell/server.lua").read_text(encoding="utf-8")
    oldest = re.search(r"M\.oldest = '([\d.]+)'", lua)
    assert oldest is not None
    assert Version(oldest[1]) <= Version(__version__)


def test_each_end_of_a_placeholder_triggers_a_completion() -> None:
    assert set("<>{}[]@?, ") == set(completion.TRIGGERS)
