"""Parsing of a client's request into the type of an endpoint, with validation errors."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import msgspec.inspect
from starlette.requests import ClientDisconnect, Request

from citewell.model import CitewellError, Problem
from citewell.model.display_text import whole_json
from citewell.model.problem import meant

_UNKNOWN = re.compile(r"^Object contains unknown field `([^`]*)`$")
MAX_BODY = 16 * 1024 * 1024
"""Maximum bytes of one request."""
MAX_PUBLIC_BODY = 1024 * 1024
"""Maximum bytes of one request to a public demo."""
_WHOLE = re.compile(r"[+-]?\d{1,18}\.0{1,18}")
MAX_QUERY = 16_384
"""Maximum bytes of a query string."""


async def body_of(request: Request, limit: int = MAX_BODY) -> bytes:
    """The body of a JSON request. Raises `CitewellError`, also for one of more than `limit` bytes,
    which is not read to its end."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # A page of another origin cannot send this type without a preflight request.
    if kind != "application/json" or request.headers.get("content-encoding"):
        raise CitewellError(_NOT_JSON)
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise CitewellError(_too_large(limit))
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > limit:
                raise CitewellError(_too_large(limit))
    except ClientDisconnect:
        raise CitewellError(_CUT_OFF) from None
    return bytes(body)


def decoded(body: bytes, kind: type[msgspec.Struct]) -> Any:
    """The request in a body."""
    body = whole_json(body)
    try:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.ValidationError as error:
            if "got `float`" not in str(error):
                raise
            # JSON has one kind of number: by the schema, 11.0 is an integer, too.
            return msgspec.convert(_whole(msgspec.json.decode(body)), type=kind)
    except msgspec.ValidationError as error:
        raise CitewellError(_invalid(str(error), kind)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise CitewellError(
            Problem(
                "request-malformed",
                f"The body is not JSON: {error}.",
                "Send one JSON object, in UTF-8.",
            )
        ) from None


def converted(request: Request, kind: type[msgspec.Struct]) -> Any:
    """The request in a URL: path and query string, with repeated list fields."""
    if len(request.url.query) > MAX_QUERY:
        raise CitewellError(_too_large(MAX_BODY))
    given: dict[str, Any] = {}
    lists = {f.name for f in msgspec.structs.fields(kind) if _is_list(f.type)}
    for name, value in request.query_params.multi_items():
        if name in request.path_params:
            continue
        if name in lists:
            given.setdefault(name, []).append(value)
        elif name in given:
            raise CitewellError(_invalid(f"`{name[:100]}` is given twice"))
        else:
            given[name] = value
    for name, value in given.items():
        if isinstance(value, str) and name not in lists and _WHOLE.fullmatch(value):
            # As in a body. Text fields keep the original.
            given[name] = value if _is_text(kind, name) else value.partition(".")[0]
    try:
        return msgspec.convert(given | request.path_params, type=kind, strict=False)
    except msgspec.ValidationError as error:
        raise CitewellError(_invalid(str(error), kind)) from None


def _whole(value: Any) -> Any:
    """The value with integers for all whole numbers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    return value


def _is_text(kind: type[msgspec.Struct], name: str) -> bool:
    found = next((f.type for f in msgspec.structs.fields(kind) if f.name == name), str)
    info = msgspec.inspect.type_info(found)
    while isinstance(info, msgspec.inspect.Metadata):
        info = info.type
    return isinstance(info, msgspec.inspect.StrType)


def _is_list(kind: Any) -> bool:
    found = msgspec.inspect.type_info(kind)
    while isinstance(found, msgspec.inspect.Metadata):
        found = found.type
    return isinstance(found, msgspec.inspect.VarTupleType | msgspec.inspect.ListType)


def _invalid(words: str, kind: type[msgspec.Struct] | None = None) -> Problem:
    hint = ""
    if kind is not None and (unknown := _UNKNOWN.search(words)) is not None:
        close = meant(unknown[1], [field.encode_name for field in msgspec.structs.fields(kind)])
        hint = f" Did you mean `{close}`?" if close else ""
    return Problem(
        "request-invalid",
        f"{words.rstrip('.')}.{hint}",
        "See /openapi.json for the parameters of this path.",
    )


def _too_large(limit: int) -> Problem:
    return Problem(
        "request-too-large",
        f"The request exceeds {limit // 1024 // 1024} MB, or its URL {MAX_QUERY // 1024} kB.",
        "Send less per request.",
    )


_NOT_JSON = Problem(
    "request-not-json",
    "The request does not declare a JSON body.",
    "Send the header `Content-Type: application/json`, and no `Content-Encoding`.",
)
_CUT_OFF = Problem(
    "request-malformed", "The connection closed before the request was complete.", "Send it again."
)
