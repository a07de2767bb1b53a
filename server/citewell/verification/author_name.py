"""Names of authors, prepared for comparison.

Sources disagree on accents, particles, hyphens, initials and the order of given and family name.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from citewell.model.names import family_key
from citewell.model.titles import fold
from citewell.model.work import Author

_WHOLE_NAME = 12
"""Least letters of a given and family name for which their likeness is meaningful."""
_SOUNDS_LIKE = 82.0
"""Least likeness (rapidfuzz ratio) of two whole names of one person."""
_SUFFIX = re.compile(r"[\s,]+(?:jr|sr|i{2,3}|iv)\.?\s*$", re.IGNORECASE)
_DIVIDED = re.compile(r"\w[-'’‐]\w")
_NOT_LETTER = re.compile(r"[^\w]+|[\d_]+")


class AuthorName:
    """One name, prepared for comparison."""

    def __init__(self, author: Author) -> None:
        family = _SUFFIX.sub("", html.unescape(author.family))
        self.family = family_key(family)
        self.words = frozenset(_words(f"{html.unescape(author.given)} {family}"))
        self.last = _words(family)[-1:] or [""]
        self.tokens = self.words | joined_words(author)
        given = _words(html.unescape(author.given))
        self.given = given[0] if given else ""
        self.initials = frozenset(word[0] for word in given)
        self.letters = "".join(sorted("".join(self.words)))

    def equals(self, other: AuthorName) -> bool:
        """True for equal surnames, or equal words in another order ("Zhang Wei", "Wei Zhang")."""
        if self.family == other.family:
            return self._initials_agree(other)
        return len(self.words) > 1 and self.words == other.words

    def is_reversed(self, other: AuthorName) -> bool:
        """Both names are one word, each in the other's place: "Wei, Zhang" for "Zhang, Wei"."""
        if not self.given or len(self.words) != 2 or self.family == self.given:
            return False
        return self.family == other.given and self.given == other.family

    def may_be(self, other: AuthorName) -> bool:
        """True for an equal surname or an equal given name at the same place.

        Bill for William, a name changed by marriage; or another person of that name.
        """
        if self.family == other.family:
            return True
        return len(self.given) >= 4 and self.given == other.given

    def is_surely(self, other: AuthorName) -> bool:
        """Another way to write the same name: an umlaut, a double surname, its parts reordered."""
        ours, theirs = (frozenset(map(_plain, one.words)) for one in (self, other))
        if ours <= theirs or theirs <= ours or "".join(sorted(ours)) == "".join(sorted(theirs)):
            return True
        return _plain(self.family) == _plain(other.family) and self._initials_agree(other)

    def may_be_called(self, other: AuthorName) -> bool:
        """The first names are initials, forms of one another, or in another order."""
        if min(len(self.given), len(other.given)) < 3 or self.words & other.words - {self.family}:
            return True
        if self.given.startswith(other.given[:3]) and abs(len(self.given) - len(other.given)) > 1:
            return True
        from rapidfuzz import fuzz

        return fuzz.ratio(self.given, other.given) >= 60

    def may_be_renamed(self, other: AuthorName) -> bool:
        """The first names or their initials agree, whatever the surnames."""
        theirs = other.initials or frozenset(other.family[:1])  # a record without the surname
        return bool(self.initials & theirs)

    def _initials_agree(self, other: AuthorName) -> bool:
        if not self.initials or not other.initials or self.initials & other.initials:
            return True
        short, long = sorted((self.given, other.given), key=len)
        return len(short) >= 3 and short in long  # "Reza" for "Gholamreza"

    def resembles(self, other: AuthorName) -> bool:
        """Likely the same person: one part of a double surname, or a letter or two amiss."""
        if not self.family or not other.family:
            return False
        if self._swapped(other) or other._swapped(self):
            return True
        if len(self.words) == 1 and self.words < other.words:
            return True  # the rest of the name was lost
        if self._sounds_like(other):
            return True
        if not self._initials_agree(other):
            return False
        return self._inside(other) or other._inside(self) or self._misspelt(other)

    def _sounds_like(self, other: AuthorName) -> bool:
        """Most letters of both whole names are the same: a pseudonym, another transcription."""
        ours, theirs = (f"{one.given} {one.family}" for one in (self, other))
        if not self.given or not other.given or min(len(ours), len(theirs)) < _WHOLE_NAME:
            return False
        from rapidfuzz import fuzz

        return fuzz.ratio(ours, theirs) >= _SOUNDS_LIKE

    def _misspelt(self, other: AuthorName) -> bool:
        short, long = sorted((self.family, other.family), key=len)
        if len(short) >= 3 and (long.startswith(short) or long.endswith(short)):
            return True
        if self.letters and self.letters == other.letters:
            return True
        from rapidfuzz.distance import OSA

        allowed = 1 if len(short) < 7 else 2
        return len(short) >= 4 and OSA.distance(short, long, score_cutoff=allowed) <= allowed

    def _swapped(self, other: AuthorName) -> bool:
        """Given and family name in the other's places, one of them an initial."""
        if len(other.family) == 2 and self.given == other.family and len(self.family) <= 3:
            return self.family[:1] in other.initials  # "He K", without the comma
        if (
            self.family == other.family
            or len(other.family) < 3
            or other.family not in self.tokens
            or not self.family
        ):
            return False
        return self.family in other.words or self.family[0] in other.initials

    def _inside(self, other: AuthorName) -> bool:
        """The surname is one of several names of the other ("Boix" in "Xavier Boix Bosch")."""
        return len(other.words) > 2 and len(self.family) > 2 and self.family in other.words


@lru_cache(maxsize=8192)
def author_name(author: Author) -> AuthorName:
    """The name of an author, prepared for comparison."""
    return AuthorName(author)


@lru_cache(maxsize=8192)
def display_words(author: Author) -> tuple[str, ...]:
    """The words of a name as displayed, folded."""
    return tuple(_words(author.display))


def joined_words(author: Author) -> frozenset[str]:
    """The words of a name in which a hyphen or an apostrophe divides one, as surnames are compared:
    "lacostejulien" and "s" of "Lacoste-Julien S"."""
    if _DIVIDED.search(author.display) is None:
        return frozenset()
    return frozenset(map(family_key, author.display.replace(",", " ").split()))


def _plain(word: str) -> str:
    """Without the "e" that stands for two dots."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


def _words(text: str) -> list[str]:
    return [word for word in _NOT_LETTER.split(fold(text)) if word]
