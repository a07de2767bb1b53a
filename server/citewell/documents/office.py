"""The text of DOCX and ODT documents, for their reference lists.

The extra `office` provides the parsers, which are imported with the first document.
"""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path

from citewell.documents.pdf.layout import is_reference_heading
from citewell.documents.pdf.read import problem_of
from citewell.documents.textfile import file_error
from citewell.model import Problem
from citewell.model.installing import install_command

SUFFIXES = {".docx": "docx", ".odt": "odfdo"}
"""The package that reads each file type."""
MAX_UNPACKED = 200_000_000
"""Bytes of all parts of a document; a text of 1,000 pages has about 20 MB."""


def is_office(path: Path) -> bool:
    """True for a file with a supported suffix."""
    return path.suffix.lower() in SUFFIXES


def reference_text(path: Path) -> str | Problem:
    """The reference list of a document, an empty line between paragraphs; the whole text if no
    heading begins a list. Otherwise the problem with the document."""
    package = SUFFIXES[path.suffix.lower()]
    if find_spec(package) is None:
        return problem_of(path, "office-missing", command=install_command("office"))
    try:
        if problem := _refused(path):
            return problem
        paragraphs = _docx(path) if package == "docx" else _odt(path)
    except OSError as error:
        return file_error(error, path, "read").problem
    except Exception as error:
        # The libraries let the exceptions of their parsers through.
        return problem_of(path, "office-broken", reason=type(error).__name__)
    begins = [n for n, (text, _) in enumerate(paragraphs) if is_reference_heading(text.strip())]
    listed = paragraphs[begins[-1] + 1 :] if begins else paragraphs
    if begins:
        ends = (n for n, (text, heading) in enumerate(listed) if heading and text.strip() and n)
        listed = listed[: next(ends, len(listed))]
    return "\n\n".join(text for text, _ in listed if text.strip())


def _refused(path: Path) -> Problem | None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile:
        return problem_of(path, "office-broken", reason="it is no archive")
    if size <= MAX_UNPACKED:
        return None
    megabytes, most = size // 1_000_000, MAX_UNPACKED // 1_000_000
    return problem_of(path, "office-large", megabytes=megabytes, most=most)


def _docx(path: Path) -> list[tuple[str, bool]]:
    """Each paragraph, with those in tables and content controls, and whether it is a heading.
    Citation managers for Word keep their list in a content control."""
    from docx import Document
    from docx.text.paragraph import Paragraph

    document = Document(str(path))
    found = []
    for element in document.element.body.iter(_WORD_PARAGRAPH):
        paragraph = Paragraph(element, document)
        style = paragraph.style
        heading = style is not None and (style.name or "").lower().startswith(("heading", "title"))
        found.append((paragraph.text, heading))
    return found


_WORD_PARAGRAPH = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}p"


def _odt(path: Path) -> list[tuple[str, bool]]:
    """Each paragraph and heading of the body in order, and whether it is a heading."""
    from odfdo import Document

    body = Document(path).body
    return [
        (str(one.text_recursive), one.tag == "text:h")
        for one in body.get_elements("descendant::text:p|descendant::text:h")
    ]
