"""Counts a library for its card."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from statistics import median

from citewell.corpus.card import Card
from citewell.corpus.library import Library
from citewell.corpus.starter import STARTER
from citewell.model.coverage import VenueCount
from citewell.retrieval.attributes import venues_in
from citewell_corpus.compact.library import CompactReport

# The years in which conferences met that do not meet every year.


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
"""Years of the main meetings; a conference that is not named may meet every year."""


def meeting_years(venue: str, first: int, last: int) -> list[int] | None:
    """The years from `first` to `last` in which the venue met; None where that is not known."""
    met = _MET.get(venue)
    return None if met is None else [year for year in range(first, last + 1) if year in met]


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
        missing=tuple(
            missing_years(name, counts, first, newest if newest - last < _RECENT else last)
        ),
    )


def missing_years(venue: str, counts: Counter[int], first: int, last: int) -> Iterator[int]:
    """Years in which the venue met and has far fewer works than of its meetings around then."""
    years = meeting_years(venue, first, last)
    if years is None:
        years = _presumed_years(counts, first, last)
    for at, year in enumerate(years):
        near = years[max(0, at - _BESIDE) : at] + years[at + 1 : at + 1 + _BESIDE]
        beside = [counts[one] for one in near if counts[one]]
        if len(beside) >= _LEAST and counts[year] < _THIN * median(beside):
            yield year


def _presumed_years(counts: Counter[int], first: int, last: int) -> list[int]:
    """Every year, or every second one for a venue that nearly all works place in those."""
    total = sum(counts[year] for year in range(first, last + 1))
    even = sum(counts[year] for year in range(first, last + 1) if year % 2 == 0)
    if max(even, total - even) <= _ALTERNATING * total:
        return list(range(first, last + 1))
    return list(range(first if counts[first] >= counts[first + 1] else first + 1, last + 1, 2))
