"""The clients' lists of languages and suffixes agree with the server's flavours of documents."""

import json
import re
from pathlib import Path

from citewell.model.document import FLAVOURS, LANGUAGES, PAPERS, USUAL_SUFFIXES, Format, format_of

CLIENTS = Path(__file__).resolve().parents[2] / "clients"
MANIFEST = json.loads((CLIENTS / "vscode/package.json").read_text(encoding="utf-8"))
KNOWN = {name: one for one in FLAVOURS for name in one.languages}


def names_in(path: str, start: str) -> list[str]:
    """The quoted names of the list that begins after `start`."""
    text = (CLIENTS / path).read_text(encoding="utf-8").partition(start)[2]
    return re.findall(r"""["'](\w+)["']""", text[: re.search(r"[\]}]", text).start()])  # type: ignore[union-attr]


def served(names: list[str]) -> set[str]:
    """The flavours of these languages, all of which the server knows."""
    assert names
    assert set(names) <= set(KNOWN)
    return {KNOWN[name].name for name in names}


EVERY = {one.name for one in FLAVOURS if one.languages}
PROSE = list(LANGUAGES[Format.MARKDOWN])


def test_the_extension_starts_for_each_flavour() -> None:
    events = [name.partition(":")[2] for name in MANIFEST["activationEvents"]]
    assert served(events) == EVERY
    prose = names_in("vscode/src/languages.ts", "PROSE: readonly string[] =")
    assert prose == PROSE
    assert [
        *names_in("vscode/src/languages.ts", "LANGUAGES: readonly string[] ="),
        *prose,
    ] == events


def test_the_menus_of_the_extension_name_the_same_languages() -> None:
    events = [name.partition(":")[2] for name in MANIFEST["activationEvents"]]
    papers = [name for name in events if KNOWN[name].is_paper]
    conditions = re.findall(r"editorLangId =~ /\^\(([^)]*)\)\$/", json.dumps(MANIFEST))
    assert len(conditions) >= 4
    assert {condition for condition in conditions} <= {"|".join(events), "|".join(papers)}


def test_the_extension_recognises_the_suffixes_of_its_own_languages() -> None:
    for language in MANIFEST["contributes"]["languages"]:
        flavour = KNOWN[language["id"]]
        assert {flavour.name} == set(language["aliases"])
        assert {suffix.lower() for suffix in language["extensions"]} == set(flavour.suffixes)
        assert flavour.usual in ("", *language["extensions"])


def test_neovim_starts_the_server_for_each_flavour() -> None:
    assert served(names_in("neovim/lua/citewell/config.lua", "M.filetypes =")) == EVERY


def test_each_suffix_belongs_to_one_flavour() -> None:
    suffixes = [suffix for one in FLAVOURS for suffix in one.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert [format_of(f"PAPER{suffix.upper()}") for suffix in suffixes] == [
        one.format for one in FLAVOURS for _ in one.suffixes
    ]
    assert len(USUAL_SUFFIXES) == len(PAPERS)
