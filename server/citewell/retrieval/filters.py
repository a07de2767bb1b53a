"""The rows that pass a query's filters, and the filter that excludes everything."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from citewell.model import Problem, Query
from citewell.model.names import NameForm, parse_author, wanted_forms
from citewell.retrieval.attributes import (
    ATTRIBUTES,
    AUTHOR,
    KEYWORD,
    TITLED,
    VENUE,
    Between,
    Requirement,
    Requirements,
    authors_named,
)
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.bm25_build import KEYWORD as TERM_OF_KEYWORD
from citewell.retrieval.facets import Facets, KindsAndLanguages
from citewell.retrieval.query_grammar.words import METHOD, TITLE_WORDS, is_of_kind

_REMEMBERED = 32
"""Number of authors and venues with cached rows: every retriever uses the same ones."""
_REMEMBERED_MASKS = 4
_KINDS_HINT = (
    "Kinds are article, inproceedings, book, incollection, thesis, report, misc, and, by their "
    "titles, survey, dataset and benchmark."
)
_Rows = NDArray[np.bool_]


class Filters:
    """Turns a query's filters into a mask over the library's rows. Thread-safe.

    `years` has one entry per row, 0 if unknown: a paper of unknown year passes no year filter.
    Without `facets`, which are then damaged, no paper passes a filter by author or venue. `holder`
    is `Library.holder`: a work in two libraries has the authors and venues of both records.
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
        """Returns each row's number of citations, as far as known, shape (rows,); set by the
        engine."""
        self._known: OrderedDict[Requirements, _Rows] = OrderedDict()
        self._masks: OrderedDict[tuple[object, ...], _Rows | None] = OrderedDict()
        self._lock = threading.Lock()

    def meeting(self, requirements: Requirements) -> _Rows:
        """Mask of the rows that meet all requirements, shape (rows,), not to be changed."""
        with self._lock:
            rows = self._known.get(requirements)
            if rows is None:
                rows = self._known[requirements] = self._meeting(requirements)
            self._known.move_to_end(requirements)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return rows

    def count(self, requirements: Requirements) -> int:
        """Number of live papers that meet all requirements."""
        return int((self.meeting(requirements) & self._live).sum())

    def has_form(self, form: NameForm) -> bool:
        """Whether a paper has an author with exactly this form of a name."""
        return self._facets is not None and self._facets.has(form)

    def __call__(self, query: Query) -> _Rows | None:
        """Mask of shape (rows,), not to be changed; None if every row is allowed."""
        typed = query.typed_query
        required = tuple(attribute.required(query) for attribute in ATTRIBUTES)
        key = required, typed.none_of, typed.min_citations
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
        """The filter because of which a search found nothing, as a problem; None without
        filters."""
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
        for attribute in ATTRIBUTES:
            if requirements := attribute.required(query):
                found.append((attribute.shown(query), self.meeting(requirements)))
        for words in query.typed_query.none_of:
            found.append((f"without {words[:100]!r}", ~self._holding(words)))
        if query.typed_query.min_citations is not None and self.cited is not None:
            least = query.typed_query.min_citations
            found.append((f"cited {least:,} times or more", self.cited() >= least))
        return found

    def _holding(self, words: str) -> _Rows:
        """Rows with all the words in title or abstract; none without known words."""
        if self._terms is None:
            return np.zeros(len(self._years), np.bool_)
        return self._terms.holding_all(words, len(self._years))

    def _meeting(self, requirements: Requirements) -> _Rows:
        rows = np.ones(len(self._years), np.bool_)
        named = [one for one in requirements if one.field in (AUTHOR, VENUE)]
        for one in named:
            rows &= self._meeting_one(one)
        if self._holder is not None and named:
            holders = self._holder[np.flatnonzero(rows)]
            rows[holders[holders >= 0]] = True
        for one in requirements:
            if one not in named:
                rows &= self._meeting_one(one)
        return rows

    def _meeting_one(self, one: Requirement) -> _Rows:
        if isinstance(one, Between):
            return (self._years >= one.least) & (self._years <= one.most)
        found = np.zeros(len(self._years), np.bool_)
        if one.field in (AUTHOR, VENUE):
            if self._facets is None:
                return found
            find = self._facets.by if one.field == AUTHOR else self._facets.at
            return find(one.terms, len(found))
        if one.field == KEYWORD:
            if self._terms is not None:
                for term in one.terms:
                    found |= self._terms.holding(TERM_OF_KEYWORD + term.encode(), len(found))
            return found
        titled = [term.removeprefix(TITLED) for term in one.terms if term.startswith(TITLED)]
        if titled or self._kinds is None:
            return self.of_kind(titled, np.arange(len(self._years)))
        return self._kinds.stating(one.field, one.terms)

    def of_kind(self, kinds: Iterable[str], rows: NDArray[np.int64]) -> _Rows:
        """Which of some rows have a title that marks one of the kinds, shape (len(rows),)."""
        found = np.zeros(len(rows), np.bool_)
        for kind in kinds:
            if kind == METHOD:
                found |= ~self.of_kind(TITLE_WORDS, rows)
                continue
            has_word = np.zeros(len(rows), np.bool_)
            if self._terms is not None:
                for word in TITLE_WORDS[kind]:
                    has_word |= self._terms.titled(word, rows)
            if kind == "survey" and self._kinds is not None:
                at = np.flatnonzero(has_word)
                has_word[at] = [is_of_kind(title, kind) for title in self._kinds.titles(rows[at])]
            found |= has_word
        return found

    def _hint(self, query: Query) -> str:
        """A hint about papers with only the surname, if no author has the full name."""
        people = wanted_forms(query.author)
        if len(people) != 1 or not any(form.initial for form in people[0]):
            return ""
        surname = parse_author(query.author).family
        count = self.count(authors_named(surname))
        papers = "1 paper" if count == 1 else f"{count:,} papers"
        return f"The surname {surname[:100]!r} alone has {papers}." if count else ""
