"""The content of a PDF: its text by page, its reference list, and candidates for its title and
DOI."""

from __future__ import annotations

import msgspec

from citewell.model.check import Claim
from citewell.model.problem import Problem


class PdfPage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The text of one page, or of a part of it."""

    number: int
    """1-based, as a viewer counts."""
    text: str


class CitingSentence(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A sentence that cites, with `[CITATION]` for this citation and `[OTHER]` for others."""

    reference: int
    """Index of the cited work in the reference list, from 0."""
    text: str


class PdfPaper(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a PDF. A text is empty if the file lacks it."""

    path: str = ""
    page_count: int = 0
    """Pages of the file; fewer may have been read."""
    titles: tuple[str, ...] = ()
    """Candidates for the paper's title, the likeliest first."""
    dois: tuple[str, ...] = ()
    """DOIs of the metadata and of the first page; may be those of other papers."""
    arxivs: tuple[str, ...] = ()
    abstract: str = ""
    body: tuple[PdfPage, ...] = ()
    """The pages in order, without the reference list."""
    references: tuple[PdfPage, ...] = ()
    """The reference list by page. An empty line separates two references if the layout shows the
    gap."""
    parted: bool = False
    """Whether an empty line in `references` separates every two references."""
    claims: tuple[Claim, ...] = ()
    """The references, if a service that parses them read the file."""
    sentences: tuple[CitingSentence, ...] = ()
    """Citing sentences, if a service that links them read the file; they refer to `claims`."""
    problems: tuple[Problem, ...] = ()
    """The parts that were left out, and why."""

    @property
    def first_page(self) -> str:
        """The text of the first page."""
        return self.body[0].text if self.body and self.body[0].number == 1 else ""
