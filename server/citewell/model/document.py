"""A parsed manuscript: citations, placeholders and declarations with exact ranges; the formats by
the suffix of a file.

All offsets are indices into the document's text as a Python string (code points), with the line
ends of the file. Front ends convert to their own units.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path, PurePath

import msgspec


class Span(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """Half-open range [start, end) of code points."""

    start: int
    end: int

    def __contains__(self, offset: int) -> bool:
        """True inside the range and at both ends, where a cursor may be."""
        return self.start <= offset <= self.end


class Format(StrEnum):
    LATEX = "latex"
    MARKDOWN = "markdown"
    BIBTEX = "bibtex"


class KeyUse(msgspec.Struct, frozen=True):
    """One key inside a citation."""

    key: str
    span: Span


class Citation(msgspec.Struct, frozen=True):
    """A citation with at least one key: `\\citep[see][p.~5]{a,b}`, `[@a; @b]` or `@a`."""

    command: str
    """The cite command without backslash ("citep"); "[@]" or "@" in Markdown; "nocite"."""
    keys: tuple[KeyUse, ...]
    span: Span


class PlaceholderKind(StrEnum):
    QUERY = "query"
    """`\\cite<words>` or Markdown `[@query words]`, `[@?words]`."""
    EMPTY = "empty"
    """A cite command without a key: `\\cite{}`, `[@]`, `\\citep{?}`, `[@?]`, `\\cite{TODO}`."""
    FREE_TEXT = "free-text"
    """Words instead of a key: `\\cite{neural machine translation}`."""
    MARKER = "marker"
    """Markers in prose: `[CITATION]`, `[CITE]`, `[REF]`, `[?]`, `(CITE)`."""


class Placeholder(msgspec.Struct, frozen=True):
    """A place that needs a citation."""

    kind: PlaceholderKind
    span: Span
    r"""The text that a citation replaces, such as all of `\cite<...>`."""
    query: str
    """The words inside it; empty when there are none."""
    query_span: Span
    """Range of these words; without words, that of the dummy (`?`, `TODO`), or an empty range."""
    command: str
    """The cite command to write in its place ("citep"); "" for a marker, which gets the default."""
    closed: bool = True
    """False while its closing delimiter (`>`, `}`, `]`) is missing."""
    prefix: str = ""
    """Text before the keys that must stay: optional arguments `[see][p. 5]`."""
    other_keys: tuple[str, ...] = ()
    r"""Other keys in the same braces, which must stay: `\cite{a,,b}`."""
    reach: int = 0
    """End of the words of an unclosed placeholder. The text after `span` may be prose."""
    certain: bool = True
    """False if its words cannot be distinguished from the prose after them: no edit may remove
    them."""


class Heading(msgspec.Struct, frozen=True):
    level: int
    """Level from 1 (chapter or section) downward."""
    title: str
    span: Span


class BibDeclaration(msgspec.Struct, frozen=True):
    """One bibliography file that the document declares."""

    target: str
    """The text in the source: "refs", "bib/refs.bib"."""
    span: Span
    command: str
    """ "bibliography", "addbibresource" or "yaml"."""
    has_glob: bool = False
    """Whether the target is a pattern: `\\addbibresource[glob]{*.bib}`."""


class Include(msgspec.Struct, frozen=True):
    """One source file that the document includes."""

    target: str
    span: Span
    command: str


class IncludeMacro(msgspec.Struct, frozen=True):
    r"""A user-defined command that includes source files: `\chap{one}`."""

    name: str
    arguments: tuple[str | None, ...]
    """One item for each parameter: None, or the default of an optional one."""
    templates: tuple[tuple[str, str], ...]
    """Command and target of each include, with parameters in the target: ("input", "chapters/#1").
    """


class FileContents(msgspec.Struct, frozen=True):
    """A file that LaTeX writes from a `filecontents` environment."""

    name: str
    r"""The text in the source: "refs.bib", "\jobname.bib"."""
    span: Span
    """Range of its text."""
    overwrites: bool
    """Whether LaTeX writes it even if the file exists."""


class Document(msgspec.Struct, frozen=True):
    """The parsed content of one source file; features never scan the text again."""

    path: str
    format: Format
    text: str
    citations: tuple[Citation, ...] = ()
    placeholders: tuple[Placeholder, ...] = ()
    headings: tuple[Heading, ...] = ()
    title: str = ""
    abstract: str = ""
    bibliographies: tuple[BibDeclaration, ...] = ()
    includes: tuple[Include, ...] = ()
    root: str = ""
    """Target of `% !TEX root = ...`, as written."""
    packages: tuple[str, ...] = ()
    document_class: str = ""
    body: Span | None = None
    """From after `\\begin{document}` to before `\\end{document}`; None when there is none."""
    front_matter: Span | None = None
    """Range of the YAML front matter of a Markdown document."""
    references: Span | None = None
    """The YAML block of a Markdown document that has a list of `references`."""
    cite_macros: tuple[str, ...] = ()
    """User-defined cite commands: "figcite", or "figcite#2" when the keys are in the second group.
    """
    text_macros: tuple[tuple[str, str], ...] = ()
    """Commands without arguments that stand for a part of a path, with that part, in order."""
    include_macros: tuple[IncludeMacro, ...] = ()
    """User-defined include commands."""
    nocite_all: bool = False
    blanked: tuple[Span, ...] = ()
    r"""Comments, verbatim, math, code, definitions and `\iffalse`: regions without placeholders.
    Sorted, without overlap. A citation inside math still counts."""
    file_contents: tuple[FileContents, ...] = ()
    bibitems: tuple[KeyUse, ...] = ()
    """Keys defined by a `thebibliography` in the document."""


class Level(StrEnum):
    """The severity at which an editor shows a diagnostic, highest first."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class RelatedLocation(msgspec.Struct, frozen=True):
    """A related place of a diagnostic."""

    path: Path
    span: Span
    message: str


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One finding in one file."""

    code: str
    """Stable, kebab-case code; docs/diagnostics.md has a section for it."""
    span: Span
    message: str
    """One or two sentences; the first names the subject."""
    level: Level
    unnecessary: bool = False
    """Whether an editor may grey it out."""
    related: tuple[RelatedLocation, ...] = ()
    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Data for code actions: "key", "nearest", "other", "fields" (comma-separated)."""


# The table of supported document flavours, from which every list is derived.


class Flavour(msgspec.Struct, frozen=True):
    """One flavour of documents."""

    name: str
    format: Format
    """Parser of its text."""
    suffixes: tuple[str, ...]
    """Lower case; the first is that of a new file."""
    languages: tuple[str, ...] = ()
    """Its language ids in editors."""
    usual: str = ""
    """The first suffix in its usual capitalisation, if that is not lower case."""
    is_paper: bool = True
    """Whether a file of it can be a paper by itself, rather than a part of one."""


FLAVOURS = (
    Flavour("LaTeX", Format.LATEX, (".tex", ".ltx", ".latex"), ("latex", "tex", "plaintex")),
    Flavour("LaTeX package", Format.LATEX, (".sty", ".cls", ".tikz"), is_paper=False),
    Flavour("Markdown", Format.MARKDOWN, (".md", ".markdown"), ("markdown",)),
    Flavour("Quarto", Format.MARKDOWN, (".qmd",), ("quarto",)),
    Flavour("R Markdown", Format.MARKDOWN, (".rmd",), ("rmd",), ".Rmd"),
    Flavour("BibTeX", Format.BIBTEX, (".bib",), ("bibtex", "bib", "biblatex"), is_paper=False),
)

CSL_SUFFIXES = (".json", ".yaml", ".yml")
"""Suffixes of CSL bibliographies, which Pandoc reads."""
_FORMATS = {suffix: one.format for one in FLAVOURS for suffix in one.suffixes}
PAPERS = tuple(one for one in FLAVOURS if one.is_paper)
PAPER_SUFFIXES = tuple(suffix for one in PAPERS for suffix in one.suffixes)
MARKDOWN_SUFFIXES = tuple(
    suffix for one in PAPERS if one.format is Format.MARKDOWN for suffix in one.suffixes
)
LATEX_SUFFIXES = FLAVOURS[0].suffixes
"""Suffixes of files that LaTeX can compile."""
LANGUAGES: Mapping[Format, tuple[str, ...]] = {
    kind: tuple(name for one in FLAVOURS if one.format is kind for name in one.languages)
    for kind in Format
}
"""The editors' language ids of each format."""
LANGUAGE_SUFFIXES = {name: one.suffixes[0] for one in PAPERS for name in one.languages}
"""The suffix of a new paper in each language."""
USUAL_SUFFIXES = tuple(one.usual or one.suffixes[0] for one in PAPERS)
"""One suffix of each flavour of papers, for messages."""


def format_of(path: str | PurePath) -> Format | None:
    """The format of a file by its suffix, in any case; None if unknown."""
    return _FORMATS.get(PurePath(path).suffix.lower())
