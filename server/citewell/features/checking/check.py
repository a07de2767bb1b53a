"""The check of a file's references as plain data: claims in, verdicts out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from citewell.documents.bib.csl import parse_csl
from citewell.documents.bib.reader import parse_bib
from citewell.documents.office import is_office, reference_text
from citewell.documents.pdf.reader import is_pdf
from citewell.documents.project.files import FileCache, Overlay, SourceFiles, format_of
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.documents.textfile import is_stream, read_stream, read_text
from citewell.engine.pdf_papers import PdfPapers
from citewell.features.checking.lint import SYNTAX
from citewell.model import Problem
from citewell.model.bib import BibFile
from citewell.model.check import INVENTED, Check, Claim, FieldFinding, Severity, Verdict
from citewell.model.document import Format, Level
from citewell.model.flavours import CSL_SUFFIXES
from citewell.model.system.files import FileError
from citewell.options.tree import DocumentOptions, PdfOptions
from citewell.verification.claims import (
    claims_of_bib,
    claims_of_pdf,
    claims_of_text,
    claims_of_thebibliography,
)
from citewell.verification.finding import SURE

_ENTRY = re.compile(r"^\s*@\w+\s*[{(]", re.MULTILINE)
ORDER = (Verdict.FABRICATED, Verdict.NOT_IN_VENUE, Verdict.WRONG_DETAIL, Verdict.NOT_FOUND,
         Verdict.UNCHECKED, Verdict.VERIFIED)  # fmt: skip
"""From what a reader wants to see first to what needs no look."""


class Claims(msgspec.Struct, frozen=True):
    """The references of some files, in order, and why some could not be read."""

    claims: tuple[Claim, ...] = ()
    problems: tuple[Problem, ...] = ()


def claims_in_files(
    paths: Sequence[Path],
    options: DocumentOptions | None = None,
    *,
    every: bool = False,
    read: Overlay | None = None,
    pdf: PdfOptions | None = None,
) -> Claims:
    """The references of .bib files, of papers, and of reference lists in text.

    Of a paper, those that it cites (all with `every`), from its .bib files and its
    `thebibliography`. A file that cannot be read is a problem, and the others are read. `read`
    gives the text of files that a paper names, where it is not the one on disk. Of a folder, those
    of all papers in it, and those of .bib files that none of them uses. A pipe is read as text, and
    a PDF in a process of its own, within the limits of `pdf`.
    """
    with PdfPapers(pdf) as pdf_reader:
        return _claims_in_files(paths, options, every, read, pdf_reader)


def _claims_in_files(
    paths: Sequence[Path],
    options: DocumentOptions | None,
    every: bool,
    read: Overlay | None,
    pdf_reader: PdfPapers,
) -> Claims:
    claims: list[Claim] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            if path.is_dir():
                found, troubles = _claims_of_folder(path, options, every)
                problems += troubles
            elif not is_stream(path) and format_of(path) in (Format.LATEX, Format.MARKDOWN):
                found, troubles = _claims_of_paper(path, options, every, read)
                problems += troubles
            elif not is_stream(path) and is_pdf(path):
                paper = pdf_reader.read(path)
                if isinstance(paper, Problem):
                    problems.append(paper)
                    continue
                found = claims_of_pdf(paper)
                problems += paper.problems
            elif not is_stream(path) and is_office(path):
                text = reference_text(path)
                if isinstance(text, Problem):
                    problems.append(text)
                    continue
                # Lines and ranges of the extracted text are none of the document's.
                found = [
                    msgspec.structs.replace(claim, line=None, span=None, spans={})
                    for claim in claims_of_text(text, str(path))
                ]
            else:
                whole = read_stream(path) if is_stream(path) else read_text(path).text
                listed = references_in(whole, str(path))
                found = list(listed.claims)
                problems += listed.problems
        except FileError as error:
            problems.append(error.problem)
            continue
        claims += found
        if not found:
            problems.append(nothing_in(path.absolute().name, str(path)))
    return Claims(tuple(claims), tuple(problems))


def claims_of_arxiv(
    arxiv: str, folder: Path, options: DocumentOptions | None, pdf: PdfOptions | None
) -> Claims:
    """The references of a paper on arXiv whose files lie in a folder, under names on arXiv.

    Those of its `.bbl` files, which are what the paper prints, else those of its LaTeX, else those
    of its PDF.
    """
    paper = folder / "paper.pdf"
    lists = [path for path in sorted(folder.rglob("*.bbl")) if b"\\bibitem" in path.read_bytes()]
    found = claims_in_files([paper] if paper.exists() else lists or [folder], options, pdf=pdf)

    def place(path: str) -> str:
        return f"arXiv:{arxiv}/{Path(path).relative_to(folder).as_posix()}" if path else path

    return Claims(
        tuple(msgspec.structs.replace(one, path=place(one.path)) for one in found.claims),
        tuple(msgspec.structs.replace(one, path="") for one in found.problems),
    )


def nothing_in(name: str, path: str = "") -> Problem:
    """The problem of a file, or of a pasted text, that contains no reference."""
    return Problem(
        "check-empty",
        f"No references found in {name}.",
        "Give a .bib file, a paper with a bibliography, a PDF, or a list of references.",
        path=path,
    )


def references_in(text: str, path: str = "") -> Claims:
    """The references in a text: those of a file of CSL, BibTeX entries, else \\bibitems, else a
    plain-text list. Between the entries of a text that is no .bib, references in plain text are
    read, too. The problems are what keeps BibTeX from reading the entries as they are meant, with
    the lines."""
    if path.lower().endswith(CSL_SUFFIXES) and (items := parse_csl(text, path)).entries:
        return Claims(tuple(claims_of_bib(items)))
    if path.lower().endswith(".bib") or _ENTRY.search(text):
        bib = parse_bib(text, path)
        errors = [one for one in bib.problems if SYNTAX.get(one.code) is Level.ERROR]
        claims = claims_of_bib(bib)
        if not errors and not path.lower().endswith((".bib", ".bibtex")):
            claims = sorted([*claims, *_beside_entries(bib)], key=lambda claim: claim.line or 0)
        return Claims(tuple(claims), tuple(errors))
    if "\\bibitem" in text:
        return Claims(tuple(claims_of_thebibliography(text, path)))
    return Claims(tuple(claims_of_text(text, path)))


def _beside_entries(bib: BibFile) -> list[Claim]:
    """The references in plain text before, between and after entries; other prose is left out."""
    taken = [*(one.span for one in bib.entries), *(one.span for one in bib.blocks)]
    begins = [0, *sorted(span.end for span in taken)]
    ends = [*sorted(span.start for span in taken), len(bib.text)]
    claims: list[Claim] = []
    for begin, end in zip(begins, ends, strict=True):
        part = bib.text[begin:end].lstrip(", \t")
        if part.strip():
            line = bib.text.count("\n", 0, end - len(part))
            claims += [
                msgspec.structs.replace(claim, line=line + (claim.line or 1), span=None, spans={})
                for claim in claims_of_text(part, bib.path)
                if claim.title and claim.authors and claim.year
            ]
    return claims


def claims_in_text(text: str, path: str = "") -> list[Claim]:
    """The references alone of `references_in`."""
    return list(references_in(text, path).claims)


def _claims_of_paper(
    path: Path, options: DocumentOptions | None, every: bool, read: Overlay | None
) -> tuple[list[Claim], list[Problem]]:
    text = read_text(path).text
    claims = claims_of_thebibliography(text, str(path)) if "\\bibitem" in text else []
    project = Project.open(path, options or DocumentOptions(), read=read)
    return [*claims, *_cited_in(project, every)], list(project.problems)


def _claims_of_folder(
    folder: Path, options: DocumentOptions | None, every: bool
) -> tuple[list[Claim], list[Problem]]:
    roots = [absolute(folder)]
    workspace = Workspace(FileCache(options), roots=roots)
    # As if all were open: a part that no paper includes yet belongs to the one above it.
    workspace.refresh(lambda path: None, opened=SourceFiles(roots).list())
    claims: list[Claim] = []
    problems: list[Problem] = []
    used: set[str] = set()
    for project in workspace.projects:
        for document in project.documents.values():
            if "\\bibitem" in document.text:
                claims += claims_of_thebibliography(document.text, document.path)
        claims += _cited_in(project, every)
        problems += project.problems
        used.update(bib.path for bib in project.bibliographies)
    for bib in workspace.bibs():
        if bib.path not in used:
            claims += claims_of_bib(bib)
    # Papers share bibliographies.
    once = {(claim.path, claim.line, claim.key): claim for claim in claims}
    return list(once.values()), list(dict.fromkeys(problems))


def _cited_in(project: Project, every: bool) -> list[Claim]:
    """The references of a paper's .bib files that it cites, or all."""
    claims: list[Claim] = []
    cited = set(project.cited_keys())
    nocite = any(document.nocite_all for document in project.documents.values())
    for bib in project.bibliographies:
        found = claims_of_bib(bib)
        claims += [claim for claim in found if every or nocite or claim.key in cited]
    return claims


def selected(checks: Iterable[Check], select: Sequence[str], ignore: Sequence[str]) -> list[Check]:
    """The checks with the findings that are asked for; a verdict without its reasons is withdrawn.

    Names are codes or their beginnings: "author" stands for "author-missing" and its like.
    """
    return [_selected(check, tuple(select), tuple(ignore)) for check in checks]


def _selected(check: Check, select: tuple[str, ...], ignore: tuple[str, ...]) -> Check:
    kept = tuple(
        one
        for one in check.findings
        if (not select or one.code.startswith(select))
        and not (ignore and one.code.startswith(ignore))
    )
    verdict = check.verdict
    if kept != check.findings and verdict in (*INVENTED, Verdict.WRONG_DETAIL):
        counted = [one for one in kept if counts(one)]
        if not counted:
            verdict = Verdict.VERIFIED if check.work is not None else Verdict.NOT_FOUND
    return msgspec.structs.replace(check, findings=kept, verdict=verdict)


def counts(finding: FieldFinding) -> bool:
    """True for a finding that bears on the verdict; the others are notes."""
    return finding.severity is not Severity.INFO and finding.confidence >= SURE


def tally(checks: Iterable[Check]) -> dict[Verdict, int]:
    """How many references have each verdict, in the order of `ORDER`."""
    found = Counter(check.verdict for check in checks)
    return {verdict: found[verdict] for verdict in ORDER}
