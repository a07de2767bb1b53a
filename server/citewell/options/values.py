"""Conversion and validation of values: strict for typed layers, tolerant for texts.

A TOML or JSON value must have the setting's own type ("60" is not a number there). Environment
variables and flags are texts, and are converted to the setting's type.
"""

from __future__ import annotations

import json
import math
import re
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Literal

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields

from citewell.options.tree import Options

# The settings as a flat list: for validation, the reference page and the editors' schemas.

ENVIRONMENT_PREFIX = "CITEWELL_"
NO_SETTINGS = frozenset(
    {
        "CITEWELL_LLM_KEY",
        "CITEWELL_MCP_TOKEN",
        "CITEWELL_HTTP_TOKEN",
        "CITEWELL_QDRANT_KEY",
        "CITEWELL_HTTP_HOST",
        "CITEWELL_HTTP_PORT",
    }
)
"""Environment variables that look like settings, and that no file may contain: secrets, and the
address of `citewell serve`."""


def camel(name: str) -> str:
    """ "timeout_ms" -> "timeoutMs"; dots stay."""
    return re.sub(r"_([a-z0-9])", lambda match: match.group(1).upper(), name)


class Setting(Struct, frozen=True, kw_only=True):
    """One setting."""

    name: str
    """Dotted, snake case: "retrieval.timeout_ms"."""
    type: Any
    """Its annotation with msgspec constraints, for `msgspec.convert`."""
    default: Any
    help: str
    trusted_only: bool = False
    stays_inside: bool = False
    closed_if_wrong: bool = False

    @property
    def wire(self) -> str:
        """The name in editor settings: "retrieval.timeoutMs"."""
        return camel(self.name)

    @property
    def environment(self) -> str:
        """The environment variable: "CITEWELL_RETRIEVAL_TIMEOUT_MS"."""
        return ENVIRONMENT_PREFIX + self.name.replace(".", "_").upper()

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


@cache
def settings(tree: type[Any] = Options) -> tuple[Setting, ...]:
    """Every setting, in the order of declaration."""
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
    """The allowed names of a table, in order; () if any is allowed."""
    kind = bare(kind)
    return choices(typing.get_args(kind)[0]) if typing.get_origin(kind) is dict else ()


def choices(kind: Any) -> tuple[Any, ...]:
    """The values of a `Literal` or an enumeration, in order; () for any other type."""
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
    """A description of the type: "whole number", '"rrf" or "max"', "list of texts"."""
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


def pattern(kind: Any) -> str:
    """The regular expression that the whole text must match; empty if any text is valid."""
    return (constraints(kind).pattern or "").removeprefix("^(?:").removesuffix(r")\Z")


TRUE_WORDS = frozenset({"true", "1", "yes", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "off"})


NO_HOME = "; no such home folder"


class WrongValueError(ValueError):
    """The value is invalid; the message describes the expected one."""


def fit(setting: Setting, value: Any, *, base: Path | None = None, textual: bool = False) -> Any:
    """The value converted to the setting's type. Relative paths start at `base`. Raises
    `WrongValueError` with a phrase such as "a whole number of at least 1"."""
    try:
        if textual:
            value = _read(setting.type, value)
        return _converted(value, setting.type, base, textual)
    except (msgspec.ValidationError, ValueError) as error:
        raise WrongValueError(_expected(setting) + _detail(setting.type, value, error)) from None


def _converted(value: Any, kind: Any, base: Path | None = None, textual: bool = False) -> Any:
    def path(custom: type, value: Any) -> Path:
        if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
            raise ValueError
        try:
            found = Path(value).expanduser()
        except RuntimeError:
            raise ValueError(NO_HOME) from None
        return base / found if base is not None else found

    found = msgspec.convert(value, kind, strict=not textual, dec_hook=path)
    if isinstance(found, float) and not math.isfinite(found):
        raise ValueError
    return found


def leads_out(value: Any) -> bool:
    """True for a name that may lead outside the folder of its look-up, on any system."""
    if not isinstance(value, str):
        return False
    windows, posix = PureWindowsPath(value), PurePosixPath(value)
    rooted = windows.drive or windows.root or posix.is_absolute() or value.startswith("~")
    return bool(rooted) or ".." in (*windows.parts, *posix.parts) or "\0" in value


def _expected(setting: Setting) -> str:
    kind, meta = describe(setting.type), constraints(setting.type)
    words = [kind if kind.startswith(("true", '"')) else f"a {kind}"]
    if meta.ge is not None:
        words.append(f"of at least {meta.ge:g}")
    if meta.le is not None:
        words.append(f"{'and' if len(words) > 1 else 'of'} at most {meta.le:g}")
    if meta.pattern:
        words.append(f"that matches {pattern(setting.type)}")
    if description := constraints(item(setting.type)).description:
        words.append(f"of which each is {description}")
    return " ".join(words)


def _detail(kind: Any, value: Any, error: Exception) -> str:
    """The detail of the error, beginning with a comma; empty if it does not help."""
    if NO_HOME in str(error):
        return NO_HOME
    known = names(kind)
    for one in value if known and isinstance(value, Mapping) else ():
        if one not in known:
            close = nearest(str(one), known)
            return f', and has no "{one}"' + (f'; perhaps "{close}"' if close else "")
    if (inner := item(kind)) is not None:
        items = value.values() if isinstance(value, Mapping) else value
        for one in items if isinstance(items, (list, tuple, type({}.values()))) else ():
            try:
                _converted(one, inner)
            except (msgspec.ValidationError, ValueError) as reason:
                has_description = constraints(inner).description and isinstance(one, str)
                return f', and "{one}" is not' if has_description else _detail(inner, one, reason)
    close = nearest(str(value), [str(choice) for choice in choices(kind)]) if value else ""
    return f'; perhaps "{close}"' if close else ""


def _read(kind: Any, text: Any) -> Any:
    """The value of a text, for forms that `msgspec.convert` does not accept."""
    kind = bare(kind)
    if not isinstance(text, str) or kind is str:
        return text
    if is_union(kind):
        if text == "":
            return None
        kind = next(member for member in typing.get_args(kind) if member is not type(None))
    if kind is bool and text.strip().lower() in TRUE_WORDS | FALSE_WORDS:
        return text.strip().lower() in TRUE_WORDS
    if typing.get_origin(kind) is dict:
        return _pairs(text)
    if item(kind) is not None:
        return _split(text)
    return text.strip() if kind in (int, float) else text


def _split(value: str) -> Any:
    if value.lstrip().startswith("["):
        return json.loads(value)
    return [item.strip() for item in value.split(",") if item.strip()]


def _pairs(value: str) -> Any:
    """The table in a text such as "a=1,b=2", or in JSON."""
    if value.lstrip().startswith("{"):
        return json.loads(value)
    parts = [item.partition("=") for item in value.split(",") if item.strip()]
    if not all(separator for _, separator, _ in parts):
        raise ValueError
    return {name.strip(): item.strip() for name, _, item in parts}


def nearest(word: str, words: typing.Sequence[str]) -> str:
    """The most similar word, or ""."""
    import difflib  # needed for errors alone

    lower = {known.lower(): known for known in words}
    close = difflib.get_close_matches(word.lower()[:80], list(lower), n=1, cutoff=0.5)
    return lower[close[0]] if close else ""
