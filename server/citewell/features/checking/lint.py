"""The lint: every rule over one file, in the context of its papers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from citewell.documents.bib.work import inherited
from citewell.documents.project.includes import include_candidates
from citewell.documents.project.paper_project import Project
from citewell.features.checking.lint_rule import (
    RULES,
    LintFinding,
    LintPaper,
    Rule,
    bib_rule,
    document_rule,
    shown_diagnostics,
)
from citewell.model.bib import BibBlock, BibEntry, BibFile
from citewell.model.cancel import cooperative
from citewell.model.display_text import shorten
from citewell.model.document import (
    Diagnostic,
    Document,
    Format,
    Level,
    PlaceholderKind,
    RelatedLocation,
    Span,
)
from citewell.model.fields import NO_WORKS, missing_fields, with_trait
from citewell.model.names import family_key

# Rules for manuscripts.

MOST_GUESSES = 20
"""Number of undefined keys of one file for which the nearest key is searched."""
_ABBREVIATIONS = frozenset({"ieeeabrv", "ieeefull"})
"""Files of TeX that contain only abbreviations."""
_DISTRIBUTED = _ABBREVIATIONS | frozenset(
    """
    amsj archaeologie-bibancient archaeologie-bibcorpora archaeologie-examples archaeologie-lstabbrv
    archaeologie-lstlocations archaeologie-lstpublishers biblatex-examples ieeeexample xampl jbtest
    btxdoc acm-books acm aipsamp apssamp harvard texbook1 texbook2 texbook3 texgraph texjourn
    texnique tugboat printing-history litteratur oberdiek-bundle scrguide epodd
    """.split()
)
"""Bibliographies distributed with TeX."""


@document_rule("undefined-key", Level.ERROR)
def undefined_key(document: Document, paper: LintPaper) -> Iterator[LintFinding]:
    """A cited key that is in no bibliography of the paper.

    Reports nothing unless all bibliographies are known: a missing one may define the key.
    """
    defined = paper.defined
    unknown = [
        use
        for citation in document.citations
        for use in citation.keys
        if use.key not in defined and use.key != "*"
    ]
    if paper.folds_case:
        unknown = [use for use in unknown if use.key.lower() not in defined]
    if not unknown or not _knows_all_keys(paper):
        return
    nearest = _nearest(dict.fromkeys(use.key for use in unknown), paper)
    for use in unknown:
        message = f'The key "{use.key}" is not in the bibliographies of this paper.'
        data = {"key": use.key}
        if close := nearest.get(use.key):
            message += f' Did you mean "{close}"?'
            data["nearest"] = close
        yield LintFinding(span=use.span, message=message, data=data)


def _knows_all_keys(paper: LintPaper) -> bool:
    """True when each project declares its bibliographies and all of them could be read."""
    for project in paper.projects:
        if project.has_unknown_bibs:
            return False
        if any(path.stem.lower() not in _ABBREVIATIONS for path in project.missing_bibs):
            return False
        documents = project.documents
        if any(i.target.endswith(".bbl") for d in documents.values() for i in d.includes):
            return False
        if project.declares_bibs or any(d.bibitems for d in documents.values()):
            continue
        root = project.root_document
        complete = root.format is Format.LATEX and root.body is not None
        if not complete or _has_open_include(documents, project.root):
            return False
    return True


def _has_open_include(documents: dict[Path, Document], root: Path) -> bool:
    """True when an included file is missing: it may contain the bibliography."""
    return any(
        not any(c in documents for c in include_candidates(include, path, root))
        for path, document in documents.items()
        for include in document.includes
    )


def is_distributed(path: Path) -> bool:
    """True for a .bib that comes with TeX and need not be beside the paper."""
    return path.stem.lower() in _DISTRIBUTED


def _nearest(keys: Sequence[str] | dict[str, None], paper: LintPaper) -> dict[str, str]:
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    choices = [key for bib in paper.bibs.values() for key in bib.by_key if key]
    found: dict[str, str] = {}
    for key in list(keys)[:MOST_GUESSES]:
        best = process.extractOne(
            key.lower(), choices, scorer=OSA.normalized_similarity, score_cutoff=0.75,
            processor=str.lower,
        )  # fmt: skip
        if best is not None:
            found[key] = best[0]
    return found


@document_rule("unresolved-placeholder", Level.WARNING)
def unresolved_placeholder(document: Document, paper: LintPaper) -> Iterator[LintFinding]:
    """A place that needs a citation."""
    for placeholder in document.placeholders:
        if placeholder.query and placeholder.kind is not PlaceholderKind.MARKER:
            message = f"A paper on “{shorten(placeholder.query, 60)}” is still to be cited here."
        else:
            message = "Unresolved placeholder: citation missing."
        yield LintFinding(span=placeholder.span, message=message, data={"query": placeholder.query})


@document_rule("bib-missing", Level.WARNING)
def bib_missing(document: Document, paper: LintPaper) -> Iterator[LintFinding]:
    """A declared .bib that does not exist."""
    reported = set()
    for project in paper.projects:
        for source, declaration, path in project.declared_bibs:
            if project.documents.get(source) is not document or declaration.span in reported:
                continue
            if path in project.missing_bibs and not is_distributed(path):
                reported.add(declaration.span)
                message = f"{path.name} does not exist; it is created with the first entry."
                yield LintFinding(span=declaration.span, message=message, data={"path": str(path)})


# Rules for bibliographies.

_LETTER = re.compile(r"[^\W_]")
_TOKEN = re.compile(r"@\s*\w+\s*[{(]?[^\s,{}=]*|[^\s,{}=\"@]+|\S")
ANY_SYNTAX = "bib-syntax"
"""All codes of `SYNTAX` in the list of rules."""
SYNTAX = {
    "bib-unclosed": Level.ERROR,
    "bib-unclosed-value": Level.ERROR,
    "bib-missing-key": Level.ERROR,
    "bib-missing-comma": Level.ERROR,
    "bib-missing-equals": Level.ERROR,
    "bib-missing-value": Level.ERROR,
    "bib-extra-brace": Level.ERROR,
    "bib-key-blank": Level.ERROR,
    "bib-unexpected-text": Level.WARNING,
    "bib-duplicate-field": Level.WARNING,
    "bib-extra-comma": Level.WARNING,
}
"""Levels of syntax errors; despite a warning, BibTeX reads the entry."""
_THESES = frozenset({"phdthesis", "mastersthesis", "thesis"})
_PARTS = with_trait("distinguishes")
_SHORT_TITLE = 12
"""Minimum number of letters for an equal title to be evidence ("Introduction" is none)."""


@bib_rule(ANY_SYNTAX, Level.ERROR)
def wrong_syntax(bib: BibFile, _: LintPaper) -> Iterator[LintFinding]:
    """Text that BibTeX misreads; each kind of error has its own code."""
    items: Iterator[BibEntry | BibBlock] = chain(bib.entries, bib.blocks)
    for item in cooperative(items):
        for fault in item.body.faults:
            yield LintFinding(
                span=_visible(bib.text, item.start + fault.at),
                message=f"{fault.message} {fault.hint}",
                code=fault.code,
                level=SYNTAX[fault.code],
            )


def _visible(text: str, at: int) -> Span:
    """The range to underline for an error at an offset: the word there, else the one before."""
    token = _TOKEN.match(text, at)
    if token is not None:
        return Span(at, token.end())
    end = len(text[:at].rstrip())
    return Span(max(0, end - 1), end)


@bib_rule("bib-duplicate-key", Level.ERROR)
def duplicate_key(bib: BibFile, paper: LintPaper) -> Iterator[LintFinding]:
    """A key that an earlier entry, or a bibliography that the paper reads earlier, already has."""
    path = Path(bib.path)
    before: list[tuple[Path, BibFile]] = []
    for other, companion in paper.companions(path).items():
        if other == path:
            break
        before.append((other, companion))
    folds = paper.folds_case
    seen: dict[str, BibEntry] = {}
    for entry in cooperative(bib.entries):
        if not entry.key:
            continue
        form = entry.key.lower() if folds else entry.key
        first = seen.setdefault(form, entry)
        if first is not entry:
            yield _same_key(entry, first, path, f"is already used in line {_line(bib, first)}")
            continue
        for other, companion in before:
            twin = companion.by_key.get(entry.key)
            if twin is not None:
                yield _same_key(entry, twin, other, f"is also in {other.name}", Level.WARNING)
                break


def _same_key(
    entry: BibEntry, first: BibEntry, path: Path, where: str, level: Level | None = None
) -> LintFinding:
    words = f'The key "{entry.key}" {where}.'
    if first.key != entry.key:
        words = f'The key "{entry.key}" {where}, as "{first.key}": keys are not case-sensitive.'
    related = RelatedLocation(path, first.key_span, f'The first "{first.key}"')
    return LintFinding(
        span=entry.key_span, message=words, related=(related,), data={"key": entry.key}, level=level
    )


def _line(bib: BibFile, entry: BibEntry) -> int:
    return bib.text.count("\n", 0, entry.start) + 1


@bib_rule("duplicate-work", Level.WARNING)
def duplicate_work(bib: BibFile, paper: LintPaper) -> Iterator[LintFinding]:
    """A work that is already under another key; in another file only if both are cited.

    A collection may contain the same works.
    """
    path = Path(bib.path)
    known: dict[int, _Place] = {}
    meeting: dict[int, list[_Place]] = {}
    """For the few forms shared by several entries, these entries, in order."""
    for other, companion in (paper.companions(path) or {path: bib}).items():
        own = other == path
        for entry in cooperative(companion.entries):
            if own or paper.is_used(entry):
                for form in _forms(entry):
                    place = (other, entry)
                    first = known.setdefault(form, place)
                    if first is not place:
                        meeting.setdefault(form, [first]).append(place)
        if own:
            break
    reported: set[int] = set()
    for found in cooperative(meeting.values()):
        for number, (other, entry) in enumerate(found):
            if other == path and entry.start not in reported:
                twin = _twin(entry, found[:number], path, paper)
                if twin is not None:
                    reported.add(entry.start)
                    yield twin


_Place = tuple[Path, BibEntry]


def _twin(
    entry: BibEntry, before: list[_Place], path: Path, paper: LintPaper
) -> LintFinding | None:
    for where, first in before:
        if where != path and not paper.is_used(entry):
            continue
        if first.key != entry.key and (why := _same_work(entry, first)):
            place = f" in {where.name}" if where != path else ""
            return LintFinding(
                span=entry.key_span,
                message=f'The same work as "{first.key}"{place}: {why}.',
                related=(RelatedLocation(where, first.key_span, f'"{first.key}"'),),
                data={"key": entry.key, "other": first.key, "path": str(where)},
            )
    return None


def _forms(entry: BibEntry) -> tuple[int, ...]:
    """The forms under which an entry may match another one of its work."""
    if entry.type in NO_WORKS or not entry.key:
        return ()
    doi, _, title, length = entry.body.identity
    forms = (doi, title if length >= _SHORT_TITLE else 0)
    return tuple(form for form in forms if form)


def _same_work(entry: BibEntry, first: BibEntry) -> str:
    """Why the two are the same work; empty if that is uncertain."""
    one, other = entry.body, first.body
    title = one.title_key == other.title_key
    if one.doi and one.doi == other.doi:
        # Chapters often have the DOI of their book.
        return "the same DOI" if title or not (one.title_key and other.title_key) else ""
    if (
        not title
        or len(one.title_key) < _SHORT_TITLE
        or (entry.type in _THESES) != (first.type in _THESES)
    ):
        return ""
    if one.year is None or other.year is None or abs(one.year - other.year) > 1:
        return ""
    ours = {family_key(author) for author in one.authors}
    theirs = {family_key(author) for author in other.authors}
    if ours.isdisjoint(theirs):
        return ""
    if any((a := one.get(f)) and (b := other.get(f)) and a != b for f in _PARTS):
        return ""
    published = one.doi and other.doi and not one.arxiv and not other.arxiv
    return "" if published else "the same title and authors"


@bib_rule("missing-field", Level.WARNING)
def missing_field(bib: BibFile, paper: LintPaper) -> Iterator[LintFinding]:
    """An entry without a field that its type requires; fields inherited by `crossref` count."""
    biblatex = paper.is_biblatex
    complete = 2 if biblatex else 1
    for entry in cooperative(bib.entries):
        body = entry.body
        if body.linted & complete:
            continue
        missing = _missing(entry, biblatex)
        if not missing:
            body.set_linted(complete)
            continue
        if "crossref" in body.names or "xdata" in body.names:
            missing = _missing(entry, biblatex, inherited(bib.by_key, entry))
        if missing and not _is_broken(entry):
            yield LintFinding(
                span=entry.key_span,
                message=f'The @{entry.type} "{entry.key}" has no {_listed(missing)}.',
                data={"key": entry.key, "fields": ",".join(missing)},
            )


def _uses(project: Project, path: Path, bib: BibFile) -> bool:
    """True when a paper declares the .bib, or cites entries of it without declaring it."""
    if path not in project.bibs or project.root_document.format is Format.BIBTEX:
        return False
    return project.declares_bibs or any(key in bib.by_key for key in project.cited_keys())


def _missing(entry: BibEntry, biblatex: bool, fields: Mapping[str, str] | None = None) -> list[str]:
    names = [
        name
        for name in (entry.body.names if fields is None else fields)
        if (_is_filled(entry, name) if fields is None else fields[name].strip())
    ]
    return missing_fields(entry.type, names, biblatex=biblatex)


def _is_filled(entry: BibEntry, name: str) -> bool:
    """True when a field is not empty. A letter in plain braces suffices; otherwise it is parsed."""
    raw = entry.body.raw(entry.body.names.index(name))
    if raw[:1] in ("{", '"') and "\\" not in raw and "#" not in raw and _LETTER.search(raw):
        return True
    return bool(entry.get(name).strip())


def _is_broken(entry: BibEntry) -> bool:
    """True when fields may have been lost in a syntax error."""
    return not entry.body.closed or any(
        SYNTAX[fault.code] is Level.ERROR for fault in entry.body.faults
    )


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", no ".join(names[:-1]) + " and no " + names[-1]


@bib_rule("unused-entry", Level.HINT, unnecessary=True)
def unused_entry(bib: BibFile, paper: LintPaper) -> Iterator[LintFinding]:
    """An entry that no paper cites, neither directly nor through an entry that names it."""
    path = Path(bib.path)
    if paper.nocite_all or not any(_uses(project, path, bib) for project in paper.projects):
        return
    for entry in cooperative(bib.entries):
        if entry.key and not paper.is_used(entry):
            yield LintFinding(
                span=entry.key_span,
                message=f'Unused entry: no paper cites "{entry.key}".',
                data={"key": entry.key},
            )


__all__ = ["CODES", "RULES", "LintPaper", "lint", "lint_bib", "lint_document"]

CODES = (*(rule.code for rule in RULES if rule.code != ANY_SYNTAX), *SYNTAX)
"""Every code that the lint reports."""


def lint(
    source: Document | BibFile, projects: Sequence[Project], levels: Mapping[str, str] | None = None
) -> list[Diagnostic]:
    """The diagnostics of a file, in the order of the text, at the author's levels. `levels` is the
    setting `diagnostics.severity`."""
    paper = LintPaper(projects)
    found = lint_bib(source, paper) if isinstance(source, BibFile) else lint_document(source, paper)
    return sorted(shown_diagnostics(found, source, levels or {}), key=lambda one: one.span)


def lint_document(document: Document, paper: LintPaper) -> Iterator[Diagnostic]:
    """The diagnostics of the rules for manuscripts, rule by rule."""
    if document.format is Format.BIBTEX:
        return iter(())
    return chain.from_iterable(
        _diagnostics(rule, rule.in_document(document, paper))
        for rule in RULES
        if rule.in_document is not None
    )


def lint_bib(bib: BibFile, paper: LintPaper) -> Iterator[Diagnostic]:
    """The diagnostics of the rules for bibliographies, rule by rule."""
    return chain.from_iterable(
        _diagnostics(rule, rule.in_bib(bib, paper)) for rule in RULES if rule.in_bib is not None
    )


def _diagnostics(rule: Rule, findings: Iterator[LintFinding]) -> Iterator[Diagnostic]:
    for finding in findings:
        yield Diagnostic(
            code=finding.code or rule.code,
            span=finding.span,
            message=finding.message,
            level=finding.level or rule.level,
            unnecessary=rule.unnecessary,
            related=finding.related,
            data=finding.data,
        )
