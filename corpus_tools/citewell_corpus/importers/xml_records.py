"""XML files of many records, read one record at a time, without entities."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from xml.etree.ElementTree import ParseError

from citewell.corpus.errors import library_error
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_RECORD = 8 << 20
"""Maximum bytes of a record; a larger one is refused with the rest of its file."""


class _TooLargeError(Exception):
    pass


class _Bounded(io.RawIOBase):
    """Stops reading if no record has ended within `MAX_RECORD` bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.since = 0

    def read(self, size: int = -1, /) -> bytes:
        if self.since > MAX_RECORD:
            raise _TooLargeError
        data = self._stream.read(min(size, 1 << 16) if size > 0 else 1 << 16)
        self.since += len(data)
        return data


def xml_records(
    path: Path, tags: Collection[str], report: ImportReport
) -> Iterator[tuple[int, Element]]:
    """Number (from 1) and element of each record, an element whose name is in `tags`.

    The element is cleared when the next one is requested. A broken file yields the records before
    the fault, which goes into the report. Raises `LibraryError` if the file cannot be opened.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    number = 0
    with files.opened(path, report) as stream:
        bounded = _Bounded(stream)
        open_elements: list[Element] = []
        try:
            for event, element in iterparse(bounded, events=("start", "end")):
                if event == "start":
                    open_elements.append(element)
                    continue
                open_elements.pop()
                if element.tag in tags:
                    number += 1
                    bounded.since = 0
                    yield number, element
                    element.clear()
                    if open_elements:
                        open_elements[-1].clear()
        except ParseError as error:
            report.bad_record(path, error.position[0], f"The XML is broken: {error}.")
        except (DefusedXmlException, ValueError):
            message = "The file declares entities, which no export of references does."
            report.bad_file(library_error("source-unreadable", message, path).problem)
        except _TooLargeError:
            message = f"A record is larger than {MAX_RECORD} bytes."
            report.bad_file(library_error("source-unreadable", message, path).problem)


def text_at(element: Element, *paths: str) -> str:
    """The text at the first non-empty path, inner elements included."""
    for path in paths:
        found = element.find(path)
        if found is not None and (text := "".join(found.itertext()).strip()):
            return text
    return ""


def texts_at(element: Element, path: str) -> list[str]:
    """The texts of all elements at a path, without empty ones."""
    found = ("".join(one.itertext()).strip() for one in element.findall(path))
    return [text for text in found if text]
