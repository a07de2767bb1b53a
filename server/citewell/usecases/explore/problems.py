"""What a literature search reports of its question."""

from __future__ import annotations

from citewell.model import Problem
from citewell.usecases.explore.contract import MAX_TEXT

EMPTY = Problem(
    "explore-empty", "Empty search.", "Give words, an author, a venue, or papers that you keep."
)
NOTHING_FOUND = Problem(
    "explore-nothing",
    "The library holds no paper that matches.",
    "Use other words, or add papers of the field with `citewell library add`.",
)
CUT = Problem(
    "explore-long",
    f"Only the first {MAX_TEXT:,} characters of the question were searched for.",
    "Ask a shorter question.",
)
ONLY_EXCLUDES = Problem(
    "explore-excludes",
    "The question says only what to leave out, so the papers are in no order of relevance.",
    "Add what they are about.",
)
