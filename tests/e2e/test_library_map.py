"""The map of a whole library: `citewell map` and `GET /v1/library-map`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import httpx2
import pytest
from tests.e2e.conftest import Run, citewell_in, clean_env, server

DISTRIBUTION = Path(__file__).parents[2] / "corpus_tools/starter/citewell_starter"
TITLES = {
    "a": "A History of Copper Kettles", "b": "Kettles That Whistle in the Morning",
    "c": "On the Lids of Copper Kettles", "d": "Steam and Its Many Whistles",
    "e": "Glazes for Clay Teapots", "f": "Spouts of Clay Teapots", "g": "Handles of Clay Teapots",
}  # fmt: skip
CITED = {"a": "bd", "c": "abd", "e": "bd", "f": "e", "g": "ef"}
"""Of the works that the user has; the starter has b and d."""


def records(names: str) -> str:
    """Works in the form of Semantic Scholar."""
    lines = []
    for n, name in enumerate(names):
        cited = [{"paperId": one, "title": TITLES[one]} for one in CITED.get(name, "")]
        authors = [{"name": "Ana Ruiz" if name in "ac" else f"Bo Name{name}"}]
        work = {"paperId": name, "title": TITLES[name], "year": 2000 + n, "authors": authors}
        lines.append(json.dumps(work | {"references": cited}))
    return "\n".join(lines)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder and an environment with a library above a starter library."""
    folder = tmp_path_factory.mktemp("home")
    env = clean_env(folder)
    for name, works in (("starter", "bd"), ("mine", "acefg")):
        own = {"CITEWELL_LIBRARY_PATH": str(folder / name), "CITEWELL_LIBRARY_NAME": "default"}
        (folder / f"{name}.jsonl").write_text(records(works), encoding="utf-8")
        done = citewell_in(folder, env | own)("library", "add", f"{name}.jsonl")
        assert done.returncode == 0, done.stderr
    package = folder / "site/citewell_starter"
    package.mkdir(parents=True)
    shutil.copy(DISTRIBUTION / "__init__.py", package)
    shutil.copytree(folder / "starter/default", package / "library")
    return folder, env | own | {"PYTHONPATH": str(folder / "site")}


@pytest.fixture(scope="module")
def run(home: tuple[Path, dict[str, str]]) -> Run:
    return citewell_in(*home)


@pytest.fixture(scope="module")
def url(home: tuple[Path, dict[str, str]]) -> Iterator[str]:
    with server(home[1]) as (address, _):
        yield address


def test_the_map_has_key_papers_links_and_gaps(run: Run, url: str) -> None:
    done = run("map")
    assert done.returncode == 0, done.stderr
    assert "5 works, 4 known citations among them, 1 links by author." in done.stderr
    gaps = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("gap\t")]
    assert [(gap[2], gap[3]) for gap in gaps] == [
        (TITLES["b"], "cited by 3 of yours, not held"),
        (TITLES["d"], "cited by 3 of yours, not held"),
    ]
    answer = httpx2.get(f"{url}/v1/library-map", timeout=120).raise_for_status().json()
    assert [(gap["paper"]["title"], gap["cited_by"]) for gap in answer["gaps"]] == [
        (TITLES["b"], 3), (TITLES["d"], 3),
    ]  # fmt: skip
    assert sum(one["works"] for one in answer["communities"]) == 5
    first = answer["communities"][0]["key_papers"][0]["title"]
    assert first in {TITLES["a"], TITLES["e"]}, "the works that others of the community cite"
    assert first in done.stdout


def test_the_picture_is_one_file_without_scripts_and_addresses(
    run: Run, home: tuple[Path, dict[str, str]]
) -> None:
    done = run("map", "--html", "map.html")
    assert done.returncode == 0, done.stderr
    page = (home[0] / "map.html").read_text(encoding="utf-8")
    tags: list[str] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda tag, attributes: tags.append(tag)  # type: ignore[method-assign]
    reader.feed(page)
    assert not {"script", "link", "img", "iframe", "image", "use"} & set(tags)
    assert not re.search(r"(?:href|src)=|url\(", page)
    picture = ElementTree.fromstring(re.search(r"<svg.*</svg>", page, re.DOTALL)[0])  # type: ignore[index]
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    shown = {dot[0].text for dot in circles}
    assert len(circles) == 5 and f"Ruiz 2000: {TITLES['a']}" in shown
    places = {(dot.get("cx"), dot.get("cy")) for dot in circles}
    assert len(places) == 5, "no work covers another"

    again = run("map", "--html", "map.html")
    assert again.returncode == 2 and "--replace" in again.stderr
    assert run("map", "--html", "map.html", "--replace").returncode == 0


def test_an_empty_library_has_no_map(new_env: dict[str, str], tmp_path: Path) -> None:
    assert citewell_in(tmp_path, new_env)("map").returncode in (1, 3)
