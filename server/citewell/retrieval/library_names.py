"""The names in a library, for the grammar of typed words: authors, venues, systems, works.

Every answer is a look-up in an index that searches use anyway; nothing is loaded for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from citewell.corpus.aliases import NO_ALIASES, Aliases
from citewell.corpus.columns import LibraryColumns, word_hash
from citewell.corpus.library import Library
from citewell.model.identifiers import identifier_of
from citewell.model.languages import STOPWORDS
from citewell.model.names import NameForm
from citewell.model.titles import fold, fold_name, without_special_letters
from citewell.model.venues import ACRONYMS, shown_venue, venue_ids
from citewell.retrieval.attributes import authors_named, venue_named
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.filters import Filters
from citewell.retrieval.query_grammar.cursor import Names
from citewell.retrieval.words import split

LEAST_PAPERS = 5
"""Minimum number of papers of a venue outside the table of venues."""
LONGEST_ACRONYM = 12
MOST_TITLES = 200
"""Maximum number of titles read for one phrase."""
NO_VENUE = frozenset({"ml", "nlp", "corr", "arxiv", "tip", "tit", "wine", "hlt"})
"""Short names that denote a venue only if something marks them as one."""
_PREFIXED = re.compile(r"[^\W\d_]['’](?=[^\W\d_]{2})")
_SURE = 0.8
"""Minimum probability for taking a name for the work that its users mean."""

Counts = Callable[[Sequence[int]], NDArray[np.int64]]
"""Maps word hashes to the number of titles with each."""


class LibraryNames(Names):
    """The names in an open library. Thread-safe."""

    def __init__(
        self,
        library: Library,
        filters: Filters,
        terms: Bm25Retriever | None,
        columns: LibraryColumns | None,
        *,
        counts: Counts,
        aliases: Aliases = NO_ALIASES,
    ) -> None:
        """`counts` maps word hashes to the number of titles with each."""
        self._library, self._filters, self._terms = library, filters, terms
        self._columns, self._counts, self._aliases = columns, counts, aliases

    def surname(self, word: str) -> int:
        """Number of papers by authors with this surname, including dead papers."""
        plain = without_special_letters(word)
        papers = self._written_by(word)
        # Records with either spelling have separate terms in the index.
        return papers if plain == word else max(papers, self._written_by(plain))

    def spelling(self, word: str) -> str:
        """The word with "o" for "ø" and the like, if the library spells it so.

        The index of words keeps these letters, so that "Mikołajczyk" and "Mikolajczyk" are
        separate.
        """
        plain = without_special_letters(word)
        if plain == word:
            return word
        held = self._written_by(word) + self.papers_on(word)
        is_better = self._written_by(plain) > held or (not held and self.papers_on(plain) > 0)
        return plain if is_better else word

    def _written_by(self, word: str) -> int:
        """Number of papers by authors with this surname in this spelling."""
        pieces = split(word)
        has_prefix = _PREFIXED.match(word) is not None
        pieces = pieces[1:] if has_prefix else pieces
        if not pieces or self._terms is None:
            return 0
        papers = min(self._terms.frequency(b"a:" + piece) for piece in pieces)
        # The index drops the "o" of "O'Connor", and so includes papers by "Connor".
        return (
            min(papers, self._filters.count(authors_named(word)))
            if has_prefix and papers
            else papers
        )

    def titled(self, word: str) -> int:
        """Number of titles with this word; for hyphenated words, with the rarest part."""
        pieces = fold(word).replace("-", " ").replace("'", "").split()
        if not pieces:
            return 0
        return int(self._counts([word_hash(piece) for piece in pieces]).min())

    def titles_with(self, phrase: str) -> int:
        """Number of titles with these words adjacent, among `MOST_TITLES` with all of them; dead
        papers count."""
        adjacent = _padded(phrase)
        return sum(adjacent in title for title in self._with_all(phrase))

    def opens_title(self, phrase: str) -> bool:
        """Whether a title begins with these words, among `MOST_TITLES` with all of them."""
        opening = _padded(phrase)
        return any(title.startswith(opening) for title in self._with_all(phrase))

    def _with_all(self, phrase: str) -> list[bytes]:
        """The words of titles with all words of a phrase, between blanks."""
        if self._terms is None:
            return []
        wanted = split(phrase)
        rows = _rows_with_all(self._terms, wanted)
        for word in wanted:
            if word not in STOPWORDS:
                rows = rows[self._terms.titled(word.decode(), rows)]
        return [_padded(work.title) for work in self._library.works(rows[:MOST_TITLES].tolist())]

    def papers_on(self, topic: str) -> int:
        """Number of papers, dead ones included, with all words of the topic except stop words."""
        return 0 if self._terms is None else len(_rows_with_all(self._terms, split(topic)))

    def has_author(self, name: str) -> bool:
        """Whether a live paper has an author with this name, in any order and abbreviation."""
        return self._filters.count(authors_named(name)) > 0

    def has_person(self, given: str, family: str) -> bool:
        """Whether a paper has an author with exactly these names."""
        form = NameForm(fold_name(family), fold_name(given), fold_name(given)[:1])
        return bool(form.family and form.given) and self._filters.has_form(form)

    def are_coauthors(self, surnames: Sequence[str]) -> bool:
        """Whether a paper, dead ones included, has authors with all of these surnames, at least
        two."""
        if self._terms is None:
            return False
        pieces = list(dict.fromkeys(b"a:" + piece for name in surnames for piece in split(name)))
        rows = self._terms.rows_of(pieces[0]) if len(pieces) > 1 else np.zeros(0, np.int64)
        for piece in pieces[1:]:
            rows = np.intersect1d(rows, self._terms.rows_of(piece), assume_unique=True)
        return len(rows) > 0

    def venue(self, text: str, *, is_marked: bool) -> str:
        """Short name of the venue in the text, if the library has papers of it, else ""."""
        word = fold(text)
        if is_marked:
            ids = venue_ids(text)
            if len(ids) == 1 and self._filters.count(venue_named(text)):
                return shown_venue(next(iter(ids)))
            return text if not ids and self._is_held(text) else ""
        if word in NO_VENUE or " " in word or len(word) > LONGEST_ACRONYM:
            return ""
        has_capitals = sum(letter.isupper() for letter in text) > 1
        if word in ACRONYMS:
            papers = self._filters.count(venue_named(word))
            is_topic = not has_capitals and self.titled(word) > papers / 5
            return "" if not papers or is_topic else shown_venue(ACRONYMS[word])
        return text if has_capitals and self._is_held(text) else ""

    def _is_held(self, text: str) -> bool:
        """Whether a venue outside the table has more papers than titles contain its name."""
        capitals = sum(letter.isupper() for letter in text)
        if capitals < 2 or len(text) < 3 or self.is_system(text):
            return False
        papers = self._filters.count(venue_named(text))
        return papers >= LEAST_PAPERS and papers > self.titled(text)

    def is_system(self, word: str) -> bool:
        """Whether others use this name for a paper, or a title opens with it."""
        if self.is_called(word):
            return True
        return self._terms is not None and self._terms.frequency(b"n:" + b" ".join(split(word))) > 0

    def is_called(self, name: str) -> bool:
        """Whether others use this name for a paper, in the library or not."""
        return bool(self._aliases.of(name))

    def work(self, text: str) -> str:
        """Id of the work that an identifier, a title or a name denotes, or ""."""
        library = self._library
        identifier = identifier_of(text)
        if identifier is not None or (" " not in text and ":" in text):
            found = library.lookup(doi=identifier.doi) if identifier and identifier.doi else []
            if not found and identifier is not None and identifier.arxiv:
                found = library.lookup(arxiv=identifier.arxiv)
            work = found[0] if found else library.work(text)
            return "" if work is None else work.id
        rows = library.by_title_rows(text) if len(text) > 3 else []
        if not rows and self._columns is not None:
            for alias, probability in self._aliases.shares(text)[:1]:
                if probability >= _SURE:
                    rows = np.flatnonzero(self._columns.keys() == np.uint64(alias.key)).tolist()
        return library.works(rows[:1])[0].id if rows else ""


def _padded(text: str) -> bytes:
    return b" " + b" ".join(split(text)) + b" "


def _rows_with_all(terms: Bm25Retriever, words: Sequence[bytes]) -> NDArray[np.int64]:
    """The rows with all of the words except stop words, ascending; empty without any."""
    rows: NDArray[np.int64] | None = None
    for word in words:
        if len(word) < 2 or word in STOPWORDS:
            continue
        known = terms.topic_terms(word.decode())
        own = terms.rows_of(known[0][0]) if known else np.zeros(0, np.int64)
        rows = own if rows is None else np.intersect1d(rows, own, assume_unique=True)
    return np.zeros(0, np.int64) if rows is None else rows
