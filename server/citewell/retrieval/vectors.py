"""The one place that imports usearch and onnxruntime, in the order that does not crash.

usearch 2.26.6 imported before onnxruntime or tokenizers segfaults the interpreter (Python 3.11 to
3.13 on Linux). Versions before 2.25, to which it is limited, do not; the order is kept here too,
and a test runs it in a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from typing import Any


def usearch_index() -> Any:
    """The module `usearch.index`, imported after onnxruntime if that is installed at all."""
    if importlib.util.find_spec("onnxruntime") is not None:
        with contextlib.suppress(ImportError):
            importlib.import_module("onnxruntime")
    return importlib.import_module("usearch.index")


def onnxruntime() -> Any:
    """The module `onnxruntime`. Raises ImportError when it is not installed."""
    return importlib.import_module("onnxruntime")
