"""The arguments of a command, as an editor sends them: to be checked before use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from citewell.model import Problem

if TYPE_CHECKING:
    from citewell.lsp.server import Server

T = TypeVar("T")


def arguments_of(server: Server, command: str, sent: Any, kind: type[T]) -> T | None:
    """The arguments as a `kind`; None, and the author is told, when they are none."""
    try:
        return msgspec.convert(sent, kind)
    except msgspec.ValidationError as error:
        problem = Problem("command-arguments", f"`{command}` was called wrongly: {error}.")
        server.session.tell([problem], again=True)
        return None
