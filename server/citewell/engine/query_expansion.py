"""Other queries for the same place: by rules, by the language model, or none, as the settings say.

Each is retrieved like the author's own, into lists of its own ("bm25~1"), and all lists are fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from citewell.corpus.columns import word_hash
from citewell.engine.contract import Tier
from citewell.engine.signals import LibrarySignals
from citewell.model import Problem, Query
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.retrieval.understand import variants

if TYPE_CHECKING:
    from citewell.engine.llm_stage import LlmStage

_TOO_LITTLE = 1.0
"""Share of the titles for every word of a library that has no columns: no word is specific."""


def variant_name(retriever: str, number: int) -> str:
    """Name of a retriever's list for the query of that number; 0 is the author's own."""
    return f"{retriever}~{number}" if number else retriever


def variant_of(name: str) -> int:
    """The query's number that a list's name bears."""
    _, _, number = name.partition("~")
    return int(number) if number.isdecimal() else 0


class ExpandedQueries(msgspec.Struct, frozen=True):
    """The other queries for one place."""

    queries: tuple[Query, ...] = ()
    made_by: tuple[str, ...] = ()
    """ "rules", and the version of the model's program ("reformulate@builtin")."""
    problems: tuple[Problem, ...] = ()
    """Why the model wrote none."""


class QueryExpansion:
    """Safe to call from any thread."""

    def __init__(
        self, options: Options, signals: LibrarySignals | None, llm_stage: LlmStage | None
    ) -> None:
        self._by_rules = options.retrieval.reformulate == "rules"
        self._llm_stage = llm_stage if options.llm.reformulate else None
        self._signals = signals

    def of(self, query: Query, tier: Tier, cancel: Cancel) -> ExpandedQueries:
        """The other queries for the place of one. Raises `Cancelled` alone."""
        found: list[Query] = []
        made_by: list[str] = []
        if self._by_rules and self._signals is not None:
            found += variants(query, self._shares)
            made_by += ["rules"] if found else []
        if self._llm_stage is None or tier != "deep":
            return ExpandedQueries(tuple(found), tuple(made_by))
        rewritten = self._llm_stage.rewrite(query, cancel)
        bare = msgspec.structs.replace(query, sentence="", before=(), after=(), section="")
        found += [msgspec.structs.replace(bare, text=text) for text in rewritten.queries]
        made_by += [rewritten.program] if rewritten.queries else []
        problems = () if rewritten.problem is None else (rewritten.problem,)
        return ExpandedQueries(tuple(found), tuple(made_by), problems)

    def _shares(self, words: Sequence[str]) -> Sequence[float]:
        assert self._signals is not None
        hashes, counts, papers = self._signals.title_words()
        if not len(hashes) or not papers:
            return [_TOO_LITTLE] * len(words)
        wanted = np.array([word_hash(word) for word in words], np.uint32)
        at = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        shares = np.where(hashes[at] == wanted, counts[at], 0) / papers
        return [float(share) for share in shares]
