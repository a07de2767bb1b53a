"""Semantic Scholar papers in JSON Lines or Parquet, from its Graph API or its bulk data sets.

https://api.semanticscholar.org/api-docs/graph and the `papers` data set, with all names in lower
case. `references`, if included, lists what each paper cites.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from citewell.model import Provenance, Work
from citewell.model.identifiers import acl_id, arxiv_id, normalise_doi
from citewell.sources import values
from citewell_corpus.importers import files, json_records, parquet
from citewell_corpus.importers.contract import MAX_CITED, CitedWork, ImportReport
from citewell_corpus.importers.files import FileImporter

SOURCE = "semantic-scholar"
_KINDS = {"journalarticle": "article", "conference": "inproceedings", "book": "book",
          "booksection": "incollection", "review": "article"}  # fmt: skip
_IDENTITIES = ("corpusid", "corpusId", "paperid", "paperId")
_FIELDS = (
    *_IDENTITIES, "title", "year", "venue", "url", "abstract", "externalids.", "externalIds.",
    "journal.", "publicationvenue.", "publicationVenue.", "publicationtypes.", "publicationTypes.",
    "publicationdate", "publicationDate", "citationcount", "citationCount", "authors.",
    "references.",
)  # fmt: skip
"""Parquet fields of a `Work` (`parquet.rows`), in the spellings of data sets and API."""
_PREPRINTS = frozenset({"arxiv", "arxiv.org", "biorxiv", "medrxiv"})


class SemanticScholarImporter(FileImporter):
    """One paper per line, plain or compressed, or per row of Parquet."""

    name = SOURCE
    about = "Semantic Scholar papers (JSON Lines, Parquet), with what they cite"
    suffixes = (".jsonl", ".json", ".ndjson", parquet.SUFFIX, "")

    def recognise_file(self, path: Path) -> bool:
        if parquet.is_parquet(path):
            return any(parquet.has_columns(path, (one, "title")) for one in _IDENTITIES)
        names = {name.lower() for name in json_records.first_object(path)}
        return bool({"paperid", "corpusid"} & names) and "title" in names

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        day = files.retrieved(path)
        rows = (
            parquet.rows(path, _FIELDS, report)
            if parquet.is_parquet(path)
            else json_records.in_lines(path, json_records.Object, report)
        )
        found = (
            (number, {name.lower(): value for name, value in record.items()})
            for number, record in rows
        )
        yield from json_records.works(
            found, lambda record: _work(record, day), path, report, _references
        )


def _work(record: dict[str, Any], day: str) -> Work | str:
    identity, title = identity_of(record), values.title(record.get("title"))
    if not identity:
        return "The record has neither paperId nor corpusId."
    if not title:
        return "The record has no title."
    others = {str(k).lower(): values.raw(v) for k, v in _dict(record.get("externalids")).items()}
    doi = normalise_doi(others.get("doi", ""))
    arxiv = arxiv_id(others.get("arxiv", "")) or arxiv_id(doi)
    journal = _dict(record.get("journal"))
    place = _dict(record.get("publicationvenue"))
    venue = values.text(record.get("venue")) or values.text(place.get("name"))
    types = record.get("publicationtypes")
    named = [str(one).lower() for one in types] if isinstance(types, list) else []
    kind = next((_KINDS[one] for one in named if one in _KINDS), "")
    published = values.text(journal.get("name"))
    if (venue or published).lower() in _PREPRINTS:
        kind = "misc"
    kind = kind or ("article" if published else "misc")
    identifier = f"s2:{identity}"
    same = [identifier]
    anthology = acl_id(others.get("acl", ""))
    if anthology:
        same.append(f"acl:{anthology}")
    authors = record.get("authors")
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(
            _dict(one).get("name") for one in (authors if isinstance(authors, list) else ())
        ),
        year=values.year(record.get("year")) or values.year(record.get("publicationdate")),
        kind=kind,
        venue=venue,
        booktitle=venue if kind == "inproceedings" else "",
        journal=published or venue if kind == "article" else "",
        volume=values.text(journal.get("volume"), 60) if kind == "article" else "",
        pages=values.pages(journal.get("pages")) if kind in ("article", "inproceedings") else "",
        doi=doi,
        arxiv=arxiv,
        url=values.raw(record.get("url")),
        abstract=values.abstract(record.get("abstract")),
        citations=values.count(record.get("citationcount")),
        same_as=tuple(same),
        provenance=(Provenance(source=SOURCE, source_id=identity, retrieved=day),),
    )


def identity_of(record: dict[str, Any]) -> str:
    """The identifier of a record whose names are in lower case; "" if it has none."""
    return values.raw(record.get("paperid")) or values.raw(record.get("corpusid"))


def _references(record: dict[str, Any]) -> tuple[CitedWork, ...]:
    """The references of a paper: plain records, or wrapped in `citedPaper` (API pages)."""
    found = record.get("references")
    out = []
    for one in islice(found if isinstance(found, list) else (), MAX_CITED):
        paper = {str(k).lower(): v for k, v in _dict(one).items()}
        paper = {str(k).lower(): v for k, v in _dict(paper.get("citedpaper")).items()} or paper
        title, identity = values.title(paper.get("title")), identity_of(paper)
        if title or identity:
            out.append(CitedWork(title, f"s2:{identity}" if identity else ""))
    return tuple(out)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# The records deleted by an increment of Semantic Scholar's data sets (`delete_files`).
#
# https://api.semanticscholar.org/api-docs/datasets

_NAMES = frozenset({"corpusid", "paperid"})


class DeletedPapersImporter(FileImporter):
    """One record per line; only its identifier counts.

    Each becomes a record without a title and with one identifier, which withdraws what earlier
    files say under it (`staging.withdraws`).
    """

    name = "s2-deletes"
    about = "Semantic Scholar papers that were deleted (delete_files, JSON Lines)"
    suffixes = (".jsonl", ".json", ".ndjson", "")

    def recognise_file(self, path: Path) -> bool:
        # Other data sets also have identifiers without titles: nothing is deleted by a guess.
        names = {name.lower() for name in json_records.first_object(path)}
        return bool(names) and names <= _NAMES

    def read_file(self, path: Path, report: ImportReport) -> Iterator[Work]:
        for number, record in json_records.in_lines(path, json_records.Object, report):
            identity = identity_of({name.lower(): value for name, value in record.items()})
            if not identity:
                report.bad_record(path, number, "The record has neither paperId nor corpusId.")
                continue
            report.records += 1
            origin = Provenance(source=SOURCE, source_id=identity)
            yield Work(id=f"s2:{identity}", title="", provenance=(origin,))
