"""PDFs of papers: their identification, full text, citations and citing sentences."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.documents.context import split_sentences
from citewell.model import Problem, Provenance, Work
from citewell.model.check import Claim
from citewell.model.names import family_key
from citewell.model.pdf import CitingSentence, PdfPage, PdfPaper
from citewell.model.query import MARK, OTHER
from citewell.model.titles import title_key
from citewell.sources import values
from citewell.verification.claims import claims_of_pdf
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import (
    MAX_CITED,
    CitedWork,
    ImportReport,
    PaperCitations,
    PaperText,
)
from citewell_corpus.importers.files import FileImporter
from citewell_corpus.pdf_reading import PdfReading

# The citing sentences of a PDF, each with its reference.
#
# By number, "[12, 14-16]", or by author and year, "(Ash et al., 2019)", "Ash and Beech (2019)". A
# mark that matches no reference of the list, or several, stays as it is.

MAX_SENTENCES = 2_000
_MAX_LENGTH = 2_000
_MAX_RANGE = 30
_NUMBERS = re.compile(r"\[(\d{1,4}(?:\s*[-–,;]\s*\d{1,4}){0,40})\]")
_UP = r"[^\W\d_a-zß-ÿ]"
_PARTICLES = r"(?:(?:van|von|der|den|de|du|di|da|del|la|le)\s+){0,3}"
_NAME = rf"{_PARTICLES}{_UP}[\w'’-]+"
_NAMED = re.compile(
    rf"({_NAME})(?:\s+et\s+al\.?|(?:,\s*{_NAME}){{0,2}},?\s+(?:and|&)\s+{_NAME})?"
    r"(?:,?\s+((?:19|20)\d\d)[a-z]?(?!\d)|\s+[(\[]((?:19|20)\d\d)[a-z]?[)\]])"
)
_HELD = re.compile("\ue000(\\d+)\ue001")


def citing_sentences(
    pages: Sequence[PdfPage], claims: Sequence[Claim]
) -> tuple[CitingSentence, ...]:
    """The citing sentences in order, one for each reference of a sentence."""
    text = " ".join(" ".join(page.text for page in pages).split())
    numbered = sum(claim.key.isdigit() for claim in claims) > 0.5 * len(claims)
    marks: list[list[int]] = []
    if numbered and _NUMBERS.search(text):
        number_of = {int(claim.key): at for at, claim in enumerate(claims) if claim.key.isdigit()}
        text = _NUMBERS.sub(
            lambda found: _held(found, _by_number(found[1], number_of), marks), text
        )
    else:
        of_name = _by_names(claims)
        text = _NAMED.sub(lambda found: _held(found, _by_name(found, of_name), marks), text)
    found: list[CitingSentence] = []
    for sentence in split_sentences(text):
        places = list(_HELD.finditer(sentence))
        if not places or len(sentence) > _MAX_LENGTH:
            continue
        for place in places:
            found += [CitingSentence(one, _shown(sentence, place)) for one in marks[int(place[1])]]
        if len(found) >= MAX_SENTENCES:
            break
    return tuple(found[:MAX_SENTENCES])


def _shown(sentence: str, own: re.Match[str]) -> str:
    """The sentence with one of its marks as the citation, and the others as other citations."""
    return _HELD.sub(lambda mark: MARK if mark.start() == own.start() else OTHER, sentence)


def _held(found: re.Match[str], references: list[int], marks: list[list[int]]) -> str:
    if not references:
        return found[0]
    marks.append(references)
    return f"\ue000{len(marks) - 1}\ue001"


def _by_number(text: str, number_of: dict[int, int]) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r"[,;]", text):
        first, *last = (int(one) for one in re.split(r"[-–]", part) if one.strip())
        end = last[0] if last else first
        numbers += range(first, min(end, first + _MAX_RANGE) + 1)
    return [number_of[one] for one in dict.fromkeys(numbers) if one in number_of]


def _by_names(claims: Sequence[Claim]) -> dict[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, claim in enumerate(claims):
        if claim.authors and claim.year:
            found[family_key(claim.authors[0].family), claim.year].append(at)
    return found


def _by_name(found: re.Match[str], of_name: dict[tuple[str, int], list[int]]) -> list[int]:
    """The one reference of a first author and a year; none if there are several."""
    key = family_key(found[1]), int(found[2] or found[3])
    named = of_name.get(key, [])
    return named if len(named) == 1 else []


TELLING_TITLE = 13
"""Minimum letters of a title that identifies a paper."""
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
        """The papers of a file or folder; an unreadable one is counted and named."""
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
    cited = tuple(CitedWork(claim.title) for claim in claims)
    if cited:
        sentences = paper.sentences or citing_sentences(paper.body, claims)
        passages = tuple(
            (one.reference, one.text) for one in sentences if cited[one.reference].title
        )
        report.cites(PaperCitations(work.title, cited, work.abstract or paper.abstract, passages))
    report.full_text(PaperText(work.title, passages_of(paper.body)))
    return work


def _work(path: Path, paper: PdfPaper, known: Work | None) -> Work | None:
    """The record of the file: that of the library or of a source, else from its own data."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()[:24]
    origin = Provenance(source="pdf", source_id=path.name, retrieved=files.retrieved(path))
    identifier = f"pdf:{digest}"
    if known is not None:
        return msgspec.structs.replace(
            known, id=identifier, same_as=(identifier,), provenance=(origin,), variants=()
        )
    title = next((one for one in paper.titles if len(title_key(one)) >= TELLING_TITLE), "")
    title = values.title(title)
    if not title:
        return None
    return Work(
        id=identifier,
        title=title,
        abstract=values.abstract(paper.abstract),
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
