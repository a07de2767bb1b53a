"""Work done before anybody asks for it, so that nobody waits for it: late imports and indexes."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from importlib import import_module

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
"""What the first diagnostics need: loaded by the event loop it would hold up an answer."""


def preload(modules: Sequence[str]) -> None:
    """Import modules now. What fails is logged, and fails again where it is needed."""
    for module in modules:
        try:
            import_module(module)
        except Exception:
            logger.exception("Loading %s failed", module)


def prepare(job: Callable[[], None]) -> None:
    """Compute what a paper's features look things up in."""
    try:
        job()
    except Exception:
        logger.exception("Indexing the bibliographies failed")
    # What a paper consists of stays: the collector need not walk over it again.
    gc.freeze()
