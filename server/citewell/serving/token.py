"""The token of a server: from a file, the environment or the system's keyring, never a flag.

A flag can be read by every user of the machine, in the list of processes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from citewell.model import CitewellError, Problem
from citewell.sources.web.keys import MAX_KEY, find_key

MCP_TOKEN = "CITEWELL_MCP_TOKEN"
HTTP_TOKEN = "CITEWELL_HTTP_TOKEN"
"""The environment variables that hold the tokens of `citewell mcp` and `citewell serve`."""


def find_token(
    variable: str, name: str, *, file: Path | None = None, environ: Mapping[str, str] | None = None
) -> str:
    """The token in the file, else in the environment's `variable`, else in the keyring's entry
    `name`; empty where there is none.

    Raises `CitewellError` for one that cannot be used: to go on without it would let everybody in.
    """
    if file is not None:
        try:
            with file.open("rb") as stream:
                given = stream.read(MAX_KEY + 3).decode("utf-8", "replace").strip()
        except OSError as error:
            raise _unusable(f"{file} cannot be read ({error.strerror or error})") from error
        if not given:
            raise _unusable(f"{file} is empty")
        return _sound(given, str(file))
    given = (os.environ if environ is None else environ).get(variable, "").strip()
    if given:
        return _sound(given, variable)
    found = find_key((), name, environ)
    return "" if found is None else found.value


def _sound(token: str, where: str) -> str:
    if len(token) > MAX_KEY or not token.isascii() or not token.isprintable() or " " in token:
        raise _unusable(f"{where} contains no valid token")
    return token


def _unusable(words: str) -> CitewellError:
    return CitewellError(
        Problem(
            "token-unusable",
            f"{words}.",
            f"A token is one line of at most {MAX_KEY} letters, digits and punctuation, without "
            "spaces.",
        )
    )
