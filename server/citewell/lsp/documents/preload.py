"""Work done ahead of requests, so that none has to wait for it: lazy imports and indexes."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from importlib import import_module

from citewell.model.heap import trim_heap

logger = logging.getLogger(__name__)

SCANNERS = (
    "citewell.lsp.documents.project_cache",
    "citewell.features.text.card",
    "citewell.features.citing.complete",
    "citewell.features.bib.complete_path",
    "citewell.features.citing.insert",
)
"""What the first completion and hover need. For the reader thread."""
CHECKS = ("citewell.engine.check_store", "citewell.lsp.diagnostics.builder")
"""What the first diagnostics need: imported on the event loop, it would delay answers."""


def preload(modules: Sequence[str]) -> None:
    """Import modules now. A failure is logged, and raised again where the module is needed."""
    for module in modules:
        try:
            import_module(module)
        except Exception:
            logger.exception("Loading %s failed", module)


def prepare(job: Callable[[], None]) -> None:
    """Compute the indexes that the features of a paper use. A failure is logged."""
    try:
        job()
    except Exception:
        logger.exception("Indexing the bibliographies failed")
    # The objects of a paper live long: the garbage collector need not visit them again.
    gc.freeze()
    trim_heap()
