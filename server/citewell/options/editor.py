"""Settings of what the editor shows and offers."""

from typing import Annotated, Literal

from msgspec import Struct

from citewell.options.leaf import about


class CompletionOptions(Struct, frozen=True, kw_only=True):
    """What the completion list holds."""

    limit: Annotated[int, about("Number of papers listed for a placeholder.", ge=1, le=200)] = 20
    key_limit: Annotated[int, about("Number of keys listed inside a citation.", ge=1, le=1000)] = 50


DiagnosticLevel = Literal["error", "warning", "information", "hint", "off"]


class DiagnosticsOptions(Struct, frozen=True, kw_only=True):
    """What the editor underlines."""

    enabled: Annotated[bool, about("Report problems with citations and entries.")] = True
    severity: Annotated[
        dict[str, DiagnosticLevel],
        about(
            "Severity by code or code prefix (`author`): "
            '`{"unused-entry": "off", "missing-field": "hint"}`. The codes are in '
            "diagnostics.md."
        ),
    ] = {}
    delay_ms: Annotated[
        int,
        about("Delay in ms after the last keystroke before a file is checked.", ge=0, le=60_000),
    ] = 300
    verification: Annotated[
        Literal["all", "cited", "off"],
        about(
            "Which entries are verified: those in open .bib files or cited by open documents, "
            "only the cited ones, or none."
        ),
    ] = "all"
    list_not_found: Annotated[
        bool,
        about(
            "Report each entry that the library lacks. Off: one hint per file gives their number."
        ),
    ] = False


Feature = Literal[
    "complete-keys",
    "complete-papers",
    "complete-bib",
    "complete-paths",
    "hover-keys",
    "hover-placeholders",
    "definition",
    "references",
    "highlights",
    "rename",
    "symbols",
    "workspace-symbols",
    "folding",
    "formatting",
    "links",
    "code-actions",
    "semantic-tokens",
]
"""What the editor is offered, each part with a switch."""


class FeatureOptions(Struct, frozen=True, kw_only=True):
    """What the editor is offered: each part can be turned off, or left to another tool beside."""

    coexist: Annotated[
        Literal["none", "texlab", "latexWorkshop"],
        about(
            "Another tool that serves LaTeX and .bib files. Citewell leaves to it what it "
            "does, unless `features.switches` says otherwise. Markdown is not affected. [What "
            "remains](editors.md)."
        ),
    ] = "none"
    switches: Annotated[
        dict[Feature, bool],
        about(
            'Features that are on or off whatever other tool there is: `{"rename": false}`. '
            "[The features](editors.md#beside-texlab-or-latex-workshop)."
        ),
    ] = {}


class HoverOptions(Struct, frozen=True, kw_only=True):
    """What the card of a reference shows."""

    style: Annotated[
        str,
        about(
            'CSL style of references: "apa", "modern-language-association", '
            '"harvard-cite-them-right", a .csl file beside the paper, or any name of the CSL '
            "repository (needs the `styles` extra).",
            stays_inside=True,
        ),
    ] = "apa"
    abstract: Annotated[bool, about("Show the abstract.")] = True


class InlayOptions(Struct, frozen=True, kw_only=True):
    """What is shown within the text, beside what the author wrote."""

    citations: Annotated[bool, about("Show author and year after each cited key.")] = True
    verification: Annotated[bool, about("Show the check result after each .bib entry.")] = True


class LensOptions(Struct, frozen=True, kw_only=True):
    """What is shown above each entry of a .bib."""

    citations: Annotated[bool, about("Show how often the entry is cited.")] = True
    source: Annotated[bool, about("Show which library record matches the entry.")] = True
