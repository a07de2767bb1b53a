"""The forms in which people write an author's name: "Yann LeCun", "LeCun, Y.", "Le Cun".

A record and a filter name the same person when a surname of one is a surname of the other, and the
given names agree as far as both are written out. Indexes keep the forms of every author, so that
they must be few; a filter may ask for many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from citewell.model.names import PARTICLES, family_key, parse_author, split_authors
from citewell.model.titles import fold, fold_name
from citewell.model.work import Author

_PIECE = re.compile(r"[^\W\d_]+")
_LONGEST = 3
"""Words of a surname of which the first or the last alone may stand for it."""
_AMONG = re.compile(r"\s*(?:;|&|\band\b)\s*", re.IGNORECASE)
_SPELT_OUT = (("ae", "a"), ("oe", "o"), ("ue", "u"))
"""Umlauts as they are typed where the keyboard lacks them."""


class NameForm(msgspec.Struct, frozen=True, order=True):
    """A surname, with a given name as far as it is written out."""

    family: str
    """Folded, letters and digits alone."""
    given: str = ""
    """The first given name in full, folded; empty where only its initial is known, or nothing."""
    initial: str = ""
    """The first letter of the given name; empty where none is given."""

    def fits(self, other: NameForm) -> bool:
        """True when both may be the name of one person; `self` is what is asked for."""
        if self.family != other.family:
            return False
        if not self.initial or self.given == other.given:
            return True
        return self.initial == other.initial and not (self.given and other.given)


@lru_cache(maxsize=65536)
def forms_of(author: Author) -> tuple[NameForm, ...]:
    """The forms under which the author of a record is found; none for a name without letters."""
    given = given_forms(author.given)
    found = dict.fromkeys(
        NameForm(family, name, initial)
        for family in _families(author.family)
        for name, initial in given
    )
    return tuple(found)


def wanted_forms(text: str) -> tuple[tuple[NameForm, ...], ...]:
    """For each person that a filter names the forms of the name, any of which may fit.

    Several people are parted by "and", "&" or a semicolon. A name without comma is read in both
    orders, and each of its words may begin the surname.
    """
    names = _AMONG.sub(" and ", text.strip())
    people = [_forms_in_any_order(name) for name in names.split(" and ") if split_authors(name)]
    return tuple(forms for forms in people if forms)


def is_by(text: str, authors: Sequence[Author]) -> bool:
    """True when everybody whom a filter names is among the authors."""
    people = wanted_forms(text)
    own = [form for author in authors for form in forms_of(author)]
    return bool(people) and all(
        any(wanted.fits(form) for wanted in forms for form in own) for forms in people
    )


def _forms_in_any_order(name: str) -> tuple[NameForm, ...]:
    found: dict[NameForm, None] = {}
    if "," in name:
        author = parse_author(name)
        found.update(_of(author.family, author.given))
    else:
        author = parse_author(name)
        words = f"{author.given} {author.family}".split()
        for at in range(len(words)):
            found.update(_of(" ".join(words[at:]), " ".join(words[:at])))
        if len(words) > 1:
            # "Wang Wei", "LeCun Y": the surname first, without a comma.
            found.update(_of(words[0], " ".join(words[1:])))
    for form in tuple(found):
        for written, meant in _SPELT_OUT:
            if written in form.family:
                plain = form.family.replace(written, meant)
                found[msgspec.structs.replace(form, family=plain)] = None
    return tuple(found)


def _of(family: str, given: str) -> Iterator[tuple[NameForm, None]]:
    names = given_forms(given)
    keys = dict.fromkeys((family_key(family), fold_name(family)))
    return ((NameForm(key, *name), None) for key in keys if key for name in names)


def _families(family: str) -> tuple[str, ...]:
    """The surname whole, without its particles, and the first and last of two or three words."""
    keys = [fold_name(family), family_key(family)]
    words = [fold_name(part) for part in family.replace("-", " ").split()]
    while words and words[0] in PARTICLES:
        words.pop(0)
    if 1 < len(words) <= _LONGEST:
        keys += [words[-1], words[0]]
    return tuple(dict.fromkeys(key for key in keys if key))


@lru_cache(maxsize=65536)
def given_forms(given: str) -> tuple[tuple[str, str], ...]:
    """Given names with their initials: the first, and all of them as one word ("Kai-Wei" is also
    "Kaiwei"); behind an initial the next one by which the person may be called."""
    pieces = _PIECE.findall(fold(given))
    if not pieces:
        return (("", ""),)
    first = pieces[0]
    full = [piece for piece in pieces if len(piece) > 1]
    forms = [(first if len(first) > 1 else "", first[0])]
    if full:
        forms += [("".join(full), full[0][0]), (full[0], full[0][0])]
    return tuple(dict.fromkeys(forms))
