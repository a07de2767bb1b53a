"""What is known of the library while no process has it open: read from its manifest alone."""

from __future__ import annotations

from contextlib import suppress

from citewell.corpus.layout import current_snapshot, read_manifest
from citewell.engine.contract import EngineStatus
from citewell.engine.which_library import libraries_below, snapshot_of, which_library
from citewell.model import CitewellError
from citewell.options import Options


def status_at_rest(options: Options) -> EngineStatus:
    """Library, number of papers and allowed sources. Opens no index, and loads no model.

    A work that the library and one below it both hold counts twice."""
    from citewell.sources.registry import allowed

    names, problems = allowed(options.sources.allow)
    try:
        path = which_library(options)
        snapshot = current_snapshot(path)
        works = read_manifest(path, snapshot).works
    except CitewellError as error:
        return EngineStatus(sources=names, problems=(error.problem, *problems))
    for lower in libraries_below(options):
        with suppress(CitewellError):
            works += read_manifest(lower, current_snapshot(lower)).works
            snapshot = snapshot_of(options)
    return EngineStatus(str(path), snapshot, works, sources=names, problems=problems)
