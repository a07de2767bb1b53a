"""Parts of an engine that only some settings name: sources on the network and a language model.

What they import is loaded when they are opened.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from citewell.model import CitewellError, Problem
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.engine.accepted import AcceptedRecords
    from citewell.engine.llm_stage import LlmStage
    from citewell.engine.online import Online
    from citewell.engine.online_search import OnlineSearch


def open_llm(options: Options) -> tuple[LlmStage | None, tuple[Problem, ...]]:
    """The language model's stage; None, and no problem, where no model is named."""
    if options.llm.provider == "none":
        return None, ()
    from citewell.engine.llm_stage import LlmStage

    try:
        return LlmStage.open(options.llm), ()
    except CitewellError as error:
        return None, (error.problem,)


def open_sources(options: Options) -> tuple[Online | None, tuple[Problem, ...]]:
    """The allowed sources; None, and no problem, where none is allowed."""
    if not options.sources.allow:
        return None, ()
    from citewell.engine.online import shared

    try:
        sources = shared(options)
    except CitewellError as error:
        return None, (error.problem,)
    return sources, sources.problems


def online_search(sources: Online | None, options: Options) -> OnlineSearch | None:
    """The online search; None if no source is open or the settings exclude sources from searches.

    It is shared per set of open sources, so that an engine reopened for another snapshot of the
    library still knows the papers that its predecessor offered.
    """
    if sources is None or not options.sources.search:
        return None
    from citewell.engine.online_search import OnlineSearch

    with _LOCK:
        for closed in [one for one in _SEARCHES if one.is_closed]:
            del _SEARCHES[closed]
        return _SEARCHES.setdefault(sources, OnlineSearch(sources))


def accepted_records(options: Options) -> AcceptedRecords | None:
    """Where accepted records are kept; None where they are not."""
    from citewell.engine.which_library import keeps_accepted

    if not keeps_accepted(options):
        return None
    from citewell.engine.accepted import AcceptedRecords

    accepted = AcceptedRecords(options)
    accepted.resume()
    return accepted


_LOCK = threading.Lock()
_SEARCHES: dict[Online, OnlineSearch] = {}
