"""Makes the starter library: gather, refine, build, compact, and describe its contents in a
card."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import msgspec

from citewell.corpus.card import Card, VenueCount, card_text
from citewell.corpus.layout import CARD, STARTER
from citewell.corpus.library import Library
from citewell.model.titles import title_key
from citewell.model.venues import shown_venue
from citewell.options import Options
from citewell.options.tree import LibraryOptions
from citewell.retrieval.attributes import venues_in
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.compact.library import CompactReport, write_compact_library
from citewell_corpus.processes import Progress
from citewell_corpus.sources import source_at
from citewell_corpus.starter_data.gather import agreed, from_bibliographies, recent, wanted
from citewell_corpus.starter_data.refine import refine

# The years of conferences that are not held every year.


def _years(*parts: int | tuple[int, int] | tuple[int, int, int]) -> frozenset[int]:
    """Single years, and ranges with their last year and a step."""
    found: set[int] = set()
    for part in parts:
        first, last, *step = (part, part) if isinstance(part, int) else part
        found.update(range(first, last + 1, step[0] if step else 1))
    return frozenset(found)


_LATER = 2100
_MET = {
    "aaai": _years(1980, (1982, 1984), (1986, 1988), (1990, 1994), (1996, 2000), 2002,
                   (2004, 2008), (2010, _LATER)),
    "aacl": _years(2020, 2022, 2023, 2025, (2027, _LATER, 2)),
    "accv": _years(1993, 1995, 1998, 2000, 2002, 2004, 2006, 2007, (2009, 2010), (2012, _LATER, 2)),
    "aistats": _years((1995, 2009, 2), (2010, _LATER)),
    "amta": _years((1994, _LATER, 2)),
    "coling": _years(1965, 1967, 1969, 1973, (1976, 2022, 2), 2024, 2025, (2026, _LATER, 2)),
    "cvpr": _years(1983, 1985, 1986, 1988, 1989, (1991, 1994), (1996, 2001), (2003, _LATER)),
    "eacl": _years((1983, 1999, 2), (2003, 2012, 3), 2014, 2017, 2021, 2023, 2024,
                   (2026, _LATER, 2)),
    "eamt": _years(1993, 1994, 1996, (1997, 2000), (2002, 2006), (2008, 2012), (2014, 2016), 2018,
                   2020, (2022, 2024), (2026, _LATER, 2)),
    "eccv": _years((1990, _LATER, 2)),
    "ecml": _years((1986, 1989), 1991, (1993, 1995), 1997, 1998, (2000, _LATER)),
    "iccv": _years(1987, 1988, 1990, (1993, 1995, 2), 1998, 1999, (2001, _LATER, 2)),
    "ijcai": _years((1969, 2015, 2), (2016, _LATER)),
    "ijcnlp": _years(2004, 2005, (2008, 2009), (2011, _LATER, 2)),
    "inlg": _years((1984, 2014, 2), (2016, _LATER)),
    "lrec": _years((1998, _LATER, 2)),
    "naacl": _years(2000, 2001, 2003, 2004, 2006, 2007, 2009, 2010, 2012, 2013, 2015, 2016, 2018,
                    2019, 2021, 2022, 2024, 2025, (2027, _LATER)),
    "ranlp": _years((2001, _LATER, 2)),
    "semeval": _years(1998, 2001, 2004, 2007, 2010, (2012, _LATER)),
    "wmt": _years((2006, _LATER)),
}  # fmt: skip
"""Years of the main meetings; any other conference may meet every year."""


def meeting_years(venue: str, first: int, last: int) -> list[int] | None:
    """The years from `first` to `last` in which the venue met; None if unknown."""
    met = _MET.get(venue)
    return None if met is None else [year for year in range(first, last + 1) if year in met]


_VENUES = 60
"""Number of venues on the card, those with most works."""
_THIN = 0.25
"""Share of the adjacent years' works below which a year counts as missing."""
_BESIDE, _LEAST = 4, 2
"""Number of meetings before and after a year to compare it with, and the minimum present."""
_ALTERNATING = 0.9
"""Share of the works in odd or in even years above which a venue is biennial."""
_RECENT = 5
"""Years after its last works in which a venue may still meet."""


SHARES = {
    "computing": 64,
    "mathematics and engineering": 14,
    "physics and astronomy": 14,
    "neuroscience and psychology": 12,
    "earth and climate": 12,
    "biology and medicine": 12,
    "chemistry and materials": 10,
    "economics and politics": 9,
}
"""Percentages of the references of public theses that the starter holds, by field, measured by
`tests/bench/fields_bench.py`."""


def make_card(library: Library, report: CompactReport) -> Card:
    """The card of an opened library."""
    years: Counter[int] = Counter()
    sources: Counter[str] = Counter()
    venues: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for work in library.iter_works():
        if work.year:
            years[work.year] += 1
        sources.update({origin.source for origin in work.provenance})
        for venue in venues_in(work):
            venues[venue][work.year or 0] += 1
    newest = max(years, default=0)
    order = sorted(venues, key=lambda name: (-venues[name].total(), name))
    return Card(
        name=STARTER,
        works=report.works,
        abstracts=report.abstracts,
        first=min(years, default=0),
        last=newest,
        sources=dict(sources.most_common()),
        years={str(year): years[year] for year in sorted(years)},
        venues=tuple(_counted(name, venues[name], newest) for name in order[:_VENUES]),
        fields=SHARES,
    )


def _counted(name: str, counts: Counter[int], newest: int) -> VenueCount:
    dated = sorted(year for year in counts if year)
    first, last = (dated[0], dated[-1]) if dated else (0, 0)
    until = newest if newest - last < _RECENT else last
    return VenueCount(
        venue=shown_venue(name),
        works=counts.total(),
        first=first,
        last=last,
        missing=tuple(missing_years(name, counts, first, until)),
    )


def missing_years(venue: str, counts: Counter[int], first: int, last: int) -> Iterator[int]:
    """Years in which the venue met and has far fewer works than its meetings around then."""
    years = meeting_years(venue, first, last)
    if years is None:
        years = _presumed_years(counts, first, last)
    for at, year in enumerate(years):
        near = years[max(0, at - _BESIDE) : at] + years[at + 1 : at + 1 + _BESIDE]
        beside = [counts[one] for one in near if counts[one]]
        if len(beside) >= _LEAST and counts[year] < _THIN * median(beside):
            yield year


def _presumed_years(counts: Counter[int], first: int, last: int) -> list[int]:
    """Every year, or every second one for a venue with nearly all works in those."""
    total = sum(counts[year] for year in range(first, last + 1))
    even = sum(counts[year] for year in range(first, last + 1) if year % 2 == 0)
    if max(even, total - even) <= _ALTERNATING * total:
        return list(range(first, last + 1))
    return list(range(first if counts[first] >= counts[first + 1] else first + 1, last + 1, 2))


CARD_TEXT = "CARD.md"


class StarterSources(msgspec.Struct, frozen=True, kw_only=True):
    """The files that the starter is made from."""

    records: tuple[Path, ...]
    """Files of records in the exchange format; abstracts are read, but not copied."""
    agreed: tuple[Path, ...] = ()
    """Works on which bibliographies agree."""
    wanted: Path | None = None
    """Table of highly cited works: missing ones are looked for in `citations`."""
    citations: tuple[Path, ...] = ()
    """Citations with their raw entries."""
    versions: tuple[Path, ...] = ()
    """Cited versions of works that the records have in another version."""
    until: int = 2025
    """Newest year."""


def make_starter(
    sources: StarterSources,
    into: Path,
    progress: Progress,
    *,
    keep: Path | None = None,
    vectors: Path | None = None,
) -> CompactReport:
    """Write the folder `into`: a compact library and its card. Needs no network.

    `keep` is a folder in which the full library, with abstracts, stays for comparison, and
    `vectors` one with vectors of works by the transformer.
    """
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".starter-") as temporary:
        scratch = Path(temporary)
        progress.stage("Refine the records", 0)
        files = refine(_gathered(sources, scratch), sources.versions, scratch, sources.until)
        base = keep if keep is not None else scratch / "library"
        build_library(
            base,
            add=[source_at(str(path), "records") for path in files],
            builders=default_builders(Options(library=LibraryOptions(starter=False))),
            fresh=True,
            progress=progress,
        )
        report = write_compact_library(base, into, STARTER, progress, read=vectors)
    with Library.open(into) as library:
        card = make_card(library, report)
    (into / CARD).write_bytes(msgspec.json.format(msgspec.json.encode(card), indent=1))
    (into.parent / CARD_TEXT).write_text(card_text(card, files_digest(into)), encoding="utf-8")
    return report


def files_digest(folder: Path) -> str:
    """SHA-256 of a list of the folder's files with theirs, in the form of `sha256sum`."""
    paths = {f"./{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*")}
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n"
        for name, path in sorted(paths.items(), key=lambda item: item[0].encode())
        if path.is_file()
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _gathered(sources: StarterSources, scratch: Path) -> list[Path]:
    """One file of records for each source, in order."""
    files = []
    known: set[str] = set()
    owners: dict[str, str] = {}
    for number, path in enumerate(sources.records):
        files.append(_written(scratch / f"records-{number}.jsonl", recent(path, sources.until)))
    for number, path in enumerate(sources.agreed):
        found = agreed(path, sources.until, owners)
        files.append(_written(scratch / f"agreed-{number}.jsonl", found))
    if sources.wanted is not None:
        decode = msgspec.json.Decoder(type=_OptionalTitle).decode
        for path in files:
            with path.open("rb") as stream:
                known.update(title_key(decode(line).title or "") for line in stream)
        missing = wanted(sources.wanted).keys() - known
        found = from_bibliographies(missing, sources.citations)
        files.append(_written(scratch / "wanted.jsonl", found))
    return [path for path in files if path.stat().st_size]


def _written(path: Path, found: Iterable[bytes]) -> Path:
    with path.open("wb") as stream:
        for line in found:
            stream.write(line.rstrip(b"\n") + b"\n")
    return path


class _OptionalTitle(msgspec.Struct):
    title: str | None = None
