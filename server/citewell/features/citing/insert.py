"""What inserting a paper changes: its entry in the right .bib, and the declaration of that file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from citewell.documents.bib.edit import insert_entry, insert_texts, new_bib_text
from citewell.documents.bib.entry_copy import self_contained, with_parents
from citewell.documents.bib.match import find_work
from citewell.documents.bib.reader import parse_bib
from citewell.documents.keys.pattern import check_key
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import newline_of
from citewell.features.citing.text_rebase import RebasedText
from citewell.model import Problem, Work
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.document import Document, Span
from citewell.options import Options

OUTSIDE = "bib-outside-workspace"
PROTECTED = "bib-not-writable"
"""Codes of what keeps a .bib from taking an entry."""


class InsertPlan(msgspec.Struct, frozen=True):
    """The edits that make a paper citable, none when it is so already."""

    edits: tuple[FileEdit, ...] = ()
    """The bibliography first, then its declaration."""
    key: str = ""
    """Cites the paper once the edits are made; empty when no place takes the entry."""
    problems: tuple[Problem, ...] = ()
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text to which the edits of that file refer."""


def plan_insert(
    project: Project,
    work: Work,
    options: Options,
    *,
    for_path: Path | None = None,
    key: str = "",
) -> InsertPlan:
    """Plan the entry of `work` for a citation in the file `for_path`.

    A work that any .bib of the project holds keeps its key and changes nothing. `key` is taken over
    unless another entry has it.
    """
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
    """Plan what makes `work`, or else the entry `key`, citable in a document.

    `document` is the project's own parse of the file, and the plan holds its text.
    """
    texts = {document.path: document.text}
    if work is None:
        return InsertPlan(key=key, texts=texts)
    plan = plan_insert(project, work, options, for_path=Path(document.path))
    return msgspec.structs.replace(plan, texts=texts | dict(plan.texts))


def plan_copy(
    project: Project, source: BibFile, key: str, *, for_path: Path | None = None
) -> InsertPlan:
    """Plan to take over an entry of another program's bibliography, with its key and as it is.

    What it inherits from comes with it. No edits where the project has the key already.
    """
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
    """The edits of the .bib that takes new entries, with its declaration: `into` gives that of a
    file that is there, `new` the text of one that is not, each with the key. `keys` are those of
    all entries where there are several."""
    target = project.target_bib(for_path)
    if not project.may_write(target):
        return InsertPlan(problems=(_no_place(project, target),))
    bib = project.bib_at(target)
    if isinstance(bib, Problem):
        return InsertPlan(problems=(bib,))
    if bib is not None:
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
    """True when a .bib is made that no file of the project declares."""
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
    """Plan the entry of `work` in the one file `path`; without a `bib` the file is made."""
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
    """Plan the entries of several works in the one file `path`, in one edit; and the key of each,
    in order. A work that the file holds, or that is named twice, keeps the key that it has."""
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
    """The entry of the project that describes a work, with its .bib."""
    for path, bib in project.bibs.items():
        entry = find_work(bib, work)
        if entry is not None and entry.key:
            return str(path), entry
    return None


def taken_keys(project: Project, of_entries: frozenset[str] | None = None) -> frozenset[str]:
    """Every key of the project (`with_lower_case`). `of_entries` are those of its .bib files, where
    they are known."""
    if of_entries is None:
        of_entries = with_lower_case(key for bib in project.bibs.values() for key in bib.by_key)
    items = [use.key for document in project.documents.values() for use in document.bibitems]
    return of_entries | with_lower_case(items) if items else of_entries


def with_lower_case(keys: Iterable[str]) -> frozenset[str]:
    """Keys as they are and in lower case: BibTeX does not part them by case."""
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
