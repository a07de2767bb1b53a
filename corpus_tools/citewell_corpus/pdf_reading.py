"""Reads PDFs for a build, and identifies their papers: by the library, then by sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from citewell.engine.pdf_papers import PdfPapers
from citewell.model import CitewellError, Problem, Work
from citewell.model.pdf import PdfPaper
from citewell.model.titles import title_key
from citewell.options import Options
from citewell.options.tree import PdfOptions

SECONDS = 20.0
"""Time limit in seconds of the sources for one file."""
_HEAD = 3_000
"""Characters of the first page that contain the title and the authors."""
_TELLING = 13


class Lookup(Protocol):
    """Works by one identifier or title: `Library.lookup`, or sources."""

    def __call__(self, *, doi: str = "", arxiv: str = "", title: str = "") -> list[Work]: ...


class PdfReading:
    """The reader and the look-ups for PDFs of one build. To be closed, or used in a `with`
    statement."""

    def __init__(self, options: PdfOptions | None = None, online: Lookup | None = None) -> None:
        self._reader = PdfPapers(options)
        self._online = online
        self.library: Lookup | None = None
        """Look-up in the library being extended, set when it is open."""

    def __enter__(self) -> PdfReading:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the reading process."""
        self._reader.close()

    def read(self, path: Path) -> PdfPaper | Problem:
        """Read the paper in a file; return the problem if it cannot be read."""
        return self._reader.read(path)

    def identify(self, paper: PdfPaper) -> Work | None:
        """The record of the paper; None if neither library nor sources have it.

        A record counts only if its title is at the head of the first page, which also holds
        identifiers of other papers. Of several records, the one with most authors there.
        """
        head = title_key(f"{' '.join(paper.titles)} {paper.first_page[:_HEAD]}")
        lookups = (self.library, self._online)
        for look in (one for one in lookups if one is not None):
            for works in _answers(look, paper):
                named = [work for work in works if _stands_in(work.title, head)]
                if named:
                    return max(named, key=lambda work: _authors_in(work, head))
        return None


def _answers(look: Lookup, paper: PdfPaper) -> Iterator[Sequence[Work]]:
    """The records for each identifier and title, the surest first."""
    for doi in paper.dois:
        yield look(doi=doi)
    for arxiv in paper.arxivs:
        yield look(arxiv=arxiv)
    for title in paper.titles:
        if len(title_key(title)) >= _TELLING:
            yield look(title=title)


def _stands_in(title: str, head: str) -> bool:
    key = title_key(title)
    return len(key) >= _TELLING and key in head


def _authors_in(work: Work, head: str) -> int:
    return sum(title_key(author.family) in head for author in work.authors if author.family)


def sources_lookup(options: Options) -> Lookup:
    """Look-up at the allowed sources. Raises `CitewellError` if there are none."""
    from citewell.engine.online import OFF, missing_package, shared
    from citewell.sources.contract import Matched, SourceQuery

    if not options.sources.allow:
        raise CitewellError(OFF)
    if (problem := missing_package()) is not None:
        raise CitewellError(problem)
    online = shared(options)

    def look(*, doi: str = "", arxiv: str = "", title: str = "") -> list[Work]:
        act = online.within(SECONDS)
        wanted = [SourceQuery(doi=doi, arxiv=arxiv, title=title)]
        (answers,) = act.match(wanted) if title else act.by_ids(wanted)
        found = [work for one in answers.all if isinstance(one, Matched) for work in one.works]
        return [work for work in found if not title or title_key(work.title) == title_key(title)]

    return look
