"""The OpenAPI document is one, and says what the server does."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest

from citewell.http.endpoints import ENDPOINTS
from citewell.http.openapi import openapi_document


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi_document(ENDPOINTS)))
    return found


def test_it_is_a_valid_document(document: dict[str, Any]) -> None:
    openapi_spec_validator = pytest.importorskip("openapi_spec_validator")
    openapi_spec_validator.OpenAPIV31SpecValidator(document).validate()
    broken = {**document, "paths": {"/v1/find": {"post": {"responses": 5}}}}
    with pytest.raises(Exception, match="5"):
        openapi_spec_validator.OpenAPIV31SpecValidator(broken).validate()


def test_it_is_what_the_server_gives(client: Any, document: dict[str, Any]) -> None:
    assert client.get("/openapi.json").json() == document


def test_it_has_every_endpoint_once(document: dict[str, Any]) -> None:
    descriptions = [
        (one["operationId"], method.upper(), path)
        for path, operations in document["paths"].items()
        for method, one in operations.items()
    ]
    assert sorted(descriptions) == sorted((one.name, one.method, one.path) for one in ENDPOINTS)
    assert len({name for name, *_ in descriptions}) == len(descriptions)


def checked(document: dict[str, Any], name: str, value: Any) -> None:
    schema = {**document["components"]["schemas"][name], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


ENTRY = "@misc{a, title={Attention Is All You Need}, year={2019}, author={Roe, Jo}}"
REQUESTS = {
    "find": {"text": "Attention [CITATION].", "abstracts": True},
    "places": {"text": "Recent work has shown that attention helps translation."},
    "search": {"query": "attention"},
    "search_by_address": "?query=attention",
    "explore": {"query": "attention", "kept": ["fx:2"], "k": 5, "abstracts": True},
    "related": {"ids": ["fx:1", "fx:2"], "directions": ["cocited"]},
    "map": {"ids": ["fx:1", "fx:2", "fx:5"], "k": 20},
    "map_library": "",
    "get_papers": {"ids": ["fx:1", "fx:0"], "forms": ["bibtex", "csl", "reference"]},
    "get_paper": "?forms=csl",
    "check": {"entries": [ENTRY, "none"]},
    "review": {"text": "A \\cite{a}.", "files": {"refs.bib": ENTRY}},
    "fill": {"text": "A \\cite<attention is all you need> \\cite{?}.", "texts": True},
    "pick": {"text": "Attention [CITATION]."},
    "verify": {"sentence": "Attention is all you need.", "id": "fx:1"},
    "status": "",
    "pipeline": "",
    "health": "",
    "find_citation": {"sentence": "Attention helps.", "k": 2},
    "api_health": "",
    "health_summary": "",
}


@pytest.mark.parametrize("one", ENDPOINTS, ids=lambda one: one.name)
def test_requests_and_answers_are_as_it_says(
    client: Any, document: dict[str, Any], one: Any
) -> None:
    body = REQUESTS[one.name]
    if one.method == "POST":
        checked(document, one.operation.request.__name__, body)
        found = client.post(one.path, json=body)
    else:
        found = client.get(one.path.replace("{id}", "fx:1") + str(body))
    assert found.status_code == 200, found.text
    checked(document, one.operation.response.__name__, found.json())
    with pytest.raises(jsonschema.ValidationError):
        checked(document, one.operation.response.__name__, {"papers": 5, "status": 5, "gaps": 5})
    if one.method == "POST":
        with pytest.raises(jsonschema.ValidationError):
            checked(document, one.operation.request.__name__, {**body, "no-such-field": 1})


def test_problems_are_as_it_says(client: Any, document: dict[str, Any]) -> None:
    checked(document, "ProblemJson", client.get("/v1/nothing").json())
    checked(document, "ProblemJson", client.post("/v1/find", json={}).json())
