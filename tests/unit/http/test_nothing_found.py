"""A search that was made and found nothing: an empty list that says what the library covers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from citewell.corpus.card import Card
from citewell.corpus.layout import CARD, CURRENT
from citewell.engine.local import LocalEngine
from citewell.options import Options
from citewell.options.tree import LibraryOptions

WORDS = "qqqqzzzz"


@pytest.fixture(scope="module")
def shipped(
    http_options: Options, client_of: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A client over a library with a card, as the starter library has one."""
    folder = tmp_path_factory.mktemp("shipped") / "libraries"
    shutil.copytree(Path(http_options.library.path or ""), folder, symlinks=True)
    (current,) = folder.rglob(CURRENT)
    card = Card(
        name="starter", works=3, abstracts=3, first=2001, last=2003, sources={}, years={"2001": 3}
    )
    (current.parent / CARD).write_bytes(msgspec.json.encode(card))
    options = replace(
        http_options,
        library=LibraryOptions(path=folder),
        retrieval=replace(http_options.retrieval, dense=False),
    )
    engine = LocalEngine.open(options)
    engine.load(60)
    yield client_of(options, engine)
    engine.close()


def is_empty(found: Any) -> None:
    assert found.status_code == 200, found.text
    answer = found.json()
    assert answer["status"] == "nothing_found"
    assert [one["code"] for one in answer["problems"]] == ["not-held"]


def test_a_search_is_empty(shipped: Any) -> None:
    is_empty(shipped.post("/v1/search", json={"query": WORDS}))
    is_empty(shipped.get("/v1/search", params={"query": WORDS}))


def test_a_literature_search_is_empty(shipped: Any) -> None:
    is_empty(shipped.post("/v1/explore", json={"query": WORDS}))


def test_a_place_has_no_papers(shipped: Any) -> None:
    found = shipped.post("/v1/find", json={"text": f"{WORDS} [CITATION]."})
    is_empty(found)
    (place,) = found.json()["places"]
    assert place.get("papers", []) == []
