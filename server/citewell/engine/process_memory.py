"""Resident memory of this process, without a dependency."""

from __future__ import annotations

import sys
from pathlib import Path


def rss_mb() -> float:
    """Resident set size in MB; its peak if only that is known (macOS); 0 if unknown (Windows)."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return _peak_mb()
    import resource

    return int(pages) * resource.getpagesize() / 1e6


def _peak_mb() -> float:
    try:
        import resource
    except ImportError:
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)
