"""Writes an answer of the user into their settings file; every other byte stays."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from citewell.model.problem import CitewellError, Problem
from citewell.model.system.files import locked, write_atomically
from citewell.options.merge import CONFIG_VARIABLE, MAX_FILE_BYTES, default_user_file

Value = bool | str | Sequence[str]


def user_file_in_use(
    user_file: Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """The user file that `load` reads."""
    environ = os.environ if environ is None else environ
    named = environ.get(CONFIG_VARIABLE)
    return user_file or (Path(named) if named else default_user_file())


def as_toml(section: str, values: Mapping[str, Value]) -> str:
    """The TOML lines for these values, for users who edit the file themselves."""

    def shown(value: Value) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return f'"{value}"'
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"

    return "\n".join([f"[{section}]", *(f"{n} = {shown(v)}" for n, v in values.items())])


def remember(path: Path, section: str, values: Mapping[str, Value]) -> None:
    """Set values of one section in a settings file, which is created if it is missing.

    Comments, order and line ends stay. Raises `CitewellError` (settings-not-written with the lines
    to add by hand, or file-busy) if it fails; the file is then unchanged.
    """
    by_hand = f"Add to {path}: {' '.join(as_toml(section, values).splitlines())}"
    if find_spec("tomlkit") is None:
        raise _not_written("the package tomlkit is not installed", by_hand)
    try:
        path.resolve().parent.mkdir(parents=True, exist_ok=True)
        with locked([path]):
            old = path.read_bytes() if path.exists() else b""
            if len(old) > MAX_FILE_BYTES:
                raise _not_written("the file is too large", by_hand)
            new = _changed(old, section, values)
            if new != old:
                write_atomically(path, new)
    except (OSError, UnicodeDecodeError) as error:
        raise _not_written(str(error) or type(error).__name__, by_hand) from error


def _not_written(reason: str, by_hand: str) -> CitewellError:
    message = f"The settings file was not changed: {reason}."
    return CitewellError(Problem("settings-not-written", message, by_hand + "."))


def _changed(old: bytes, section: str, values: Mapping[str, Value]) -> bytes:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    mark = b"\xef\xbb\xbf" if old.startswith(b"\xef\xbb\xbf") else b""
    text = old[len(mark) :].decode("utf-8")
    windows = "\r\n" in text and "\n" not in text.replace("\r\n", "")
    try:
        document = tomlkit.parse(text)
        table = document.setdefault(section, tomlkit.table())
        for name, value in values.items():
            table[name] = value if isinstance(value, bool | str) else list(value)
        made = tomlkit.dumps(document)
        tomllib.loads(made)
    except (TOMLKitError, tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
        raise OSError(f"it is not valid TOML ({error})") from error
    if windows:
        made = made.replace("\r\n", "\n").replace("\n", "\r\n")
    return mark + made.encode("utf-8")
