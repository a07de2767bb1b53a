"""Insertion of a paper: its entry in the right .bib, and the declaration of that file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from citewell.documents.bib.csl import parse_csl
from citewell.documents.bib.edit import (
    insert_entry,
    insert_texts,
    new_bib_text,
    self_contained,
    with_parents,
)
from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.bib.work import entry_work, find_work
from citewell.documents.keys.index import KeyIndex
from citewell.documents.keys.pattern import check_key
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import newline_of
from citewell.features.citing.citation import citation_edit
from citewell.features.citing.known_works import KnownWorks
from citewell.features.citing.write import RebasedText, unified_diff
from citewell.model import Evidence, Problem, Work
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.document import CSL_SUFFIXES, Document, Placeholder, Span
from citewell.model.work import Provenance
from citewell.options import Options

if TYPE_CHECKING:
    from citewell.features.citing.complete import CompletionSite

OUTSIDE = "bib-outside-workspace"
PROTECTED = "bib-not-writable"
"""Codes of the reasons why a .bib cannot take an entry."""


class InsertPlan(msgspec.Struct, frozen=True):
    """The edits that make a paper citable; none if it already is."""

    edits: tuple[FileEdit, ...] = ()
    """The bibliography first, then its declaration."""
    key: str = ""
    """The key of the paper once the edits are made; empty when no file can take the entry."""
    problems: tuple[Problem, ...] = ()
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text that the edits of that file refer to."""


def plan_insert(
    project: Project, work: Work, options: Options, *, for_path: Path | None = None, key: str = ""
) -> InsertPlan:
    """Plan the entry of `work` for a citation in the file `for_path`. A work in any .bib of the
    project keeps its key, and nothing changes. `key` is used unless another entry has it."""
    known = entry_of(project, work)
    if known is not None:
        return InsertPlan(key=known[1].key)
    if key and (wrong := check_key(key)):
        return InsertPlan(problems=(wrong,))
    taken = taken_keys(project)

    def into(bib: BibFile) -> tuple[FileEdit | None, str]:
        return insert_entry(bib, work, key or None, options.bib, taken)

    def new(newline: str) -> tuple[str, str]:
        return new_bib_text(work, key or None, options.bib, taken, newline)

    return _plan(project, for_path, into, new)


def plan_citable(
    project: Project, document: Document, options: Options, *, work: Work | None, key: str = ""
) -> InsertPlan:
    """Plan the edits that make `work`, or else the entry `key`, citable in a document. `document`
    is the project's own parse of the file, and the plan contains its text."""
    texts = {document.path: document.text}
    if work is None:
        return InsertPlan(key=key, texts=texts)
    plan = plan_insert(project, work, options, for_path=Path(document.path))
    return msgspec.structs.replace(plan, texts=texts | dict(plan.texts))


def plan_copy(
    project: Project, source: BibFile, key: str, *, for_path: Path | None = None
) -> InsertPlan:
    """Plan to copy an entry of another program's bibliography, with its key and unchanged. Entries
    that it inherits from are also copied. No edits if the project already has the key."""
    taken = taken_keys(project)
    if key in taken or key.lower() in taken:
        return InsertPlan(key=key)
    entries = [entry for entry in with_parents(source, key) if entry.key not in taken]

    def into(bib: BibFile) -> tuple[FileEdit | None, str]:
        texts = {entry.key: self_contained(source, entry, bib.strings) for entry in entries}
        return insert_texts(bib, texts), key

    def new(newline: str) -> tuple[str, str]:
        texts = [self_contained(source, entry, {}) for entry in entries]
        ended = (newline.join(text.splitlines()) + newline for text in texts)
        return newline.join(ended), key

    keys = tuple(entry.key for entry in entries)
    return _plan(project, for_path, into, new, keys) if entries else InsertPlan()


def _plan(
    project: Project,
    for_path: Path | None,
    into: Callable[[BibFile], tuple[FileEdit | None, str]],
    new: Callable[[str], tuple[str, str]],
    keys: tuple[str, ...] = (),
) -> InsertPlan:
    """The edits of the .bib for new entries, with its declaration: `into` returns that of an
    existing file, `new` the text of a new one, each with the key. `keys` are those of all entries
    if there are several."""
    target = project.target_bib(for_path)
    if not project.may_write(target):
        return InsertPlan(problems=(_no_place(project, target),))
    bib = project.bib_at(target)
    if isinstance(bib, Problem):
        return InsertPlan(problems=(bib,))
    if bib is None and target.suffix.lower() in CSL_SUFFIXES:
        edit, key = into(parse_csl("", str(target)))
        edits = [msgspec.structs.replace(edit, create=True)] if edit is not None else []
        texts = {str(target): ""}
    elif bib is not None:
        edit, key = into(bib)
        edits = [edit] if edit is not None else []
        texts = {str(target): bib.text}
    else:
        text, key = new(newline_of(project.root_document.text))
        added = keys or (key,)
        whole = (TextEdit(Span(0, 0), text),)
        edits = [FileEdit(str(target), whole, create=True, adds=added)]
        texts = {str(target): ""}
    declaration = project.declaration_edit(target)
    if declaration is not None:
        edits.append(declaration)
        texts[declaration.path] = project.documents[Path(declaration.path)].text
    problems = (_stray(project, target),) if bib is None and _is_stray(project, edits) else ()
    return InsertPlan(tuple(edits), key, problems, texts)


def _is_stray(project: Project, edits: Sequence[FileEdit]) -> bool:
    """True when a new .bib would not be declared in any file of the project."""
    return len(edits) == 1 and not project.declares_bibs


def _stray(project: Project, target: Path) -> Problem:
    if any(document.bibitems for document in project.documents.values()):
        name = target.name.removesuffix(".bib")
        return Problem(
            "bib-undeclared",
            f"{target.name} was created beside {project.root.name}, but that does not read it: "
            "its references are in a `thebibliography`.",
            f"Replace it by `\\bibliography{{{name}}}`, or write a `\\bibitem` for the key.",
            str(target),
        )
    return Problem(
        "bib-undeclared",
        f"{target.name} was created beside {project.root.name}, but no paper declares it: "
        f"none includes {project.root.name}.",
        f"Declare it in the main file, or begin {project.root.name} with `% !TeX root = main.tex`.",
        str(target),
    )


def plan_entry(
    path: Path, bib: BibFile | None, work: Work, options: Options, *, key: str = ""
) -> InsertPlan:
    """Plan the entry of `work` in the file `path`; without a `bib`, the file is created."""
    if key and (wrong := check_key(key)):
        return InsertPlan(problems=(wrong,))
    if bib is None:
        text, key = new_bib_text(work, key or None, options.bib)
        edit = FileEdit(str(path), (TextEdit(Span(0, 0), text),), create=True, adds=(key,))
        return InsertPlan((edit,), key, (), {str(path): ""})
    added, key = insert_entry(bib, work, key or None, options.bib)
    if added is None:
        return InsertPlan(key=key)
    edit = msgspec.structs.replace(added, path=str(path))
    return InsertPlan((edit,), key, (), {str(path): bib.text})


def plan_entries(
    path: Path, bib: BibFile | None, works: Sequence[Work], options: Options
) -> tuple[InsertPlan, list[str]]:
    """Plan the entries of several works in the file `path`, in one edit; also return the key of
    each, in order. A work in the file, or named twice, keeps its key."""
    edited = RebasedText("" if bib is None else bib.text)
    now, keys, added = bib, [], list[str]()
    for work in works:
        plan = plan_entry(path, now, work, options)
        if not plan.key:
            return plan, []
        keys.append(plan.key)
        for edit in plan.edits:
            edited.apply(edit.edits)
            added += edit.adds
            now = parse_bib(edited.text, str(path))
    if not added:
        return InsertPlan(key=keys[-1] if keys else ""), keys
    whole = FileEdit(str(path), edited.edits(), create=bib is None, adds=tuple(added))
    return InsertPlan((whole,), keys[-1], (), {str(path): edited.original}), keys


def entry_of(project: Project, work: Work) -> tuple[str, BibEntry] | None:
    """The entry of the project for a work, with its .bib."""
    for path, bib in project.bibs.items():
        entry = find_work(bib, work)
        if entry is not None and entry.key:
            return str(path), entry
    return None


def taken_keys(project: Project, of_entries: frozenset[str] | None = None) -> frozenset[str]:
    """Every key of the project (`with_lower_case`). `of_entries` are those of its .bib files, if
    known."""
    if of_entries is None:
        of_entries = with_lower_case(key for bib in project.bibs.values() for key in bib.by_key)
    items = [use.key for document in project.documents.values() for use in document.bibitems]
    return of_entries | with_lower_case(items) if items else of_entries


def with_lower_case(keys: Iterable[str]) -> frozenset[str]:
    """The keys, also in lower case: BibTeX ignores the case of keys."""
    found = set(keys)
    found.update([low for key in found if (low := key.lower()) != key])
    return frozenset(found)


def _no_place(project: Project, target: Path) -> Problem:
    if not project.may_hold(target):
        return Problem(
            OUTSIDE,
            f"Nothing was cited: {target.name} would take the entry and is outside the workspace.",
            "Open it in the editor, or set `bib.target` to another file.",
            str(target),
        )
    return Problem(
        PROTECTED,
        f"Nothing was cited: {target.name} would take the entry and is write-protected.",
        "Make it writable, or set `bib.target` to another file.",
        str(target),
    )


# A reference manager's entries beside those of the paper: searched alike, copied when accepted.

SCHEME = "zotero:"
"""Prefix of the id of a work in the author's Zotero; its key follows."""
NAME = "Zotero"
MIN_WORDS = 3
"""Minimum number of letters for a search of entries."""
SURE_SCORE, FAIR_SCORE = 40.0, 20.0
"""Scores of an entry that matches all words, and of one with the typed text in its key; lower ones
are guesses at misspelt words."""

Found = tuple[Work, tuple[Evidence, ...]]


class ZoteroLibrary:
    """The export of a reference manager, ready for look-ups. Immutable and thread-safe."""

    def __init__(self, bib: BibFile, index: KeyIndex, works: KnownWorks) -> None:
        self.bib = bib
        self._index = index
        self._works = works

    @classmethod
    def of(cls, text: str, before: ZoteroLibrary | None = None) -> ZoteroLibrary:
        """The library of an export; costs only the changes since `before`, and returns the same
        object if there are none. Takes seconds for tens of thousands of entries."""
        if before is not None and before.bib.text == text:
            return before
        bib = reparse(before.bib, text) if before is not None else parse_bib(text, SCHEME)
        index = before._index.refreshed([bib]) if before is not None else KeyIndex.build([bib])
        index.search("", 1)
        return cls(bib, index, KnownWorks([bib]))

    def __len__(self) -> int:
        return len(self.bib.entries)

    def entry(self, key: str) -> BibEntry | None:
        """The entry with a key."""
        return self.bib.by_key.get(key)

    def find(self, work: Work, taken: Collection[str] = ()) -> Work | None:
        """The work as recorded in Zotero; None if it is absent or its key is in `taken`."""
        found = self._works.find(work)
        if found is None or found[1].key in taken or found[1].key.lower() in taken:
            return None
        return self.work(found[1])

    def work(self, entry: BibEntry) -> Work:
        """The entry as a work to cite."""
        return msgspec.structs.replace(
            entry_work(self.bib, entry),
            id=SCHEME + entry.key,
            provenance=(Provenance(source=NAME, source_id=entry.key),),
        )

    def entries_for(
        self,
        at: CompletionSite,
        limit: int,
        taken: Collection[str],
        find_own: Callable[[Work], object | None],
        *,
        guess: bool = True,
    ) -> list[Found]:
        """The entries that match the typed text and are not in the paper's own .bib files, best
        first.

        `taken` are the keys of those files, as written and in lower case; `find_own` finds a work
        in them. Without `guess`, a misspelt key finds nothing.
        """
        words = at.placeholder.query
        if not at.key_like and len(words) < MIN_WORDS:
            return []
        floor = 0.0 if guess or not words else FAIR_SCORE
        floor = floor if at.key_like else SURE_SCORE
        found: list[Found] = []
        for rank, match in enumerate(self._index.search(words, limit), 1):
            if match.score < floor:
                continue
            key = match.entry.key
            if not key or key in taken or key.lower() in taken:
                continue
            work = self.work(match.entry)
            if find_own(work) is None:
                fields = (match.field,) if match.field else ()
                found.append((work, (Evidence("zotero", rank, match.score, fields),)))
        return found


def key_of(work_id: str) -> str:
    """The key of a work in the author's Zotero; empty for any other."""
    return work_id.removeprefix(SCHEME) if work_id.startswith(SCHEME) else ""


# Writing of many citations in one project: their entries, then the citations, as edits.


class PlaceholderCitation(msgspec.Struct, frozen=True):
    """The citation for a placeholder."""

    key: str = ""
    """Empty when the work cannot be entered."""
    is_new: bool = False
    """Whether the work's entry is added; else the bibliography had it."""
    reason: str = ""
    """Why there is no key."""


class CitationWriter:
    """Collects the edits of all files; each insertion sees the bibliography with the earlier ones,
    so that keys stay distinct and no work is entered twice."""

    def __init__(self, project: Project, options: Options) -> None:
        self.options = options
        self.cache = project.fresh_cache()
        self.before = project
        self.project = project
        self.texts: dict[Path, RebasedText] = {}
        self.created: set[Path] = set()
        self.added: dict[Path, tuple[str, ...]] = {}
        """Keys of the new entries of each .bib."""
        self.cited: list[tuple[Path, Placeholder, str]] = []
        self.problems: list[Problem] = []

    def cite(self, path: Path, placeholder: Placeholder, work: Work) -> PlaceholderCitation:
        """Enter the work into the bibliography; the placeholder is written by `finish`."""
        done = self.enter_work(path, work)
        if done.key:
            self.cited.append((path, placeholder, done.key))
        return done

    def enter_work(self, path: Path, work: Work) -> PlaceholderCitation:
        """Enter the work into the bibliography, for a citation in the file `path`."""
        plan = plan_insert(self.project, work, self.options, for_path=path)
        self._make(plan)
        if not plan.key:
            reason = plan.problems[0].message if plan.problems else "no entry can be written"
            return PlaceholderCitation(reason=reason)
        return PlaceholderCitation(plan.key, bool(plan.edits))

    def enter(self, path: Path, work: Work, key: str) -> bool:
        """Enter the work under exactly this key, for a citation in the file `path`; return False,
        without an entry, if that is impossible."""
        plan = plan_insert(self.project, work, self.options, for_path=path, key=key)
        if plan.key and plan.key != key:
            return False
        return self._make(plan)

    def copy(self, path: Path, source: BibFile, key: str) -> bool:
        """Copy an entry of another program's bibliography with its key."""
        return self._make(plan_copy(self.project, source, key, for_path=path))

    def _make(self, plan: InsertPlan) -> bool:
        """Apply the edits of a plan; False if there are none."""
        self.problems += plan.problems
        for edit in plan.edits:
            self._apply(edit, plan.texts[edit.path])
        if plan.edits:
            self._reopen()
        return bool(plan.edits)

    def finish(self) -> tuple[tuple[FileEdit, ...], tuple[str, ...]]:
        """Write the citations into the documents and return all edits against the files."""
        for path, placeholder, key in reversed(self.cited):
            document = self.project.documents[path]
            edited = self._edited(path, self._known(path) or document.text)
            placeholder = self._moved(document, edited, placeholder)
            command = self.options.documents.default_command
            change = citation_edit(document, placeholder, key, command)
            self._apply(FileEdit(str(path), (change,)), document.text)
        order = sorted(self.texts, key=lambda path: path.suffix.lower() != ".bib")
        edits = []
        diffs = []
        for path in order:
            edited = self.texts[path]
            changes = edited.edits()
            if changes:
                new = path in self.created
                added = self.added.get(path, ())
                edits.append(FileEdit(str(path), changes, create=new, adds=added))
                diffs.append(unified_diff(edited.original, edited.text, self._shown(path), new=new))
        return tuple(edits), tuple(diffs)

    def _apply(self, edit: FileEdit, text: str) -> None:
        """Apply an edit of a file with the current text `text`."""
        path = Path(edit.path)
        if edit.create and path not in self.texts:
            self.created.add(path)
        self.added[path] = (*self.added.get(path, ()), *edit.adds)
        self._edited(path, text).apply(edit.edits)

    def _edited(self, path: Path, text: str) -> RebasedText:
        """The edited file, with `text` before the first edit. It is not read again, since another
        program may be writing it."""
        if path not in self.texts:
            self.texts[path] = RebasedText(text)
        return self.texts[path]

    def _known(self, path: Path) -> str | None:
        """The text that the plan is based on; an editor's buffer may differ from the disk."""
        known = self.before.documents.get(path) or self.before.bibs.get(path)
        return None if known is None else known.text

    def _reopen(self) -> None:
        """Reopen the project with the edits so far; unchanged files come from the cache."""
        self.project = type(self.before).open(
            self.before.path,
            self.options.documents,
            roots=self.before.roots,
            read=self._overlay,
            bib_options=self.options.bib,
            cache=self.cache,
            own_folders=self.before.own_folders,
        )

    def _overlay(self, path: Path) -> str | None:
        edited = self.texts.get(path)
        return self._known(path) if edited is None else edited.text

    def _moved(
        self, document: Document, edited: RebasedText, placeholder: Placeholder
    ) -> Placeholder:
        """The placeholder at its current position: a declaration may have been inserted before
        it."""
        place = edited.now(placeholder.span.start), edited.now(placeholder.query_span.start)
        for moved in document.placeholders:
            if (moved.span.start, moved.query_span.start) == place:
                return moved
        return placeholder

    def _shown(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.before.root.parent)).as_posix()
