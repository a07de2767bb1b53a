"""Whether two author lists name the same people, and how they differ if not.

Sources disagree on accents, particles, hyphens, initials and the order of given and family name;
none of that is a difference here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from citewell.model.work import Author
from citewell.verification.author_name import AuthorName, author_name, display_words, joined_words

LONG_LIST = 8
"""A list cut after at least this many names reflects a journal style, not an invention."""


class Difference(StrEnum):
    SAME = "same"
    CUT = "cut"
    """A long list, silently cut at its end."""
    MISSING = "missing"
    ADDED = "added"
    ORDER = "order"
    FIRST = "first"
    """"And others" follows names that are the record's, but not its first."""
    REPLACED = "replaced"
    """Some names are correct and some belong to no author in the record."""
    UNRELATED = "unrelated"
    UNKNOWN = "unknown"
    """One side names no author, so that no comparison is possible."""


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """How a given author list differs from a recorded one."""

    difference: Difference
    shared: float = 0.0
    """Share of the given names that the record holds."""
    missing: tuple[Author, ...] = ()
    """In the record, not given."""
    added: tuple[Author, ...] = ()
    """Given, not in the record."""
    misspelt: tuple[tuple[Author, Author], ...] = ()
    """Given and recorded names of one person that differ in a letter or two."""
    other_given: tuple[tuple[Author, Author], ...] = ()
    """Given and recorded names with one surname, whose first names are not forms of one name."""
    renamed: bool = False
    """Each wrong name is in the position of a recorded name with the same initial: a name that was
    changed or truncated in the record is as likely as another person."""
    swapped: tuple[tuple[Author, Author], ...] = ()
    """Given and recorded names of one person with given and family name in each other's place."""
    moved: tuple[Author, ...] = ()
    """Given names that precede a name which precedes them in the record."""
    known: int = 0
    """How many authors the record has."""


def compare_people(
    given: Sequence[Author], known: Sequence[Author], *, others: bool = False, more: bool = False
) -> Comparison:
    """Compare a reference's authors with a record's, position first, then anywhere.

    `others` follow the given names; with `more`, the record names the first authors only, and
    names given after those are not compared.
    """
    if not given or not known:
        return Comparison(Difference.UNKNOWN)
    if tuple(given) == tuple(known) and not any(map(_may_be_several, given)):
        return Comparison(Difference.SAME, 1.0, known=len(known))
    theirs = [author_name(author) for author in known]
    given = _parted(given, known, theirs)
    ours = [author_name(author) for author in given]
    partner = _match(ours, theirs)
    found = [place for place in partner if place is not None]
    taken = set(found)
    missing = tuple(author for n, author in enumerate(known) if n not in taken)
    if more and not missing:
        end = 1 + max(n for n, place in enumerate(partner) if place is not None)
        given, ours, partner = given[:end], ours[:end], partner[:end]
    added = tuple(a for a, place in zip(given, partner, strict=True) if place is None)
    misspelt = tuple(
        (given[n], known[place])
        for n, place in enumerate(partner)
        if place is not None
        and not ours[n].equals(theirs[place])
        and not ours[n].is_surely(theirs[place])
    )
    shared = len(found) / len(given)
    sound = sum(
        place is not None and (ours[n].equals(theirs[place]) or ours[n].resembles(theirs[place]))
        for n, place in enumerate(partner)
    )
    kind = _kind(found, added, missing, others)
    swapped = tuple(
        (given[n], known[place])
        for n, place in enumerate(partner)
        if place is not None and ours[n].is_reversed(theirs[place])
    )
    if not sound and len(given) > 2:
        # Surnames that many people have, and never the given name: these are other people.
        kind, shared = Difference.UNRELATED, 0.0
    other_given = tuple(
        (given[n], known[place])
        for n, place in enumerate(partner)
        if place is not None and ours[n].family == theirs[place].family
        and not ours[n].may_be_called(theirs[place])
    )  # fmt: skip
    left = [theirs[n] for n in range(len(known)) if n not in taken]
    renamed = bool(added) and all(
        (n < len(theirs) and n not in taken and ours[n].may_be_renamed(theirs[n]))
        or any(ours[n].family == name.family for name in left)
        for n, place in enumerate(partner)
        if place is None
    )
    return Comparison(
        kind,
        shared,
        missing,
        added,
        misspelt,
        other_given,
        renamed=renamed and kind is Difference.REPLACED,
        swapped=swapped,
        moved=_moved(given, partner),
        known=len(known),
    )


def _moved(given: Sequence[Author], partner: Sequence[int | None]) -> tuple[Author, ...]:
    """The names that precede a name which precedes them in the record."""
    places = [(n, place) for n, place in enumerate(partner) if place is not None]
    return tuple(
        given[n]
        for at, (n, place) in enumerate(places)
        if any(later < place for _, later in places[at + 1 :])
    )


class NamePair(msgspec.Struct, frozen=True):
    """A given name and its place among a record's names."""

    place: int
    """-1 for a name that the record does not have."""
    alike: bool = True
    """Both are written alike, initials, accents and particles aside."""


def pair_names(given: Sequence[Author], known: Sequence[Author]) -> list[NamePair]:
    """For each given name the record's name of the same person."""
    ours, theirs = (
        [author_name(author) for author in given],
        [author_name(author) for author in known],
    )
    return [
        NamePair(-1, False)
        if place is None
        else NamePair(place, _written_alike(ours[n], theirs[place]))
        for n, place in enumerate(_match(ours, theirs))
    ]


def _written_alike(ours: AuthorName, theirs: AuthorName) -> bool:
    same = ours.equals(theirs) or ours.is_surely(theirs)
    return same and ours.may_be_called(theirs) and not ours.is_reversed(theirs)


def _parted(
    given: Sequence[Author], known: Sequence[Author], theirs: Sequence[AuthorName]
) -> Sequence[Author]:
    """The given names; those run together for lack of an "and" are split using the record."""
    out: list[Author] = []
    for author in given:
        words: set[str] = set()
        if _may_be_several(author):
            words = {*display_words(author), *joined_words(author)}
        inside = [n for n, name in enumerate(theirs) if name.family in words]
        if len({theirs[n].family for n in inside}) > 1:
            out += [known[n] for n in inside]
        else:
            out.append(author)
    return out


def _may_be_several(author: Author) -> bool:
    """True for a name that is long enough for two, without the "and" between them."""
    return len(display_words(author)) >= 4


def _kind(  # noqa: PLR0911 - one for each
    found: list[int], added: tuple[Author, ...], missing: tuple[Author, ...], others: bool
) -> Difference:
    if not found:
        return Difference.UNRELATED
    if added:
        return Difference.REPLACED if missing else Difference.ADDED
    if found != sorted(found):
        return Difference.ORDER
    if others and found[0] != 0:
        return Difference.FIRST
    if not missing or others:
        return Difference.SAME
    if found == list(range(len(found))) and len(found) >= LONG_LIST:
        return Difference.CUT
    return Difference.MISSING


def _match(ours: Sequence[AuthorName], theirs: Sequence[AuthorName]) -> list[int | None]:
    """For each of ours the place of the same person in theirs; each place is taken once."""
    partner: list[int | None] = [None] * len(ours)
    free = set(range(len(theirs)))
    for test in (AuthorName.equals, AuthorName.resembles, AuthorName.may_be):
        for n, name in enumerate(ours):
            if partner[n] is not None:
                continue
            order = ([n] if n in free else []) + sorted(free - {n})
            if test is AuthorName.may_be:
                order = order[:1] if n in free else []
            place = next((p for p in order if test(name, theirs[p])), None)
            if place is not None:
                partner[n] = place
                free.discard(place)
    return partner


_PLACEHOLDERS = frozenset(
    {
        "john doe", "jane doe", "firstname lastname", "first last", "first author",
        "second author", "third author", "author one", "author two", "author three", "author a",
        "author b", "author name", "name surname", "given family", "anonymous author",
        "anonymous authors", "lorem ipsum", "foo bar", "max mustermann",
        "erika mustermann", "placeholder author", "unknown author", "unknown authors",
        "a author", "b author", "author", "authors", "lastname", "surname", "xxx", "todo", "tbd",
        "tba", "john q public", "alice bob", "test author", "et al others"
    }
)  # fmt: skip


_ANY_AUTHOR = re.compile(
    r"^(?:first|second|third|another|other|some|co)?author\w?$|^(?:first|last|given|family)name$"
)


def placeholder_names(authors: Sequence[Author]) -> tuple[Author, ...]:
    """Authors that stand for no person: "John Doe", "Firstname Lastname", "Author One"."""
    return tuple(author for author in authors if _is_placeholder(author))


def without_anonymous(authors: Sequence[Author]) -> tuple[Author, ...]:
    """The authors without "Anonymous": a paper under review has authors, and does not say which."""
    return tuple(author for author in authors if display_words(author)[:1] != ("anonymous",))


def _is_placeholder(author: Author) -> bool:
    words = display_words(author)
    return " ".join(words) in _PLACEHOLDERS or bool(words and _ANY_AUTHOR.match(words[0]))
