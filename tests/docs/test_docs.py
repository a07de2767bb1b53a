"""What the documents say is what the code does."""

import re
from pathlib import Path

import click
import pytest
from scripts.write_docs import PAGES as WRITTEN
from scripts.write_docs import commands

import citewell
from citewell.cli.app import COMMANDS

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for path in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md"))
    if "node_modules" not in path.parts
)


def read(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


EVERY_COMMAND = dict(commands())


@pytest.mark.parametrize("name", EVERY_COMMAND)
def test_each_command_and_option_has_help(name: str) -> None:
    command = EVERY_COMMAND[name]
    assert command.help, f"`{name}` has no help"
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"`{name} {option.opts[0]}` has no help"
            assert option.help.rstrip().endswith((".", ")")), f"{name} {option.opts[0]}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_says(name: str) -> None:
    own = EVERY_COMMAND[f"citewell {name}"].get_short_help_str(limit=200)
    assert COMMANDS[name][1] == own


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_made_from_the_code_says_what_the_code_says(name: str) -> None:
    assert read(name) == WRITTEN[name](), "run `make docs`"


def test_the_readme_names_each_command_and_the_two_that_set_everything_up() -> None:
    readme = read("README.md")
    for name in COMMANDS:
        assert f"citewell {name}" in readme, f"the README does not speak of `citewell {name}`"
    targets = re.findall(r"^make (\w+)", readme, flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", read("Makefile"), flags=re.MULTILINE), target


def test_the_readme_has_at_most_700_words_and_a_picture() -> None:
    readme = read("README.md")
    assert len(readme.split()) <= 700, "move details to a page of docs"
    assert "```mermaid" in readme or re.search(r"!\[[^\]]+\]\(", readme)


def test_each_benchmark_names_its_command() -> None:
    page = read("docs/benchmarks.md")
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        commands = re.findall(r"^(?:python (tests/bench/\w+\.py)|citewell (\w+))", section, re.M)
        assert commands, section.splitlines()[0]
        for script, command in commands:
            assert command in COMMANDS if command else (REPOSITORY / script).is_file()


def test_make_help_lists_every_target_that_is_for_people() -> None:
    makefile = read("Makefile")
    phony = re.search(r"^\.PHONY: (help .*)$", makefile, flags=re.MULTILINE)
    assert phony
    for target in phony.group(1).split():
        assert re.search(rf"^{target}:.*## \w", makefile, flags=re.MULTILINE), target


def test_the_changelog_follows_its_form_and_knows_this_version() -> None:
    changelog = read("CHANGELOG.md")
    assert changelog.startswith("# Changelog\n")
    assert "keepachangelog.com" in changelog
    assert "## [Unreleased]" in changelog or f"## [{citewell.__version__}]" in changelog
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", changelog, flags=re.MULTILINE)) <= allowed


def test_the_version_is_stated_once_in_each_place_and_is_the_same() -> None:
    assert f'\nversion = "{citewell.__version__}"\n' in read("pyproject.toml")


def test_the_architecture_page_lists_every_package() -> None:
    page = read("ARCHITECTURE.md")
    for folder in sorted((REPOSITORY / "server" / "citewell").iterdir()):
        if (folder / "__init__.py").is_file():
            assert re.search(rf"\b{folder.name}\b", page), folder.name


def test_the_files_that_the_architecture_page_names_for_changes_exist() -> None:
    table = read("ARCHITECTURE.md").split("## Where to change what\n")[1].split("\n## ")[0]
    names = re.findall(r"`([\w/.]+(?:/|\.py|\.md|\.ts|\.lua|\.json))`", table)
    assert len(names) > 20
    for name in names:
        if name not in ("server/citewell/", "contract.py", "__init__.py"):
            places = (REPOSITORY / "server" / "citewell" / name, REPOSITORY / name)
            assert any(place.exists() for place in places), name


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.relative_to(REPOSITORY)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:|#", target)
        and not (page.parent / target.partition("#")[0]).exists()
    ]
    assert not broken


def test_no_page_holds_the_marks_of_an_unfinished_merge() -> None:
    marks = re.compile(r"^(<{7}|={7}|>{7})( |$)", flags=re.MULTILINE)
    assert not [page for page in PAGES if marks.search(page.read_text(encoding="utf-8"))]


def test_every_table_has_a_header() -> None:
    """Rows behind a blank line are no table: they are shown as text with bars."""
    found = []
    for path in PAGES:
        lines = path.read_text(encoding="utf-8").splitlines()
        code = False
        for number, line in enumerate(lines):
            code ^= line.startswith("```")
            begins = line.startswith("|") and (number == 0 or not lines[number - 1].startswith("|"))
            below = lines[number + 1] if number + 1 < len(lines) else ""
            if begins and not code and not re.fullmatch(r"\|[-:| ]+\|", below):
                found.append(f"{path.name}:{number + 1}: {line[:60]}")
    assert not found
