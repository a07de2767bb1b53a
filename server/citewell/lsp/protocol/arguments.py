"""Validates the arguments of a command that an editor sends."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from citewell.lsp.protocol.editor import Editor
from citewell.model import Problem

T = TypeVar("T")


def arguments_of(editor: Editor, command: str, sent: Any, kind: type[T]) -> T | None:
    """The arguments as a `kind`; None if they are invalid, which is shown to the author."""
    try:
        return msgspec.convert(sent, kind)
    except msgspec.ValidationError as error:
        problem = Problem("command-arguments", f"Invalid arguments for `{command}`: {error}.")
        editor.show_problems([problem], again=True)
        return None
