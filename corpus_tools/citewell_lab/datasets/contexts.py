"""Citations of real papers: one record per key of a `\\cite`.

The schema of `contexts/dev`: a sentence in which `[CITATION]` stands for the target, the sentences
around it, and what the citing paper's .bib says of the cited one. Beside the file may lie
`citation_lists.jsonl.gz` with all that each paper cites.
"""

from __future__ import annotations

import datetime
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from citewell.documents.context import MOST_NEARBY
from citewell.model import Problem
from citewell.model.names import parse_author
from citewell.model.query import CitingPaper, Query, Question, Reference, Target
from citewell_lab.datasets import source
from citewell_lab.datasets.contract import DataSet, DataSetError, DataSetReading, Kind, Peek
from citewell_lab.datasets.source import identifiers, letters_only, year_in

# The citations near each citation of a paper, collected from one record per citation.

_MARKS = re.compile(r"\[(?:CITATION|OTHER)\]")
_NO_LETTER = re.compile(r"[^a-z0-9]")
BEFORE = 3
"""Number of preceding sentences whose citations count as near."""


class CitingPassage(msgspec.Struct, frozen=True):
    """One citation: its sentence, the preceding sentences, and the cited work."""

    sentence: str
    before: Sequence[str]
    cited: str
    """Name of the cited work within the paper; empty if it must not be named."""
    beside: frozenset[str] = frozenset()
    """Names of the works that the same command cites, which never count as near."""


def by_sentence(places: Iterable[CitingPassage]) -> dict[str, list[str]]:
    """Names of the works cited by each sentence of a paper, keyed by the sentence's letters."""
    found: dict[str, list[str]] = defaultdict(list)
    for place in places:
        if place.cited:
            found[_letters(place.sentence)].append(place.cited)
    return dict(found)


def neighbours(place: CitingPassage, sentences: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Names of the works cited in the same sentence, then in preceding ones, nearest first.

    Sentences are compared by their letters, because citation marks differ between records.
    """
    found: list[str] = []
    for text in (place.sentence, *reversed(place.before[-BEFORE:])):
        found += sentences.get(_letters(text), ())
    return tuple(name for name in dict.fromkeys(found) if name not in place.beside)


def _letters(text: str) -> str:
    return _NO_LETTER.sub("", _MARKS.sub("", text).lower())


LISTS = "citation_lists.jsonl.gz"
"""The file next to the contexts that lists all citations of each paper."""


class ContextRecord(msgspec.Struct):
    """One line of the file; fields that it lacks are empty."""

    id: str
    sentence: str
    key: str = ""
    source_repo: str | None = None
    source_title: str | None = None
    source_dataset: str | None = None
    source_paper_id: str | None = None
    file: str | None = None
    format: str | None = None
    context_before: str | None = None
    context_before_list: list[str] | None = None
    context_after: str | None = None
    gold_title: str | None = None
    gold_year: int | str | None = None
    gold_authors: list[str] | None = None
    gold_id: str | None = None
    gold_alt_ids: list[str] | None = None
    gold_id_titles_only: str | None = None
    group_keys: list[str] | None = None
    bib_entry_raw: str | None = None
    clean: bool = True
    is_secondary_file: bool | None = None
    title_in_sentence: bool | None = None
    author_in_sentence: bool | None = None


class CitationListWork(msgspec.Struct):
    """One work in a citation list."""

    title: str | None = None
    year: int | str | None = None
    gold_id: str | None = None


class CitationList(msgspec.Struct):
    """All citations of one paper."""

    source_repo: str | None = None
    source_title: str | None = None
    cited: list[CitationListWork] = []
    files: list[str] = []


class _OwnReference(msgspec.Struct):
    """A reference of the citing paper, with its identifying fields."""

    reference: Reference
    ids: set[str]
    keys: set[str]


class Contexts:
    """Reads the file, with the warm setting's references and the year of each citing paper."""

    name = "contexts"
    kind: Kind = "questions"
    description = "citing sentences of real papers (contexts/dev and train)"

    def fits(self, peek: Peek) -> bool:
        return peek.shape == "lines" and {"sentence", "gold_title", "key"} <= peek.first.keys()

    def read(self, path: Path) -> DataSet:
        reading = DataSetReading(path)
        found: list[ContextRecord] = []
        for number, record in source.records(path, ContextRecord, reading):
            if "[CITATION]" not in record.sentence:
                reading.bad("The sentence has no [CITATION].", number)
            else:
                found.append(record)
        lists = _lists_beside(path, reading)
        papers: dict[str, list[ContextRecord]] = defaultdict(list)
        for record in found:
            papers[paper_of(record)].append(record)
        questions: dict[int, Question] = {}
        with_lists = 0
        for paper, members in papers.items():
            known = _known(members, lists)
            with_lists += bool(known.listed)
            for record in members:
                questions[id(record)] = _question(record, paper, known)
        reading.count("questions", len(found))
        reading.count("papers", len(papers))
        reading.count("clean", sum(record.clean for record in found))
        reading.count("with an id in the data set's corpus", sum(bool(r.gold_id) for r in found))
        return DataSet(
            name=path.name.split(".")[0],
            schema=self.name,
            path=str(path),
            questions=tuple(questions[id(record)] for record in found),
            counts=reading.counts,
            notes=_notes(len(papers), with_lists),
            problems=tuple(reading.problems),
        )


def paper_of(record: ContextRecord) -> str:
    """The citing paper: repository and title, or repository and top folder if it has no title.

    A repository may contain several papers, each in its own folder.
    """
    home = record.source_repo or record.source_dataset or ""
    if record.source_paper_id:
        return record.source_paper_id
    if record.source_title:
        return f"{home}: {record.source_title}"
    folders = (record.file or "").split("/")[:-1]
    return f"{home}/{folders[0]}" if len(folders) > 1 else home


def repository_of(record: ContextRecord) -> str:
    """The unit that a split must not divide."""
    return record.source_repo or record.source_paper_id or record.source_dataset or ""


class _References(msgspec.Struct):
    known: dict[str, _OwnReference]
    """By the folded title."""
    sentences: dict[str, list[str]]
    """Folded titles that each sentence cites."""
    of_key: dict[str, str]
    """Folded title of each key."""
    year: int | None
    listed: int
    """Number of citation lists found for the paper."""


def _known(members: Sequence[ContextRecord], lists: Iterable[CitationList]) -> _References:
    known: dict[str, _OwnReference] = {}
    newest = datetime.date.today().year + 1
    for record in members:
        letters = letters_only(record.gold_title or "")
        if not letters:
            continue
        if letters not in known:
            known[letters] = _OwnReference(_reference(record), set(), set())
        known[letters].ids.update(_ids(record))
        known[letters].keys.add(record.key)
    listed = 0
    for one in lists:
        if not _same_paper(one, members):
            continue
        listed += 1
        for cited in one.cited:
            letters = letters_only(cited.title or "")
            if not letters:
                continue
            if letters not in known:
                reference = Reference(title=cited.title or "", year=year_in(cited.year))
                known[letters] = _OwnReference(reference, set(), set())
            if cited.gold_id:
                known[letters].ids.add(cited.gold_id)
    years = [one.reference.year for one in known.values() if one.reference.year]
    of_key = {record.key: letters_only(record.gold_title or "") for record in members}
    sentences = by_sentence(_place(record, of_key) for record in members)
    year = max((y for y in years if y <= newest), default=None)
    return _References(known, sentences, of_key, year, listed)


def _place(record: ContextRecord, of_key: Mapping[str, str]) -> CitingPassage:
    letters = letters_only(record.gold_title or "")
    beside = {of_key.get(key, "") for key in record.group_keys or ()}
    before = record.context_before_list or [record.context_before or ""]
    return CitingPassage(record.sentence, before, letters, frozenset({letters, *beside}))


def _same_paper(one: CitationList, members: Sequence[ContextRecord]) -> bool:
    if one.source_repo != members[0].source_repo:
        return False
    if one.source_title or members[0].source_title:
        return (one.source_title or "") == (members[0].source_title or "")
    return any(record.file in one.files for record in members)


def _reference(record: ContextRecord) -> Reference:
    doi, arxiv = identifiers(record.bib_entry_raw or "")
    return Reference(
        title=record.gold_title or "",
        authors=_families(record),
        year=year_in(record.gold_year),
        doi=doi,
        arxiv=arxiv,
        key=record.key,
    )


def _families(record: ContextRecord) -> tuple[str, ...]:
    return tuple(parse_author(name).family for name in record.gold_authors or ())


def _ids(record: ContextRecord) -> tuple[str, ...]:
    ids = [record.gold_id, *(record.gold_alt_ids or ())]
    if not record.gold_id:
        ids.append(record.gold_id_titles_only)
    return tuple(dict.fromkeys(one for one in ids if one))


def _question(record: ContextRecord, paper: str, references: _References) -> Question:
    ids = _ids(record)
    letters = letters_only(record.gold_title or "")
    others = tuple(
        one.reference
        for key, one in references.known.items()
        if key != letters and record.key not in one.keys and not one.ids.intersection(ids)
    )
    allowed = {letters_only(other.title) for other in others}
    near = neighbours(_place(record, references.of_key), references.sentences)
    nearby = tuple(references.known[n].reference.title for n in near if n in allowed)
    doi, arxiv = identifiers(record.bib_entry_raw or "")
    titles = (record.gold_title,) if record.gold_title else ()
    before = record.context_before_list or [record.context_before or ""]
    return Question(
        id=record.id,
        query=Query(
            sentence=record.sentence,
            before=tuple(sentence for sentence in before if sentence),
            after=(record.context_after,) if record.context_after else (),
            nearby=nearby[:MOST_NEARBY],
            paper=CitingPaper(title=record.source_title or "", references=others),
        ),
        gold=ids,
        gold_titles=titles,
        paper=paper,
        tags=_tags(record),
        targets=(
            Target(
                ids=ids,
                titles=titles,
                authors=_families(record),
                first_author=next(iter(record.gold_authors or ()), ""),
                year=year_in(record.gold_year),
                doi=doi,
                arxiv=arxiv,
            ),
        ),
        beside=tuple(_beside(record, references)),
        year=references.year,
    )


def _beside(record: ContextRecord, references: _References) -> Iterator[Target]:
    """The other works of the citation, as far as other records describe them."""
    for key in dict.fromkeys(record.group_keys or ()):
        known = references.known.get(references.of_key.get(key, ""))
        if key != record.key and known is not None:
            other = known.reference
            yield Target(
                ids=tuple(sorted(known.ids)), titles=(other.title,), year=other.year,
                doi=other.doi, arxiv=other.arxiv,
            )  # fmt: skip


def _tags(record: ContextRecord) -> tuple[str, ...]:
    return tuple(
        tag
        for tag, holds in (
            (f"repository:{repository_of(record)}", True),
            (record.format or "", bool(record.format)),
            ("clean", record.clean),
            ("secondary-file", bool(record.is_secondary_file)),
            ("title-in-sentence", bool(record.title_in_sentence)),
            ("author-in-sentence", bool(record.author_in_sentence)),
            ("alone", len(record.group_keys or ()) < 2),
        )
        if holds
    )


def _lists_beside(path: Path, reading: DataSetReading) -> list[CitationList]:
    beside = path.with_name(LISTS)
    if not beside.is_file():
        return []
    inner = DataSetReading(beside)
    try:
        lists = [one for _, one in source.records(beside, CitationList, inner)]
    except (DataSetError, OSError, EOFError) as error:
        reading.problems.append(
            inner.problems[0] if inner.problems else _unreadable(beside, str(error))
        )
        return []
    reading.problems.extend(inner.problems)
    return lists


def _unreadable(path: Path, reason: str) -> Problem:
    return Problem(
        code="data-set-unreadable",
        message=f"The citation lists cannot be read: {reason}",
        hint="The warm setting knows only the references that other records name.",
        path=str(path),
    )


def _notes(papers: int, with_lists: int) -> tuple[str, ...]:
    return (
        "Warm: the references of the citing paper that its other records name, "
        f"and the citation list next to it ({with_lists} of {papers} papers have one), "
        "without the target by id, title and key; the other keys of the same citation stay. "
        "Citations in the sentence and the three before it are known as such.",
        "The citing year is not recorded: it is taken to be that of the paper's newest reference.",
    )
