"""The settings tree as a flat list: for checks, the reference page and the editors' schemas."""

from __future__ import annotations

import re
import types
import typing
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields

from citewell.options.tree import Options

ENVIRONMENT_PREFIX = "CITEWELL_"
SECRETS = frozenset(
    {"CITEWELL_LLM_KEY", "CITEWELL_MCP_TOKEN", "CITEWELL_HTTP_TOKEN", "CITEWELL_QDRANT_KEY"}
)
"""Variables that are no settings, though they are named like some: no file may hold them."""


def camel(name: str) -> str:
    """ "rrf_k" -> "rrfK"; dots stay."""
    return re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), name)


class Setting(Struct, frozen=True, kw_only=True):
    """One leaf of the tree."""

    name: str
    """Dotted, snake case: "retrieval.rrf_k"."""
    type: Any
    """Its annotation with the constraints of msgspec, as `msgspec.convert` takes it."""
    default: Any
    help: str
    trusted_only: bool = False
    stays_inside: bool = False
    closed_if_wrong: bool = False

    @property
    def wire(self) -> str:
        """The name in editor settings: "retrieval.rrfK"."""
        return camel(self.name)

    @property
    def environment(self) -> str:
        """The environment variable: "CITEWELL_RETRIEVAL_RRF_K"."""
        return ENVIRONMENT_PREFIX + self.name.replace(".", "_").upper()

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


@cache
def settings(tree: type[Any] = Options) -> tuple[Setting, ...]:
    """Every leaf of the tree, in the order in which it is written."""
    return tuple(_walk(tree, ""))


@cache
def sections(tree: type[Any] = Options) -> tuple[tuple[str, str], ...]:
    """(dotted name, first sentence of its docstring) of every inner node, parents first."""
    found: list[tuple[str, str]] = []
    for field in fields(tree):
        if is_section(field.type):
            text = (field.type.__doc__ or "").strip().splitlines()
            found.append((field.name, text[0] if text else ""))
            found += [(f"{field.name}.{name}", doc) for name, doc in sections(field.type)]
    return tuple(found)


def _walk(tree: type[Any], prefix: str) -> typing.Iterator[Setting]:
    for field in fields(tree):
        name = prefix + field.name
        if is_section(field.type):
            yield from _walk(field.type, name + ".")
            continue
        default = field.default if field.default is not NODEFAULT else field.default_factory()
        meta = constraints(field.type)
        yield Setting(
            name=name,
            type=field.type,
            default=default,
            help=meta.description or "",
            **(meta.extra or {}),
        )


def is_section(kind: Any) -> bool:
    """True for the type of an inner node."""
    return isinstance(kind, type) and issubclass(kind, Struct)


def constraints(kind: Any) -> Meta:
    """The constraints of an annotation; for a list, see also `constraints(item(kind))`."""
    meta = next(iter(getattr(kind, "__metadata__", ())), None)
    return meta if isinstance(meta, Meta) else Meta()


def bare(kind: Any) -> Any:
    """The type without its constraints."""
    return typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind


def item(kind: Any) -> Any:
    """The type of a list's items or of a table's values, with their constraints; else None."""
    origin, args = typing.get_origin(bare(kind)), typing.get_args(bare(kind))
    return args[0] if origin in (tuple, list) else args[1] if origin is dict else None


def names(kind: Any) -> tuple[str, ...]:
    """The names that a table may have in their order; () where it may have any."""
    kind = bare(kind)
    return choices(typing.get_args(kind)[0]) if typing.get_origin(kind) is dict else ()


def choices(kind: Any) -> tuple[Any, ...]:
    """The values of a `Literal` or an enumeration in their order; () of any other type."""
    kind = bare(kind)
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(member.value for member in kind)
    return ()


def is_union(kind: Any) -> bool:
    """True for `A | B` and `Union[A, B]`."""
    return typing.get_origin(kind) in (types.UnionType, typing.Union)


def describe(kind: Any) -> str:
    """The type in words: "whole number", '"rrf" or "max"', "list of texts"."""
    kind = bare(kind)
    words = {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "path"}
    if kind in words:
        return words[kind]
    if is_union(kind):
        return " or ".join(describe(arg) for arg in typing.get_args(kind) if arg is not type(None))
    if choices(kind):
        return " or ".join(f'"{value}"' for value in choices(kind))
    if (inner := item(kind)) is None:
        raise TypeError(f"a setting of type {kind} has no description; add one")
    plural = "" if choices(inner) or bare(inner) is bool else "s"
    sort = "table" if typing.get_origin(kind) is dict else "list"
    return f"{sort} of {describe(inner)}{plural}"


def json_schema() -> dict[str, dict[str, Any]]:
    """JSON Schema of each setting by wire name below "citewell.", for the editors' manifests.

    Settings that must not travel with a workspace carry `scope: "machine"`.
    """
    found: dict[str, dict[str, Any]] = {}
    for setting in settings():
        entry = _type_schema(setting.type)
        limits: dict[str, Any] = {
            key: entry.pop(key) for key in ("minimum", "maximum", "pattern") if key in entry
        }
        entry |= {
            "default": msgspec.json.decode(msgspec.json.encode(setting.default, enc_hook=str)),
            "description": setting.help,
            **limits,
        }
        if setting.trusted_only:
            entry["scope"] = "machine"
        found[f"citewell.{setting.wire}"] = entry
    return found


def _type_schema(kind: Any) -> dict[str, Any]:
    """The schema of a type in the form that editors show best: one `type`, choices in order."""
    if choices(kind):
        return {"type": "string", "enum": list(choices(kind))}
    if (inner := item(kind)) is not None:
        schema = _type_schema(inner)
        if typing.get_origin(bare(kind)) is dict:
            known = {name: schema for name in names(kind)}
            more = {"properties": known} if known else {}
            return {"type": "object", **more, "additionalProperties": False if known else schema}
        return {"type": "array", "items": schema}
    if is_union(bare(kind)):
        members = typing.get_args(bare(kind))
        return {"type": [_type_schema(member)["type"] for member in members]}
    schema = msgspec.json.schema(kind, schema_hook=lambda custom: {"type": "string"})
    schema.pop("description", None)
    if "pattern" in schema:
        schema["pattern"] = f"^(?:{pattern(kind)})$"
    return schema


def pattern(kind: Any) -> str:
    """The regular expression that a whole text must match; empty when any text will do."""
    return (constraints(kind).pattern or "").removeprefix("^(?:").removesuffix(r")\Z")
