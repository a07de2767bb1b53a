"""Fills the settings tree from its sources, each above the one before it.

Defaults < user file < workspace `citewell.toml` < environment < editor < flags. Every leaf is
merged on its own: a wrong value is reported and the layer below it stands, so that one slip in a
file never stops an author from working.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from citewell.model import Problem
from citewell.options.files import (
    CONFIG_VARIABLE,
    WORKSPACE_FILE,
    default_user_file,
    find_workspace_file,
)
from citewell.options.folders import working_folder
from citewell.options.merge import Loaded, Merge, Origin


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

    `wire` is the editor's camelCase object (what stands below "citewell"); `overrides` maps dotted
    snake-case names to values, of which texts are read as the setting's type. The workspace file is
    the nearest `citewell.toml` from `document` upward to `workspace`. `environ` defaults to the
    process's own; `user_file` to the one in the user's configuration folder.
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
    """The settings that name a library: by its name, or by its folder."""
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
    """The defaults under the editor's settings alone, for tests and for a first answer."""
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
