"""The references of a document for a list beside it: state, places, problems and fixes of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import msgspec

from citewell.documents.bib.style import BibStyle, detect_style
from citewell.documents.keys.table import BibKeys, DocumentKeys, KeyPlace, KeyTable, PlaceKind
from citewell.features.action import Action
from citewell.features.actions.verification import actions_on
from citewell.features.checking.check import check_diagnostics
from citewell.features.citing.completion import entry_candidate
from citewell.model.bib import BibEntry, BibFile
from citewell.model.check import Check, Verdict
from citewell.model.document import Level
from citewell.model.titles import plain_title
from citewell.model.words import MARKED, VERDICTS, words_of

MAX_REFERENCES = 2_000
"""Maximum number of references in the list; further ones are only counted."""
MAX_PLACES = 50
"""Maximum number of places of one reference; further citations are only counted."""
MAX_FIXED = 300
"""Maximum number of references with computed fixes: each takes up to a millisecond."""

UNDEFINED = "undefined"
MARKED_STATE = "marked"
"""States of an undefined key, and of an entry that its author has marked as checked; the other
states are verdicts."""
_FIRST = (str(Verdict.FABRICATED), str(Verdict.NOT_IN_VENUE), UNDEFINED,
          str(Verdict.WRONG_DETAIL))  # fmt: skip
_WITHOUT_WORD = frozenset({Verdict.NOT_FOUND, Verdict.UNCHECKED})
"""Verdicts that are not held against a reference: its state suffices, without problems."""

CheckOf = Callable[[BibFile, BibEntry], Check | None]
"""Returns the check of an entry if it is known already, and never waits for one."""


class ReferenceProblem(msgspec.Struct, frozen=True):
    """One problem of a reference."""

    code: str
    """Code of the editor's diagnostic."""
    message: str
    level: Level


class DocumentReference(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list."""

    key: str
    state: str
    """A verdict ("verified", "wrong-detail", "fabricated", "not-in-venue", "not-found",
    "unchecked"), "undefined" or "marked"."""
    sign: str
    """Sign of the state, for little room."""
    words: str
    """The state in a few words."""
    title: str = ""
    authors: str = ""
    year: int | None = None
    venue: str = ""
    defined: KeyPlace | None = None
    r"""The entry or `\bibitem`; None for an undefined key."""
    cited: tuple[KeyPlace, ...] = ()
    """Places that cite it, in order, at most `MAX_PLACES`."""
    citations: int = 0
    """Number of citations."""
    problems: tuple[ReferenceProblem, ...] = ()
    fixes: tuple[Action, ...] = ()
    """Fixes in the .bib of `defined`, the likeliest first."""


class DocumentReferences(msgspec.Struct, frozen=True):
    """The list, and the total number of references."""

    references: tuple[DocumentReference, ...] = ()
    total: int = 0


def document_references(table: KeyTable, path: Path, check_of: CheckOf) -> DocumentReferences:
    """The references cited in the paper of a manuscript, or every entry of a .bib: first those with
    problems, then the others; both in the paper's order of citation, the file's own keys first, or
    in the order of the .bib."""
    near = table.near(path)
    source = table.files.get(path)
    keys = _entries(source) if isinstance(source, BibKeys) else _cited(table, path, near)
    fixes = _Fixes()
    found = (
        _reference(table, path, key, near, check_of=check_of, fixes=fixes)
        for key in keys[:MAX_REFERENCES]
    )
    return DocumentReferences(tuple(sorted(found, key=_rank)), len(keys))


def _rank(one: DocumentReference) -> int:
    """Sort key: wrong references first. Works missing from the library, and entries marked as
    checked, do not count as wrong."""
    return _FIRST.index(one.state) if one.state in _FIRST else len(_FIRST)


class _Fixes:
    """Computes fixes for at most `MAX_FIXED` references, so that one answer does not take long."""

    def __init__(self) -> None:
        self._styles: dict[str, BibStyle] = {}
        self._left = MAX_FIXED

    def of(self, bib: BibFile, entry: BibEntry, check: Check) -> tuple[Action, ...]:
        if check.work is None or not self._left:
            return ()
        self._left -= 1
        if bib.path not in self._styles:
            self._styles[bib.path] = detect_style(bib)
        return tuple(actions_on(bib, entry, check, self._styles[bib.path]))


def _entries(source: BibKeys) -> list[str]:
    return [key for key in source.source.by_key if key]


def _cited(table: KeyTable, path: Path, near: Collection[Path]) -> list[str]:
    documents = [file for file in table.documents if file.path in near]
    documents.sort(key=lambda file: file.path != path)
    return list(dict.fromkeys(key for file in documents for key in _in_order(file) if key != "*"))


def _in_order(file: DocumentKeys) -> Iterable[str]:
    return (use.key for citation in file.source.citations for use in citation.keys)


def _reference(
    table: KeyTable,
    path: Path,
    key: str,
    near: Collection[Path],
    *,
    check_of: CheckOf,
    fixes: _Fixes,
) -> DocumentReference:
    uses = [
        place
        for place in table.uses(key, near)
        if place.kind in (PlaceKind.CITATION, PlaceKind.NOCITE)
    ]
    definitions = [p for form in table.spellings(key) for p in table.definitions(form, near)]
    cited = tuple(uses[:MAX_PLACES])
    if not definitions:
        problem = ReferenceProblem(
            "undefined-key", f"No bibliography of the paper defines `{key}`.", Level.ERROR
        )
        return DocumentReference(
            key=key,
            state=UNDEFINED,
            sign="!",
            words="no entry",
            cited=cited,
            citations=len(uses),
            problems=(problem,),
        )
    # For a .bib used by several papers, the entry in this file is meant.
    place = next((one for one in definitions if one.path == path), definitions[0])
    base = DocumentReference(
        key=key,
        state=Verdict.UNCHECKED,
        sign=VERDICTS[Verdict.UNCHECKED].sign,
        words=VERDICTS[Verdict.UNCHECKED].label,
        defined=place,
        cited=cited,
        citations=len(uses),
    )
    file = table.files[place.path].source
    if place.entry is None or not isinstance(file, BibFile):
        return msgspec.structs.replace(base, words="in the document itself")
    return _described(base, file, place.entry, check_of(file, place.entry), fixes)


def _described(
    base: DocumentReference, bib: BibFile, entry: BibEntry, check: Check | None, fixes: _Fixes
) -> DocumentReference:
    shown = entry_candidate(entry, bib.path, "")
    described = msgspec.structs.replace(
        base,
        title=plain_title(shown.title),
        authors=shown.authors,
        year=shown.year,
        venue=plain_title(shown.venue),
    )
    if check is None:
        return described
    if check.mark is not None:
        verdict = ReferenceProblem(check.codes[0], words_of(check).label, Level.HINT)
        return msgspec.structs.replace(
            described, state=MARKED_STATE, sign=MARKED.sign, words=MARKED.label, problems=(verdict,)
        )
    words = words_of(check)
    problems = tuple(
        ReferenceProblem(one.code, one.message, one.level)
        for one in check_diagnostics(entry, check)
        if check.verdict not in _WITHOUT_WORD
    )
    return msgspec.structs.replace(
        described,
        state=str(check.verdict),
        sign=words.sign,
        words=words.label,
        problems=problems,
        fixes=fixes.of(bib, entry, check),
    )
