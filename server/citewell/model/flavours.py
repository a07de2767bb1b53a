"""The flavours of documents that are read: one row each, from which every list is derived.

A new flavour is a row here; the clients, whose manifests cannot import it, are compared with the
rows by a test.
"""

from collections.abc import Mapping
from pathlib import PurePath

import msgspec

from citewell.model.document import Format


class Flavour(msgspec.Struct, frozen=True):
    """One flavour of documents."""

    name: str
    format: Format
    """How its text is read."""
    suffixes: tuple[str, ...]
    """In lower case; the first is that of a new file."""
    languages: tuple[str, ...] = ()
    """Names that editors give to its language."""
    usual: str = ""
    """The first suffix as authors usually write it, where that has capitals."""
    is_paper: bool = True
    """Whether a file of it may be a paper by itself, rather than a part of one."""


FLAVOURS = (
    Flavour("LaTeX", Format.LATEX, (".tex", ".ltx", ".latex"), ("latex", "tex", "plaintex")),
    Flavour("LaTeX package", Format.LATEX, (".sty", ".cls", ".tikz"), is_paper=False),
    Flavour("Markdown", Format.MARKDOWN, (".md", ".markdown"), ("markdown",)),
    Flavour("Quarto", Format.MARKDOWN, (".qmd",), ("quarto",)),
    Flavour("R Markdown", Format.MARKDOWN, (".rmd",), ("rmd",), ".Rmd"),
    Flavour("BibTeX", Format.BIBTEX, (".bib",), ("bibtex", "bib", "biblatex"), is_paper=False),
)

CSL_SUFFIXES = (".json", ".yaml", ".yml")
"""Bibliographies in the forms of CSL, which Pandoc reads."""
_FORMATS = {suffix: one.format for one in FLAVOURS for suffix in one.suffixes}
PAPERS = tuple(one for one in FLAVOURS if one.is_paper)
PAPER_SUFFIXES = tuple(suffix for one in PAPERS for suffix in one.suffixes)
MARKDOWN_SUFFIXES = tuple(
    suffix for one in PAPERS if one.format is Format.MARKDOWN for suffix in one.suffixes
)
LATEX_SUFFIXES = FLAVOURS[0].suffixes
"""Suffixes of a file that LaTeX can be run on."""
LANGUAGES: Mapping[Format, tuple[str, ...]] = {
    kind: tuple(name for one in FLAVOURS if one.format is kind for name in one.languages)
    for kind in Format
}
"""The names that editors give to the languages of each format."""
LANGUAGE_SUFFIXES = {name: one.suffixes[0] for one in PAPERS for name in one.languages}
"""The suffix of a new paper in each language."""
USUAL_SUFFIXES = tuple(one.usual or one.suffixes[0] for one in PAPERS)
"""For messages: one suffix of each flavour of papers."""


def format_of(path: str | PurePath) -> Format | None:
    """The format of a file by its suffix, in any case; None for a foreign one."""
    return _FORMATS.get(PurePath(path).suffix.lower())
