"""What is known of the library while no process has it open: read from its manifest alone."""

from __future__ import annotations

from citewell.corpus.layout import current_snapshot, read_manifest
from citewell.engine.contract import EngineStatus
from citewell.engine.which_library import which_library
from citewell.model import CitewellError
from citewell.options import Options


def status_at_rest(options: Options) -> EngineStatus:
    """Library, number of papers and allowed sources. Opens no index, and loads no model."""
    from citewell.sources.registry import allowed

    names, problems = allowed(options.sources.allow)
    try:
        path = which_library(options)
        snapshot = current_snapshot(path)
        works = read_manifest(path, snapshot).works
    except CitewellError as error:
        return EngineStatus(sources=names, problems=(error.problem, *problems))
    return EngineStatus(str(path), snapshot, works, sources=names, problems=problems)
