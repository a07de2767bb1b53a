"""The review of a whole paper that is sent as text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell.documents.project.paper_project import TextProject
from citewell.features.checking.codes import CodeSelection
from citewell.features.checking.report import POLICIES
from citewell.features.review.report import Review, ReviewFigures, ReviewFinding, renamed
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.model.words import PARTS
from citewell.operations.filling import MainName, OtherFiles, Text
from citewell.operations.operation import LONG_SECONDS, Service, operation, public_problems
from citewell.usecases.find import suffix_of
from citewell.usecases.review import ReviewTask

Codes = Annotated[tuple[Annotated[str, Meta(max_length=60)], ...], Meta(max_length=100)]
_PARTS = ", ".join(PARTS)


class ReviewRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A paper, and whatever belongs to it: all of it as text."""

    text: Annotated[Text, Meta(description="The main file, in LaTeX or Markdown.")]
    path: MainName = ""
    files: OtherFiles = {}
    select: Annotated[
        Codes,
        Meta(description=f"Report only these codes, beginnings of codes, or parts: {_PARTS}."),
    ] = ()
    ignore: Annotated[Codes, Meta(description="Leave these out.")] = ()
    policy: Annotated[
        Literal["default", "neurips-2026"],
        Meta(description="What blocks a submission, is to be corrected, or is a note."),
    ] = "default"
    online: Annotated[
        bool,
        Meta(description="Also send references that the library lacks to the allowed sources."),
    ] = False


class ReviewAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The findings by part, weight and place. Those of the part `suggestions` are no faults."""

    status: Literal["reviewed", "not_checked"]
    counts: Annotated[dict[str, int], Meta(description="Number of findings per weight.")]
    findings: tuple[ReviewFinding, ...]
    figures: ReviewFigures = ReviewFigures()
    problems: tuple[Problem, ...] = ()


@operation(
    "What is wrong with the citations of a paper?",
    queue=lambda request: "online" if request.online else "check",
    seconds=LONG_SECONDS,
)
def review(service: Service, request: ReviewRequest, cancel: Cancel) -> ReviewAnswer:
    """Review a whole paper: undefined and duplicate keys, open placeholders, references that do not
    exist or are wrong, names and sentences without a citation, an inconsistent bibliography, and
    works that others cite together with its references. Nothing is changed."""
    name = request.path or f"paper{suffix_of(request.text)}"
    project = TextProject.of({**request.files, name: request.text}, name, service.options)
    task = ReviewTask(
        service.engine,
        service.options,
        [project],
        selection=CodeSelection(request.select, request.ignore),
        policy=POLICIES[request.policy],
        online=request.online,
    )
    found = task.run(service.progress, cancel)
    names = {one.path: project.name_of(Path(one.path)) for one in found.findings}
    return answer_of(renamed(found, names))


def answer_of(found: Review) -> ReviewAnswer:
    """A review as an answer."""
    codes = {problem.code for problem in found.problems}
    return ReviewAnswer(
        status="not_checked" if "library-missing" in codes else "reviewed",
        counts={weight.value: count for weight, count in found.weights.items()},
        findings=found.findings,
        figures=found.figures,
        problems=public_problems(found.problems),
    )
