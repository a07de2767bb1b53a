"""The cross-encoder that ships: its name, its folder, and whether it can be asked here."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

SHIPPED = "citations"
"""Its name in `retrieval.cross_encoder`."""
FOLDER = Path(__file__).parent / "weights"
EXTRA = "onnx"
NEEDED = ("onnxruntime", "tokenizers")
"""Packages of the extra that it needs."""


def is_used(name: str) -> bool:
    """Whether explicit searches are reranked under this name of a cross-encoder.

    The one that ships is left out without its extra; any other that is named must be there.
    """
    return can_run() if name == SHIPPED else bool(name)


@cache
def can_run() -> bool:
    """Whether the packages that it needs are installed."""
    return all(find_spec(package) for package in NEEDED)


def folder_of(name: str) -> Path:
    """The folder of a cross-encoder that is named by its folder, or ships."""
    return FOLDER if name == SHIPPED else Path(name).expanduser()
