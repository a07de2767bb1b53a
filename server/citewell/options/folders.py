"""The folders of this user: settings, what Citewell keeps, and what it may lose."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

DATA_VARIABLE = "CITEWELL_DATA"
CACHE_VARIABLE = "CITEWELL_CACHE"
_NAME = "citewell"


def config_folder() -> Path:
    """The user's configuration folder."""
    from platformdirs import user_config_path

    return user_config_path(_NAME, appauthor=False)


def data_folder() -> Path:
    """The folder that `CITEWELL_DATA` names, else the user's data folder: libraries, unless a
    setting says where, and a few small files.
    """
    if named := os.environ.get(DATA_VARIABLE):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path(_NAME, appauthor=False)


def cache_folder() -> Path:
    """The folder that `CITEWELL_CACHE` names, else the user's cache: answers that were kept."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path(_NAME, appauthor=False)


def sources_folder() -> Path:
    """The folder in the cache for what scholarly sources answered and when they may be asked.

    Made if it can be: what a user looked up is private.
    """
    folder = cache_folder() / "sources"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
