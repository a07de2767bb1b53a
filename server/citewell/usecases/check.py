"""Checks whether references exist and are correct, in slices between which other requests run.

`features.check` parses the references of a text or a file; the engine judges them.
"""

from __future__ import annotations

import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from pathlib import Path

import msgspec

from citewell.documents.bib.edit import PARENTS
from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.work import mark_edit
from citewell.documents.project.files import FileCache, Overlay
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.documents.textfile import apply_edits, read_text
from citewell.engine.contract import Checks, Engine
from citewell.features.action import QUICK_FIX, Action
from citewell.features.actions.placeholder import Choice
from citewell.features.actions.verification import PUBLISHED, REPLACE, edits_for
from citewell.features.bib.sort import without
from citewell.features.citing.completion import DOUBTED, work_candidate
from citewell.features.citing.write import unified_diff
from citewell.model import CitewellError, Hit, Problem, Query, Work
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, Verdict
from citewell.model.document import Document, KeyUse
from citewell.model.problem import meant
from citewell.model.query import CitingPaper
from citewell.model.titles import title_key
from citewell.options.merge import WORKSPACE_FILE
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.find import Progress, no_progress
from citewell.verification.claims import claim_of_entry

CHECKING = "checking references"
SLICE = 64
"""Number of references checked at once, between two reports of progress."""
FEWEST_OUTSIDE, SHARE_OUTSIDE = 10, 0.5
"""Number of references, and their share of all, missing from the library above which it does not
cover their field."""
_NO_ANSWER = Problem("check-failed", "The check returned no result.", "Ask again.")

Step = Callable[[Cancel], list[Check]]
"""Looks up the next part."""
_DECODER = msgspec.msgpack.Decoder(Claim)


def _claim(given: Claim | bytes) -> Claim:
    return _DECODER.decode(given) if isinstance(given, bytes) else given


def outside(checks: Sequence[Check]) -> Problem | None:
    """The problem that the library lacks most of the references, because they are from another
    field."""
    lacking = sum(check.verdict is Verdict.NOT_FOUND for check in checks)
    if lacking < FEWEST_OUTSIDE or lacking < SHARE_OUTSIDE * len(checks):
        return None
    return Problem(
        "library-outside",
        f"{lacking:,} of {len(checks):,} references are outside the library, which is no evidence "
        "against them.",
        "To check them, allow a source with `citewell sources allow crossref` and add --online; or "
        "fetch the literature around them with `citewell library fetch --for PAPER`.",
    )


def check_addresses(checks: Sequence[Check]) -> list[Check]:
    """Return the checks with a note for each web address that no longer exists. Sends one request
    to the host of each address. Raises `CitewellError` without the extra `online`."""
    import asyncio

    from citewell.engine.online import missing_package
    from citewell.verification.online import address_of, with_address

    if (problem := missing_package()) is not None:
        raise CitewellError(problem)
    from citewell.sources.web.addresses import gone

    found = asyncio.run(gone(filter(None, (address_of(check.claim) for check in checks))))
    return [with_address(check, found) for check in checks]


class CheckTask:
    """A check of references in parts."""

    def __init__(
        self,
        engine: Engine,
        claims: Sequence[Claim | bytes] = (),
        *,
        online: bool = False,
        seconds: float = ONLINE_SECONDS,
        size: int = SLICE,
        keep: bool = True,
    ) -> None:
        """A claim may be given as MessagePack, which takes a tenth of the memory. With `online`,
        the allowed sources are also queried, for this many seconds; infinity: until all have
        answered. `size` is the number of references in a part. Without `keep`, only `step` and
        `parts` return verdicts, since there may be too many to hold."""
        self._engine = engine
        self._waiting: list[Claim | bytes] = list(claims)
        self._done = 0
        self._online = online
        self._ends = time.monotonic() + seconds
        self._size = size
        self._keep = keep
        self.checks: list[Check] = []
        """The verdicts so far, in order."""
        self.snapshot = ""
        """Snapshot of the library used for the last part."""
        self._problems: dict[Problem, None] = {}

    @property
    def total(self) -> int:
        """Number of references."""
        return self._done + len(self._waiting)

    @property
    def is_done(self) -> bool:
        """True when all are looked up."""
        return not self._waiting

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems beside the verdicts, each once; at the end also that the library does not
        cover the references, if only it was used."""
        found = tuple(self._problems)
        if self.is_done and not self._online and (problem := outside(self.checks)) is not None:
            return (*found, problem)
        return found

    def add(self, claims: Sequence[Claim | bytes]) -> None:
        """Append references, also while the task runs."""
        self._waiting += claims

    def step(self, cancel: Cancel | None = None) -> list[Check]:
        """Check the next part. Raises `Cancelled`, and `CitewellError` if the engine fails."""
        part = [_claim(one) for one in self._waiting[: self._size]]
        left = max(0.0, self._ends - time.monotonic()) if self._online else None
        found = self._engine.check(part, online=self._online, seconds=left, cancel=cancel)
        if len(found.checks) != len(part):
            raise CitewellError(next(iter(found.problems), _NO_ANSWER))
        del self._waiting[: len(part)]
        self._done += len(part)
        if self._keep:
            self.checks += found.checks
        self.snapshot = found.snapshot
        self._problems |= dict.fromkeys(found.problems)
        return list(found.checks)

    def run(self, progress: Progress = no_progress, cancel: Cancel | None = None) -> Checks:
        """All verdicts, in order. Raises as `step` does."""
        while not self.is_done:
            if cancel is not None:
                cancel.check()
            progress(CHECKING, self._done, self.total)
            self.step(cancel)
        return Checks(tuple(self.checks), self.snapshot, self.problems)

    async def parts(
        self, run: Callable[[Step], Awaitable[list[Check]]], progress: Progress = no_progress
    ) -> AsyncIterator[list[Check]]:
        """The verdicts part by part, for an event loop: `run` runs a step on a thread, and cancels
        it when its own task is cancelled. Raises as `step` does."""
        while not self.is_done:
            progress(CHECKING, self._done, self.total)
            yield await run(self.step)


# Actions on an entry that the check does not verify: take its record or the intended paper instead,
# mark it as checked, or remove it and leave its citations open.
#
# Editors offer these as actions on the entry at the cursor (`doubted_actions`, `meant_actions`);
# the other front ends name entries by key (`plan_changes`).

MARK, REMOVE, RECORD = "mark", "remove", "record"
"""Actions of `plan_changes` on an entry; any other word is the id of the intended paper."""
MEANT = "meant"
MOST_MEANT = 3
"""Maximum number of papers offered as the intended one."""


def is_doubted(check: Check) -> bool:
    """True if the reference may not exist."""
    return check.verdict in DOUBTED


def changes_for(check: Check) -> tuple[str, ...]:
    """The actions available for a checked entry, as arguments of `plan_changes`."""
    found = []
    published = any(one.code == "preprint-published" for one in check.findings)
    is_settled = check.verdict is Verdict.VERIFIED or check.mark is not None
    if check.work is not None and check.findings and (published or not is_settled):
        found.append(RECORD)
    if is_doubted(check) and not is_settled:
        found.append(REMOVE)
    if check.codes and not is_settled:
        found.append(MARK)
    return tuple(found)


def doubted_actions(entry: BibEntry, check: Check, citations: int) -> list[Action]:
    """The actions on an unverified entry; `citations` is its number of citations."""
    where: dict[str, str | int] = {"key": entry.key, "start": entry.start}
    removal = f"Remove `{entry.key}`"
    if citations:
        times = "its citation" if citations == 1 else f"its {citations:,} citations"
        removal += f" and leave {times} open"
    titles = {REMOVE: removal, MARK: f"Mark `{entry.key}` as checked"}
    return [
        Action(
            title=titles[name],
            kind=QUICK_FIX,
            name=name,
            arguments=where,
            fixes=check.codes,
            span=entry.span,
        )
        for name in changes_for(check)
        if name in titles
    ]


def queries_for_meant(entry: BibEntry, check: Check) -> list[Query]:
    """Queries for the intended paper: the title, then its words by the first author."""
    title = check.claim.title
    authors = check.claim.authors
    queries = [Query(text=title[:300], paper=CitingPaper())] if title else []
    if authors and title:
        by = Query(text=title[:300], author=authors[0].family, paper=CitingPaper())
        queries.append(by)
    return queries


def meant_actions(entry: BibEntry, check: Check, lists: Sequence[Sequence[Hit]]) -> list[Action]:
    """Replacements of the entry by the papers that may be intended, from the answers to
    `queries_for_meant`, best first."""
    own = title_key(check.work.title) if check.work is not None else ""
    works: dict[str, Work] = {}
    for rank in range(MOST_MEANT):
        for hits in lists:
            if rank < len(hits) and title_key(hits[rank].work.title) != own:
                works.setdefault(title_key(hits[rank].work.title), hits[rank].work)
    found = []
    for work in list(works.values())[:MOST_MEANT]:
        shown = work_candidate(work, "", "")
        found.append(
            Action(
                title="Replace by "
                + Choice("", work, shown.authors, shown.year, shown.title).shown,
                kind=QUICK_FIX,
                name=MEANT,
                arguments={"key": entry.key, "start": entry.start, "work": work.id},
                fixes=check.codes,
                span=entry.span,
            )
        )
    return found


def meant_edits(bib: BibFile, entry: BibEntry, check: Check, work: Work) -> tuple[TextEdit, ...]:
    """Replace the entry's content by a record; its key and the user's own fields stay."""
    # Only the key of a fabricated entry is right.
    as_invented = msgspec.structs.replace(check, work=work, verdict=Verdict.FABRICATED)
    return edits_for(bib, entry, as_invented, REPLACE)


def mark_edits(bib: BibFile, entry: BibEntry, check: Check) -> tuple[TextEdit, ...]:
    """Record in a comment that the author checked the entry, when, and against which record; it
    silences the check's findings. Empty without findings."""
    if not check.codes or bib.is_csl:
        return ()
    work = check.work
    record = (work.doi or work.url or work.id) if work is not None else ""
    return (mark_edit(bib, entry, check.codes, record),)


def removal_edits(
    bib: BibFile, entries: Sequence[BibEntry], documents: Iterable[Document]
) -> dict[str, FileEdit]:
    """Remove entries; each citation of them becomes `?`, an open placeholder. By path. Raises
    `CitewellError` if a remaining entry names one of them as its parent."""
    keys = {entry.key for entry in entries}
    for entry in bib.entries:
        parents = {key.strip() for name in PARENTS for key in entry.get(name).split(",")} & keys
        if parents and entry.key not in keys:
            raise _impossible(
                f"{entry.key!r} refers to {min(parents)!r}, which cannot be removed alone.",
                "Remove both, or take the reference out of the entry first.",
            )
    edits = {
        bib.path: FileEdit(
            bib.path, without(bib, entries), removes=tuple(one.key for one in entries)
        )
    }
    return edits | {edit.path: edit for edit in _opened(documents, keys)}


def _opened(documents: Iterable[Document], keys: Collection[str]) -> Iterator[FileEdit]:
    """The edits that make citations of these keys open placeholders."""
    for document in documents:
        changes = tuple(TextEdit(use.span, "?") for use in _uses(document, keys))
        if changes:
            yield FileEdit(document.path, changes)


def _uses(document: Document, keys: Collection[str]) -> Iterator[KeyUse]:
    for citation in document.citations:
        if citation.command != "nocite":
            yield from (use for use in citation.keys if use.key in keys)


def citing_documents(projects: Iterable[Project], bib: BibFile, key: str) -> dict[Path, Document]:
    """The documents of papers that cite this entry, rather than one with the same key in another
    file. Raises `CitewellError` for a read-only one: its citation would lose its entry.
    """
    found: dict[Path, Document] = {}
    for project in projects:
        place = project.entry(key)
        if place is None or place[0] != Path(bib.path):
            continue
        for path, document in project.documents.items():
            if not any(_uses(document, {key})):
                continue
            if not project.may_write(path):
                raise CitewellError(
                    Problem(
                        "change-impossible",
                        f"{path.name} cites {key} and must not be written.",
                        "Grant permission to write it, or open the folder that it is in.",
                        path=str(path),
                    )
                )
            found[path] = document
    return found


class ChangedEntry(msgspec.Struct, frozen=True):
    """One entry, its change, and the number of its citations left open."""

    key: str
    path: str
    line: int
    change: str
    citations: int = 0


class ChangePlan(msgspec.Struct, frozen=True):
    """Planned changes of entries and of the papers that cite them; nothing is written yet."""

    changed: tuple[ChangedEntry, ...] = ()
    edits: tuple[FileEdit, ...] = ()
    diffs: tuple[str, ...] = ()
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    """By path: the text that the edits of that file refer to."""
    again: Callable[[], ChangePlan] | None = None
    """Repeats the plan for the current files."""


def bibs_of(claims: Iterable[Claim]) -> list[BibFile]:
    """The .bib files of these references, in their current state."""
    paths = dict.fromkeys(absolute(claim.path) for claim in claims if claim.spans)
    found = (parse_bib(read_text(path).text, str(path)) for path in paths)
    return [bib for bib in found if not bib.is_csl]


def workspace_of(path: Path) -> Path:
    """The folder of the papers that may cite an entry of the file: the nearest one above it with a
    `citewell.toml` or `.git`, else its own."""
    for folder in path.parents:
        if folder == Path.home():
            break
        if any((folder / name).exists() for name in (WORKSPACE_FILE, ".git")):
            return folder
    return path.parent


def projects_in(folders: Sequence[Path], cache: FileCache, read: Overlay) -> tuple[Project, ...]:
    """All papers in some folders, in their current state."""
    workspace = Workspace(cache, roots=folders)
    workspace.refresh(read)
    return workspace.projects


def plan_changes(
    changes: Mapping[str, str],
    bibs: Sequence[BibFile],
    *,
    check: Callable[[Sequence[Claim]], Sequence[Check]],
    work_named: Callable[[str], Work],
    citing: Callable[[BibFile, str], Mapping[Path, Document]],
    shown: Callable[[str], str] = str,
) -> ChangePlan:
    """Plan changes of entries by key: `MARK`, `REMOVE`, `RECORD`, or the id of a paper.

    `citing` returns the documents that cite an entry, `shown` the display name of a file. Raises
    `CitewellError` if one of the changes is impossible: all are made, or none.
    """
    places = {key: _place(bibs, key) for key in changes}
    claims = [claim_of_entry(bib, entry) for bib, entry in places.values()]
    changed = []
    edits: dict[str, FileEdit] = {}
    texts: dict[str, str] = {}
    gone: dict[str, list[BibEntry]] = {}
    for (key, (bib, entry)), found in zip(places.items(), check(claims), strict=True):
        citations = 0
        texts[bib.path] = bib.text
        if changes[key] == REMOVE:
            documents = citing(bib, key).values()
            texts |= {document.path: document.text for document in documents}
            citations = sum(len(list(_uses(one, {key}))) for one in documents)
            gone.setdefault(bib.path, []).append(entry)
            for edit in _opened(documents, {key}):
                edits[edit.path] = _joined(edits.get(edit.path), edit)
        else:
            new = _edits(bib, entry, found, changes[key], work_named)
            edits[bib.path] = _joined(edits.get(bib.path), FileEdit(bib.path, new))
        line = bib.text.count("\n", 0, entry.start) + 1
        changed.append(ChangedEntry(key, shown(bib.path), line, changes[key], citations))
    for bib in bibs:
        if bib.path in gone:
            edit = removal_edits(bib, gone[bib.path], ())[bib.path]
            edits[bib.path] = _joined(edits.get(bib.path), edit)
    return ChangePlan(
        tuple(changed),
        tuple(edits.values()),
        tuple(
            unified_diff(texts[path], apply_edits(texts[path], edit.edits), shown(path))
            for path, edit in edits.items()
        ),
        texts,
    )


def _joined(one: FileEdit | None, other: FileEdit) -> FileEdit:
    if one is None:
        return other
    edits = sorted((*one.edits, *other.edits), key=lambda edit: edit.span)
    return FileEdit(one.path, tuple(edits), removes=(*one.removes, *other.removes))


def _place(bibs: Sequence[BibFile], key: str) -> tuple[BibFile, BibEntry]:
    """The entry with a key. Raises `CitewellError` if there is none, or more than one."""
    found = [(bib, entry) for bib in bibs for entry in bib.entries if entry.key == key]
    if len(found) == 1:
        return found[0]
    if found:
        raise _impossible(
            f"{len(found)} entries have the key {key!r}.", "Give each a key of its own first."
        )
    near = meant(key, [entry.key for bib in bibs for entry in bib.entries])
    raise _impossible(
        f"No entry has the key {key[:100]!r}.",
        f"Did you mean {near!r}?" if near else "Name an entry of the .bib files that are checked.",
    )


def _edits(
    bib: BibFile, entry: BibEntry, check: Check, change: str, work_named: Callable[[str], Work]
) -> tuple[TextEdit, ...]:
    """The edits of one entry. Raises `CitewellError` if there are none."""
    if change == MARK:
        edits = mark_edits(bib, entry, check)
    elif change != RECORD:
        edits = meant_edits(bib, entry, check, work_named(change))
    elif check.work is None:
        raise _impossible(
            f"No record of {entry.key!r} was found.",
            "Search for the paper that is meant, and name its id.",
        )
    else:
        published = any(one.code == "preprint-published" for one in check.findings)
        edits = edits_for(bib, entry, check, PUBLISHED if published else REPLACE)
    if not edits:
        words = "nothing is reported of it" if change == MARK else "it says what the record says"
        raise _impossible(f"{entry.key!r} stays as it is: {words}.", "Leave it out.")
    return edits


def _impossible(message: str, hint: str) -> CitewellError:
    return CitewellError(Problem("change-impossible", message, hint))
