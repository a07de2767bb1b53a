"""What the author is told in a window of the editor."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from citewell.lsp.server import Server
    from citewell.model import Problem

logger = logging.getLogger(__name__)


PROBLEM = "citewell/problem"


def warn(server: Server, problem: Problem, *, asked: bool = False) -> None:
    """Show a problem; `asked`: it answers an act of the author, who waits for it.

    An editor that can is told its code as well, so that the author can silence it.
    """
    if server.flags.takes_problems:
        message = f"Citewell: {problem}"
        server.protocol.notify(PROBLEM, {"code": problem.code, "message": message, "asked": asked})
    else:
        _show(server, types.MessageType.Warning, str(problem))


def inform(server: Server, text: str) -> None:
    """Show what was done."""
    _show(server, types.MessageType.Info, text)


class Notifier:
    """Tells of problems, of each kind once. For the event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._told: set[str] = set()

    def __call__(self, problems: Sequence[Problem], *, again: bool = False) -> None:
        """Show problems to the author: each once, unless it is the answer to an explicit act."""
        for problem in problems:
            if problem.code in self._told and not again:
                logger.info("%s", problem)
                continue
            self._told.add(problem.code)
            warn(self._server, problem, asked=again)

    def forget(self) -> None:
        """Tell again: the settings changed."""
        self._told.clear()


def _show(server: Server, kind: types.MessageType, text: str) -> None:
    server.window_show_message(types.ShowMessageParams(type=kind, message=f"Citewell: {text}"))
