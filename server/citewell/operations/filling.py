"""Filling of a document that the client sends as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell.documents.bib.reader import check_edits, parse_bib
from citewell.documents.project.paper_project import MAX_NAME, TextProject
from citewell.features.citing.known_works import all_named
from citewell.features.citing.write import RebasedText
from citewell.features.text.evidence import what_it_says, who_chose
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel
from citewell.operations.operation import LONG_SECONDS, Service, operation, public_problems
from citewell.operations.papers import MAX_FILE, Choose, Confidence, Paper, found_paper
from citewell.usecases.fill import FillPlan, FillTask, PlaceholderFill, with_unattended
from citewell.usecases.find import Status, status_of, suffix_of

MAX_FILES = 200
MAX_PLACEHOLDERS = 1_000
"""More would block the other clients for minutes."""

Text = Annotated[str, Meta(max_length=MAX_FILE)]
_NAME = r'(?!/)(?!(?:[^/]*/)*\.\.(?:/|$))(?=.*[^./])[^\\:\u0000\n<>"|?*]+'
"""A relative name with slashes inside the paper's folder, as `TextProject` accepts it."""
Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME, pattern=f"^{_NAME}$")]
MainName = Annotated[
    str,
    Meta(
        max_length=MAX_NAME,
        pattern=f"^(?:{_NAME})?$",
        description="Its name, which determines the format: paper.tex, paper.md.",
    ),
]
OtherFiles = Annotated[
    dict[Name, Text],
    Meta(
        max_length=MAX_FILES,
        description="The paper's other files by name: .bib files and included files.",
    ),
]
Unit = Annotated[
    Literal["code-points", "utf-16", "utf-8"],
    Meta(description="Unit of offsets: Python's characters, JavaScript's, or bytes."),
]
_CODECS = {"utf-16": ("utf-16-le", 2), "utf-8": ("utf-8", 1)}


class FillRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document, and whatever belongs to it: all of it as text."""

    text: Annotated[Text, Meta(description="LaTeX or Markdown with placeholders.")]
    path: MainName = ""
    files: OtherFiles = {}
    choices: Annotated[
        dict[str, str],
        Meta(
            max_length=1_000,
            description="Maps placeholder `n` to the id of a paper, or to nothing to leave it "
            "open; the others are filled with their best paper, if it is certain "
            "enough.",
        ),
    ] = {}
    threshold: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(
            description="Minimum confidence; default: the settings `fill.typed_threshold` and, "
            "where `unattended`, `fill.threshold`."
        ),
    ] = None
    unattended: Annotated[
        bool,
        Meta(
            description="Also fill placeholders without words. Otherwise (unless "
            "`fill.unattended` is set) they stay open, with their candidates."
        ),
    ] = False
    online: Annotated[
        bool,
        Meta(
            description="Also ask the allowed sources for the words of placeholders that would "
            "stay open. Otherwise nothing is sent anywhere."
        ),
    ] = False
    choose: Choose = True
    offsets: Unit = "code-points"
    texts: Annotated[bool, Meta(description="Include the complete changed files.")] = False


class Edit(msgspec.Struct, frozen=True):
    """Replace what stands from `start` to `end` by `text`."""

    start: int
    end: int
    text: str


class FileEdits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The edits of one file, in order, which do not overlap; all offsets are of the text as it was
    sent."""

    file: str
    edits: tuple[Edit, ...]
    create: Annotated[bool, Meta(description="The file was not sent and has to be created.")] = (
        False
    )


class NewEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that the edits add to a .bib."""

    file: str
    key: str
    id: Annotated[str, Meta(description="Id of the record that it comes from.")]
    bibtex: str


class Filled(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A placeholder; open while it has no `key`."""

    n: int
    file: str
    line: int
    column: int
    text: str
    sentence: str = ""
    confidence: Confidence = 0.0
    key: str = ""
    already_there: Annotated[bool, Meta(description="The entry was already in the .bib.")] = False
    paper: Paper | None = None
    chosen: Annotated[
        str, Meta(description="The language model's choice and reason, if it chose.")
    ] = ""
    supported: Annotated[
        str, Meta(description="The model's opinion of the abstract, if the settings enable it.")
    ] = ""
    reason: Annotated[str, Meta(description="Why it was left open.")] = ""
    candidates: Annotated[
        tuple[Paper, ...], Meta(description="The candidates, if it was left open.")
    ] = ()


class FillAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The proposed citations. Bibliographies come first in `edits`: a citation without its entry
    would break the paper."""

    status: Status | Literal["no_placeholders"]
    placeholders: tuple[Filled, ...]
    edits: tuple[FileEdits, ...] = ()
    entries: tuple[NewEntry, ...] = ()
    diff: str = ""
    texts: dict[str, str] = {}
    problems: tuple[Problem, ...] = ()


@operation(
    "Citations and entries for a document sent as text",
    queue=lambda request: "online" if request.online else "document",
    seconds=LONG_SECONDS,
)
def fill(service: Service, request: FillRequest, cancel: Cancel) -> FillAnswer:
    """The best paper for each placeholder of a document, with the edits of the document and its
    .bib. Nothing is read from the disk and nothing is written: make the edits yourself."""
    options = with_unattended(service.options, unattended=request.unattended)
    name = request.path or f"paper{suffix_of(request.text)}"
    project = TextProject.of({**request.files, name: request.text}, name, options)
    count = sum(len(document.placeholders) for document in project.documents.values())
    if count > MAX_PLACEHOLDERS:
        raise CitewellError(
            Problem(
                "request-too-large",
                f"The document has {count} placeholders, more than {MAX_PLACEHOLDERS}.",
                "Send it in parts.",
            )
        )
    named = {n: work for n, work in request.choices.items() if work}
    works = all_named(service.engine, list(named.values()))
    choices = dict.fromkeys(request.choices) | dict(zip(named, works, strict=True))
    task = FillTask(
        service.engine,
        options,
        threshold=request.threshold,
        online=request.online,
        choices=choices,
        model=request.choose,
    )
    plan = task.run(project, service.progress, cancel)
    status = status_of(plan.results)
    check_edits(plan.edits, plan.texts)
    changed = _changed(plan, project)
    return FillAnswer(
        status=status if plan.fills else "no_placeholders",
        placeholders=tuple(_filled(n, one, project) for n, one in enumerate(plan.fills, 1)),
        edits=_edits(plan, project, request.offsets),
        entries=tuple(_entries(plan, changed)),
        diff="".join(plan.diffs),
        texts=changed if request.texts else {},
        problems=public_problems(plan.problems),
    )


def _filled(n: int, found: PlaceholderFill, project: TextProject) -> Filled:
    open_ = found.hit is None
    by_model = found.picked is not None and found.picked.by == "model"
    judged = found.supported is not None and found.supported.problem is None
    return Filled(
        n=n,
        file=project.name_of(found.path),
        line=found.line,
        column=found.column,
        text=found.text,
        sentence=found.sentence,
        confidence=round(found.confidence, 3),
        key=found.key,
        already_there=found.reused,
        paper=None if found.hit is None else found_paper(found.hit),
        chosen=who_chose(found.picked) if found.picked is not None and by_model else "",
        supported=what_it_says(found.supported) if found.supported and judged else "",
        reason=found.advice,
        candidates=tuple(map(found_paper, found.candidates)) if open_ else (),
    )


def _changed(plan: FillPlan, project: TextProject) -> dict[str, str]:
    """The new texts of the changed files, by name."""
    changed = {}
    for edit in plan.edits:
        edited = RebasedText(plan.texts[edit.path])
        edited.apply(edit.edits)
        changed[project.name_of(edit.path)] = edited.text
    return changed


def _entries(plan: FillPlan, changed: Mapping[str, str]) -> list[NewEntry]:
    """Each new entry, once, in the order of the citations."""
    works = {one.key: one.hit.work for one in plan.filled if one.hit is not None and not one.reused}
    bibs = {name: parse_bib(text, name) for name, text in changed.items() if name.endswith(".bib")}
    return [
        NewEntry(file=name, key=key, id=work.id, bibtex=bib.by_key[key].body.text)
        for key, work in works.items()
        for name, bib in bibs.items()
        if key in bib.by_key
    ]


def _edits(plan: FillPlan, project: TextProject, unit: str) -> tuple[FileEdits, ...]:
    made = []
    for edit in plan.edits:
        ends = [place for one in edit.edits for place in (one.span.start, one.span.end)]
        counted = in_units(plan.texts[edit.path], ends, unit)
        edits = tuple(
            Edit(start, end, one.text)
            for one, start, end in zip(edit.edits, counted[::2], counted[1::2], strict=True)
        )
        made.append(FileEdits(file=project.name_of(edit.path), edits=edits, create=edit.create))
    return tuple(made)


def in_units(text: str, offsets: Sequence[int], unit: str) -> list[int]:
    """Ascending offsets in a text, converted to another unit."""
    if unit not in _CODECS or text.isascii():
        return list(offsets)
    codec, size = _CODECS[unit]
    found: list[int] = []
    at, count = 0, 0
    for offset in offsets:
        count += len(text[at:offset].encode(codec, "surrogatepass")) // size
        found.append(count)
        at = offset
    return found
