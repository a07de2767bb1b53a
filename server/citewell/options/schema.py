"""The settings tree as a flat list: for checks, the reference page and the editors' schemas."""

from __future__ import annotations

import re
import types
import typing
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal

import attrs

from citewell.options.tree import Options

ENVIRONMENT_PREFIX = "CITEWELL_"
SECRETS = frozenset({"CITEWELL_LLM_KEY", "CITEWELL_MCP_TOKEN", "CITEWELL_HTTP_TOKEN"})
"""Variables that are no settings, though they are named like some: no file may hold them."""


def camel(name: str) -> str:
    """ "rrf_k" -> "rrfK"; dots stay."""
    return re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), name)


@attrs.frozen(kw_only=True)
class Setting:
    """One leaf of the tree."""

    name: str
    """Dotted, snake case: "retrieval.rrf_k"."""
    type: Any
    """Its resolved annotation."""
    default: Any
    help: str
    at_least: float | None = None
    at_most: float | None = None
    pattern: str = ""
    """A regular expression that the whole text must match."""
    item_pattern: str = ""
    """Of a list: a regular expression that each of its texts must match."""
    item_words: str = ""
    """What such a text is, in words."""
    trusted_only: bool = False
    """Not taken from a workspace file."""
    stays_inside: bool = False
    """Names a file; taken from a workspace file only if that lies below the paper's folder."""
    closed_if_wrong: bool = False
    """A wrong value is the default, and not what another source of settings says: who wanted to
    name somebody else, or nobody, must not have text sent to the former one."""

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
    hints = typing.get_type_hints(tree)
    for item in attrs.fields(tree):
        kind = hints[item.name]
        if attrs.has(kind):
            text = (kind.__doc__ or "").strip().splitlines()
            found.append((item.name, text[0] if text else ""))
            found += [(f"{item.name}.{name}", doc) for name, doc in sections(kind)]
    return tuple(found)


def _walk(tree: type[Any], prefix: str) -> typing.Iterator[Setting]:
    hints = typing.get_type_hints(tree)
    for item in attrs.fields(tree):
        name = prefix + item.name
        kind = hints[item.name]
        if attrs.has(kind):
            yield from _walk(kind, name + ".")
            continue
        default = item.default
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            default = default.factory()
        meta = item.metadata
        yield Setting(
            name=name,
            type=kind,
            default=default,
            help=meta.get("help", ""),
            at_least=meta.get("at_least"),
            at_most=meta.get("at_most"),
            pattern=meta.get("pattern", ""),
            item_pattern=meta.get("item_pattern", ""),
            item_words=meta.get("item_words", ""),
            trusted_only=meta.get("trusted_only", False),
            stays_inside=meta.get("stays_inside", False),
            closed_if_wrong=meta.get("closed_if_wrong", False),
        )


def is_union(kind: Any) -> bool:
    """True for `A | B` and `Union[A, B]`."""
    return typing.get_origin(kind) in (types.UnionType, typing.Union)


def describe(kind: Any) -> str:
    """The type in words: "whole number", '"rrf" or "max"', "list of texts"."""
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "path"}
    if kind in names:
        return names[kind]
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if is_union(kind):
        return " or ".join(describe(arg) for arg in args if arg is not type(None))
    if origin is Literal:
        return " or ".join(f'"{arg}"' for arg in args)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " or ".join(f'"{member.value}"' for member in kind)
    if origin in (tuple, list):
        return f"list of {describe(args[0])}s"
    if origin is dict:
        inner = describe(args[1])
        return f"table of {inner}" + ("" if inner.startswith('"') else "s")
    raise TypeError(f"a setting of type {kind} has no description; add one")


def json_schema() -> dict[str, dict[str, Any]]:
    """JSON Schema of each setting by wire name below "citewell.", for the editors' manifests.

    Settings that must not travel with a workspace carry `scope: "machine"`.
    """
    found: dict[str, dict[str, Any]] = {}
    for setting in settings():
        entry = _type_schema(setting.type) | {
            "default": _plain(setting.default),
            "description": setting.help,
        }
        if setting.at_least is not None:
            entry["minimum"] = setting.at_least
        if setting.at_most is not None:
            entry["maximum"] = setting.at_most
        if setting.pattern:
            entry["pattern"] = f"^(?:{setting.pattern})$"
        if setting.item_pattern:
            entry["items"] = entry["items"] | {"pattern": f"^(?:{setting.item_pattern})$"}
        if setting.trusted_only:
            entry["scope"] = "machine"
        found[f"citewell.{setting.wire}"] = entry
    return found


def _type_schema(kind: Any) -> dict[str, Any]:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}
    if kind in names:
        return {"type": names[kind]}
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if is_union(kind):
        inner = [_type_schema(arg)["type"] for arg in args if arg is not type(None)]
        return {"type": [*inner, "null"] if type(None) in args else inner}
    if origin is Literal:
        return {"type": "string", "enum": list(args)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "enum": [member.value for member in kind]}
    if origin in (tuple, list):
        return {"type": "array", "items": _type_schema(args[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(args[1])}
    raise TypeError(f"a setting of type {kind} has no JSON schema; add one")


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
