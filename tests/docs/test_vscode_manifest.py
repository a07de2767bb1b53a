"""The VS Code extension's manifest says what the server's settings tree says."""

import json
import re
from pathlib import Path
from typing import Any

from scripts.write_docs import json_schema

from citewell.options.values import settings

REPOSITORY = Path(__file__).resolve().parents[2]
MANIFEST = REPOSITORY / "clients/vscode/package.json"


def _manifest() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(MANIFEST.read_text(encoding="utf-8"))
    return found


def test_the_schema_names_each_setting_once_with_its_default() -> None:
    schema = json_schema()
    assert set(schema) == {f"citewell.{setting.wire}" for setting in settings()}
    assert schema["citewell.retrieval.timeoutMs"]["default"] == 2000
    assert schema["citewell.retrieval.ranker"]["enum"] == ["learned", "none"]
    assert schema["citewell.library.path"]["scope"] == "machine"


def test_the_settings_of_the_extension_are_those_of_the_tree() -> None:
    manifest = _manifest()
    properties = {
        name: entry
        for group in manifest["contributes"]["configuration"]
        for name, entry in group["properties"].items()
    }
    assert set(json_schema()) < set(properties)
    assert all("description" in p or "markdownDescription" in p for p in properties.values())


def test_a_setting_that_must_not_travel_cannot_be_set_by_a_workspace() -> None:
    properties = {
        name: entry
        for group in _manifest()["contributes"]["configuration"]
        for name, entry in group["properties"].items()
    }
    assert properties["citewell.sources.allow"]["scope"] == "machine"
    assert properties["citewell.bib.target"]["scope"] == "resource"
    restricted = _manifest()["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert "citewell.server.path" in restricted


def test_the_lock_file_names_no_registry() -> None:
    lock = (REPOSITORY / "clients/vscode/package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert "integrity" in lock


def test_the_licence_of_the_extension_is_that_of_the_project() -> None:
    ours = (REPOSITORY / "clients/vscode/LICENSE").read_bytes()
    assert ours == (REPOSITORY / "LICENSE").read_bytes()


def test_the_versions_of_server_and_extension_are_one() -> None:
    from citewell import __version__

    assert _manifest()["version"] == __version__
    source = (REPOSITORY / "clients/vscode/src/version.ts").read_text(encoding="utf-8")
    oldest = re.search(r'MINIMUM = "([\d.]+)"', source)
    assert oldest is not None
    assert [int(n) for n in oldest[1].split(".")] <= [int(n) for n in __version__.split(".")]


def test_every_key_and_command_that_the_readme_names_is_in_the_manifest() -> None:
    readme = (REPOSITORY / "clients/vscode/README.md").read_text(encoding="utf-8")
    contributes = _manifest()["contributes"]
    titles = {command["title"] for command in contributes["commands"]}
    named = set(re.findall(r"\*\*Citewell: ([^*]+)\*\*", readme))
    assert named and named <= titles
    keys = {binding["key"] for binding in contributes["keybindings"]}
    assert {key.lower() for key in re.findall(r"`(Ctrl\+[^`]+)`", readme)} == keys


def test_no_command_has_the_name_of_one_of_the_server() -> None:
    from citewell.lsp.server import create_server

    # The language client registers those of the server, and a name can be registered once.
    own = {command["command"] for command in _manifest()["contributes"]["commands"]}
    assert own.isdisjoint(create_server().protocol.fm.commands)


def test_the_pictures_of_the_marketplace_page_lead_to_files_of_the_repository() -> None:
    manifest = _manifest()
    address = manifest["repository"]["url"].removesuffix(".git")
    folder = manifest["repository"]["directory"]
    raw = address.replace("//github.com/", "//raw.githubusercontent.com/")
    package = manifest["scripts"]["package"]
    # vsce makes relative links absolute from these two; it knows nothing of the folder.
    assert f"--baseImagesUrl {raw}/HEAD/{folder} " in package
    assert f"--baseContentUrl {address}/blob/HEAD/{folder} " in package
    readme = (REPOSITORY / folder / "README.md").read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", readme)
    assert pictures
    for picture in pictures:
        assert (REPOSITORY / folder / picture).is_file()
        assert not picture.endswith(".svg"), "the marketplace shows none"


def test_the_repository_is_that_of_the_registry_of_mcp_servers() -> None:
    card = json.loads((REPOSITORY / "server.json").read_text(encoding="utf-8"))
    owner, _, name = card["name"].removeprefix("io.github.").partition("/")
    assert _manifest()["repository"]["url"] == f"https://github.com/{owner}/{name}.git"
    assert _manifest()["bugs"]["url"] == f"https://github.com/{owner}/{name}/issues"


def test_the_server_for_agents_is_offered_under_the_id_that_the_code_registers() -> None:
    (provider,) = _manifest()["contributes"]["mcpServerDefinitionProviders"]
    code = (MANIFEST.parent / "src" / "agents.ts").read_text(encoding="utf-8")
    assert re.findall(r'^const PROVIDER = "([^"]+)";', code, re.M) == [provider["id"]]
    assert "registerMcpServerDefinitionProvider(PROVIDER, provider)" in code


def test_the_settings_stand_in_the_order_of_use_under_titles_for_people() -> None:
    groups = _manifest()["contributes"]["configuration"]
    titles = [group["title"] for group in groups]
    assert titles[0] == "Library of Papers"
    assert titles[-2:] == ["Search Engine", "Server"]
    assert [group["order"] for group in groups] == list(range(1, len(groups) + 1))
    for group in groups:
        orders = [entry["order"] for entry in group["properties"].values()]
        assert orders == list(range(len(orders))), group["title"]
