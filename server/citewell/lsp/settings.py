"""The settings in force for each workspace folder, and a word about the wrong ones."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from citewell.lsp.notifications import warn
from citewell.model import Problem
from citewell.options import Options
from citewell.options.load import Loaded, load

if TYPE_CHECKING:
    from citewell.lsp.server import Server

logger = logging.getLogger(__name__)

SECTION = "citewell"
MAX_SHOWN = 3
"""Messages that one change of settings may put before the author."""
PULL_SECONDS = 2.0


class Settings:
    """What the files, the environment, the editor and the flags say, per folder."""

    def __init__(
        self, overrides: Mapping[str, Any] | None = None, user_file: Path | None = None
    ) -> None:
        self._overrides = dict(overrides or {})
        self.user_file = user_file
        self._wire: dict[Path | None, Mapping[str, Any]] = {None: {}}
        self._loaded: dict[Path | None, Loaded] = {}
        self._said: set[str] = set()

    def take(self, wire: object) -> None:
        """The editor's settings for all folders: initialization options, or a pushed change."""
        self._wire = {None: section(wire)}
        self._loaded.clear()

    async def pull(self, server: Server, roots: Sequence[Path]) -> None:
        """Ask the editor for the settings of each folder; what it does not answer stays."""
        scopes: list[Path | None] = [*roots] or [None]
        items = [
            types.ConfigurationItem(
                section=SECTION, scope_uri=root.as_uri() if root is not None else None
            )
            for root in scopes
        ]
        request = server.workspace_configuration_async(types.ConfigurationParams(items=items))
        try:
            answers = await asyncio.wait_for(asyncio.shield(request), PULL_SECONDS)
        except TimeoutError:
            logger.warning("The editor did not answer for its settings")
            return
        except Exception as error:
            logger.warning("The editor refused to tell its settings: %s", error)
            return
        for root, answer in zip(scopes, answers or (), strict=False):
            if answer:
                self._wire[root] = section(answer)
        self._loaded.clear()

    def forget_files(self) -> None:
        """Read the settings files again at the next question."""
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
        """The problems of the loaded settings that were not told yet."""
        fresh: list[Problem] = []
        for loaded in self._loaded.values():
            for problem in loaded.problems:
                if str(problem) not in self._said:
                    self._said.add(str(problem))
                    fresh.append(problem)
        return fresh


def section(wire: object) -> Mapping[str, Any]:
    """Our part of an editor's settings, which may or may not be wrapped in our name."""
    if not isinstance(wire, Mapping):
        return {}
    inner = wire.get(SECTION, wire)
    return inner if isinstance(inner, Mapping) else {}


def show(server: Server, problems: Sequence[Problem]) -> None:
    """Put the first problems before the author and the others into the log."""
    for number, problem in enumerate(problems):
        logger.warning("%s", problem)
        if number < MAX_SHOWN:
            warn(server, problem)
