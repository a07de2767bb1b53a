"""Models that the user's settings name by their Hugging Face name."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from citewell.options.folders import cache_folder, make_private

T = TypeVar("T")
logger = logging.getLogger(__name__)

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def is_hub_off() -> bool:
    """True when the user has switched the hub off."""
    return any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in _OFFLINE)


def import_torch() -> Any:
    """The module `torch`, to be imported before the packages that import it themselves. Raises
    `ImportError`. It would make a folder in the system's temporary folder, and leave it there."""
    folder = os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "torch"))
    with contextlib.suppress(OSError):
        make_private(Path(folder))
    return importlib.import_module("torch")


def load_cached_first(name: str, load: Callable[[bool], T]) -> T:
    """A model as `load(local_files_only)` loads it: from the disk, where nothing is asked of the
    hub, else from the hub, unless that is off or `name` is a folder. Raises what the last raised.
    """
    if Path(name).is_dir() or is_hub_off():
        return load(True)
    try:
        return load(True)
    except Exception:  # hub, file and format errors share no base class
        logger.warning("Downloading the model %s, which the settings name", name)
    return load(False)
