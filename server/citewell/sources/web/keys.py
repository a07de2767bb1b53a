"""Keys of sources, read only from the environment or the system's keyring.

They are added to requests at the last moment, below the cache and the log.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from citewell.sources.contract import Source

logger = logging.getLogger(__name__)

SERVICE = "citewell"
MAX_KEY = 512


class Key:
    """A secret that is hidden when printed."""

    def __init__(self, value: str, origin: str) -> None:
        self.value = value
        self.origin = origin
        """Its origin: the variable, or "keyring"."""

    def __repr__(self) -> str:
        return f"Key(from {self.origin})"


def key_of(source: type[Source], environ: Mapping[str, str] | None = None) -> Key | None:
    """The key of a source, or None. The keyring is used only if the package is installed."""
    policy = source.policy
    if not (policy.key_header or policy.key_parameter):
        return None
    return find_key(policy.key_variables, source.name, environ)


def find_key(
    variables: Sequence[str], name: str, environ: Mapping[str, str] | None = None
) -> Key | None:
    """The first usable key of the environment variables, else the keyring's entry `name`."""
    environ = os.environ if environ is None else environ
    for variable in variables:
        value = environ.get(variable, "").strip()
        if _sound(value):
            return Key(value, variable)
        if value:
            logger.warning("%s holds no usable key and is ignored.", variable)
    value = _from_keyring(name)
    return Key(value, "keyring") if _sound(value) else None


def _sound(value: str) -> bool:
    return 0 < len(value) <= MAX_KEY and value.isascii() and value.isprintable()


def _from_keyring(name: str) -> str:
    if find_spec("keyring") is None:
        return ""
    try:
        import keyring

        return (keyring.get_password(SERVICE, name) or "").strip()
    except Exception:
        # A locked or missing keyring raises many exceptions; none is fatal.
        logger.info("The system's keyring did not answer for %s.", name)
        return ""
