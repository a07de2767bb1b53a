"""Which actions an editor wants, and which diagnostics an action mends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from citewell.features.action import Action
    from citewell.lsp.protocol.line_index import LineIndex


def within(kind: str, wanted: Sequence[str]) -> bool:
    """True when an editor that wants these kinds wants this one: "source" wants "source.sort"."""
    return any(kind == one or kind.startswith(f"{one}.") for one in wanted)


def may_hold(kind: str, wanted: Sequence[str]) -> bool:
    """True when a provider of a kind may have actions of the wanted ones: "source" of
    "source.sort"."""
    return within(kind, wanted) or any(one.startswith(f"{kind}.") for one in wanted)


def fixes(action: Action, diagnostic: types.Diagnostic, index: LineIndex) -> bool:
    """True when an action mends what a diagnostic of ours shows."""
    if diagnostic.source != "citewell" or str(diagnostic.code) not in action.fixes:
        return False
    if action.span is None:
        return True
    shown = index.span(diagnostic.range)
    return shown.start <= action.span.end and action.span.start <= shown.end
