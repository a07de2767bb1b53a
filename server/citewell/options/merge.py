"""Merges the layers of settings value by value, and writes answers of the user into their file.
A wrong value does not affect others.

A wrong value of a setting that names a recipient means no recipient.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import fields

from citewell.model.problem import CitewellError, Problem
from citewell.model.system.files import locked, write_atomically
from citewell.options.folders import config_folder, working_folder
from citewell.options.tree import Options
from citewell.options.values import (
    ENVIRONMENT_PREFIX,
    NO_SETTINGS,
    Setting,
    WrongValueError,
    camel,
    fit,
    is_section,
    leads_out,
    nearest,
    sections,
    settings,
)

# Settings files: their places, and their content with the line of each name.

WORKSPACE_FILE = "citewell.toml"
CONFIG_VARIABLE = "CITEWELL_CONFIG"
"""Names another user file; not a setting itself."""
MAX_FILE_BYTES = 1_000_000


class SettingsFile(Struct, frozen=True):
    """A parsed settings file: its tables, and the 1-based line of each dotted name."""

    content: Mapping[str, Any]
    lines: Mapping[str, int]


def default_user_file() -> Path:
    """`citewell/config.toml` in the user's configuration folder."""
    return config_folder() / "config.toml"


def find_workspace_file(start: Path | None, root: Path | None) -> Path | None:
    """The nearest `citewell.toml` from `start` up to and including `root`.

    Without a root the search ends at the first folder that holds `.git`, else at the home folder
    or the top of the file system.
    """
    if start is None:
        return None
    try:
        folder = start.absolute()
        last = root.absolute() if root is not None else None
        home = Path.home()
    except (OSError, RuntimeError):
        return None
    if not folder.is_dir():
        folder = folder.parent
    for candidate in (folder, *folder.parents):
        if (candidate / WORKSPACE_FILE).is_file():
            return candidate / WORKSPACE_FILE
        if candidate == last:
            return None
        if last is None and (candidate == home or (candidate / ".git").exists()):
            return None
    return None


def read_settings(path: Path, *, required: bool) -> SettingsFile | Problem | None:
    """Read a settings file; None if an optional one is missing."""
    text = _text_of(path, required)
    if text is None or isinstance(text, Problem):
        return text
    import tomllib  # most users have no settings file

    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        return Problem(
            code="settings-syntax",
            message=f"The settings file is not valid TOML: {error}.",
            hint="Correct that line; until then the whole file is ignored.",
            path=str(path),
            line=int(line.group(1)) if line else None,
        )
    return SettingsFile(content, _lines(text))


def _text_of(path: Path, required: bool) -> str | Problem | None:
    reason = ""
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_FILE_BYTES + 1)
        if len(data) <= MAX_FILE_BYTES:
            return data.decode("utf-8-sig")
        reason = f"it is larger than {MAX_FILE_BYTES} bytes"
    except FileNotFoundError:
        if not required:
            return None
        reason = "the file does not exist"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
    return Problem(
        code="settings-unreadable",
        message=f"The settings file cannot be read: {reason}.",
        hint="Correct or remove it; until then the defaults apply.",
        path=str(path),
    )


def _lines(text: str) -> dict[str, int]:
    """1-based line of each dotted name, as far as a line scan finds it."""
    found: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        if header:
            table = _bare(header.group(1)) + "."
            continue
        assignment = re.match(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*'|\s*\.\s*)+?)\s*=", line)
        if assignment:
            found.setdefault(table + _bare(assignment.group(1)), number)
    return found


def _bare(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))


Layer = Literal["default", "user file", "workspace file", "environment", "editor", "flag"]

MAX_PROBLEMS_PER_SOURCE = 20
MAX_DEPTH = 8


class Origin(Struct, frozen=True):
    """The origin of a setting's value."""

    layer: Layer
    place: str = ""
    """The file, the variable or the flag; empty for a default."""
    line: int | None = None

    def __str__(self) -> str:
        place = f" {self.place}" if self.place else ""
        return f"{self.layer}{place}{f':{self.line}' if self.line else ''}"


class Loaded(Struct, frozen=True):
    """The effective settings, the problems in their layers, and the origin of each value."""

    options: Options
    problems: tuple[Problem, ...]
    origins: Mapping[str, Origin]
    """Origin by dotted name, for every setting."""
    files: tuple[Path, ...]
    """The settings files that were read."""


class Merge:
    """The layers merged so far: values and origins by dotted name, and problems."""

    def __init__(self) -> None:
        self.known = {setting.name: setting for setting in settings()}
        self.sections = {name for name, _ in sections()}
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.problems: list[Problem] = []
        self.files: list[Path] = []

    def file(self, layer: Layer, path: Path, *, required: bool = False) -> None:
        """Merge a settings file; without `required` a missing one is no problem."""
        found = read_settings(path, required=required)
        if isinstance(found, Problem):
            self.problems.append(found)
            if found.code == "settings-syntax":
                self.files.append(path)
        elif found is not None:
            self.files.append(path)
            self.mapping(
                layer, found.content, str(path), base=path.parent, lines=found.lines, path=str(path)
            )

    def environment(self, environ: Mapping[str, str]) -> None:
        by_variable = self._by(lambda setting: setting.environment)
        prefixes = tuple(
            f"{ENVIRONMENT_PREFIX}{name.replace('.', '_').upper()}_" for name in self.sections
        )
        for variable in sorted(environ):
            setting = by_variable.get(variable)
            if setting is not None:
                origin = Origin("environment", variable)
                self._put(
                    setting, environ[variable], origin, variable, working_folder(), textual=True
                )
            elif variable.startswith(prefixes) and variable not in NO_SETTINGS:
                self._unknown(variable, list(by_variable), "the environment", "", None)

    def mapping(
        self,
        layer: Layer,
        content: Mapping[str, Any],
        source: str,
        *,
        base: Path | None = None,
        wire: bool = False,
        textual: bool = False,
        lines: Mapping[str, int] | None = None,
        path: str = "",
    ) -> None:
        names = self._by(lambda setting: setting.wire if wire else setting.name)
        groups = {camel(name) for name in self.sections} if wire else self.sections
        before = len(self.problems)
        skipped = 0
        for name, value in _flatten(content, groups, set(names)):
            if len(self.problems) - before >= MAX_PROBLEMS_PER_SOURCE:
                skipped += 1
                continue
            line = (lines or {}).get(name)
            setting = names.get(name)
            if name in groups:
                self._section(name, path, line)
            elif setting is None:
                self._unknown(name, list(names), source, path, line)
            elif value is None and wire:
                continue  # an editor sends null for an unset setting
            elif setting.trusted_only and layer == "workspace file":
                self._untrusted(setting, path, line)
            elif setting.stays_inside and layer == "workspace file" and leads_out(value):
                self._outside(setting, value, path, line)
            else:
                origin = Origin(layer, path, line)
                self._put(setting, value, origin, name, base, textual=textual)
        if skipped:
            self.problems.append(
                Problem(
                    code="settings-unknown",
                    message=f"{skipped} more settings were not checked.",
                    hint="Correct the ones above first.",
                    path=path,
                )
            )

    def _by(self, spelling: Callable[[Setting], str]) -> dict[str, Setting]:
        """Every setting by its name in one spelling."""
        return {spelling(setting): setting for setting in self.known.values()}

    def _put(
        self,
        setting: Setting,
        value: Any,
        origin: Origin,
        shown: str,
        base: Path | None,
        *,
        textual: bool,
    ) -> None:
        try:
            self.values[setting.name] = fit(setting, value, base=base, textual=textual)
            self.origins[setting.name] = origin
        except WrongValueError as error:
            if setting.closed_if_wrong:
                self.values.pop(setting.name, None)
                self.origins.pop(setting.name, None)
            below = self.values.get(setting.name, setting.default)
            from_file = origin.layer in ("user file", "workspace file")
            self.problems.append(
                Problem(
                    code="settings-wrong-value",
                    message=f"`{shown}` is {_show(value)}, but must be {error}.",
                    hint=f"Until then, {_show(below)} applies "
                    f"({self.origins.get(setting.name, Origin('default'))}).",
                    path=origin.place if from_file else "",
                    line=origin.line,
                )
            )

    def _unknown(
        self, name: str, known: list[str], source: str, path: str, line: int | None
    ) -> None:
        close = nearest(name, known)
        where = "" if path else f" in {source}"
        self.problems.append(
            Problem(
                code="settings-unknown",
                message=f"Unknown setting `{name[:120]}`{where}.",
                hint=f"Did you mean `{close}`?" if close else "See docs/settings.md.",
                path=path,
                line=line,
            )
        )

    def _section(self, name: str, path: str, line: int | None) -> None:
        self.problems.append(
            Problem(
                code="settings-wrong-value",
                message=f"`{name}` is a section, not a setting.",
                hint="See docs/settings.md for its settings.",
                path=path,
                line=line,
            )
        )

    def _untrusted(self, setting: Setting, path: str, line: int | None) -> None:
        self.problems.append(
            Problem(
                code="settings-untrusted",
                message=f"`{setting.name}` is not taken from a workspace file.",
                hint=f"Set it in {default_user_file()} or as {setting.environment}.",
                path=path,
                line=line,
            )
        )

    def _outside(self, setting: Setting, value: Any, path: str, line: int | None) -> None:
        self.problems.append(
            Problem(
                code="settings-outside",
                message=f"`{setting.name}` is {_show(value)}, but a workspace file may only "
                "name paths inside the paper's folder.",
                hint=f"Set it in {default_user_file()} or as {setting.environment}.",
                path=path,
                line=line,
            )
        )

    def finish(self) -> Loaded:
        """The result of all layers."""
        origins = {name: self.origins.get(name, Origin("default")) for name in self.known}
        return Loaded(
            options=_build(Options, "", self.values),
            problems=tuple(self.problems),
            origins=origins,
            files=tuple(self.files),
        )


def _build(tree: type[Any], prefix: str, values: Mapping[str, Any]) -> Any:
    given: dict[str, Any] = {}
    for field in fields(tree):
        name = prefix + field.name
        if is_section(field.type):
            given[field.name] = _build(field.type, name + ".", values)
        elif name in values:
            given[field.name] = values[name]
    return tree(**given)


def _flatten(
    content: Mapping[str, Any], groups: set[str], leaves: set[str], prefix: str = "", depth: int = 0
) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        name = f"{prefix}{key}"
        nested = isinstance(value, Mapping) and name not in leaves and depth < MAX_DEPTH
        if nested and (value or name in groups):
            yield from _flatten(value, groups, leaves, name + ".", depth + 1)
        else:
            yield name, value


def _show(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f'"{value}"' if isinstance(value, (str, Path)) else str(value)
    return text if len(text) <= 80 else text[:77] + "..."


# Merges all layers of settings.
#
# Defaults < user file < workspace `citewell.toml` < environment < editor < flags. Every setting is
# merged on its own: a wrong value is reported and the layer below applies, so that one mistake in a
# file never blocks an author.


def load(
    workspace: Path | None = None,
    environ: Mapping[str, str] | None = None,
    wire: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    document: Path | None = None,
    user_file: Path | None = None,
) -> Loaded:
    """The settings for one workspace; never raises.

    `wire` is the editor's camelCase object below "citewell"; `overrides` maps dotted snake-case
    names to values, with texts converted to the setting's type. The workspace file is the nearest
    `citewell.toml` from `document` upward to `workspace`. `environ` defaults to the process's own;
    `user_file` to the one in the user's configuration folder.
    """
    environ = os.environ if environ is None else environ
    merge = Merge()
    named = user_file or (Path(environ[CONFIG_VARIABLE]) if environ.get(CONFIG_VARIABLE) else None)
    merge.file("user file", named or default_user_file(), required=named is not None)
    found = find_workspace_file(document or workspace, workspace)
    if found is not None:
        merge.file("workspace file", found)
    merge.environment(environ)
    if wire:
        merge.mapping("editor", wire, "editor settings", base=workspace, wire=True)
    if overrides:
        merge.mapping("flag", overrides, "flags", base=working_folder(), textual=True)
    return merge.finish()


def library_settings(name: str) -> dict[str, str]:
    """The settings that select a library, by its name or by its folder."""
    if not name:
        return {}
    path = Path(name).expanduser()
    if path.name == name:  # "./name" is a folder, "name" is not
        return {"library.name": name}
    path = path.absolute()
    return {"library.path": str(path.parent), "library.name": path.name}


def wrong_flags(overrides: Mapping[str, Any]) -> tuple[Problem, ...]:
    """The problems of `overrides`, independent of the layers below."""
    merge = Merge()
    merge.mapping("flag", overrides, "flags", base=working_folder(), textual=True)
    return tuple(merge.problems)


def from_wire(wire: Mapping[str, Any], workspace: Path | None = None) -> Loaded:
    """The defaults with the editor's settings only, for tests and for a first answer."""
    merge = Merge()
    merge.mapping("editor", wire, "editor settings", base=workspace, wire=True)
    return merge.finish()


__all__ = [
    "CONFIG_VARIABLE",
    "WORKSPACE_FILE",
    "Loaded",
    "Origin",
    "default_user_file",
    "find_workspace_file",
    "from_wire",
    "library_settings",
    "load",
    "wrong_flags",
]


# Writes an answer of the user into their settings file; every other byte stays.

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
    import tomllib

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
