"""The check of a file's references as plain data: from claims to verdicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import msgspec

from citewell.documents.bib.csl import parse_csl
from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import mark_of
from citewell.documents.office import is_office, reference_text
from citewell.documents.pdf.reader import is_pdf
from citewell.documents.project.files import FileCache, Overlay, SourceFiles, format_of
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.documents.textfile import is_stream, read_stream, read_text
from citewell.engine.pdf_papers import PdfPapers
from citewell.features.checking.lint import SYNTAX, LintPaper, lint_bib, lint_document
from citewell.features.checking.lint_rule import shown_diagnostics
from citewell.model import Problem
from citewell.model.bib import BibEntry, BibFile
from citewell.model.cancel import cooperative
from citewell.model.check import INVENTED, Check, Claim, FieldFinding, Severity, Verdict
from citewell.model.display_text import shorten
from citewell.model.document import (
    CSL_SUFFIXES,
    Diagnostic,
    Document,
    Format,
    KeyUse,
    Level,
    RelatedLocation,
    Span,
)
from citewell.model.fields import BIB_FIELDS, NO_WORKS
from citewell.model.system.files import FileError
from citewell.model.titles import plain_title
from citewell.model.words import VERDICTS, assurance
from citewell.options.tree import DiagnosticsOptions, DocumentOptions, PdfOptions
from citewell.verification.claims import (
    claim_of_entry,
    claims_of_bib,
    claims_of_pdf,
    claims_of_text,
    claims_of_thebibliography,
)
from citewell.verification.finding import MEANINGS, SURE

_ENTRY = re.compile(r"^\s*@\w+\s*[{(]", re.MULTILINE)
ORDER = (Verdict.FABRICATED, Verdict.NOT_IN_VENUE, Verdict.WRONG_DETAIL, Verdict.NOT_FOUND,
         Verdict.UNCHECKED, Verdict.VERIFIED)  # fmt: skip
"""From the verdicts that need attention to those that need none."""


class Claims(msgspec.Struct, frozen=True):
    """The references of some files, in order, and the problems of reading them."""

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

    For a paper, those that it cites (all with `every`), from its .bib files and its
    `thebibliography`. An unreadable file is a problem, and the others are read. `read` returns the
    text of files of a paper if it differs from that on disk. For a folder, those of all papers in
    it, and those of .bib files that none of them uses. A pipe is read as text, and a PDF in a
    process of its own, within the limits of `pdf`.
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
                # Lines and ranges of the extracted text do not apply to the document.
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
    """The references of a paper on arXiv, from its files in a folder, with names on arXiv. From its
    `.bbl` files, which are the printed ones, else from its LaTeX, else from its PDF."""
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
    r"""The references in a text: from a CSL file, BibTeX entries, else \bibitems, else a plain-text
    list. Plain-text references between the entries of a text other than a .bib are also read. The
    problems are BibTeX syntax errors, with their lines."""
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
    """The plain-text references before, between and after entries; other prose is left out."""
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
    # Treats all files as open: a part that no paper includes belongs to the one above it.
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
    """The checks with the selected findings; a verdict without its reasons is withdrawn. Names are
    codes or prefixes: "author" stands for "author-missing" and the like."""
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
    """True for a finding that affects the verdict; the others are notes."""
    return finding.severity is not Severity.INFO and finding.confidence >= SURE


def tally(checks: Iterable[Check]) -> dict[Verdict, int]:
    """Number of references with each verdict, in the order of `ORDER`."""
    found = Counter(check.verdict for check in checks)
    return {verdict: found[verdict] for verdict in ORDER}


# Checks of entries: the look-up, and the editor's display of the result.
#
# A look-up depends only on an entry's content: entries with the same content share one result, and
# a result stays valid when the entry moves or its key changes.

NOT_FOUND, UNCHECKED = "reference-not-found", "reference-unchecked"
FABRICATED = "reference-fabricated"
"""Code of the diagnostic at a citation of a fabricated reference; in the .bib, its findings are
reported on its fields."""
NOTES = tuple(code for code, meaning in MEANINGS.items() if meaning.endswith("(note)."))
"""Codes of findings that never change a verdict."""
FINDINGS = tuple(code for code in MEANINGS if code not in NOTES)
CODES = (*FINDINGS, *NOTES, FABRICATED, NOT_FOUND, UNCHECKED)
"""Every diagnostic code for a checked entry or its citations."""
NAMED = 3
"""Number of entries named in the summary of those without a record."""
_TITLE = 50
_PARENTS = frozenset({"crossref", "xdata"})


class EntryBytes(msgspec.Struct, frozen=True):
    """The fields of one entry, with the path of its file, without its key and position."""

    encoded: bytes
    """The claim as MessagePack: of a large file, tens of thousands wait for their result."""
    digest: bytes
    """Equal for entries with the same content."""

    @property
    def claim(self) -> Claim:
        """The entry's claim; decoded at each call."""
        return msgspec.msgpack.decode(self.encoded, type=Claim)


CheckOf = Callable[[bytes], Check | None]
"""Returns the result of a question by its digest; None while there is none."""


def question(bib: BibFile, entry: BibEntry) -> EntryBytes | None:
    """The question about an entry; None for one that is no reference, or too broken."""
    if entry.type in NO_WORKS or not entry.body.names:
        return None
    found = _question(bib, entry)
    if not _depends_on_others(entry):
        entry.body.set_question(found.digest if found is not None else None)
    return found


def question_digest(bib: BibFile, entry: BibEntry) -> bytes | None:
    """The digest of `question`. It is cached, and the claim is not: the claims of a large file
    would take as much memory as its text."""
    known = entry.body.question
    if known is not msgspec.UNSET:
        return known
    found = question(bib, entry)
    return found.digest if found is not None else None


def marked(check: Check | None, bib: BibFile, entry: BibEntry) -> Check | None:
    """The result for an entry with the entry's mark, which is not part of the question."""
    mark = mark_of(bib, entry) if check is not None and check.codes else None
    if check is None or mark is None:
        return check
    return msgspec.structs.replace(check, claim=msgspec.structs.replace(check.claim, mark=mark))


def _depends_on_others(entry: BibEntry) -> bool:
    return bool(entry.key) and not _PARENTS.isdisjoint(entry.body.names)


def _question(bib: BibFile, entry: BibEntry) -> EntryBytes | None:
    claim = claim_of_entry(bib, entry)
    bare = msgspec.structs.replace(
        claim, key="", line=None, span=None, spans={}, path="", mark=None
    )
    if not (bare.title or bare.doi or bare.arxiv):
        return None
    digest = blake2b(msgspec.msgpack.encode(bare), digest_size=16).digest()
    # A `.bib` added to the library is no evidence for its own entries.
    return EntryBytes(msgspec.msgpack.encode(msgspec.structs.replace(bare, path=bib.path)), digest)


def verified(
    bib: BibFile,
    check_of: CheckOf,
    levels: Mapping[str, str] | None = None,
    *,
    list_not_found: bool = False,
) -> Iterator[Diagnostic]:
    """Diagnostics of the known checks of a file, each with key and title. An entry without a record
    is a hint for `summarised`, unless these are listed."""
    shows_unchecked = UNCHECKED in (levels or {})
    for entry in cooperative(bib.entries):
        digest = question_digest(bib, entry)
        check = check_of(digest) if digest is not None else None
        if check is None:
            continue
        if check.verdict is Verdict.VERIFIED and not check.findings:
            continue
        for one in check_diagnostics(entry, check):
            if one.code == NOT_FOUND:
                level = Level.INFORMATION if list_not_found else Level.HINT
                yield msgspec.structs.replace(_with_name(one, entry, check), level=level)
            elif one.code != UNCHECKED or shows_unchecked:
                yield _with_name(one, entry, check)


def _with_name(one: Diagnostic, entry: BibEntry, check: Check) -> Diagnostic:
    words = f" is {VERDICTS[check.verdict].label}:" if one.level is Level.ERROR else ":"
    return msgspec.structs.replace(one, message=f"{named(entry)}{words} {one.message}")


def summarised(found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The diagnostics, with a single one for all entries of the file without a record: hundreds of
    them would hide the errors."""
    first: Diagnostic | None = None
    keys: list[str] = []
    for one in found:
        if one.code != NOT_FOUND:
            yield one
            continue
        keys.append(one.data["key"])
        first = one if first is None or one.span < first.span else first
    if first is None:
        return
    if len(keys) == 1:
        yield first
        return
    more = f" and {len(keys) - NAMED:,} more" if len(keys) > NAMED else ""
    yield msgspec.structs.replace(
        first,
        message=f"No records found for {len(keys):,} references in this file, which is no "
        f"evidence against them: {', '.join(keys[:NAMED])}{more}. A source that you allow may know "
        "them (`citewell sources`).",
    )


def cited_inventions(
    document: Document,
    projects: Sequence[Project],
    check_of: CheckOf,
    levels: Mapping[str, str] | None = None,
) -> Iterator[Diagnostic]:
    """The citations of fabricated entries in a document, with the entry as the related location.

    Silent if a comment in the .bib, or the settings, silence the findings against the entry.
    """
    for use, bib, entry, check in _inventions(document, projects, check_of):
        shown = shown_diagnostics(check_diagnostics(entry, check), bib, levels or {})
        why = next((one for one in shown if one.code in FINDINGS and "key" in one.data), None)
        if why is None:
            continue
        yield Diagnostic(
            code=FABRICATED,
            span=use.span,
            message=f"{named(entry)} is {VERDICTS[check.verdict].label}: {why.message}",
            level=why.level,
            related=(RelatedLocation(Path(bib.path), entry.key_span, f"The entry {entry.key}"),),
            data={"key": entry.key},
        )


def _inventions(
    document: Document, projects: Sequence[Project], check_of: CheckOf
) -> Iterator[tuple[KeyUse, BibFile, BibEntry, Check]]:
    known: dict[str, tuple[BibFile, BibEntry, Check] | None] = {}
    for citation in document.citations:
        for use in citation.keys:
            if use.key not in known:
                known[use.key] = _invention(use.key, projects, check_of)
            found = known[use.key]
            if found is not None:
                yield use, *found


def _invention(
    key: str, projects: Sequence[Project], check_of: CheckOf
) -> tuple[BibFile, BibEntry, Check] | None:
    for project in projects:
        place = project.entry(key)
        if place is None:
            continue
        bib, entry = project.bibs[place[0]], place[1]
        digest = question_digest(bib, entry)
        check = check_of(digest) if digest is not None else None
        invented = check is not None and check.verdict in INVENTED
        return (bib, entry, check) if check is not None and invented else None
    return None


def named(entry: BibEntry) -> str:
    """ "vaswani2017 (“Attention Is All You Need”)"."""
    title = plain_title(entry.get("title"))
    return f"{entry.key} (“{shorten(title, _TITLE)}”)" if title else entry.key


def check_diagnostics(entry: BibEntry, check: Check) -> Iterator[Diagnostic]:
    """The diagnostics of one entry: each finding on its field, those that affect the verdict first,
    else one on the key."""
    spans = {field.name: field.value_span for field in reversed(entry.fields)}
    why = "" if not check.evidence else check.evidence[0]
    for finding in sorted(check.findings, key=lambda one: not counts(one)):
        field = place_of(finding, spans)
        yield Diagnostic(
            code=finding.code,
            span=spans.get(field) or _elsewhere(finding, entry),
            message=_words(finding, why),
            level=_level(finding, check.verdict),
            data={"key": entry.key, "field": field, "expected": finding.expected},
        )
    if check.verdict is Verdict.NOT_FOUND:
        yield _on_key(entry, NOT_FOUND, " ".join(check.evidence[:2]) or "No record found.")
    elif check.verdict is Verdict.UNCHECKED:
        yield _on_key(entry, UNCHECKED, why or "This reference could not be looked up.")


def claim_diagnostics(check: Check) -> Iterator[Diagnostic]:
    """The answer about a reference that is no entry, such as a \\bibitem, at its place."""
    whole = check.claim.span or Span(0, 0)
    data = {"key": check.claim.key}
    for finding in check.findings:
        yield Diagnostic(
            code=finding.code,
            span=finding.span or whole,
            message=_words(finding, next(iter(check.evidence), "")),
            level=_level(finding, check.verdict),
            data=data,
        )
    if check.verdict is Verdict.NOT_FOUND:
        words = " ".join(check.evidence[:2]) or "No record found."
        level = Level.INFORMATION
        yield Diagnostic(code=NOT_FOUND, span=whole, message=words, level=level, data=data)


def place_of(finding: FieldFinding, fields: Mapping[str, Span]) -> str:
    """The field of the entry for a finding; empty if the entry has none."""
    known = BIB_FIELDS.get(finding.field)
    names = (finding.field, *(known.shown_at.split() if known is not None else ()))
    return next((name for name in names if name in fields), "")


def _elsewhere(finding: FieldFinding, entry: BibEntry) -> Span:
    if finding.code == "type-differs":
        return Span(entry.start, entry.start + 1 + len(entry.type))
    return entry.key_span


def _on_key(entry: BibEntry, code: str, message: str) -> Diagnostic:
    return Diagnostic(
        code=code,
        span=entry.key_span,
        message=message,
        level=Level.INFORMATION,
        data={"key": entry.key},
    )


def _level(finding: FieldFinding, verdict: Verdict) -> Level:
    if not counts(finding):
        return Level.HINT
    return Level.ERROR if verdict in INVENTED else Level.WARNING


def _words(finding: FieldFinding, why: str) -> str:
    text = finding.message
    if finding.expected and finding.expected not in text:
        text += f" The record has “{shorten(finding.expected, 160)}”."
    text += f" ({assurance(finding.confidence)})"
    return f"{text}\n{why}" if why and why not in text else text


def diagnose(
    source: Document | BibFile,
    projects: Sequence[Project],
    options: DiagnosticsOptions,
    check_of: CheckOf | None = None,
    more: Iterable[Diagnostic] = (),
) -> list[Diagnostic]:
    """All that an editor underlines in a file, with `more`, in the order of its text, as far as the
    author wants it: the lint, and what is known of its references."""
    if not options.enabled:
        return []
    paper = LintPaper(projects)
    found: Iterable[Diagnostic]
    bib: BibFile | None
    if isinstance(source, BibFile):
        bib, found = source, lint_bib(source, paper)
    else:
        found = lint_document(source, paper)
        # The document may hold its bibliography itself.
        path = Path(source.path)
        bib = next((project.bibs[path] for project in projects if path in project.bibs), None)
    if check_of is not None and options.verification != "off":
        if bib is not None:
            listed = options.list_not_found
            found = chain(found, verified(bib, check_of, options.severity, list_not_found=listed))
        if not isinstance(source, BibFile):
            found = chain(found, cited_inventions(source, projects, check_of, options.severity))
    found = shown_diagnostics(chain(found, more), source, options.severity)
    if not options.list_not_found:
        found = summarised(found)
    return sorted(found, key=lambda one: one.span)
