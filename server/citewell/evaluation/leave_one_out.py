"""One's own papers as the data set: every citation is taken out and has to be found again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from citewell.documents import Project
from citewell.documents.context import context_at
from citewell.evaluation.matching import letters_only
from citewell.evaluation.results import DataInfo
from citewell.model import CitingPaper, Problem, Query, Question, Reference, Target
from citewell.model.bib import BibEntry
from citewell.model.document import Citation, Document
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.names import split_authors
from citewell.model.titles import plain_title
from citewell.options.tree import DocumentOptions

_NOT_CITED = ("nocite",)
_ARXIV_FIELDS = ("eprint", "arxivid", "arxiv", "journal", "note", "url", "howpublished", "doi")


class _Entry(msgspec.Struct, frozen=True):
    """A .bib entry as a reference of the paper."""

    reference: Reference
    letters: str


def questions_of(
    papers: Sequence[Path], options: DocumentOptions
) -> tuple[list[Question], DataInfo, list[Problem]]:
    """A question for every citation of a key that a .bib of the paper defines.

    The reference that is asked for is taken from what is known of the paper, whatever its key;
    the text keeps `[CITATION]` in its place. Raises `CitewellError` for a file that is not there.
    """
    questions: list[Question] = []
    problems: list[Problem] = []
    counts = dict.fromkeys(("citations of keys", "keys in no .bib", "entries without a title"), 0)
    titles: list[str] = []
    for path in papers:
        project = Project.open(path, options)
        problems.extend(project.problems)
        title, made = _of_project(project, path, counts)
        titles.append(title or path.name)
        questions.extend(made)
    info = DataInfo(
        name="; ".join(titles),
        schema="leave-one-out",
        path="; ".join(str(path) for path in papers),
        counts=counts,
        notes=(
            "The cited paper is matched by the DOI, arXiv id or title of its .bib entry. "
            "Warm: the paper's other references are known, the one asked for is removed by key, "
            "identifier and title.",
            "The year of the paper is taken to be that of its newest reference.",
        ),
        selection=f"every citation of {len(papers)} paper{'s' if len(papers) > 1 else ''}",
        unit="question" if len(papers) == 1 else "paper",
    )
    return questions, info, problems


def _of_project(project: Project, path: Path, counts: dict[str, int]) -> tuple[str, list[Question]]:
    entries: dict[str, _Entry] = {}
    for bib in project.bibliographies:
        for entry in bib.entries:
            entries.setdefault(entry.key, _entry(entry))
    documents = project.documents
    title = next((one.title for one in documents if one.title), "")
    abstract = next((one.abstract for one in documents if one.abstract), "")
    places = list(_places(documents, entries, counts))
    cited = list(dict.fromkeys(key for _, _, _, key in places))
    years = [entries[key].reference.year for key in cited]
    year = max((one for one in years if one is not None), default=None)
    questions = []
    for document, citation, line, key in places:
        entry = entries[key]
        context = context_at(document, citation.span.start)
        paper = CitingPaper(
            title=title,
            abstract=abstract,
            references=tuple(_others(entry, (entries[one] for one in cited))),
        )
        reference = entry.reference
        questions.append(
            Question(
                id=f"{document.path}:{line}:{citation.span.start}:{key}",
                query=Query(
                    sentence=context.sentence,
                    before=context.before,
                    after=context.after,
                    section=context.section,
                    paper=paper,
                ),
                gold_titles=(reference.title,),
                paper=title or path.stem,
                tags=(f"key:{key}", f"file:{_short(document, path)}", f"line:{line}"),
                targets=(
                    Target(
                        titles=(reference.title,),
                        year=reference.year,
                        doi=reference.doi,
                        arxiv=reference.arxiv,
                    ),
                ),
                year=year,
            )
        )
    return title, questions


def _places(
    documents: Sequence[Document], entries: dict[str, _Entry], counts: dict[str, int]
) -> Iterator[tuple[Document, Citation, int, str]]:
    """Every key that is cited and known, with its line, in the order of the text."""
    for document in documents:
        starts = [0, *(i + 1 for i, char in enumerate(document.text) if char == "\n")]
        for citation in document.citations:
            if citation.command.startswith(_NOT_CITED):
                continue
            for use in dict.fromkeys(one.key for one in citation.keys):
                counts["citations of keys"] += 1
                entry = entries.get(use)
                if entry is None:
                    counts["keys in no .bib"] += 1
                elif not entry.letters:
                    counts["entries without a title"] += 1
                else:
                    yield document, citation, bisect_right(starts, citation.span.start), use


def _others(target: _Entry, cited: Iterable[_Entry]) -> Iterator[Reference]:
    """The references that stay known: none that is the target under another key."""
    gone = target.reference
    for one in cited:
        other = one.reference
        same = (
            other.key == gone.key
            or one.letters == target.letters
            or (gone.doi and other.doi == gone.doi)
            or (gone.arxiv and other.arxiv == gone.arxiv)
        )
        if not same and one.letters:
            yield other


def _entry(entry: BibEntry) -> _Entry:
    title = plain_title(entry.get("title"))
    year = entry.get("year") or entry.get("date")[:4]
    arxiv = next((found for name in _ARXIV_FIELDS if (found := arxiv_id(entry.get(name)))), "")
    reference = Reference(
        title=title,
        authors=tuple(one.family for one in split_authors(entry.get("author"))),
        year=int(year) if year.isdigit() and len(year) == 4 else None,
        doi=normalise_doi(entry.get("doi") or entry.get("url")),
        arxiv=arxiv,
        key=entry.key,
    )
    return _Entry(reference, letters_only(title))


def _short(document: Document, paper: Path) -> str:
    """The document's path as its author names it."""
    try:
        return Path(document.path).relative_to(paper.resolve().parent).as_posix()
    except ValueError:
        return Path(document.path).name
