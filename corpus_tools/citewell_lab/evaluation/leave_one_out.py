"""One's own papers as the data set: every citation is taken out and has to be found again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from citewell.documents.context import acronyms_of, context_at, nearby_titles
from citewell.documents.project.files import format_of
from citewell.documents.project.paper_project import Project
from citewell.model import Problem, Query, Question, Reference, Target
from citewell.model.document import Citation, Document, Format
from citewell.options.tree import DocumentOptions
from citewell_lab.evaluation.matching import letters_only
from citewell_lab.evaluation.results import DataInfo, problem

_BUILT = ("citations of keys", "keys in no .bib", "entries without a title")


class _KeyOccurrence(msgspec.Struct, frozen=True):
    """One key at one place of the text."""

    path: Path
    document: Document
    citation: Citation
    line: int
    reference: Reference


def questions_of(
    papers: Sequence[Path], options: DocumentOptions
) -> tuple[list[Question], DataInfo, list[Problem]]:
    """A question for every citation of a key that a .bib of the paper defines.

    The reference that is asked for is taken from what is known of the paper, whatever its key;
    the text keeps `[CITATION]` in its place. Raises `EvaluationError` for a file that is not there
    or holds no such citation.
    """
    questions: list[Question] = []
    problems: list[Problem] = []
    counts = dict.fromkeys(_BUILT, 0)
    titles: list[str] = []
    for path in papers:
        _must_be_readable(path)
        project = Project.open(path, options)
        problems.extend(project.problems)
        made = _of_project(project, counts)
        titles.append(project.citing_paper().title or path.name)
        questions.extend(made)
    if not questions:
        missing = f" {problems[0].message}" if problems else ""
        raise problem(
            "evaluation-no-citations",
            f"No citation in {', '.join(path.name for path in papers)} has an entry in a .bib: "
            f"{counts[_BUILT[0]]} keys are cited, {counts[_BUILT[1]]} are in no .bib.{missing}",
            "Name the root file of a paper whose bibliography is a .bib.",
            str(papers[0]),
        )
    one = len(papers) == 1
    info = DataInfo(
        name=titles[0] if one else f"{len(titles)} papers",
        schema="leave-one-out",
        path="; ".join(str(path) for path in papers),
        counts=counts,
        notes=(
            "The cited paper is matched by the DOI, arXiv id or title of its .bib entry.",
            "Warm: the paper's other references are known; the one asked for is removed by key, "
            "identifier and title, the other keys of the same citation stay. Cold: none is known.",
            "The year of the paper is taken to be that of its newest reference.",
        ),
        selection="every citation of " + ("the paper" if one else f"{len(papers)} papers"),
        unit="question" if one else "paper",
    )
    return questions, info, problems


def _must_be_readable(path: Path) -> None:
    if not path.is_file():
        hint = "Give a .tex or Markdown file."
        raise problem("evaluation-no-paper", f"File not found: {path}.", hint, str(path))
    if format_of(path) in (None, Format.BIBTEX):
        hint = "Give a .tex or Markdown file; for a data set use --data."
        raise problem("evaluation-no-paper", f"{path.name} is not a manuscript.", hint, str(path))


def _of_project(project: Project, counts: dict[str, int]) -> list[Question]:
    paper = project.citing_paper()
    known = {reference.key: reference for reference in paper.references}
    years = [reference.year for reference in paper.references if reference.year]
    name = paper.title or project.path.stem
    questions = []
    for place in _places(project.documents.items(), known, counts):
        reference = place.reference
        context = context_at(place.document, place.citation.span.start)
        others = tuple(_others(reference, paper.references))
        citing = msgspec.structs.replace(paper, references=others)
        file = _relative(place.path, project.root.parent)
        questions.append(
            Question(
                id=f"{file}:{place.citation.span.start}:{reference.key}",
                query=Query(
                    sentence=context.sentence,
                    before=context.before,
                    after=context.after,
                    section=context.section,
                    nearby=nearby_titles(place.document, place.citation.span, others),
                    acronyms=acronyms_of(place.document, context),
                    paper=citing,
                ),
                gold_titles=(reference.title,),
                paper=name,
                tags=(f"key:{reference.key}", f"file:{file}", f"line:{place.line}"),
                targets=(_target(reference),),
                beside=tuple(
                    _target(known[use.key])
                    for use in place.citation.keys
                    if use.key != reference.key and use.key in known
                ),
                year=max(years, default=None),
            )
        )
    return questions


def _target(reference: Reference) -> Target:
    return Target(
        titles=(reference.title,), authors=reference.authors, year=reference.year,
        doi=reference.doi, arxiv=reference.arxiv,
    )  # fmt: skip


def _places(
    documents: Iterable[tuple[Path, Document]], known: dict[str, Reference], counts: dict[str, int]
) -> Iterator[_KeyOccurrence]:
    """Every key that is cited and described, with its line, in the order of the text."""
    for path, document in documents:
        starts = [0, *(i + 1 for i, char in enumerate(document.text) if char == "\n")]
        for citation in document.citations:
            if citation.command.startswith("nocite"):
                continue
            for key in dict.fromkeys(use.key for use in citation.keys):
                counts[_BUILT[0]] += 1
                reference = known.get(key)
                if reference is None:
                    counts[_BUILT[1]] += 1
                elif not letters_only(reference.title):
                    counts[_BUILT[2]] += 1
                else:
                    line = bisect_right(starts, citation.span.start)
                    yield _KeyOccurrence(path, document, citation, line, reference)


def _others(target: Reference, references: Sequence[Reference]) -> Iterator[Reference]:
    """The references that stay known: none that is the target, under whatever key."""
    letters = letters_only(target.title)
    for other in references:
        same = (
            other.key == target.key
            or letters_only(other.title) == letters
            or (target.doi and other.doi == target.doi)
            or (target.arxiv and other.arxiv == target.arxiv)
        )
        if not same and other.title:
            yield other


def _relative(path: Path, folder: Path) -> str:
    """The path as the author names it."""
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return path.name
