"""A checkout of the ACL Anthology, or one of its XML files.

Read with expat directly to refuse entities, which these files do not need and attacks use.
https://aclanthology.org/info/development/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from citewell.corpus.errors import library_error
from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import normalise_doi
from citewell.sources import values
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport

_CHUNK = 1 << 16
_MAX_DEPTH = 64
_MAX_PAPER = 4 << 20
_VOLUME_NAME = re.compile(r",\s*(?:Volume|Vol\.|Issue|Number)\b.*$", re.IGNORECASE | re.DOTALL)


class AclXmlImporter:
    """`data/xml/*.xml` of the Anthology's repository."""

    name = "acl-anthology"
    about = "a checkout of the ACL Anthology, its data/xml folder or one file of it"
    version = 2

    def recognise(self, path: Path) -> bool:
        if path.is_file():
            return path.suffix == ".xml" and b"<collection" in files.head(path, 2048)
        return any(self.recognise(file) for file in self.files(path)[:3])

    def files(self, folder: Path) -> list[Path]:
        """The XML files of the checkout, sorted."""
        for place in (folder / "data" / "xml", folder / "xml", folder):
            found = sorted(place.glob("*.xml"))
            if found:
                return found
        return []

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        for file in self.files(path) if path.is_dir() else [path]:
            day = files.retrieved(file)
            try:
                for volume, paper, line in _papers(file, report):
                    yield from report.good(file, line, _work(volume, paper, day))
            except expat.ExpatError as error:
                report.bad_record(file, error.lineno, f"The XML is broken: {error}.")
            except _RefusedError as error:
                problem = library_error("source-unreadable", str(error), file).problem
                report.bad_file(problem)


class _RefusedError(Exception):
    pass


class _Volume:
    """The fields of a volume that its papers inherit."""

    def __init__(self, collection: str, attributes: dict[str, str]) -> None:
        self.collection = collection
        self.number = attributes.get("id", "")
        self.journal = attributes.get("type") == "journal"
        self.meta: dict[str, str] = {}


class _AnthologyParser:
    """Collects one `paper` or `meta` element at a time; all others are skipped."""

    def __init__(self) -> None:
        self.collection = ""
        self.volume: _Volume | None = None
        self.ready: list[tuple[_Volume, Element, int]] = []
        self._builder: TreeBuilder | None = None
        self._depth = 0
        self._inside = 0
        self._size = 0
        self._line = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse
        self.parser.ExternalEntityRefHandler = self._refuse
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def _refuse(self, *_: object) -> int:
        raise _RefusedError("The file declares entities, which no file of the Anthology does.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _RefusedError("The elements of the file are nested too deeply.")
        if self._builder is not None:
            self._inside += 1
            self._builder.start(tag, attributes)
        elif tag == "collection":
            self.collection = attributes.get("id", "")
        elif tag == "volume":
            self.volume = _Volume(self.collection, attributes)
        elif tag in ("meta", "paper") and self.volume is not None:
            self._builder = TreeBuilder()
            self._builder.start(tag, attributes)
            self._inside, self._size = 1, 0
            self._line = self.parser.CurrentLineNumber

    def _text(self, text: str) -> None:
        if self._builder is not None:
            self._size += len(text)
            if self._size > _MAX_PAPER:
                raise _RefusedError("A paper of the file is too long.")
            self._builder.data(text)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._builder is None:
            if tag == "volume":
                self.volume = None
            return
        self._builder.end(tag)
        self._inside -= 1
        if self._inside:
            return
        element = self._builder.close()
        self._builder = None
        assert self.volume is not None
        if element.tag == "meta":
            self.volume.meta = {child.tag: _plain(child) for child in element}
        else:
            self.ready.append((self.volume, element, self._line))


def _papers(path: Path, report: ImportReport) -> Iterator[tuple[_Volume, Element, int]]:
    reader = _AnthologyParser()
    with files.opened(path, report) as stream:
        while chunk := stream.read(_CHUNK):
            reader.parser.Parse(chunk, False)
            yield from reader.ready
            reader.ready.clear()
        reader.parser.Parse(b"", True)
        yield from reader.ready


def _work(volume: _Volume, paper: Element, day: str) -> Work | str:
    given = {child.tag: _plain(child) for child in paper}
    title = values.title(given.get("title", ""))
    number = paper.get("id", "")
    if not title:
        return f"The paper {number} of volume {volume.number} has no title."
    url = given.get("url", "")
    identity = url if url and "/" not in url else _identity(volume, number)
    meta = volume.meta
    container = given.get("booktitle") or meta.get("booktitle", "")
    journal = given.get("journal") or meta.get("journal-title", "")
    if volume.journal and not journal:
        journal = _VOLUME_NAME.sub("", container)
    identifier = f"acl:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=tuple(_author(child) for child in paper if child.tag == "author"),
        year=values.year(given.get("year") or meta.get("year", "")),
        kind="article" if journal else "inproceedings",
        venue=values.text(meta.get("venue", "")),
        booktitle="" if journal else values.text(container),
        journal=values.text(journal),
        volume=values.text(given.get("volume") or meta.get("journal-volume", ""), 60),
        issue=values.text(
            given.get("issue") or given.get("journal-issue") or meta.get("journal-issue", ""), 60
        ),
        pages=values.pages(given.get("pages", "")),
        publisher=values.text(given.get("publisher") or meta.get("publisher", "")),
        doi=normalise_doi(given.get("doi", "")),
        url=url if "/" in url else f"https://aclanthology.org/{identity}",
        bibkey=values.raw(given.get("bibkey", "")),
        abstract=values.abstract(given.get("abstract", "")),
        language=values.language(given.get("language", "")),
        retracted="retracted" in given,
        same_as=(identifier,),
        provenance=(Provenance(source="acl-anthology", source_id=identity, retrieved=day),),
    )


def _identity(volume: _Volume, paper: str) -> str:
    """The Anthology's identifier: "P19-1001" for old collections, "2020.acl-main.1" for new."""
    collection, number = volume.collection, volume.number
    if not (collection[:1].isalpha() and number.isdigit() and paper.isdigit()):
        return f"{collection}-{number}.{paper}"
    wide = collection[0] == "W" or collection == "C69" or (collection == "D19" and int(number) >= 5)
    return (
        f"{collection}-{int(number):02d}{int(paper):02d}"
        if wide
        else f"{collection}-{int(number)}{int(paper):03d}"
    )


def _author(element: Element) -> Author:
    parts = {child.tag: _plain(child) for child in element if child.tag != "variant"}
    family, given = parts.get("last", ""), parts.get("first", "")
    return Author(family=family or given, given=given if family else "")


def _plain(element: Element) -> str:
    """The text of an element and its markup; `tex-math` loses its TeX, names keep their case."""
    words = []
    for part in _pieces(element):
        words.append(part)
    return " ".join("".join(words).split())


def _pieces(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag == "tex-math":
            yield values.text("$" + "".join(child.itertext()).replace("$", "") + "\\relax{}$")
        else:
            yield from _pieces(child)
        yield child.tail or ""
