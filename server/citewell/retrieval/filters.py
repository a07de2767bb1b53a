"""The rows that a query's filters allow: years, author, venue; and which of them leaves nothing."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import Problem, Query, Work
from citewell.model.languages import language_code
from citewell.model.names import NameForm, parse_author, wanted_forms
from citewell.model.titles import normalise_title
from citewell.model.venues import SHORT, content_words, venue_ids
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.facets import Facets, KindsAndLanguages, entry_types, title_words, venues_in
from citewell.retrieval.words import split

_REMEMBERED = 32
"""Authors and venues whose rows are kept: every retriever asks for the same ones."""
_REMEMBERED_MASKS = 4
_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_SHORT_YEAR = re.compile(r"(?<=[A-Za-z])\s?['’]?(\d\d)$")
_KINDS_HINT = (
    "Kinds are article, inproceedings, book, incollection, thesis, report, misc, and, by their "
    "titles, survey, dataset and benchmark."
)
_Rows = NDArray[np.bool_]


class VenueFilter(msgspec.Struct, frozen=True):
    """What a filter by venue asks for: "NIPS 2017" or "Workshop on Figurative Language"."""

    ids: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """What the name must hold where the table of venues does not know it."""
    year: int | None = None


def venue_filter(text: str) -> VenueFilter:
    """Reads a filter by venue; a year in it is one of publication."""
    year = None
    if found := _YEAR.search(text):
        year = int(found[1])
        text = f"{text[: found.start()]} {text[found.end() :]}"
    elif found := _SHORT_YEAR.search(text.strip()):
        short = int(found[1])
        name = text.strip()[: found.start()]
        if normalise_title(name) in SHORT:
            year = (1900 if short > 50 else 2000) + short
            text = name
    ids = venue_ids(text)
    words = () if ids else tuple(content_words(text) or (w.decode() for w in split(text)))
    return VenueFilter(tuple(sorted(ids)), words, year)


def is_of_venue(text: str, work: Work) -> bool:
    """Whether a record passes a filter by venue."""
    wanted = venue_filter(text)
    if wanted.year is not None and work.year != wanted.year:
        return False
    if wanted.ids:
        return not venues_in(work).isdisjoint(wanted.ids)
    own = content_words(f"{work.venue} {work.booktitle} {work.journal}")
    return set(wanted.words) <= set(own)


class Filters:
    """Turns a query's filters into a mask over the library's rows. Safe to call from any thread.

    `years` has one entry per row, 0 where unknown: a paper of unknown year meets no year filter.
    Without `facets`, in a library built before there were any, surnames and short names of venues
    are looked up in the terms of the BM25 index. `holder` is `Library.holder`: a work that two
    libraries hold has the authors and venues of both records.
    """

    def __init__(
        self,
        years: NDArray[np.int16],
        terms: Bm25Retriever | None,
        facets: Facets | None = None,
        live: _Rows | None = None,
        kinds: KindsAndLanguages | None = None,
        *,
        holder: NDArray[np.int32] | None = None,
    ) -> None:
        self._holder = holder
        self._years = years
        self._terms = terms
        self._facets = facets
        self._kinds = kinds
        self._live = np.ones(len(years), np.bool_) if live is None else live
        self.cited: Callable[[], NDArray[np.float64]] | None = None
        """How often each row is cited, as far as that is known, shape (rows,); the engine sets
        it."""
        self._known: OrderedDict[tuple[str, str], _Rows] = OrderedDict()
        self._masks: OrderedDict[tuple[object, ...], _Rows | None] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def has_facets(self) -> bool:
        """Whether authors and venues are looked up in facets."""
        return self._facets is not None

    def by(self, name: str) -> _Rows:
        """Which rows are by everybody whom the text names, shape (rows,)."""
        return self._remembered("author", name, self._by)

    def at(self, venue: str) -> _Rows:
        """Which rows are of the venue that the text names, shape (rows,)."""
        return self._remembered("venue", venue, self._at)

    def count_by(self, name: str) -> int:
        """Number of live papers by everybody whom the text names."""
        return int((self.by(name) & self._live).sum())

    def count_at(self, venue: str) -> int:
        """Number of live papers of the venue that the text names."""
        return int((self.at(venue) & self._live).sum())

    def has_form(self, form: NameForm) -> bool:
        """Whether a paper has an author with exactly this form of a name."""
        if self._facets is None:
            return bool(self._by_person((form,)).any())
        return self._facets.has(form)

    def __call__(self, query: Query) -> _Rows | None:
        """Shape (rows,), not to be changed; None when every row is allowed."""
        key = _filters_of(query)
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        mask: _Rows | None = None
        for _, rows in self._each(query):
            mask = rows if mask is None else mask & rows
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > _REMEMBERED_MASKS:
                self._masks.popitem(last=False)
        return mask

    def empty(self, query: Query) -> Problem | None:
        """Which of the filters is why a search found nothing; None for a query without filters."""
        each = list(self._each(query))
        if not each:
            return None
        allowed = self._live.copy()
        counts: list[tuple[str, int]] = []
        for name, rows in each:
            counts.append((name, int((rows & self._live).sum())))
            allowed &= rows
        left = int(allowed.sum())
        none = [name for name, count in counts if not count]
        if none:
            message = f"The library has no paper {' and none '.join(none)}."
            hint = (
                self._hint(query)
                or _KINDS_HINT * ("of the kind" in message)
                or "Remove this filter, or write it differently."
            )
        elif not left:
            matches = ", ".join(f"{count:,} {name}" for name, count in counts)
            message = f"No paper matches all filters; each alone matches some: {matches}."
            hint = "Remove one of them."
        else:
            names = " and ".join(name for name, _ in counts)
            message = f"None of the {left:,} papers {names} matches the words."
            hint = "Use other words, or remove a filter."
        return Problem("filter-empty", message, hint)

    def _each(self, query: Query) -> list[tuple[str, _Rows]]:
        """Each filter in words, and its rows."""
        found: list[tuple[str, _Rows]] = []
        low, high = query.year_from, query.year_to
        if low is not None or high is not None:
            least, most = max(1, low or 1), 9999 if high is None else high
            found.append((_years(low, high), (self._years >= least) & (self._years <= most)))
        if query.author.strip():
            rows = self.by(query.author)
            found.append((f"by {query.author.strip()[:100]!r}", rows))
        if query.venue.strip():
            rows = self.at(query.venue)
            found.append((f"of the venue {query.venue.strip()[:100]!r}", rows))
        if query.kind.strip():
            rows = self._remembered("kind", query.kind, self._of_kind)
            found.append((f"of the kind {query.kind.strip()[:100]!r}", rows))
        if query.language.strip():
            find = self._in_language if not query.strict_language else self._stated_in_language
            rows = self._remembered(find.__name__, query.language, find)
            shown = f"in the language {query.language.strip()[:100]!r}"
            found.append((shown if query.strict_language else f"{shown} or none stated", rows))
        for words in query.typed_query.none_of:
            found.append((f"without {words[:100]!r}", ~self._holding(words)))
        if query.typed_query.min_citations is not None and self.cited is not None:
            least = query.typed_query.min_citations
            found.append((f"cited {least:,} times or more", self.cited() >= least))
        return found

    def _holding(self, words: str) -> _Rows:
        """Rows that have all the words in title or abstract; none without known words."""
        if self._terms is None:
            return np.zeros(len(self._years), np.bool_)
        return self._terms.holding_all(words, len(self._years))

    def _remembered(self, kind: str, text: str, find: Callable[[str], _Rows]) -> _Rows:
        with self._lock:
            rows = self._known.get((kind, text))
            if rows is None:
                rows = self._known[kind, text] = find(text)
            self._known.move_to_end((kind, text))
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return rows

    def _by(self, text: str) -> _Rows:
        """Rows by everybody whom the text names."""
        people = wanted_forms(text)
        found = np.full(len(self._years), bool(people))
        for person in people:
            found &= self._by_person(person)
        return self._held(found)

    def _held(self, found: _Rows) -> _Rows:
        """The rows, and those that hold their works in the library above."""
        if self._holder is not None:
            rows = self._holder[np.flatnonzero(found)]
            found[rows[rows >= 0]] = True
        return found

    def _by_person(self, person: tuple[NameForm, ...]) -> _Rows:
        if self._facets is not None:
            return self._facets.by(person, len(self._years))
        found = np.zeros(len(self._years), np.bool_)
        if self._terms is not None:
            for family in {form.family for form in person if len(form.family) > 1}:
                found |= self._terms.holding(b"a:" + family.encode(), len(found))
        return found

    def _at(self, text: str) -> _Rows:
        wanted = venue_filter(text)
        count = len(self._years)
        if self._facets is not None:
            facets = self._facets
            rows = (
                facets.of_venues(wanted.ids, count)
                if wanted.ids
                else facets.named(wanted.words, count)
            )
        else:
            rows = self._at_by_terms(wanted)
        rows = self._held(rows)
        if wanted.year is None:
            return rows
        in_year: _Rows = self._years == wanted.year
        return rows & in_year if wanted.ids or wanted.words else in_year

    def _of_kind(self, text: str) -> _Rows:
        """Rows of an entry type, or with a word in the title that names the kind."""
        found = np.zeros(len(self._years), np.bool_)
        words = title_words(text)
        if not words:
            return found if self._kinds is None else self._kinds.of_types(entry_types(text))
        every = np.arange(len(self._years))
        for word in words if self._terms is not None else ():
            assert self._terms is not None
            found |= self._terms.titled(word, every)
        return found

    def _in_language(self, text: str, *, strict: bool = False) -> _Rows:
        """Rows in a language; unless `strict`, also those of which none is stated."""
        if self._kinds is None:
            return np.zeros(len(self._years), np.bool_)
        return self._kinds.in_language(language_code(text), strict=strict)

    def _stated_in_language(self, text: str) -> _Rows:
        return self._in_language(text, strict=True)

    def _at_by_terms(self, wanted: VenueFilter) -> _Rows:
        count = len(self._years)
        found = np.zeros(count, np.bool_)
        if self._terms is None:
            return found
        names = [name for name, venue in SHORT.items() if venue in wanted.ids]
        for words in [name.split() for name in names] + [list(wanted.words)]:
            rows = np.full(count, bool(words))
            for word in words:
                rows &= self._terms.holding(b"v:" + word.encode(), count)
            found |= rows
        return found

    def _hint(self, query: Query) -> str:
        """A hint at the papers under the surname alone, when the full name matched no author."""
        people = wanted_forms(query.author)
        if self._facets is None or len(people) != 1:
            return ""
        surname = parse_author(query.author).family
        for forms in wanted_forms(surname) if any(form.initial for form in people[0]) else ():
            count = int((self._facets.by(forms, len(self._years)) & self._live).sum())
            if count:
                papers = "1 paper" if count == 1 else f"{count:,} papers"
                return f"The surname {surname[:100]!r} alone has {papers}."
        return ""


def _filters_of(query: Query) -> tuple[object, ...]:
    """All of a query on which its mask depends."""
    typed = query.typed_query
    return (
        query.year_from, query.year_to, query.author, query.venue, query.kind, query.language,
        query.strict_language, typed.none_of, typed.min_citations,
    )  # fmt: skip


def _years(low: int | None, high: int | None) -> str:
    if low is None:
        return f"of {high} or earlier"
    if high is None:
        return f"of {low} or later"
    return f"of {low}" if low == high else f"of {low} to {high}"
