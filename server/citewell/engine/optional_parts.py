"""Parts of an engine that only some settings name: sources on the network and a language model.

What they import is loaded when they are opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.model import CitewellError, Problem
from citewell.options import Options

if TYPE_CHECKING:
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
    """Searches that ask the sources too; None where no source is open or searches ask none."""
    if sources is None or not options.sources.search:
        return None
    from citewell.engine.online_search import OnlineSearch

    return OnlineSearch(sources)
