"""JSON Lines of plain bibliographic records, Citewell's own exchange format, and the folder of
`citewell library harvest`, which adds the citations of the works.

One object per line: `id, title, authors[], year, venue, venue_ids[], booktitle, journal, volume,
issue, pages, doi, url, bibkey, abstract, kind, publisher, language, keywords[], retracted, notice,
source, same_as[], provenance[]`. Only `id` and `title` are needed; other names are ignored.
`same_as` holds ids of other records of the work. `provenance` (objects of `source, source_id,
retrieved`) names the records that a work was made of; without it the line is the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import acl_id, arxiv_id, normalise_doi
from citewell.sources import values
from citewell_corpus.importers import files, json_records
from citewell_corpus.importers.contract import MAX_CITED, CitedWork, ImportReport, PaperCitations
from citewell_corpus.importers.files import FileImporter

_PREFIXES = {"acl-anthology": "acl"}
_MAX_ID = 300


class JsonRecord(msgspec.Struct):
    """One line."""

    id: str
    title: str
    authors: list[str] | None = None
    year: int | str | None = None
    venue: str | None = None
    booktitle: str | None = None
    journal: str | None = None
    volume: str | int | None = None
    issue: str | int | None = None
    pages: str | int | None = None
    publisher: str | None = None
    doi: str | None = None
    arxiv: str | None = None
    url: str | None = None
    bibkey: str | None = None
    abstract: str | None = None
    kind: str | None = None
    citations: int | None = None
    language: str | None = None
    keywords: list[str] | None = None
    retracted: bool | None = None
    notice: str | None = None
    source: str | None = None
    same_as: list[str] | None = None
    provenance: list[Provenance] | None = None


class RecordsImporter(FileImporter):
    """The JSON Lines format above, plain, gzip or Zstandard."""

    name = "records"
    about = "JSON Lines of bibliographic records (.jsonl, .jsonl.gz, .jsonl.zst)"
    suffixes = (".jsonl", ".ndjson")

    def recognise_file(self, path: Path) -> bool:
        first = json_records.first_object(path)
        return {"id", "title"} <= first.keys() and bool(
            {"source", "kind", "bibkey", "venue"} & first.keys()
        )

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day, place = files.retrieved(path), files.place(path)
        found = json_records.in_lines(path, JsonRecord, report)
        yield from json_records.works(
            found, lambda record: work_of(record, day, place), path, report
        )


def work_of(record: JsonRecord, day: str, place: str) -> Work | str:
    """The work of a record, or the reason why it is not usable; `place` distinguishes ids of
    several files."""
    source = values.raw(record.source or "", 100) or f"records:{place}"
    source_id = values.raw(record.id, _MAX_ID)
    title = values.title(record.title)
    if not source_id:
        return "The record has no id."
    if not title:
        return "The record has no title."
    identifier = source_id
    if acl_id(source_id) == source_id:
        identifier = f"acl:{source_id}"
    elif ":" not in source_id:
        family = source.removeprefix("records:") if not record.source else source.partition(":")[0]
        identifier = f"{_PREFIXES.get(source, family)}:{source_id}"
    # Records made from BibTeX keep its escapes.
    doi, url = values.raw(record.doi or ""), values.raw(record.url or "").replace("\\_", "_")
    arxiv = arxiv_id(record.arxiv or "") or arxiv_id(doi) or arxiv_id(url)
    authors: tuple[Author, ...] = values.authors(record.authors or ())
    return Work(
        id=identifier,
        title=title,
        authors=authors,
        year=values.year(record.year),
        kind=values.text(record.kind or "misc", 40).lower() or "misc",
        venue=values.text(record.venue),
        booktitle=values.text(record.booktitle),
        journal=values.text(record.journal),
        volume=values.text(record.volume, 60),
        issue=values.text(record.issue, 60),
        pages=values.pages(record.pages),
        publisher=values.text(record.publisher),
        doi=normalise_doi(doi),
        arxiv=arxiv,
        url=url,
        bibkey=values.raw(record.bibkey or "", _MAX_ID),
        abstract=values.abstract(record.abstract),
        citations=values.count(record.citations),
        language=values.language(record.language),
        keywords=values.keywords(record.keywords),
        retracted=bool(record.retracted),
        notice=values.raw(record.notice or "") if record.retracted else "",
        same_as=tuple(dict.fromkeys((identifier, *(record.same_as or ())))),
        provenance=tuple(record.provenance or ())
        or (Provenance(source=source, source_id=source_id, retrieved=day),),
    )


class _Edges(msgspec.Struct):
    id: str
    references: list[str]


class HarvestImporter:
    """`works.jsonl` and `edges.jsonl` side by side."""

    name = "harvest"
    about = "a folder of `citewell library harvest`"
    version = 1

    def recognise(self, path: Path) -> bool:
        return len(self.files(path)) == 2

    def files(self, folder: Path) -> list[Path]:
        """Both files."""
        return [
            path for name in ("edges.jsonl", "works.jsonl") if (path := folder / name).is_file()
        ]

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        cited: dict[str, list[str]] = {}
        for _, edges in json_records.in_lines(path / "edges.jsonl", _Edges, report):
            cited[edges.id] = edges.references
        file = path / "works.jsonl"
        day, place = files.retrieved(file), files.place(file)
        found = json_records.in_lines(file, JsonRecord, report)
        for work in json_records.works(found, lambda one: work_of(one, day, place), file, report):
            references = tuple(
                CitedWork(id=one) for one in islice(cited.get(work.id, ()), MAX_CITED)
            )
            if references:
                report.cites(PaperCitations(work.title, references, work.abstract))
            yield work
