"""Counts a library for its card."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median

from citewell.corpus.card import Card
from citewell.corpus.library import Library
from citewell.model.coverage import VenueCount
from citewell.retrieval.facets import venues_in
from citewell_corpus.compact.library import CompactReport
from citewell_corpus.sources import STARTER

_VENUES = 60
"""Venues on the card, those with most works."""
_THIN = 0.25
"""Share of the years beside it below which a year counts as missing."""
_BESIDE, _LEAST = 4, 2
"""Meetings before and after a year that it is compared with, and how many of them must be there."""
_ALTERNATING = 0.9
"""Share of the works in odd or in even years from which a venue meets every second year."""
_RECENT = 5
"""Years after its last works in which a venue may still be meeting."""


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
    )


def _counted(name: str, counts: Counter[int], newest: int) -> VenueCount:
    dated = sorted(year for year in counts if year)
    first, last = (dated[0], dated[-1]) if dated else (0, 0)
    return VenueCount(
        venue=name.upper(),
        works=counts.total(),
        first=first,
        last=last,
        missing=tuple(_missing(counts, first, newest if newest - last < _RECENT else last)),
    )


def _missing(counts: Counter[int], first: int, last: int) -> Iterator[int]:
    """Years in which the venue, as often as it met around then, has far too few works."""
    total = sum(counts[year] for year in range(first, last + 1))
    even = sum(counts[year] for year in range(first, last + 1) if year % 2 == 0)
    alternates = max(even, total - even) > _ALTERNATING * total
    step = 2 if alternates else 1
    begin = first if counts[first] >= counts[first + 1] or not alternates else first + 1
    for year in range(begin, last + 1, step):
        beside = [
            found
            for away in range(-_BESIDE, _BESIDE + 1)
            if away and (found := counts[year + away * step])
        ]
        if len(beside) >= _LEAST and counts[year] < _THIN * median(beside):
            yield year
