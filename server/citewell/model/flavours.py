"""The table of supported document flavours, from which every list is derived.

A new flavour is a row here; a test compares the manifests of the clients, which cannot import it,
with the rows.
"""

from collections.abc import Mapping
from pathlib import PurePath

import msgspec

from citewell.model.document import Format


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
