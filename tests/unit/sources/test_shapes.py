"""Requests and answers against the providers' own OpenAPI files, without their `required` lists.

Of two thousand real records of Crossref none is valid as its file is written: what a field holds is
right there, which fields must be there is not. The files lie in `../shared/data/api/specs`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from citewell.sources.contract import Ask, NoMatch, Source, SourceQuery
from citewell.sources.registry import source_named

FILES = {
    "crossref": ("crossref.yml", ""),
    "semantic-scholar": ("semantic_scholar_graph.yml", ""),
    "datacite": ("datacite_dois.yml", ""),
}
UNLISTED = {"crossref": {"query.bibliographic"}, "datacite": {"page[size]"}}
"""Parameters that the file describes in words, not as parameters."""


@pytest.fixture(scope="module")
def specs(shared_data: Path) -> Path:
    folder = shared_data / "api" / "specs"
    if not folder.is_dir():
        pytest.skip("the providers' files ../shared/data/api/specs are not there")
    return folder


def load(path: Path) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), loader)
    return found


class Recorder:
    """Carries no request: it writes down what would be asked."""

    def __init__(self) -> None:
        self.requests: list[Ask] = []

    async def __call__(self, source: type[Source], ask: Ask, decode: Any) -> Any:
        self.requests.append(ask)
        return NoMatch(source.name)


async def every_request(name: str) -> list[Ask]:
    recorder = Recorder()
    source = source_named(name)(recorder)
    for kind, value in (("doi", "10.1/x"), ("arxiv", "1706.03762"), ("pmid", "1")):
        if kind in source.ids:
            await source.by_ids(kind, [value])
            await source.by_ids(kind, [value, value + "2"])
            await source.references(kind, value)
            await source.citations(kind, value)
    await source.match(
        SourceQuery(title="On the Patience of Kettles", authors=("Example",), year=2020)
    )
    await source.search("kettles", 5)
    return recorder.requests


def resolved(spec: dict[str, Any], value: Any) -> Any:
    while isinstance(value, dict) and "$ref" in value:
        found: Any = spec
        for part in value["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/")]
        value = found
    return value


@pytest.mark.parametrize("name", FILES)
async def test_every_request_is_one_that_the_provider_describes(name: str, specs: Path) -> None:
    spec = load(specs / FILES[name][0])
    requests = await every_request(name)
    assert len(requests) >= 4
    for ask in requests:
        method = "get" if ask.body is None else "post"
        fitting = [
            operation
            for path, operations in spec["paths"].items()
            if re.fullmatch(re.sub(r"\{[^}]*\}", ".+", path), ask.path)
            and (operation := operations.get(method))
        ]
        assert fitting, (method, ask.path)
        listed = {
            resolved(spec, one).get("name")
            for operation in fitting
            for one in operation.get("parameters", ())
        }
        if not listed:
            continue
        unknown = {key for key, _ in ask.params} - listed - UNLISTED.get(name, set())
        assert not unknown, (ask.path, unknown)


async def test_crossref_is_asked_only_for_fields_that_can_be_selected(specs: Path) -> None:
    text = (specs / "crossref.yml").read_text(encoding="utf-8")
    for ask in await every_request("crossref"):
        for key, value in ask.params:
            if key == "select":
                for field in value.split(","):
                    assert f"+ `{field}`" in text, field


async def test_semantic_scholar_is_asked_only_for_fields_that_a_paper_has(specs: Path) -> None:
    spec = load(specs / "semantic_scholar_graph.yml")
    known = set(spec["components"]["schemas"]["FullPaper"]["properties"])
    for ask in await every_request("semantic-scholar"):
        for key, value in ask.params:
            if key == "fields":
                assert set(value.split(",")) <= known


def relaxed(value: Any) -> Any:
    """A schema without `required` and `nullable` values allowed, all else as it is."""
    if isinstance(value, list):
        return [relaxed(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: relaxed(item) for key, item in value.items() if key not in ("required", "example")}
    if isinstance(made.get("type"), str):
        made["type"] = [made["type"], "null"]
    made.pop("enum", None)
    return made


CASES = {
    "crossref": ("crossref.yml", "Work", "crossref_records.jsonl.gz"),
    "semantic-scholar": (
        "semantic_scholar_graph.yml", "FullPaper", "semantic_scholar_records.jsonl.gz"
    ),
}  # fmt: skip


MISDESCRIBED = {
    "reference", "assertion", "issn-type", "journal-issue", "short-container-title"
}  # fmt: skip
"""Fields of Crossref's whose real values are not what its own file says."""


@pytest.mark.parametrize("name", CASES)
def test_the_fake_s_records_and_the_recorded_ones_have_the_provider_s_types(
    name: str, specs: Path, fakes: Any
) -> None:
    """For the fields that are read: their types in real and in our own records are the file's."""
    jsonschema = pytest.importorskip("jsonschema")
    file, schema, records = CASES[name]
    spec = relaxed(load(specs / file))
    properties = spec["components"]["schemas"][schema]["properties"]
    own = json.loads(fakes.SMALL.read_text(encoding="utf-8"))[name]
    with gzip.open(specs.parent / records, "rt", encoding="utf-8") as stream:
        real = [json.loads(line) for line in itertools.islice(stream, 300)]
    wrong: dict[str, int] = {}
    checks = {
        field: jsonschema.Draft202012Validator({**kind, "components": spec["components"]})
        for field, kind in properties.items()
    }
    for record in [*own, *real]:
        for field, value in record.items():
            if field in checks and not checks[field].is_valid(value):
                wrong[field] = wrong.get(field, 0) + 1
    assert not set(wrong) - MISDESCRIBED, wrong
