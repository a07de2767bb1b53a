"""The findings of a review: where each stands, what it weighs, and which are wanted or known; and
the figures of a paper."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from citewell import __version__
from citewell.documents.latex.plaintext import latex_to_text
from citewell.documents.project.paper_project import Project
from citewell.features.checking.codes import part_of
from citewell.features.checking.lint_rule import silencing_comment
from citewell.features.checking.report import LocatedDiagnostic, Weight
from citewell.features.citing.hover import shown_path
from citewell.model import CitewellError, Problem
from citewell.model.bib import BibEntry, BibFile
from citewell.model.document import Diagnostic, Document, Format, Level
from citewell.model.titles import fold
from citewell.model.words import PARTS

# Figures of a paper's references: by year and kind, preprints, self-citations, keys cited once.

_AUTHOR = re.compile(r"\\author\s*(?:\[[^\]]*\]\s*)?\{")
_YAML_AUTHORS = re.compile(r"^authors?:[ \t]*(.*(?:\n[ \t-].*)*)", re.MULTILINE)
_PREPRINT = re.compile(r"arxiv|biorxiv|medrxiv|ssrn|preprint|\bcorr\b", re.IGNORECASE)
LONGEST = 4_000
"""Characters of an author block that are read."""


class ReviewFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The cited references of a paper, in numbers."""

    references: int = 0
    """Distinct works that the paper cites and one of its bibliographies has."""
    citations: int = 0
    """Places in the text that cite one."""
    by_year: dict[str, int] = {}
    """Rising; "" for entries without a year."""
    by_kind: dict[str, int] = {}
    """By type of the entry, the most frequent first."""
    preprints: int = 0
    """Entries with no other place than arXiv or the like."""
    own: int = 0
    """Entries by one of the paper's authors."""
    cited_once: int = 0
    """Entries that one place alone cites."""


def figures_of(projects: Iterable[Project]) -> ReviewFigures:
    """The figures of the references that some papers cite, all papers together."""
    times: Counter[tuple[str, str]] = Counter()
    entries: dict[tuple[str, str], BibEntry] = {}
    own: set[tuple[str, str]] = set()
    read: set[Path] = set()
    for project in projects:
        people = _authors(project)
        documents = [one for path, one in project.documents.items() if path not in read]
        read.update(project.documents)
        for key, count in _uses(documents).items():
            place = project.entry(key)
            if place is None:
                continue
            name = (str(place[0]), key)
            times[name] += count
            entries[name] = place[1]
            if _is_own(place[1], people):
                own.add(name)
    years = Counter(str(one.body.year or "") for one in entries.values())
    kinds = Counter(one.type for one in entries.values())
    return ReviewFigures(
        references=len(entries),
        citations=times.total(),
        by_year=dict(sorted(years.items())),
        by_kind=dict(kinds.most_common()),
        preprints=sum(map(_is_preprint, entries.values())),
        own=len(own),
        cited_once=sum(count == 1 for count in times.values()),
    )


def _uses(documents: Iterable[Document]) -> Counter[str]:
    return Counter(
        use.key
        for document in documents
        for citation in document.citations
        if not citation.command.startswith("nocite")
        for use in citation.keys
    )


def _authors(project: Project) -> str:
    """The author block of a paper, folded; empty where it names none."""
    found = []
    for document in project.documents.values():
        if document.format is Format.LATEX:
            for match in _AUTHOR.finditer(document.text):
                block = document.text[match.end() : match.end() + LONGEST]
                found.append(latex_to_text(block[: _closing(block)]))
        elif document.front_matter is not None:
            span = document.front_matter
            found += _YAML_AUTHORS.findall(document.text[span.start : span.end])
    words = re.findall(r"[^\W\d_]+", fold(" ".join(found)))
    return f" {' '.join(words)} "


def _closing(text: str) -> int:
    """The offset of the brace that closes a group which is open at the beginning."""
    depth = 1
    for place, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return place
    return len(text)


def _is_own(entry: BibEntry, people: str) -> bool:
    """Whether the author block has the first given name, or its initial, and the family name of an
    author of an entry."""
    for author in entry.body.authors:
        given, family = re.match(r"[^\W\d_]+", fold(author.given)), fold(author.family)
        if given is None or family not in people:
            continue
        pattern = rf" (?:{given[0]}[a-z]*|{given[0][0]})(?: \w+)? {re.escape(family)} "
        if re.search(pattern, people):
            return True
    return False


def _is_preprint(entry: BibEntry) -> bool:
    place = " ".join(map(entry.get, ("journal", "journaltitle", "booktitle", "howpublished")))
    known = place.strip()
    return bool(_PREPRINT.search(place)) if known else bool(entry.body.arxiv)


_ORDER = (Weight.BLOCKING, Weight.CORRECT, Weight.NOTE)


class ReviewFinding(LocatedDiagnostic, frozen=True, kw_only=True):
    """One finding of a review at its place."""

    part: str
    weight: str
    """Meaning for a submission, by the policy."""
    key: str = ""
    """Key of the entry, or of the citation, that it is about."""
    work: str = ""
    """Id of the work that it names."""
    hint: str = ""
    """Advice, where the message gives none."""
    silence: str = ""
    """The comment that silences it."""
    fingerprint: str
    """Stays when lines move: names the finding in a baseline."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """A review of one paper, or of all papers of a folder."""

    findings: tuple[ReviewFinding, ...] = ()
    """By part in the order of `PARTS`, then by weight and place."""
    figures: ReviewFigures = ReviewFigures()
    policy: str = "default"
    known: int = 0
    """Findings that a baseline has, which are left out."""
    problems: tuple[Problem, ...] = ()

    @property
    def weights(self) -> Counter[Weight]:
        """How many findings have each weight."""
        return Counter(Weight(one.weight) for one in self.findings)

    @property
    def faults(self) -> tuple[ReviewFinding, ...]:
        """The findings without the suggestions, which are no faults."""
        return tuple(one for one in self.findings if one.part != "suggestions")

    def by_part(self) -> Iterator[tuple[str, list[ReviewFinding]]]:
        """The title of each part that has findings, with these."""
        for part, title in PARTS.items():
            found = [one for one in self.findings if one.part == part]
            if found:
                yield title, found


@lru_cache(maxsize=8)
def _line_starts(text: str) -> list[int]:
    return [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]


def located(
    one: Diagnostic, path: str, source: Document | BibFile, weight: Weight, folder: Path
) -> ReviewFinding:
    """A diagnostic of a file as a finding of a review of `folder`."""
    text = source.text
    starts = _line_starts(text)
    line = bisect_right(starts, one.span.start)
    end = one.span.end if one.span.end > one.span.start else one.span.start + 40
    subject = one.data.get("work") or one.data.get("sentence") or text[one.span.start : end]
    words = " ".join(subject.split())
    level = Level.INFORMATION if one.level is Level.HINT else one.level
    kind = Format.BIBTEX if isinstance(source, BibFile) else source.format
    name = (
        f"{one.code}\n{shown_path(path, str(folder / 'any'))}\n{one.data.get('key', '')}\n{words}"
    )
    return ReviewFinding(
        path=path,
        line=line,
        column=one.span.start - starts[line - 1] + 1,
        code=one.code,
        level=Level.ERROR if weight is Weight.BLOCKING else level,
        message=" ".join(one.message.split()),
        part=part_of(one.code),
        weight=weight.value,
        key=one.data.get("key", ""),
        work=one.data.get("work", ""),
        hint=one.data.get("hint", ""),
        silence=silencing_comment(one, kind),
        fingerprint=hashlib.sha256(name.encode()).hexdigest()[:24],
    )


def in_order(findings: Iterable[ReviewFinding]) -> tuple[ReviewFinding, ...]:
    """The findings by part, weight and place; those of suggestions stay as they are ranked."""
    parts, weights = list(PARTS), [weight.value for weight in _ORDER]

    def place(one: ReviewFinding) -> tuple[Any, ...]:
        where = () if one.part == "suggestions" else (one.path, one.line, one.column)
        return (parts.index(one.part), weights.index(one.weight), *where)

    return tuple(sorted(findings, key=place))


def without_known(review: Review, baseline: Mapping[str, int]) -> Review:
    """The review without the findings of a baseline: the number of each by its fingerprint."""
    left = Counter(baseline)
    new = []
    for one in review.findings:
        left[one.fingerprint] -= 1
        if left[one.fingerprint] < 0:
            new.append(one)
    known = len(review.findings) - len(new)
    return msgspec.structs.replace(review, findings=tuple(new), known=known)


def shown_under(review: Review, folder: Path) -> Review:
    """The review with paths as seen from a folder, with slashes."""
    paths = {one.path for one in review.findings}
    return renamed(review, {path: shown_path(path, str(folder / "any")) for path in paths})


def renamed(review: Review, names: Mapping[str, str]) -> Review:
    """The review with other names for its files, by path."""
    found = (msgspec.structs.replace(one, path=names[one.path]) for one in review.findings)
    return msgspec.structs.replace(review, findings=tuple(found))


def read_baseline(path: Path) -> Counter[str]:
    """The findings of a review that was written as JSON. Raises `CitewellError`."""
    try:
        found = msgspec.json.decode(path.read_bytes())
        return Counter(str(one["fingerprint"]) for one in found["findings"])
    except (OSError, msgspec.DecodeError, KeyError, TypeError) as error:
        raise CitewellError(
            Problem(
                "baseline-unreadable",
                f"The baseline {path.name} cannot be read: {error}.",
                "Write one with `citewell review PAPER --format json --out FILE`.",
                path=str(path),
            )
        ) from error


def to_json(review: Review) -> dict[str, Any]:
    """The review as JSON-ready data; docs/review.md has its shape."""
    counts = review.weights
    return {
        "version": __version__,
        "policy": {"name": review.policy, **{one.value: counts[one] for one in _ORDER}},
        "findings": [
            {name: value for name, value in msgspec.to_builtins(one).items() if value != ""}
            for one in review.findings
        ],
        "known": review.known,
        "figures": msgspec.to_builtins(review.figures),
        "problems": msgspec.to_builtins(review.problems),
    }


def figure_rows(figures: ReviewFigures) -> list[tuple[str, str]]:
    """The figures as rows of a label and a value; none without references."""
    total = figures.references
    if not total:
        return []

    def share(count: int) -> str:
        return f"{count:,} ({count / total:.0%})"

    kinds = ", ".join(f"{count:,} {kind}" for kind, count in figures.by_kind.items())
    years = [int(year) for year in figures.by_year if year]
    median = _median([year for year in figures.by_year.items() if year[0]])
    rows = [
        ("References", f"{total:,} in {figures.citations:,} places"),
        ("Kinds", kinds),
        ("Years", f"{min(years)} to {max(years)}, half from {median} on" if years else ""),
        ("Preprints", share(figures.preprints)),
        ("By the paper's authors", share(figures.own)),
        ("Cited once", share(figures.cited_once)),
    ]
    return [row for row in rows if row[1]]


def _median(years: Sequence[tuple[str, int]]) -> int:
    half, seen = sum(count for _, count in years) / 2, 0
    for year, count in years:
        seen += count
        if seen >= half:
            return int(year)
    return 0
