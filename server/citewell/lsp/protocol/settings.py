"""The settings in force for each workspace folder, and the problems of invalid ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types

from citewell.model import Problem
from citewell.options import Options
from citewell.options.load import Loaded, load

SECTION = "citewell"


class Settings:
    """The settings from files, environment, editor and flags, per folder."""

    def __init__(
        self, overrides: Mapping[str, Any] | None = None, user_file: Path | None = None
    ) -> None:
        self._overrides = dict(overrides or {})
        self.user_file = user_file
        self._wire: dict[Path | None, Mapping[str, Any]] = {None: {}}
        self._loaded: dict[Path | None, Loaded] = {}
        self._reported: set[str] = set()

    def take(self, wire: object) -> None:
        """The editor's settings for all folders: initialization options, or a pushed change."""
        self._wire = {None: section(wire)}
        self._loaded.clear()

    @staticmethod
    def questions(scopes: Sequence[Path | None]) -> list[types.ConfigurationItem]:
        """What to ask the editor: its settings for each folder."""
        return [
            types.ConfigurationItem(
                section=SECTION, scope_uri=root.as_uri() if root is not None else None
            )
            for root in scopes
        ]

    def answered(self, scopes: Sequence[Path | None], answers: Sequence[object]) -> None:
        """Take the editor's answers for these folders; what it does not answer stays."""
        for root, answer in zip(scopes, answers, strict=False):
            if answer:
                self._wire[root] = section(answer)
        self._loaded.clear()

    def forget_files(self) -> None:
        """Read the settings files again when settings are next needed."""
        self._loaded.clear()

    def of(self, root: Path | None, document: Path | None = None) -> Options:
        """The settings for the documents of a folder (or for a document in none)."""
        key = root if root is not None else (document.parent if document is not None else None)
        if key not in self._loaded:
            wire = self._wire.get(root, self._wire[None])
            self._loaded[key] = load(
                root,
                wire=wire,
                overrides=self._overrides or None,
                document=document if root is None else None,
                user_file=self.user_file,
            )
        return self._loaded[key].options

    def news(self) -> list[Problem]:
        """The problems of the loaded settings that were not returned before."""
        fresh: list[Problem] = []
        for loaded in self._loaded.values():
            for problem in loaded.problems:
                if str(problem) not in self._reported:
                    self._reported.add(str(problem))
                    fresh.append(problem)
        return fresh


def section(wire: object) -> Mapping[str, Any]:
    """Our part of an editor's settings, which may or may not be wrapped in our name."""
    if not isinstance(wire, Mapping):
        return {}
    inner = wire.get(SECTION, wire)
    return inner if isinstance(inner, Mapping) else {}
