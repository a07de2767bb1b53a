"""The arXiv metadata snapshot: JSON Lines, one paper per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citewell.model import Author, Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.names import split_authors
from citewell.model.tex import tex_to_unicode
from citewell.sources import values
from citewell_corpus.importers import files, json_records
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import FileImporter


class ArxivImporter(FileImporter):
    """`arxiv-metadata-oai-snapshot.json` and the like."""

    name = "arxiv"
    about = "the arXiv metadata snapshot (JSON Lines)"
    version = 2
    suffixes = (".json", ".jsonl", ".ndjson")

    def recognise_file(self, path: Path) -> bool:
        line = files.first_line(path, 1 << 16)
        return line.startswith(b"{") and b'"authors_parsed"' in line and b'"categories"' in line

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)
        found = json_records.in_lines(path, json_records.Object, report)
        yield from json_records.works(found, lambda record: _work(record, day), path, report)


def _work(record: dict[str, Any], day: str) -> Work | str:
    identity = arxiv_id(values.raw(record.get("id")))
    title = values.title(record.get("title"))
    if not identity:
        return "The record has no arXiv id."
    if not title:
        return "The record has no title."
    identifier = f"arxiv:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=_authors(record),
        year=_first_year(record) or values.year(record.get("update_date")),
        kind="misc",
        venue="arXiv",
        doi=normalise_doi(values.raw(record.get("doi"))),
        arxiv=identity,
        url=f"https://arxiv.org/abs/{identity}",
        abstract=values.abstract(record.get("abstract")),
        keywords=values.keywords(values.raw(record.get("categories")).split()),
        same_as=(identifier,),
        provenance=(Provenance(source="arxiv", source_id=identity, retrieved=day),),
    )


def _authors(record: dict[str, Any]) -> tuple[Author, ...]:
    parsed = record.get("authors_parsed")
    if not isinstance(parsed, list) or not parsed:
        names = values.raw(record.get("authors"), 100_000).replace(", ", " and ")
        return tuple(split_authors(names))
    authors = []
    for name in parsed[: values.MAX_AUTHORS]:
        parts = [tex_to_unicode(p) if isinstance(p, str) else "" for p in name[:3]]
        parts += [""] * (3 - len(parts))
        if parts[0]:
            authors.append(Author(family=parts[0], given=parts[1], suffix=parts[2]))
    return tuple(authors)


def _first_year(record: dict[str, Any]) -> int | None:
    """Year of the first version."""
    versions = record.get("versions")
    first = versions[0] if isinstance(versions, list) and versions else None
    return values.year(first.get("created")) if isinstance(first, dict) else None
