"""One door to all document formats."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.model.document import Document, Format, IncludeMacro
from citewell.model.flavours import format_of
from citewell.options.tree import DocumentOptions

__all__ = ["format_of", "scan_document"]


def scan_document(
    path: str,
    text: str,
    options: DocumentOptions | None = None,
    *,
    cite_commands: Sequence[str] = (),
    packages: Sequence[str] = (),
    include_macros: Sequence[IncludeMacro] = (),
    defined_keys: Collection[str] = (),
) -> Document:
    """Read a manuscript by its suffix; text of an unknown kind is read as LaTeX.

    `cite_commands`, `include_macros` and `packages` are what other files of the project bring:
    macros that the root file defines, packages that it loads. `defined_keys` are keys of its
    bibliographies that would else be taken for words.
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
        defined_keys=defined_keys,
    )
