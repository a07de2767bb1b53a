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
    told = [
        (one["operationId"], method.upper(), path)
        for path, operations in document["paths"].items()
        for method, one in operations.items()
    ]
    assert sorted(told) == sorted((one.name, one.method, one.path) for one in ENDPOINTS)
    assert len({name for name, *_ in told}) == len(told)


@pytest.mark.parametrize("one", ENDPOINTS, ids=lambda one: one.name)
def test_each_endpoint_says_what_it_is_for(one: Any, document: dict[str, Any]) -> None:
    operation = document["paths"][one.path][one.method.lower()]
    assert operation["summary"] and operation["description"].endswith(".")


def checked(document: dict[str, Any], name: str, value: Any) -> None:
    schema = {**document["components"]["schemas"][name], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


def test_answers_are_as_it_says(client: Any, document: dict[str, Any]) -> None:
    find = client.post("/v1/find", json={"text": "Attention [CITATION].", "abstracts": True})
    checked(document, "FindAnswer", find.json())
    search = client.get("/v1/search?query=attention")
    checked(document, "SearchAnswer", search.json())
    papers = {"ids": ["fx:1", "fx:0"], "forms": ["bibtex", "csl", "reference"]}
    checked(document, "PapersAnswer", client.post("/v1/papers", json=papers).json())
    checked(document, "StatusAnswer", client.get("/v1/status").json())
    checked(document, "Health", client.get("/v1/health").json())
    checked(document, "ProblemJson", client.get("/v1/nothing").json())
    with pytest.raises(jsonschema.ValidationError):
        checked(document, "SearchAnswer", {"papers": []})
