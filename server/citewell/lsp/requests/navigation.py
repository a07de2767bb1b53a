"""textDocument/definition, references, documentHighlight, prepareRename and rename."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from lsprotocol import types

from citewell.documents.keys.table import BibKeys, DocumentKeys, KeyTable, macro_at, macro_places
from citewell.lsp.documents.buffers import Locator
from citewell.lsp.documents.edit_applier import TextOf, workspace_edit
from citewell.lsp.documents.projects import Projects
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.protocol.wire import DocumentHighlight, Encoded, LocationLink, Refused
from citewell.lsp.registry import Handlers, Request
from citewell.model import CitewellError
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Format, Span
from citewell.model.problem import Problem

if TYPE_CHECKING:
    from citewell.documents.project.paper_project import Project
    from citewell.lsp.documents.buffers import WorkspaceSnapshot


def handlers(editor: Editor, projects: Projects) -> Handlers:
    """The handlers that lead from a key to its occurrences."""

    async def definition(params: types.DefinitionParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        links = editor.flags.definition_links
        return await projects.read(lambda: _define(snapshot, offset, links))

    async def references(params: types.ReferenceParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        declarations = params.context.include_declaration
        return await projects.read(lambda: _references(snapshot, offset, declarations))

    async def document_highlight(params: types.DocumentHighlightParams) -> Encoded | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        return await projects.read(lambda: _highlights(snapshot, offset))

    return (
        Request(types.TEXT_DOCUMENT_DEFINITION, definition, switches=("definition",)),
        Request(types.TEXT_DOCUMENT_REFERENCES, references, switches=("references",)),
        Request(
            types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, document_highlight, switches=("highlights",)
        ),
    )


def _define(snapshot: WorkspaceSnapshot, offset: int, links: bool) -> Encoded | None:
    linked = snapshot.linked
    found = define(linked.all_keys, linked.projects, snapshot.path, offset)
    if found is None or not found.targets:
        return None
    locator = Locator(snapshot)
    if not links:
        return Encoded([locator.location(t.path, t.name) for t in found.targets])
    origin = locator.range(snapshot.path, found.origin)
    return Encoded(
        [
            LocationLink(
                origin,
                locator.uri(target.path),
                locator.range(target.path, target.whole),
                locator.range(target.path, target.name),
            )
            for target in found.targets
        ]
    )


def _references(snapshot: WorkspaceSnapshot, offset: int, declarations: bool) -> Encoded | None:
    table = snapshot.linked.all_keys
    found = references(table, snapshot.path, offset, declarations=declarations)
    if not found:
        return None
    locator = Locator(snapshot)
    return Encoded([locator.location(place.path, place.span) for place in found])


def _highlights(snapshot: WorkspaceSnapshot, offset: int) -> Encoded | None:
    found = highlights(snapshot.keys, snapshot.path, offset)
    if not found:
        return None
    kinds = types.DocumentHighlightKind
    locator = Locator(snapshot)
    return Encoded(
        [
            DocumentHighlight(
                locator.range(place.path, place.span), kinds.Write if place.defines else kinds.Read
            )
            for place in found
        ]
    )


# textDocument/prepareRename and rename: a key in every file, an @string macro in its own.


def rename_handlers(editor: Editor, projects: Projects) -> Handlers:
    """The handlers of renaming."""

    async def prepare_rename(
        params: types.PrepareRenameParams,
    ) -> types.PrepareRenamePlaceholder | None:
        snapshot = await projects.workspace(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        found = await projects.read(lambda: renamed_span(snapshot.keys, snapshot.path, offset))
        if found is None:
            return None
        return types.PrepareRenamePlaceholder(
            range=snapshot.index.range(found[0]), placeholder=found[1]
        )

    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | Refused | None:
        # An unread file may contain the key.
        try:
            snapshot = await projects.workspace(params.text_document.uri)
        except CitewellError as error:
            return Refused(f"{error.problem.message} Nothing was renamed.")
        if snapshot is None:
            return None
        offset = snapshot.index.offset(params.position)
        found = await projects.read(lambda: _plan(snapshot, offset, params.new_name))
        if found is None:
            return None
        problem = found.problem
        if problem is None and not editor.flags.change_annotations:
            problem = found.joined
        if problem is not None:
            return Refused(f"{problem.message} {problem.hint}")
        try:
            return await projects.read(lambda: _edit(editor, snapshot, found, params.new_name))
        except CitewellError as error:
            return Refused(f"{error.problem.message} {error.problem.hint}")

    return (
        Request(
            types.TEXT_DOCUMENT_PREPARE_RENAME, prepare_rename, switches=("rename",), is_part=True
        ),
        Request(types.TEXT_DOCUMENT_RENAME, rename, switches=("rename",)),
    )


def _plan(snapshot: WorkspaceSnapshot, offset: int, new: str) -> Renaming | None:
    linked = snapshot.linked
    return rename(linked.all_keys, linked.projects, snapshot.path, offset, new)


def _edit(
    editor: Editor, snapshot: WorkspaceSnapshot, plan: Renaming, new: str
) -> types.WorkspaceEdit:
    from citewell.documents.bib.reader import check_edits, parse_bib

    files = snapshot.linked.all_keys.files
    texts = {edit.path: files[Path(edit.path)].source.text for edit in plan.edits}
    known = {path: file.source for path, file in files.items() if isinstance(file, BibKeys)}
    check_edits(plan.edits, texts, lambda path, text: known.get(path) or parse_bib(text, str(path)))
    locator = Locator(snapshot)

    def text_of(path: Path) -> TextOf:
        opened = snapshot.opened.get(path)
        version = opened.version if opened is not None else None
        return TextOf(locator.uri(path), locator.index(path), version)

    def label_of(edit: FileEdit) -> str:
        if edit.path in plan.elsewhere:
            return f"Rename to {new}, in other papers that use the same .bib"
        return f"Rename to {new}"

    ask = plan.joined.message if plan.joined is not None else ""
    return workspace_edit(plan.edits, text_of, editor.flags, label_of, ask)


# The definition of the key, @string macro or file name at the cursor.


class DefinitionTarget(msgspec.Struct, frozen=True):
    """A target of a definition."""

    path: Path
    whole: Span
    """The entry as a whole."""
    name: Span
    """Range of its key, for the cursor."""


class Definition(msgspec.Struct, frozen=True):
    """All targets of the key, macro or path at `origin` in the document."""

    origin: Span
    targets: tuple[DefinitionTarget, ...]


def define(
    table: KeyTable, projects: Iterable[Project], path: Path, offset: int
) -> Definition | None:
    """Every definition of the item at an offset of a file; None where there is no such item.

    A key shared by several entries leads to all of them. `\\input`, `\\bibliography` and similar
    commands lead to the file.
    """
    place = table.at(path, offset)
    if place is not None:
        near = table.near(path)
        found = [p for key in table.spellings(place.key) for p in table.definitions(key, near)]
        targets = (
            DefinitionTarget(p.path, p.entry.span if p.entry is not None else p.span, p.span)
            for p in found
        )
        return Definition(place.span, tuple(targets))
    file = table.files.get(path)
    if isinstance(file, BibKeys):
        macro = macro_at(file.source, offset)
        if macro is None:
            return None
        homes = (p for p in macro_places(file.source, macro.name) if p.defines)
        return Definition(macro.span, tuple(DefinitionTarget(path, p.whole, p.span) for p in homes))
    start = Span(0, 0)
    for project in projects:
        for span, target in project.named_files(path):
            if offset in span:
                there = target in table.files or target.is_file()
                return Definition(span, (DefinitionTarget(target, start, start),) if there else ())
    return None


# All occurrences of the key at the cursor, and those in one file.


class Occurrence(msgspec.Struct, frozen=True, order=True):
    """One occurrence."""

    path: Path
    span: Span
    defines: bool = False


def references(
    table: KeyTable, path: Path, offset: int, *, declarations: bool = True
) -> list[Occurrence]:
    r"""All places of the key or @string macro at the offset, those in its own file first.

    Other papers count if they use a .bib that defines the key. `declarations` includes entries and
    `\bibitem`s.
    """
    place = table.at(path, offset)
    if place is None:
        return [p for p in _macro(table, path, offset) if declarations or not p.defines]
    found = []
    for key in table.spellings(place.key):
        reached = table.reach(path, key)
        found += table.uses(key, reached)
        if declarations:
            found += table.definitions(key, reached)
    places = {Occurrence(p.path, p.span, p.defines) for p in found}
    return sorted(places, key=lambda place: (place.path != path, place))


def highlights(table: KeyTable, path: Path, offset: int) -> list[Occurrence]:
    """The places of the same key or macro in the same file, in order."""
    place = table.at(path, offset)
    if place is None:
        return _macro(table, path, offset)
    file = table.files[path]
    keys = table.spellings(place.key)
    found = [p for key in keys for p in (*file.uses(key), *file.definitions(key))]
    return sorted({Occurrence(p.path, p.span, p.defines) for p in found})


def _macro(table: KeyTable, path: Path, offset: int) -> list[Occurrence]:
    file = table.files.get(path)
    macro = macro_at(file.source, offset) if isinstance(file, BibKeys) else None
    if macro is None or not isinstance(file, BibKeys):
        return []
    return [
        Occurrence(path, place.span, place.defines)
        for place in macro_places(file.source, macro.name)
    ]


# Renaming of a key in all files, or of an @string macro of a .bib: edits of the name only, or a
# refusal with the reason.

_PANDOC = re.compile(r"\w+(?:[:.#$%&+?<>~/-]+\w+)*")
_MACRO = re.compile(r"[^\W\d][\w:.+/-]*")


class Renaming(msgspec.Struct, frozen=True):
    """The edits of a new name, or the reason why it is impossible."""

    edits: tuple[FileEdit, ...] = ()
    """By file; the requested file first."""
    elsewhere: frozenset[str] = frozenset()
    """Paths of the files of other papers only."""
    problem: Problem | None = None
    joined: Problem | None = None
    """A confirmation that is needed first: the new key is already cited, and has no entry."""


def renamed_span(table: KeyTable, path: Path, offset: int) -> tuple[Span, str] | None:
    """The name at the offset with its range; None if there is nothing to rename."""
    place = table.at(path, offset)
    if place is not None:
        return place.span, place.key
    file = table.files.get(path)
    macro = macro_at(file.source, offset) if isinstance(file, BibKeys) else None
    if macro is None or not isinstance(file, BibKeys) or macro.name not in file.source.strings:
        return None
    return macro.span, file.source.text[macro.span.start : macro.span.end]


def rename(
    table: KeyTable, projects: Iterable[Project], path: Path, offset: int, new: str
) -> Renaming | None:
    """The edits that give the key or macro at the offset a new name; None where there is none.

    `table` covers all files that the key may reach; `projects` are the file's own, and determine
    the writable files.
    """
    found = renamed_span(table, path, offset)
    if found is None:
        return None
    old, new = found[1], new.strip()
    if old == new:
        return Renaming()
    is_key = table.at(path, offset) is not None
    places = references(table, path, offset)
    own = list(projects)
    joined = None
    if is_key:
        olds = table.spellings(old)
        reached = frozenset().union(*(table.reach(path, key) for key in olds))
        problem = _bad_key(table, places, old, new) or _taken(table, reached, olds, new)
        joined = _joined(table, reached, olds, new)
    else:
        problem = _bad_macro(table, path, new)
    problem = problem or _unwritable(own, places)
    if problem is not None:
        return Renaming(problem=problem)
    edits: dict[Path, list[TextEdit]] = {}
    for place in places:
        edits.setdefault(place.path, []).append(TextEdit(place.span, new))
    renamed = {file: _renamed(table, file, changes) for file, changes in edits.items()}
    near = {file for project in own for file in (*project.documents, *project.bibs)} | {path}
    return Renaming(
        tuple(
            FileEdit(
                str(file), tuple(changes), adds=(new,) * len(renamed[file]), removes=renamed[file]
            )
            for file, changes in edits.items()
        ),
        frozenset(str(file) for file in edits if file not in near),
        joined=joined,
    )


def _renamed(table: KeyTable, path: Path, changes: Iterable[TextEdit]) -> tuple[str, ...]:
    """The keys of the entries of a .bib that get the new key."""
    file = table.files.get(path)
    if isinstance(file, DocumentKeys):
        file = file.bib
    if file is None:
        return ()
    places = {change.span for change in changes}
    return tuple(entry.key for entry in file.source.entries if entry.key_span in places)


def _bad_key(table: KeyTable, places: Iterable[Occurrence], old: str, new: str) -> Problem | None:
    from citewell.documents.keys.pattern import KEY_SHAPE, NEVER_IN_KEYS, check_key

    if not new:
        return Problem("rename-invalid", f"The new name of the key `{old}` is empty.", KEY_SHAPE)
    # Any character that BibTeX accepts, and that the paper's keys already use, is legal.
    used = {char for file in table.files.values() for key in _keys_of(file) for char in key}
    signs = "".join(char for char in used if char not in NEVER_IN_KEYS)
    wrong = check_key(new, signs)
    if wrong is not None:
        return msgspec.structs.replace(wrong, code="rename-invalid")
    if _PANDOC.fullmatch(new) is None:
        for place in places:
            source = table.files[place.path].source
            if getattr(source, "format", None) is Format.MARKDOWN and not _is_braced(
                source.text, place.span
            ):
                message = f"Markdown cannot cite `{new}`, and {place.path.name} cites this key."
                hint = (
                    "Begin and end the key with a letter or digit, with single punctuation "
                    "marks inside."
                )
                return Problem("rename-invalid", message, hint)
    return None


def _keys_of(file: DocumentKeys | BibKeys) -> Iterable[str]:
    if isinstance(file, BibKeys):
        return file.source.by_key
    return () if file.bib is None else file.bib.source.by_key


def _is_braced(text: str, span: Span) -> bool:
    return text[span.start - 1 : span.start] == "{"


def _taken(
    table: KeyTable, reached: frozenset[Path], olds: Collection[str], new: str
) -> Problem | None:
    """The problem when a reached file already has the new key, in any case; None if it is free.
    BibTeX ignores the case of keys, so a new key must differ in more than case."""
    wanted = new.casefold()
    for path in reached:
        file = table.files.get(path)
        known: Iterable[str] = ()
        if isinstance(file, BibKeys):
            known = (*file.source.by_key, *file.aliases)
        elif isinstance(file, DocumentKeys):
            known = (*file.defined, *_keys_of(file))
        for key in known:
            if key.casefold() == wanted and key not in olds:
                place = file.definitions(key)[0] if file is not None else None
                line = 0
                if place is not None and file is not None:
                    line = file.source.text.count("\n", 0, place.span.start) + 1
                message = f"The key `{key}` is taken: {path.name}, line {line}."
                return Problem("rename-taken", message, "Choose another key.")
    return None


def _joined(
    table: KeyTable, reached: frozenset[Path], olds: Collection[str], new: str
) -> Problem | None:
    """The problem when a reached file cites the new key, which nothing defines; None otherwise."""
    forms = set(table.spellings(new)) - set(olds)
    uses = [use for form in sorted(forms) for use in table.uses(form, reached)]
    if not uses:
        return None
    first = uses[0]
    line = table.files[first.path].source.text.count("\n", 0, first.span.start) + 1
    more = f" and at {len(uses) - 1} more" if len(uses) > 1 else ""
    return Problem(
        "rename-joins",
        f"`{first.key}` is cited in {first.path.name}, line {line}{more}, without an entry: those "
        "citations would mean this paper too, and renaming back would rename them.",
        "Choose another key; or, if they mean this paper, change the key in the .bib by hand.",
    )


def _bad_macro(table: KeyTable, path: Path, new: str) -> Problem | None:
    file = table.files[path]
    assert isinstance(file, BibKeys)
    if _MACRO.fullmatch(new) is None:
        hint = "Begin with a letter; use only letters, digits and _ : . / + -."
        return Problem("rename-invalid", f"`{new}` is not a valid macro name.", hint)
    if new.lower() in file.source.strings:
        return Problem(
            "rename-taken", f"The macro `{new}` is already defined.", "Choose another name."
        )
    return None


def _unwritable(projects: list[Project], places: Iterable[Occurrence]) -> Problem | None:
    if not projects:
        return None
    for path in dict.fromkeys(place.path for place in places):
        if not any(project.may_write(path) for project in projects):
            message = f"{path.name} contains this key and is not writable: {path}."
            hint = "Open its folder in the editor, or make the file writable."
            return Problem("rename-unwritable", message, hint)
    return None
