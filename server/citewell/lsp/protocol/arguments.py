"""The arguments of a command, as an editor sends them: to be checked before use."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from citewell.lsp.protocol.editor import Editor
from citewell.model import Problem

T = TypeVar("T")


def arguments_of(editor: Editor, command: str, sent: Any, kind: type[T]) -> T | None:
    """The arguments as a `kind`; None, and the author is told, when they are none."""
    try:
        return msgspec.convert(sent, kind)
    except msgspec.ValidationError as error:
        problem = Problem("command-arguments", f"Invalid arguments for `{command}`: {error}.")
        editor.tell([problem], again=True)
        return None
