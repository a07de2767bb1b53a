"""The page about editors says what the server offers."""

from pathlib import Path

from citewell.lsp import completion
from citewell.lsp.server import create_server

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "editors.md").read_text(encoding="utf-8")


def test_every_command_of_the_server_is_on_the_page() -> None:
    commands = list(create_server().protocol.fm.commands)
    assert commands
    for name in commands:
        assert f"`{name}`" in PAGE


def test_every_argument_of_the_commands_is_on_the_page() -> None:
    from citewell.features.find_paper import PaperRow
    from citewell.lsp.commands import InsertArguments
    from citewell.lsp.paper_commands import InsertPaperArguments, SearchArguments

    for structure in (InsertArguments, SearchArguments, InsertPaperArguments, PaperRow):
        for name in structure.__struct_encode_fields__:
            assert f"`{name}`" in PAGE


def test_the_neovim_help_speaks_of_every_option_of_setup() -> None:
    lua = (REPOSITORY / "clients/neovim/lua/citewell/init.lua").read_text(encoding="utf-8")
    doc = (REPOSITORY / "clients/neovim/doc/citewell.txt").read_text(encoding="utf-8")
    options = [
        line.split()[1].rstrip("?") for line in lua.splitlines() if line.startswith("---@field")
    ]
    assert options == ["cmd", "settings", "completion"]
    for option in options:
        assert f"`{option}`" in doc
        assert f"`{option}`" in PAGE


def test_each_end_of_a_placeholder_triggers_a_completion() -> None:
    assert set("<>{}[]@?, ") == set(completion.TRIGGERS)
