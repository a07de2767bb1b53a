"""Opening the engine for one command, with a word about a library that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from citewell.engine.local import LocalEngine
    from citewell.options import Options

LOADING_SECONDS = 120.0
"""How long a command waits for models that are still being loaded."""


@contextmanager
def open_engine(options: Options, *, online: bool = False) -> Iterator[LocalEngine]:
    """The engine of these settings, in this process; closed at the end.

    A library that cannot be opened is no exception here: the engine answers with the problem.
    Sources are asked for an `online` command alone; a `CitewellError` says why none can be.
    """
    from msgspec.structs import replace

    from citewell.engine.local import LocalEngine

    if online and not options.sources.allow:
        from citewell.engine.online import OFF
        from citewell.model import CitewellError

        raise CitewellError(OFF)
    options = replace(options, sources=replace(options.sources, search=online))

    engine = LocalEngine.open(options)
    try:
        engine.load(LOADING_SECONDS)
        yield engine
    finally:
        engine.close()
