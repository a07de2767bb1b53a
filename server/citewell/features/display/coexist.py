"""What an editor is offered: the author's switches, and what another tool beside us does already.

A switch that the author set counts everywhere. One that is not set is on, except for what the tool
that `features.coexist` names does in the documents that it serves: LaTeX and .bib files, never
Markdown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from citewell.model.document import Format

if TYPE_CHECKING:
    from citewell.options.editor import DiagnosticLevel, DiagnosticsOptions, Feature, FeatureOptions

_TEX, _BIB = Format.LATEX, Format.BIBTEX

DOES: Mapping[str, Mapping[Feature, frozenset[Format]]] = {
    "texlab": {
        "complete-keys": frozenset({_TEX}),
        "complete-bib": frozenset({_BIB}),
        "complete-paths": frozenset({_TEX}),
        "hover-keys": frozenset({_TEX, _BIB}),
        "definition": frozenset({_TEX, _BIB}),
        "references": frozenset({_TEX, _BIB}),
        "highlights": frozenset({_TEX, _BIB}),
        "rename": frozenset({_TEX, _BIB}),
        "symbols": frozenset({_BIB}),
        "workspace-symbols": frozenset({_BIB}),
        "folding": frozenset({_BIB}),
        "formatting": frozenset({_BIB}),
        "links": frozenset({_TEX}),
    },
    "latexWorkshop": {
        "complete-keys": frozenset({_TEX}),
        "complete-bib": frozenset({_BIB}),
        "hover-keys": frozenset({_TEX}),
        "definition": frozenset({_TEX}),
        "symbols": frozenset({_BIB}),
        "formatting": frozenset({_BIB}),
    },
}
"""The switches that stand for what each tool does, and in which files."""

REPORTS: Mapping[str, tuple[str, ...]] = {
    "texlab": (
        "undefined-key",
        "unused-entry",
        "bib-duplicate-key",
        "bib-unclosed",
        "bib-missing-key",
        "bib-missing-equals",
        "bib-missing-value",
    ),
    # What it shows are the messages of a LaTeX run.
    "latexWorkshop": (),
}
"""The diagnostics that each tool gives, too."""


def is_offered(options: FeatureOptions, switch: Feature, kind: Format) -> bool:
    """Whether a feature is offered in files of a kind."""
    chosen = options.switches.get(switch)
    if chosen is not None:
        return chosen
    return kind not in DOES.get(options.coexist, {}).get(switch, ())


def left_diagnostics(
    options: FeatureOptions, diagnostics: DiagnosticsOptions, kind: Format
) -> DiagnosticsOptions:
    """The settings of the diagnostics with those turned off that the other tool gives, unless the
    author named them, or the beginning of them."""
    codes = REPORTS.get(options.coexist, ())
    if kind is Format.MARKDOWN or not codes:
        return diagnostics
    named = diagnostics.severity
    off: dict[str, DiagnosticLevel] = {
        code: "off"
        for code in codes
        if not any(code == name or code.startswith(f"{name}-") for name in named)
    }
    return replace(diagnostics, severity={**off, **named})
