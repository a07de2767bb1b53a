"""Comparison of two author lists: whether they name the same people, and how they differ.

Sources disagree on accents, particles, hyphens, initials and the order of given and family name;
these do not count as differences.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from citewell.model.names import family_key
from citewell.model.titles import fold
from citewell.model.work import Author

# Author names, prepared for comparison.
#
# Sources disagree on accents, particles, hyphens, initials and the order of given and family name.

_WHOLE_NAME = 12
"""Minimum letters of a full name for a meaningful comparison of likeness."""
_SOUNDS_LIKE = 82.0
"""Minimum likeness (rapidfuzz ratio) of two full names of one person."""
_SUFFIX = re.compile(r"[\s,]+(?:jr|sr|i{2,3}|iv)\.?\s*$", re.IGNORECASE)
_DIVIDED = re.compile(r"\w[-'’‐]\w")
_NOT_LETTER = re.compile(r"[^\w]+|[\d_]+")


_COMMON = frozenset(
    "wang li zhang liu chen yang huang zhao wu zhou xu sun ma zhu hu guo he lin gao luo zheng "
    "liang xie tang han "
    "cao deng feng xiao cheng zeng peng pan yuan dong yu jiang cai lu du ye wei shen ren yao "
    "song shi fan jin qian "
    "dai kim lee park choi jung kang cho yoon jang lim shin seo kwon nguyen tran le pham hoang "
    "vu ho ngo smith "
    "johnson williams brown jones miller davis wilson anderson taylor thomas moore martin "
    "jackson thompson white "
    "harris clark lewis robinson walker young allen king wright scott green baker adams hill "
    "singh kumar gupta "
    "sharma patel das khan ali ahmed sato suzuki tanaka muller schmidt garcia rodriguez "
    "martinez lopez gonzalez "
    "silva santos rossi ding jia xue wen fu lei hou meng qin yan hong kong ng chan cheung wong "
    "chang tan".split()
)
"""Frequent surnames: a shared one is weak evidence."""


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

    @property
    def is_common(self) -> bool:
        return self.family in _COMMON

    def equals(self, other: AuthorName) -> bool:
        """True for equal surnames, or equal words in another order ("Zhang Wei", "Wei Zhang")."""
        if self.family == other.family:
            return self._initials_agree(other)
        return len(self.words) > 1 and self.words == other.words

    def is_reversed(self, other: AuthorName) -> bool:
        """True when both names are one word, swapped: "Wei, Zhang" for "Zhang, Wei"."""
        if not self.given or len(self.words) != 2 or self.family == self.given:
            return False
        return self.family == other.given and self.given == other.family

    def may_be(self, other: AuthorName) -> bool:
        """True for an equal surname or an equal given name at the same position. Bill for William,
        a name changed by marriage; or another person of that name."""
        if self.family == other.family:
            return not self.is_common or self._initials_agree(other)
        return len(self.given) >= 4 and self.given == other.given

    def is_surely(self, other: AuthorName) -> bool:
        """True for another form of the same name: an umlaut, a double surname, its parts
        reordered."""
        ours, theirs = (frozenset(map(_plain, one.words)) for one in (self, other))
        if ours <= theirs or theirs <= ours or "".join(sorted(ours)) == "".join(sorted(theirs)):
            return True
        return _plain(self.family) == _plain(other.family) and self._initials_agree(other)

    def may_be_called(self, other: AuthorName) -> bool:
        """True when the first names are initials, forms of one another, or in another order."""
        if min(len(self.given), len(other.given)) < 3 or self.words & other.words - {self.family}:
            return True
        if self.given.startswith(other.given[:3]) and abs(len(self.given) - len(other.given)) > 1:
            return True
        from rapidfuzz import fuzz

        return fuzz.ratio(self.given, other.given) >= 60

    def may_be_renamed(self, other: AuthorName) -> bool:
        """True when the first names or their initials agree, whatever the surnames."""
        theirs = other.initials or frozenset(other.family[:1])  # a record without the surname
        return bool(self.initials & theirs)

    def _initials_agree(self, other: AuthorName) -> bool:
        if not self.initials or not other.initials or self.initials & other.initials:
            return True
        short, long = sorted((self.given, other.given), key=len)
        return len(short) >= 3 and short in long  # "Reza" for "Gholamreza"

    def resembles(self, other: AuthorName) -> bool:
        """True for probably the same person: one part of a double surname, or one or two different
        letters."""
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
        """True when most letters of both full names agree: a pseudonym, another transcription."""
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
        """True when given and family name are swapped, one of them an initial."""
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
        """True when the surname is one of several names of the other ("Boix" in "Xavier Boix
        Bosch")."""
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
    """The words of a name with a hyphen or an apostrophe inside, as surnames are compared:
    "lacostejulien" and "s" of "Lacoste-Julien S"."""
    if _DIVIDED.search(author.display) is None:
        return frozenset()
    return frozenset(map(family_key, author.display.replace(",", " ").split()))


def _plain(word: str) -> str:
    """The word without the "e" that stands for an umlaut."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


def _words(text: str) -> list[str]:
    return [word for word in _NOT_LETTER.split(fold(text)) if word]


LONG_LIST = 8
"""A list truncated after at least this many names follows a journal's style and is no
fabrication."""


_GROUPS = frozenset({"collaboration", "collaborations", "consortium", "investigators"})
_OF_PEOPLE = frozenset({"group", "network", "project"})
"""Last words of a group's name if several words precede them: "Particle Data Group"."""


class Difference(StrEnum):
    SAME = "same"
    CUT = "cut"
    """A long list, truncated without notice."""
    MISSING = "missing"
    ADDED = "added"
    ORDER = "order"
    FIRST = "first"
    """"And others" follows names of the record, but not its first."""
    REPLACED = "replaced"
    """Some names are correct; others belong to no author of the record."""
    UNRELATED = "unrelated"
    UNKNOWN = "unknown"
    """One side names no author: no comparison is possible."""


class AuthorComparison(msgspec.Struct, frozen=True, gc=False):
    """The differences between a given author list and a recorded one."""

    difference: Difference
    shared: float = 0.0
    """Share of the given names that the record has."""
    missing: tuple[Author, ...] = ()
    """In the record only."""
    added: tuple[Author, ...] = ()
    """In the reference only."""
    misspelt: tuple[tuple[Author, Author], ...] = ()
    """Given and recorded names of one person that differ in one or two letters."""
    other_given: tuple[tuple[Author, Author], ...] = ()
    """Given and recorded names with the same surname and unrelated first names."""
    renamed: bool = False
    """Each wrong name has the position and initial of a recorded name: a name that was changed or
    truncated in the record is as likely as another person."""
    swapped: tuple[tuple[Author, Author], ...] = ()
    """Given and recorded names of one person with given and family name swapped."""
    moved: tuple[Author, ...] = ()
    """Given names in front of a name that precedes them in the record."""
    in_place: bool = False
    """Each given name in the record has the same position in both lists."""
    known: int = 0
    """Number of authors in the record."""


def compare_people(
    given: Sequence[Author], known: Sequence[Author], *, others: bool = False, more: bool = False
) -> AuthorComparison:
    """Compare a reference's authors with a record's, position first, then anywhere.

    `others`: the reference's list ends with "and others". `more`: the record names only the first
    authors, and later names are not compared.
    """
    if all(map(is_group, known)) and _names_group(given, known):
        # The record does not name the people of the group.
        return AuthorComparison(Difference.SAME, 1.0, known=len(known))
    if not any(map(is_group, known)):
        # Many records name the people of a collaboration alone; the reference stands for them.
        people = tuple(author for author in given if not is_group(author))
        given, others = people, others or len(people) < len(given)
    if not given or not known:
        return AuthorComparison(Difference.UNKNOWN)
    if tuple(given) == tuple(known) and not any(map(_may_be_several, given)):
        return AuthorComparison(Difference.SAME, 1.0, known=len(known))
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
        # Only frequent surnames match, and no given name: these are other people.
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
    return AuthorComparison(
        kind,
        shared,
        missing,
        added,
        misspelt,
        other_given,
        renamed=renamed and kind is Difference.REPLACED and len(added) + len(other_given) == 1,
        swapped=swapped,
        moved=_moved(given, partner),
        in_place=all(place in (n, None) for n, place in enumerate(partner)),
        known=len(known),
    )


def _names_group(given: Sequence[Author], known: Sequence[Author]) -> bool:
    """True when a group of the record is given, by its first word: "The ATLAS Collaboration"."""

    def first_words(people: Sequence[Author]) -> set[str]:
        written = (_words(one.display) for one in people if is_group(one))
        return {next(word for word in words if word != "the") for words in written}

    return not first_words(given).isdisjoint(first_words(known))


def is_group(author: Author) -> bool:
    """True for the name of a group of authors: "LIGO Scientific Collaboration"."""
    words = author.display.lower().split()
    last = words[-1] if words else ""
    return last in _GROUPS or (len(words) > 2 and last in _OF_PEOPLE)


def _moved(given: Sequence[Author], partner: Sequence[int | None]) -> tuple[Author, ...]:
    """The names in front of a name that precedes them in the record."""
    places = [(n, place) for n, place in enumerate(partner) if place is not None]
    return tuple(
        given[n]
        for at, (n, place) in enumerate(places)
        if any(later < place for _, later in places[at + 1 :])
    )


class NamePair(msgspec.Struct, frozen=True):
    """A given name and its position among a record's names."""

    place: int
    """-1 for a name that the record lacks."""
    alike: bool = True
    """Whether both are spelt alike, apart from initials, accents and particles."""


def pair_names(given: Sequence[Author], known: Sequence[Author]) -> list[NamePair]:
    """For each given name, the record's name of the same person."""
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
    """The given names; names run together without an "and" are split by the record."""
    out: list[Author] = []
    for author in given:
        words: set[str] = set()
        if _may_be_several(author):
            words = {*display_words(author), *joined_words(author)}
        others = [author_name(other) for other in given if words and other is not author]
        inside = [
            n
            for n, name in enumerate(theirs)
            # A middle name may be the surname of a co-author, who is then listed separately.
            if name.family in words
            and not any(name.equals(other) and not other.words <= words for other in others)
        ]
        if len({theirs[n].family for n in inside}) > 1:
            out += [known[n] for n in inside]
        else:
            out.append(author)
    return out


def _may_be_several(author: Author) -> bool:
    """True for a name long enough for two people without the "and" between them."""
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
    """For each of our names, the index of the same person in theirs; each index is used once."""
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
        "tba", "john q public", "alice bob", "test author", "et al others", "a u thor",
        "a n other", "joe bob missilany", "daniel d lincoll", "larry manmaker", "edouard masterly",
        "tom terrific", "ulrich underwood", "joseph scientist"
    }
)  # fmt: skip
_SAMPLE_SURNAMES = frozenset(
    """
    aamport author authors familyname fotheringhamsmythe knvth lastname missilany oaho phonybaloney
    surname
    """.split()
)
"""Invented surnames in sample entries, such as those of xampl.bib."""


_ANY_AUTHOR = re.compile(
    r"^(?:first|second|third|another|other|some|co)?author\w?$|^(?:first|last|given|family)name$"
)


def placeholder_names(authors: Sequence[Author]) -> tuple[Author, ...]:
    """Names of no real person: "John Doe", "Firstname Lastname", "Author One"."""
    return tuple(author for author in authors if _is_placeholder(author))


def without_anonymous(authors: Sequence[Author]) -> tuple[Author, ...]:
    """The authors without "Anonymous": a paper under review does not name its authors."""
    return tuple(author for author in authors if display_words(author)[:1] != ("anonymous",))


def _is_placeholder(author: Author) -> bool:
    words = display_words(author)
    if family_key(author) in _SAMPLE_SURNAMES or " ".join(words) in _PLACEHOLDERS:
        return True
    return bool(words and _ANY_AUTHOR.match(words[0]))
