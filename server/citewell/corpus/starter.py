"""Where the starter library is: in a distribution of its own, that holds nothing but data."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from citewell.corpus.errors import library_error

PACKAGE = "citewell_starter"
FOLDER = "library"
STARTER = "starter"
"""The name by which `library.name` selects it."""


def installed_starter() -> Path | None:
    """Folder of the installed starter library, found without importing its package; else None."""
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / FOLDER
    return folder if (folder / "CURRENT").is_file() else None


def starter_folder() -> Path:
    """Folder of the installed starter library. Raises `LibraryError` "starter-missing"."""
    folder = installed_starter()
    if folder is None:
        raise library_error("starter-missing", "The starter library is not installed.")
    return folder
