"""Work done before anybody asks for it, so that nobody waits for it."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)


def load_scanners() -> None:
    """What the first completion and hover need."""
    try:
        import citewell.features.card
        import citewell.features.complete
        import citewell.features.complete_path
        import citewell.features.insert  # noqa: F401
    except Exception:
        logger.exception("Loading failed")


def load_checks() -> None:
    """What the first diagnostics need: loaded by the event loop it would hold up an answer."""
    try:
        import citewell.engine.check_store
        import citewell.lsp.diagnostics_builder  # noqa: F401
        from citewell.model.tex_symbols import symbol

        symbol("alpha")  # loads the tables
    except Exception:
        logger.exception("Loading failed")


def prepare(job: Callable[[], None]) -> None:
    """Compute what a paper's features look things up in."""
    try:
        job()
    except Exception:
        logger.exception("Indexing the bibliographies failed")
    # What a paper consists of stays: the collector need not walk over it again.
    gc.freeze()
