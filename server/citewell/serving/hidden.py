"""Removes keys of the environment from messages to clients."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

HIDDEN = "[hidden]"
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_SHORTEST = 6
"""Letters of a value that is taken for a secret: hiding every "1" would hide the message."""


def without_keys(text: str, environ: Mapping[str, str] | None = None) -> str:
    """The text with every secret of the environment taken out.

    Messages are made without keys; this is for the one that quotes what it was given.
    """
    for name, value in (os.environ if environ is None else environ).items():
        value = value.strip()
        if len(value) >= _SHORTEST and _SECRET.search(name) and value in text:
            text = text.replace(value, HIDDEN)
    return text
