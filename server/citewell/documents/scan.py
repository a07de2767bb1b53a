"""One door to all document formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from citewell.documents.latex import scan_latex
from citewell.documents.markdown import scan_markdown
from citewell.model.document import Document, Format, IncludeMacro
from citewell.options.tree import DocumentOptions

_FORMATS = {
    ".tex": Format.LATEX,
    ".ltx": Format.LATEX,
    ".latex": Format.LATEX,
    ".sty": Format.LATEX,
    ".cls": Format.LATEX,
    ".tikz": Format.LATEX,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".qmd": Format.MARKDOWN,
    ".rmd": Format.MARKDOWN,
    ".bib": Format.BIBTEX,
}


def format_of(path: str | PurePath) -> Format | None:
    """The format that a file's suffix stands for, in any case; None for a foreign one."""
    return _FORMATS.get(PurePath(path).suffix.lower())


def scan_document(
    path: str,
    text: str,
    options: DocumentOptions | None = None,
    *,
    cite_commands: Sequence[str] = (),
    packages: Sequence[str] = (),
    include_macros: Sequence[IncludeMacro] = (),
) -> Document:
    """Read a manuscript by its suffix; text of an unknown kind is read as LaTeX.

    `cite_commands`, `include_macros` and `packages` are what other files of the project bring:
    macros that the root file defines, packages that it loads.
    """
    options = options or DocumentOptions()
    commands = (*options.cite_commands, *cite_commands)
    if format_of(path) is Format.BIBTEX:
        return Document(path, Format.BIBTEX, text)  # its entries are `parse_bib`'s
    if format_of(path) is Format.MARKDOWN:
        return scan_markdown(text, path, cite_commands=commands, placeholders=options.placeholders)
    return scan_latex(
        text,
        path,
        cite_commands=commands,
        placeholders=options.placeholders,
        packages=packages,
        include_macros=include_macros,
    )
