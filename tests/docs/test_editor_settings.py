"""The settings for other editors are well-formed, and start the server as it is started."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from citewell import __version__

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "editors.md").read_text(encoding="utf-8")


def snippets(heading: str, language: str) -> list[str]:
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


def test_helix_names_the_server_for_every_language() -> None:
    (text,) = snippets("Helix", "toml")
    found: dict[str, Any] = tomllib.loads(text)
    server = found["language-server"]["citewell"]
    assert [server["command"], *server["args"]] == ["citewell", "lsp"]
    assert {one["name"] for one in found["language"]} == {"latex", "bibtex", "markdown"}
    assert all(one["language-servers"][0] == "citewell" for one in found["language"])


def test_sublime_text_starts_the_server() -> None:
    (text,) = snippets("Sublime Text", "json")
    client = json.loads(text)["clients"]["citewell"]
    assert client["enabled"] is True
    assert client["command"] == ["citewell", "lsp"]
    assert "text.tex.latex" in client["selector"]


def test_kate_starts_the_server_for_every_language() -> None:
    (text,) = snippets("Kate", "json")
    servers = json.loads(text)["servers"]
    assert servers["latex"]["command"] == ["citewell", "lsp"]
    names = ("LaTeX", "BibTeX", "Markdown")
    for (name, server), shown in zip(servers.items(), names, strict=True):
        assert name == "latex" or server["use"] == "latex"
        assert re.match(server["highlightingModeRegex"], shown)


def test_zed_starts_the_server() -> None:
    (text,) = snippets("Zed", "json")
    binary = json.loads(text)["lsp"]["texlab"]["binary"]
    assert [binary["path"], *binary["arguments"]] == ["citewell", "lsp"]


def test_mason_installs_the_released_version_from_the_package_index() -> None:
    (text,) = snippets("Neovim 0.11 and later", "yaml")
    entry = yaml.safe_load(text)
    assert entry["source"]["id"] == f"pkg:pypi/citewell@{__version__}"
    assert entry["source"]["extra_packages"] == ["citewell-starter"]
    assert entry["bin"] == {"citewell": "pypi:citewell"}
    assert entry["categories"] == ["LSP"]
    assert entry["licenses"] == ["MIT"]


def test_the_settings_in_the_examples_exist() -> None:
    from citewell.options import Options

    assert PAGE.count("keyPattern") == 2
    assert Options().bib.key_pattern == "{author}{year}{word}"
