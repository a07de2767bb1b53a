"""Reads one PDF in this process: only `child` calls it, since pdfium may hang and crash."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from citewell.documents.file_problems import (
    broken,
    encrypted,
    long,
    scanned,
    unreadable_pages,
)
from citewell.documents.pdf import layout
from citewell.documents.pdf.layout import Line, page_lines
from citewell.model import CitewellError
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.pdf import PdfPaper
from citewell.model.problem import Problem

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"{}|\\^<>]+")
_ARXIV = re.compile(r"arXiv\s*:\s*\S+", re.I)
_FEWEST_LETTERS = 20
"""Letters a page, on average, below which a file holds pictures of text."""
_MAX_CHARACTERS = 30_000_000
"""Of one file: 4,000 dense pages."""
_PASSWORD = 4
"""pdfium's error for a file that needs a password."""


def read_pdf(path: Path, max_pages: int) -> PdfPaper:
    """The paper in a file. Of one with more pages the first and last half of `max_pages` are read.

    Raises `CitewellError`: pdf-encrypted, pdf-broken, pdf-scanned.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None)
        problem = encrypted(path) if code == _PASSWORD else broken(path, str(error))
        raise CitewellError(problem) from None
    try:
        return _read(document, path, max_pages)
    finally:
        document.close()


def _read(document: Any, path: Path, max_pages: int) -> PdfPaper:
    import pypdfium2

    count = len(document)
    if not count:
        raise CitewellError(broken(path, "it has no pages"))
    problems: list[Problem] = []
    wanted = list(range(count))
    if count > max_pages:
        head = (max_pages + 1) // 2
        left = count - max_pages
        problems.append(long(path, count, head + 1, head + left))
        wanted = [*wanted[:head], *wanted[head + left :]]
    lines: list[Line] = []
    failed: list[int] = []
    characters = 0
    for index in wanted:
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            failed.append(index + 1)
            continue
        try:
            found = page_lines(page, index + 1)
        except pypdfium2.PdfiumError:
            failed.append(index + 1)
            continue
        finally:
            page.close()
        characters += sum(len(line.text) for line in found)
        if characters > _MAX_CHARACTERS:
            problems.append(long(path, count, index + 1, count))
            break
        lines += found
    if failed:
        problems.append(unreadable_pages(path, failed))
    if sum(sum(map(str.isalpha, line.text)) for line in lines) < _FEWEST_LETTERS * len(wanted):
        raise CitewellError(scanned(path) if len(failed) < len(wanted) else broken(path, ""))
    return _paper(lines, document.get_metadata_dict(), path, count, problems)


def _paper(
    lines: list[Line], metadata: dict[str, str], path: Path, count: int, problems: list[Problem]
) -> PdfPaper:
    title = layout.title_of(lines)
    kept = layout.without_heads(lines)
    body, references = layout.parted(kept)
    pages, parted = layout.reference_pages(references)
    first = "\n".join(line.text for line in lines if line.page == 1)
    metadata_text = "\n".join(str(value) for value in metadata.values())
    titles = (title, " ".join(metadata.get("Title", "").split()))
    return PdfPaper(
        path=str(path),
        page_count=count,
        titles=tuple(dict.fromkeys(one[:500] for one in titles if len(one) > 4)),
        dois=_found(_DOI, normalise_doi, metadata_text, first),
        arxivs=_found(_ARXIV, arxiv_id, metadata_text, first),
        abstract=layout.abstract_of(body),
        body=tuple(layout.body_pages(body)),
        references=tuple(pages),
        parted=parted,
        problems=tuple(problems),
    )


def _found(pattern: re.Pattern[str], read: Any, *texts: str) -> tuple[str, ...]:
    """The identifiers of the texts, each once, in order."""
    ids = (read(found.group()) for text in texts for found in pattern.finditer(text))
    return tuple(dict.fromkeys(one for one in ids if one))[:8]
