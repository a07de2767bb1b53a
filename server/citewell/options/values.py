"""Whether a value fits a setting: strict for typed sources, tolerant for words typed by people.

A TOML or JSON value must have the setting's own type ("60" is no number there). Environment
variables and flags are texts, so they are read as the setting's type.
"""

from __future__ import annotations

import json
import math
import re
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from citewell.options.schema import Setting, describe, is_union

TRUE_WORDS = frozenset({"true", "1", "yes", "on"})
FALSE_WORDS = frozenset({"false", "0", "no", "off"})


class WrongValueError(ValueError):
    """The value does not fit; the text says what is expected."""


def fit(setting: Setting, value: Any, *, base: Path | None = None, textual: bool = False) -> Any:
    """The value as the tree holds it. Relative paths are taken from `base`.

    Raises `WrongValueError` with a phrase such as "a whole number of at least 1".
    """
    try:
        found = _fit(setting.type, value, base, textual)
    except WrongValueError as error:
        raise WrongValueError(_expected(setting, str(error))) from None
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        too_small = setting.at_least is not None and found < setting.at_least
        too_large = setting.at_most is not None and found > setting.at_most
        if too_small or too_large:
            raise WrongValueError(_expected(setting, ""))
    if setting.pattern and isinstance(found, str) and not re.fullmatch(setting.pattern, found):
        raise WrongValueError(_expected(setting, ""))
    if setting.item_pattern and isinstance(found, tuple):
        for item in found:
            if not re.fullmatch(setting.item_pattern, item):
                raise WrongValueError(_expected(setting, f', and "{item}" is not'))
    return found


def leads_out(value: Any) -> bool:
    """True for a name that may lead out of the folder in which it is looked up, on any system."""
    if not isinstance(value, str):
        return False
    windows, posix = PureWindowsPath(value), PurePosixPath(value)
    rooted = windows.drive or windows.root or posix.is_absolute() or value.startswith("~")
    return bool(rooted) or ".." in (*windows.parts, *posix.parts) or "\0" in value


def _expected(setting: Setting, detail: str) -> str:
    kind = describe(setting.type)
    words = [kind if kind.startswith(("true", '"')) else f"a {kind}"]
    if setting.at_least is not None:
        words.append(f"of at least {setting.at_least:g}")
    if setting.at_most is not None:
        words.append(f"{'and' if len(words) > 1 else 'of'} at most {setting.at_most:g}")
    if setting.pattern:
        words.append(f"that matches {setting.pattern}")
    if setting.item_words:
        words.append(f"of which each is {setting.item_words}")
    return " ".join(words) + detail


def _fit(  # noqa: PLR0911 - one return per kind of type
    kind: Any, value: Any, base: Path | None, textual: bool
) -> Any:
    if is_union(kind):
        return _fit_union(kind, value, base, textual)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return _fit_choice(list(args), value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(_fit_choice([member.value for member in kind], value))
    if origin in (tuple, list):
        items = _split(value) if textual else value
        if not isinstance(items, (list, tuple)):
            raise WrongValueError
        return tuple(_fit(args[0], item, base, textual) for item in items)
    if origin is dict:
        value = _pairs(value) if textual else value
        if not isinstance(value, Mapping):
            raise WrongValueError
        return {str(key): _fit(args[1], item, base, textual) for key, item in value.items()}
    if kind is Path:
        return _fit_path(value, base)
    return _fit_scalar(kind, value, textual)


def _fit_union(kind: Any, value: Any, base: Path | None, textual: bool) -> Any:
    members = typing.get_args(kind)
    if type(None) in members and (value is None or (textual and value == "")):
        return None
    for member in members:
        if member is not type(None):
            try:
                return _fit(member, value, base, textual)
            except WrongValueError:
                continue
    raise WrongValueError


def _fit_choice(choices: list[Any], value: Any) -> Any:
    if isinstance(value, (str, int)) and value in choices:
        return value
    close = nearest(str(value), [str(choice) for choice in choices]) if value else ""
    raise WrongValueError(f'; perhaps "{close}"' if close else "")


def _fit_path(value: Any, base: Path | None) -> Path:
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise WrongValueError
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        raise WrongValueError("; there is no such home folder") from None
    return base / path if base is not None else path


def _fit_scalar(kind: Any, value: Any, textual: bool) -> Any:
    if textual and isinstance(value, str) and kind is not str:
        value = _read(kind, value.strip())
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
        raise WrongValueError
    if kind is str and isinstance(value, str):
        return value
    raise WrongValueError


def _read(kind: Any, text: str) -> Any:
    if kind is bool:
        if text.lower() in TRUE_WORDS | FALSE_WORDS:
            return text.lower() in TRUE_WORDS
        raise WrongValueError
    try:
        return kind(text)
    except ValueError:
        raise WrongValueError from None


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            raise WrongValueError from None
    return [item.strip() for item in value.split(",") if item.strip()]


def _pairs(value: Any) -> Any:
    """The table that a text such as "a=1,b=2", or JSON, stands for."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            raise WrongValueError from None
    parts = [item.partition("=") for item in value.split(",") if item.strip()]
    if not all(separator for _, separator, _ in parts):
        raise WrongValueError
    return {name.strip(): item.strip() for name, _, item in parts}


def nearest(word: str, words: typing.Sequence[str]) -> str:
    """The word most like it, or the empty string when none is alike."""
    import difflib  # only when something is wrong

    lower = {known.lower(): known for known in words}
    close = difflib.get_close_matches(word.lower()[:80], list(lower), n=1, cutoff=0.5)
    return lower[close[0]] if close else ""
