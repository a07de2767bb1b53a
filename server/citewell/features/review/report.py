"""The findings of a review: where each stands, what it weighs, and which are wanted or known."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from citewell import __version__
from citewell.features.checking.codes import part_of
from citewell.features.checking.lint_rule import silencing_comment
from citewell.features.checking.report import LocatedDiagnostic, Weight
from citewell.features.citing.hover import shown_path
from citewell.features.review.figures import ReviewFigures
from citewell.model import CitewellError, Problem
from citewell.model.bib import BibFile
from citewell.model.document import Diagnostic, Document, Format, Level
from citewell.model.words import PARTS

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
