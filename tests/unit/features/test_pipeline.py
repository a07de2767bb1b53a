"""The picture of a search shows what the settings switch on, and the time of each part."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from msgspec.structs import replace

from citewell.features.pipeline import Pipeline, mermaid, pipeline, svg
from citewell.options import Options
from citewell.options.online import LlmOptions, SourceOptions

PICTURE = Path(__file__).parents[3] / "docs" / "images" / "pipeline.svg"
SVG = "{http://www.w3.org/2000/svg}"
TIMINGS = {
    "bm25": 3.21, "dense": 0.5, "fusion": 0.3, "ranking": 7.5, "cross-encoder": 99.6, "llm": 812.0,
    "total": 925.0,
}  # fmt: skip
FULL = replace(
    Options(),
    retrieval=replace(Options().retrieval, cross_encoder="models/mini-<LM>", dense=True),
    llm=LlmOptions(provider="ollama", model="qwen3:8b", rerank="listwise"),
    sources=SourceOptions(allow=("crossref", "arxiv")),
)


def on(found: Pipeline) -> set[str]:
    parts = (*found.retrievers, *found.stages, found.sources)
    return {one.name for one in parts if one.is_on}


@pytest.mark.parametrize("options", [Options(), FULL], ids=["default", "full"])
def test_the_picture_is_well_formed_and_runs_and_loads_nothing(options: Options) -> None:
    text = svg(pipeline(options, None, TIMINGS))
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img" and root.get("aria-label")
    assert not list(root.iter(f"{SVG}script")) and not list(root.iter(f"{SVG}image"))
    assert text.count("http") == 1, "the name space"
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    boxes = list(root.iter(f"{SVG}rect"))
    assert len(boxes) == 13
    for box in boxes:
        assert float(box.get("x", 0)) + float(box.get("width", 0)) <= width
        assert float(box.get("y", 0)) + float(box.get("height", 0)) <= height


def test_mermaid_names_each_part_once_and_escapes_what_users_wrote() -> None:
    found = pipeline(FULL)
    text = mermaid(found)
    assert text.startswith("flowchart LR\n")
    for one in (*found.retrievers, *found.stages, found.sources):
        assert text.count(f'  {one.name}["') == 1
    assert "mini-&lt;LM&gt;" in text and "<LM>" not in text
    assert "classDef off" not in text and "class cross_encoder" in mermaid(pipeline(Options()))


def test_the_picture_in_the_readme_is_of_the_default_settings() -> None:
    """Written anew where it is not, to be looked at and committed."""
    wanted = svg(pipeline(Options()))
    if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != wanted:
        PICTURE.write_text(wanted, encoding="utf-8")
        pytest.fail(f"{PICTURE.name} was out of date; it is written now")
    assert "docs/images/pipeline.svg" in (PICTURE.parents[2] / "README.md").read_text("utf-8")
