"""The rules about manuscripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from citewell.documents.project.includes import include_candidates
from citewell.features.checking.lint_rule import LintFinding, LintPaper, document_rule
from citewell.model.display_text import shorten
from citewell.model.document import Document, Format, Level, PlaceholderKind

MOST_GUESSES = 20
"""Undefined keys of one file for which the nearest key is sought."""
_ABBREVIATIONS = frozenset({"ieeeabrv", "ieeefull"})
"""Files of TeX that hold abbreviations alone."""
_DISTRIBUTED = _ABBREVIATIONS | frozenset(
    """
    amsj archaeologie-bibancient archaeologie-bibcorpora archaeologie-examples archaeologie-lstabbrv
    archaeologie-lstlocations archaeologie-lstpublishers biblatex-examples ieeeexample xampl jbtest
    btxdoc acm-books acm aipsamp apssamp harvard texbook1 texbook2 texbook3 texgraph texjourn
    texnique tugboat printing-history litteratur oberdiek-bundle scrguide epodd
    """.split()
)
"""Bibliographies that TeX finds among its own files."""


@document_rule("undefined-key", Level.ERROR)
def undefined_key(document: Document, paper: LintPaper) -> Iterator[LintFinding]:
    """A cited key that no bibliography of the paper has.

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
    """True when each project names its bibliographies and all of them could be read."""
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
    """True when a file that is included is not there: it may hold the bibliography."""
    return any(
        not any(c in documents for c in include_candidates(include, path, root))
        for path, document in documents.items()
        for include in document.includes
    )


def is_distributed(path: Path) -> bool:
    """True for a .bib that comes with TeX and need not lie beside the paper."""
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
    """A place where a citation is wanted and not yet there."""
    for placeholder in document.placeholders:
        if placeholder.query and placeholder.kind is not PlaceholderKind.MARKER:
            message = f"A paper on “{shorten(placeholder.query, 60)}” is still to be cited here."
        else:
            message = "Unresolved placeholder: citation missing."
        yield LintFinding(span=placeholder.span, message=message, data={"query": placeholder.query})


@document_rule("bib-missing", Level.WARNING)
def bib_missing(document: Document, paper: LintPaper) -> Iterator[LintFinding]:
    """A declared .bib that is not there."""
    reported = set()
    for project in paper.projects:
        for source, declaration, path in project.declared_bibs:
            if project.documents.get(source) is not document or declaration.span in reported:
                continue
            if path in project.missing_bibs and not is_distributed(path):
                reported.add(declaration.span)
                message = f"{path.name} does not exist; it is created with the first entry."
                yield LintFinding(span=declaration.span, message=message, data={"path": str(path)})
