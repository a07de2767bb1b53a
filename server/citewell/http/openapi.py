"""The OpenAPI document of the API, generated from the types of requests and responses."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import msgspec

from citewell import __version__
from citewell.http.endpoints import Endpoint
from citewell.http.streaming import EVENTS, LINES
from citewell.operations.operation import Nothing
from citewell.serving.problem_json import MEDIA_TYPE, ProblemJson

VERSION = "3.1.0"
_REF = "#/components/schemas/{name}"
_EVENTS = """With `Accept: text/event-stream`: events `progress`, with `done` and `total`, and at \
last `answer`, with the JSON of the other form, or `problem`, with that of an error."""
_LINES = """With `Accept: application/jsonl`: an answer of the other form on each line, newer than \
the one before; the last line may be a problem, as an error has it."""
_ABOUT = """Citewell finds, checks and prints references to papers that exist. Each paper is a \
record, and names its source. No request changes a file."""


def openapi_json(endpoints: Sequence[Endpoint], base_path: str = "") -> bytes:
    """The document as JSON, for a server below a path."""
    document = openapi_document(endpoints)
    return msgspec.json.encode({**document, "servers": [{"url": base_path or "/"}]})


def openapi_document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """OpenAPI 3.1, whose schemas are JSON Schema 2020-12."""
    requests = [one.operation.request for one in endpoints if one.method == "POST"]
    answered = [one.operation.response for one in endpoints]
    kinds = list(dict.fromkeys([*requests, *answered, ProblemJson]))
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    schema_of = dict(zip(kinds, schemas, strict=True))
    for one in endpoints:
        if one.method == "POST":
            components[one.operation.request.__name__].update(one.operation.schema_keywords)
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schema_of)
    return {
        "openapi": VERSION,
        "info": {
            "title": "Citewell",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, schema_of: dict[Any, Any]) -> dict[str, Any]:
    operation = endpoint.operation
    problem = {MEDIA_TYPE: {"schema": schema_of[ProblemJson]}}
    answer = {"application/json": {"schema": schema_of[operation.response]}}
    if operation.is_long:
        answer[EVENTS] = {"schema": {"type": "string", "description": _EVENTS}}
    if operation.in_parts:
        answer[LINES] = {"schema": {"type": "string", "description": _LINES}}
    found: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary or operation.summary,
        "description": " ".join((inspect.getdoc(operation.function) or "").split()),
        "responses": {
            "200": {"description": "The answer", "content": answer},
            "default": {"description": "Why there is none", "content": problem},
        },
    }
    if endpoint.method == "POST":
        body = {"application/json": {"schema": schema_of[operation.request]}}
        found["requestBody"] = {"required": True, "content": body}
    elif operation.request is not Nothing:
        found["parameters"] = _parameters(endpoint)
    return found


def _parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    """The fields of a request in the URL."""
    request = endpoint.operation.request
    _, components = msgspec.json.schema_components([request], ref_template=_REF)
    schema = components[request.__name__]
    parameters = []
    for name, kind in schema["properties"].items():
        in_path = f"{{{name}}}" in endpoint.path
        found = {"name": name, "in": "path" if in_path else "query", "schema": kind}
        if in_path or name in schema.get("required", ()):
            found["required"] = True
        parameters.append(found)
    return parameters
