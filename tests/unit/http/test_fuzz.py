"""Whatever is sent, the answer is one of the OpenAPI document, and no request breaks the server."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.http.endpoints import ENDPOINTS
from citewell.http.openapi import openapi_document

DOCUMENT = json.loads(json.dumps(openapi_document(ENDPOINTS)))
JSON = {"Content-Type": "application/json"}
POSTED = [one for one in ENDPOINTS if one.method == "POST"]
TEXTS = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        ["A [CITATION].", "\\cite<attention>", "[@?]", "\\cite{", "@misc{", "@misc{a, title={",
         "---\nbibliography: x", "\\bibliography{", "\\input{x}", "% !TEX root = x", "fx:1", "\0",
         "../x", "\ud7ff", "auto", "utf-16", "bibtex"]
    ),
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


def schema_of(name: str) -> dict[str, Any]:
    return {**DOCUMENT["components"]["schemas"][name], "components": DOCUMENT["components"]}


@st.composite
def bodies(draw: Any, properties: dict[str, Any]) -> Any:
    """Some fields with what they take, some with anything; seldom no object at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(VALUES)
    body = {}
    for name, kind in properties.items():
        how = draw(st.integers(0, 3))
        if how == 0:
            continue
        if how == 1:
            body[name] = draw(VALUES)
        elif kind.get("type") == "string":
            body[name] = draw(TEXTS)
        elif kind.get("type") == "array":
            body[name] = draw(st.lists(TEXTS, max_size=4))
        elif kind.get("type") == "integer":
            # JSON has one kind of number: 11.0 is an integer.
            body[name] = draw(st.one_of(st.integers(0, 60), st.integers(0, 60).map(float)))
        else:
            body[name] = draw(st.one_of(st.booleans(), st.dictionaries(TEXTS, TEXTS, max_size=3)))
    return body


@pytest.mark.parametrize("one", POSTED, ids=lambda one: one.name)
def test_no_request_breaks_it(client: Any, one: Any) -> None:
    properties = schema_of(one.operation.request.__name__)["properties"]
    answer = jsonschema.Draft202012Validator(schema_of(one.operation.response.__name__))
    refusal = jsonschema.Draft202012Validator(schema_of("ProblemJson"))
    request = jsonschema.Draft202012Validator(schema_of(one.operation.request.__name__))

    @settings(
        max_examples=40, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(bodies(properties))
    def check(body: Any) -> None:
        found = client.post(one.path, content=json.dumps(body), headers=JSON)
        assert found.status_code in (200, 400, 403, 404, 413, 422), (body, found.text)
        (answer if found.status_code == 200 else refusal).validate(found.json())
        # What cannot be read is what the document forbids, and nothing else.
        assert (found.status_code == 422) == (not request.is_valid(body)), (body, found.text)

    check()
