"""PDFs of papers: which paper each is, its full text, what it cites and in which sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.documents.sentences import split_sentences
from citewell.model import Problem, Provenance, Work
from citewell.model.pdf import PdfPage, PdfPaper
from citewell.model.titles import title_key
from citewell.verification.claims import claims_of_pdf
from citewell_corpus.importers import fields
from citewell_corpus.importers.contract import (
    MAX_CITED,
    Cited,
    Citing,
    FullText,
    ImportReport,
)
from citewell_corpus.importers.folder import FileImporter
from citewell_corpus.importers.pdf_citations import citing_sentences
from citewell_corpus.pdf_reading import PdfReading

TELLING_TITLE = 13
"""Letters from which a title identifies a paper."""
_PASSAGE_WORDS = 120
_MAX_PASSAGES = 20_000
_HEAD = b"%PDF-"


class PdfImporter(FileImporter):
    """A PDF, or a folder of PDFs."""

    name = "pdf"
    about = "PDFs of papers: their full text, and how they cite (needs the extra `pdf`)"
    suffixes = (".pdf",)

    def recognise_file(self, path: Path) -> bool:
        try:
            with path.open("rb") as stream:
                return _HEAD in stream.read(1024)
        except OSError:
            return False

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """The papers of a file or folder; one that cannot be read is counted and named."""
        own = PdfReading() if report.pdf is None else None
        with own or nullcontext(report.pdf) as reading:
            assert reading is not None
            for file in self.files(path) if path.is_dir() else [path]:
                if (work := _read(file, reading, report)) is not None:
                    yield work


def _read(path: Path, reading: PdfReading, report: ImportReport) -> Work | None:
    paper = reading.read(path)
    if isinstance(paper, Problem):
        if paper.code == "pdf-not-installed":
            raise LibraryError(paper)
        report.bad_file(paper)
        return None
    report.read_bytes(path.stat().st_size)
    for problem in paper.problems:
        report.note(problem)
    known = reading.identify(paper)
    work = _work(path, paper, known)
    if work is None:
        report.bad_file(_untitled(path))
        return None
    if known is None:
        report.note(_unknown(path, work.title))
    claims = claims_of_pdf(paper)[:MAX_CITED]
    cited = tuple(Cited(claim.title) for claim in claims)
    if cited:
        sentences = paper.sentences or citing_sentences(paper.body, claims)
        passages = tuple(
            (one.reference, one.text) for one in sentences if cited[one.reference].title
        )
        report.cites(Citing(work.title, cited, work.abstract or paper.abstract, passages))
    report.full_text(FullText(work.title, passages_of(paper.body)))
    return work


def _work(path: Path, paper: PdfPaper, known: Work | None) -> Work | None:
    """The record of the file: that of the library or of a source, else what the file says."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:24]
    origin = Provenance(source="pdf", source_id=path.name, retrieved=fields.retrieved(path))
    identifier = f"pdf:{digest}"
    if known is not None:
        return msgspec.structs.replace(
            known, id=identifier, same_as=(identifier,), provenance=(origin,), variants=()
        )
    title = next((one for one in paper.titles if len(title_key(one)) >= TELLING_TITLE), "")
    title = fields.title(title)
    if not title:
        return None
    return Work(
        id=identifier,
        title=title,
        abstract=fields.abstract(paper.abstract),
        doi=paper.dois[0] if len(paper.dois) == 1 else "",
        arxiv=paper.arxivs[0] if len(paper.arxivs) == 1 else "",
        same_as=(identifier,),
        provenance=(origin,),
    )


def passages_of(pages: Sequence[PdfPage]) -> tuple[tuple[int, str], ...]:
    """Page and text of passages of about 120 words, whole sentences of one page each."""
    found: list[tuple[int, str]] = []
    for page in pages:
        some: list[str] = []
        count = 0
        for sentence in split_sentences(" ".join(page.text.split())):
            some.append(sentence)
            count += len(sentence.split())
            if count >= _PASSAGE_WORDS:
                found.append((page.number, " ".join(some)))
                some, count = [], 0
        if some:
            found.append((page.number, " ".join(some)))
    return tuple(found[:_MAX_PASSAGES])


def _untitled(path: Path) -> Problem:
    return Problem(
        "pdf-untitled",
        f"{path.name} has neither a title nor an identifier that is known.",
        "Add its record, for example a .bib entry with its DOI, and add the file again.",
        str(path),
    )


def _unknown(path: Path, title: str) -> Problem:
    return Problem(
        "pdf-unknown",
        f"No record of {path.name} was found; it is in the library as “{title}”, without authors.",
        "Add a .bib entry with this title, or add the file again with `--online`.",
        str(path),
    )
