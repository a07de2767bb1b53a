"""BibTeX and biblatex files, and folders of them."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any

from citewell.corpus.errors import library_error
from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import author_source, entry_year, inherited
from citewell.documents.textfile import read_text
from citewell.model import Author, Provenance, Work
from citewell.model.bib import BibBody, BibEntry
from citewell.model.fields import database_address
from citewell.model.identifiers import acl_id, normalise_doi
from citewell.model.names import ends_with_others
from citewell.model.system.files import FileError
from citewell.sources import values
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import FileImporter, guessed_encoding, head

# The entries of an imported `.bib` file, split by bibtexparser.
#
# Blocks that it cannot split, or splits wrongly (after a missing comma), are read by the editor's
# parser, which recovers more and reports each fault with its line. Values are kept raw, so that
# both give the same entry.

_NEXT_FIELD = re.compile(r"""["}\w]\s+[A-Za-z][\w-]*\s*=\s*["{\w]""")


def bib_entries(text: str, path: Path, report: ImportReport) -> Iterator[tuple[int, BibEntry]]:
    """Each entry with its 1-based line, duplicate keys included; faults go into the report.

    The offsets of the entries are not those of the file.
    """
    import bibtexparser
    from bibtexparser import model

    # It logs each fault; they are in the report.
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    library = bibtexparser.parse_string(text, parse_stack=[])
    # It treats text after a failed block as a comment.
    blocks = [
        (block, _unwrapped(block))
        for block in library.blocks
        if not isinstance(block, model.ImplicitComment)
    ]
    # The last definition of a macro wins, as in BibTeX.
    strings = {own.key.lower(): own.value for _, own in blocks if isinstance(own, model.String)}
    lines = text.split("\n")
    ends = [max(0, block.start_line or 0) for block, _ in blocks[1:]] + [len(lines)]
    for (block, own), end in zip(blocks, ends, strict=False):
        line = max(0, block.start_line or 0) + 1
        if isinstance(own, model.Entry) and own.key and all(_whole(f.value) for f in own.fields):
            kind = intern(own.entry_type.strip().lower())
            yield line, BibEntry(kind, own.key, 0, _body(own.fields, strings))
        elif isinstance(own, model.Entry | model.ParsingFailedBlock):
            # bibtexparser stops in the middle of a block; read the rest as well.
            raw = "\n".join(lines[line - 1 : end]) or own.raw or ""
            yield from _recovered(raw, line, strings, path, report)


def _unwrapped(block: Any) -> Any:
    """The entry of a block that only has a duplicate key or field."""
    from bibtexparser.model import DuplicateBlockKeyBlock, DuplicateFieldKeyBlock

    while isinstance(block, DuplicateBlockKeyBlock | DuplicateFieldKeyBlock):
        block = block.ignore_error_block
    return block


def _whole(value: str) -> bool:
    """Whether a value does not include the next field: `{A} year = {B}`."""
    if "=" not in value or _NEXT_FIELD.search(value) is None:
        return True
    return parse_bib(f"@misc{{a, a = {value}}}").problems == ()


def _body(parsed: list[Any], strings: Mapping[str, str]) -> BibBody:
    text = ""
    marks: list[int] = []
    names: list[str] = []
    for field in parsed:
        name = field.key.lower()
        begin = len(text) + len(name) + 1
        text += f"{name}={field.value}\n"
        marks += (begin - len(name) - 1, begin - 1, begin, begin + len(field.value))
        names.append(name)
    return BibBody.at(
        text, 0, marks, tuple(names), strings, length=len(text), key_at=0, reach=len(text)
    )


def _recovered(
    raw: str, line: int, strings: Mapping[str, str], path: Path, report: ImportReport
) -> Iterator[tuple[int, BibEntry]]:
    """The entries that the editor's parser finds in a block; faults refer to lines of the file."""
    bib = parse_bib(raw, str(path))
    bib.strings.update(strings)
    for problem in bib.problems:
        if not problem.code.startswith("bib-duplicate"):
            report.bad_record(path, line - 1 + (problem.line or 1), problem.message)
    for entry in bib.entries:
        yield line + raw.count("\n", 0, entry.start), entry


# A `Work` from one BibTeX or biblatex entry.

KINDS = {
    "conference": "inproceedings",
    "mastersthesis": "mastersthesis",
    "thesis": "phdthesis",
    "report": "techreport",
    "electronic": "misc",
    "online": "misc",
    "www": "misc",
    "webpage": "misc",
    "software": "misc",
    "dataset": "misc",
    "suppbook": "inbook",
    "periodical": "misc",
}
"""Types of biblatex and other dialects, with their equivalents in BibTeX."""

KNOWN = frozenset(
    [
        "article", "book", "booklet", "inbook", "incollection", "inproceedings", "manual",
        "mastersthesis", "misc", "phdthesis", "techreport", "unpublished",
    ]
)  # fmt: skip
"""The types of BibTeX; all others become "misc"."""

NO_PAPER = frozenset({"proceedings", "collection", "mvproceedings", "set", "xdata"})
"""Types of whole volumes, or of no work at all."""

_PARENTS = frozenset({"crossref", "xdata"})
_SPACE = re.compile(r"\s+")


def work_of(
    entry: BibEntry,
    identifier: str,
    origin: Provenance,
    by_key: Mapping[str, BibEntry] | None = None,
) -> Work | str:
    """The work, or the message for the report if the entry cannot be used.

    `by_key` are the entries of its file, from which it inherits (`crossref`, `xdata`).
    """
    by_key, body, get = by_key or {}, entry.body, entry.body.get
    year = body.year
    if _PARENTS.intersection(body.names):
        known = inherited(by_key, entry)
        body, year = author_source(by_key, entry).body, entry_year(entry, known)

        def get(name: str) -> str:
            return known.get(name, "")

    title = values.title(get("title"))
    subtitle = values.title(get("subtitle"))
    if not title:
        return f'The entry "{entry.key}" has no title.'
    authors: tuple[Author, ...] = body.authors
    if not authors and "editor" in body.names and entry.type == "book":
        authors = values.authors(_SPACE.sub(" ", get("editor")).split(" and "))
    kind = KINDS.get(entry.type, entry.type if entry.type in KNOWN else "misc")
    doi = entry.body.doi or normalise_doi(get("doi"))
    url = values.raw(get("url"))
    if not url or "doi.org/" in url:
        names = ("pmid", "pmcid", "adsurl", "bibcode", "handle", "eprint")
        fields = {name: get(name) for name in (*names, "eprinttype")}
        url = next((found for name in names if (found := database_address(name, fields))), url)
    booktitle = values.text(get("booktitle"))
    return Work(
        id=identifier,
        title=f"{title}: {subtitle}" if subtitle else title,
        authors=authors[: values.MAX_AUTHORS],
        others=len(authors) > values.MAX_AUTHORS or ends_with_others(body.get("author")),
        year=year or values.year(get("year")) or values.year(get("date")),
        kind=kind,
        venue=values.text(get("eventtitle") or get("series"), 200) if not booktitle else "",
        booktitle=booktitle,
        journal=values.text(get("journal") or get("journaltitle")),
        volume=values.text(get("volume"), 60),
        issue=values.text(get("number") or get("issue"), 60),
        pages=values.pages(get("pages")),
        publisher=values.text(
            get("publisher") or get("school") or get("institution") or get("organization")
        ),
        doi=doi,
        arxiv=entry.body.arxiv,
        url=url or (f"https://aclanthology.org/{acl_id(doi)}" if acl_id(doi) else ""),
        bibkey=entry.key,
        abstract=values.abstract(get("abstract")),
        language=values.language(get("langid")) or values.language(values.text(get("language"))),
        keywords=values.keywords(get("keywords") or get("keyword")),
        same_as=(identifier,),
        provenance=(origin,),
    )


class BibtexImporter(FileImporter):
    """.bib files of authors; only broken entries are skipped."""

    name = "bibtex"
    about = "BibTeX or biblatex (.bib), or a folder of such files"
    version = 4
    suffixes = (".bib", ".bibtex", ".biblatex")

    def recognise_file(self, path: Path) -> bool:
        if path.suffix.lower() in self.suffixes:
            return True
        start = head(path, 200)
        return start.startswith(b"@") and b"{" in start

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        try:
            file = read_text(path)
        except FileError as error:
            raise library_error("source-unreadable", error.problem.message, path) from None
        if file.encoding != "utf-8" and not file.bom:
            report.note(guessed_encoding(path, file.encoding))
        report.read_bytes(path.stat().st_size)
        day = files.retrieved(path)
        place = f"bib:{files.place(path)}"
        seen: set[str] = set()
        entries = list(bib_entries(file.text, path, report))
        by_key = {entry.key: entry for _, entry in reversed(entries)}
        for line, entry in entries:
            if entry.type in NO_PAPER:
                report.skip(entry.type)
                continue
            if not entry.key or not entry.body.closed or entry.key in seen:
                # Already reported for the file, except duplicate keys.
                if entry.key in seen:
                    report.bad_record(path, line, f'The key "{entry.key}" is used above.')
                continue
            seen.add(entry.key)
            origin = Provenance(source=f"bibtex:{path}", source_id=entry.key, retrieved=day)
            yield from report.good(
                path, line, work_of(entry, f"{place}:{entry.key}", origin, by_key)
            )
