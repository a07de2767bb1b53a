"""Settings of what the editor shows and offers."""

from typing import Annotated, Literal

from msgspec import Struct

from citewell.options.leaf import about, switch


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


class FeatureOptions(Struct, frozen=True, kw_only=True):
    """What the editor is offered: each part can be turned off, or left to another tool beside."""

    coexist: Annotated[
        Literal["none", "texlab", "latexWorkshop"],
        about(
            "Another tool that serves LaTeX and .bib files. Citewell leaves to it what it "
            "does, unless a switch below is set. Markdown is not affected. [What "
            "remains](editors.md)."
        ),
    ] = "none"
    complete_keys: Annotated[
        bool | None, switch("Complete keys of your entries inside a citation.")
    ] = None
    complete_papers: Annotated[bool | None, switch("Complete placeholders with papers.")] = None
    complete_bib: Annotated[
        bool | None, switch("Complete entry types, fields and values in a .bib.")
    ] = None
    complete_paths: Annotated[bool | None, switch("Complete names of .bib files.")] = None
    hover_keys: Annotated[bool | None, switch("Show the reference of a key or entry on hover.")] = (
        None
    )
    hover_placeholders: Annotated[
        bool | None, switch("Show the best papers for a placeholder on hover.")
    ] = None
    definition: Annotated[bool | None, switch("Go from a key to its entry.")] = None
    references: Annotated[bool | None, switch("List the places that cite a key.")] = None
    highlights: Annotated[
        bool | None, switch("Highlight other uses of the key under the cursor.")
    ] = None
    rename: Annotated[bool | None, switch("Rename a key in all files.")] = None
    symbols: Annotated[bool | None, switch("List the entries of a .bib as its outline.")] = None
    workspace_symbols: Annotated[bool | None, switch("Find entries of the workspace by name.")] = (
        None
    )
    folding: Annotated[bool | None, switch("Fold entries and fields of a .bib.")] = None
    formatting: Annotated[bool | None, switch("Format the entries of a .bib.")] = None
    links: Annotated[bool | None, switch("Link DOIs, URLs and files.")] = None
    code_actions: Annotated[
        bool | None, switch("Offer fixes, missing entries and papers to cite.")
    ] = None
    semantic_tokens: Annotated[bool | None, switch("Colour keys by their state.")] = None


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
