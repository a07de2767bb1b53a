"""Rules for authors: "by Yann LeCun and Yoshua Bengio", "Hinton's work", "vaswani 2017".

A name counts only if the library has papers by an author with that name. A lone surname must also
be rare in titles, or be marked as a name by its context.
"""

from __future__ import annotations

import re

from citewell.retrieval.query_grammar.cursor import Clause, Cursor
from citewell.retrieval.query_grammar.words import AUTHOR_CUES, NO_NAME, PAPERS

LONGEST_NAME = 4
"""Maximum words of a person's name."""
MOST_PEOPLE = 8
LEAST_COAUTHORS = 3
FEW_WORDS = 4
"""Maximum words of a text in which a lower-case surname needs no year beside it."""
RARE_IN_TITLES = 4
"""A lone word is a surname if its bearers' papers outnumber titles with it by this factor."""
GIVEN_IN_TITLES = 150
"""Maximum number of titles containing a given name that is written in lower case."""
STOP_NAMES = frozenset("he will few so an may do you how own if most other can such".split())
"""Surnames that are stop words."""
SURNAMES_TOO = frozenset({"he", "will", "so", "an", "you"})
"""Those that also count in lower case."""
PARTICLES = frozenset("van von der den de del della di da dos du la le el al bin ben ter".split())


def marked_authors(cursor: Cursor, at: int) -> Clause | None:
    """ "by Yann LeCun and Yoshua Bengio", "written by ...", "authors: ..."."""
    begin = cursor.after_any(at, AUTHOR_CUES)
    return _people(cursor, at, begin, is_marked=True) if begin else None


def bare_authors(cursor: Cursor, at: int) -> Clause | None:
    """A name without a marker such as "by"."""
    found = _coauthors(cursor, at)
    if found is not None:
        return found
    return _people(cursor, at, at, is_marked=False) if cursor.is_word(at) else None


def _coauthors(cursor: Cursor, at: int) -> Clause | None:
    """Parse "He, Zhang, Ren, Sun 2016": at least three surnames before a year, if the library has a
    joint paper of these authors. Each word alone may be a common one."""
    if not cursor.has_year:
        return None
    words: list[str] = []
    end = at
    while not words or not _is_before_year(cursor, end - 1):
        if words:
            end += cursor.low(end) == ","
            end += cursor.low(end) in ("and", "&")
        if not cursor.is_word(end) or len(words) == MOST_PEOPLE:
            return None
        word = cursor.tokens[end].text
        if not cursor.names.surname(word) and word.lower() not in STOP_NAMES:
            return None
        words.append(word)
        end += 1
    if len(words) < LEAST_COAUTHORS:
        return None
    if not cursor.names.are_coauthors([one for one in words if one.lower() not in STOP_NAMES]):
        return None
    people = tuple(words)
    return Clause("author", end, " and ".join(words), {"authors": people}, kept=" ".join(words),
                is_bare=True)  # fmt: skip


def _people(cursor: Cursor, at: int, begin: int, *, is_marked: bool) -> Clause | None:
    people: list[str] = []
    families: list[str] = []
    end = place = begin
    is_bare = not is_marked
    while place < len(cursor.tokens) and len(people) < MOST_PEOPLE:
        after = _name_at(cursor, place, is_marked=is_marked)
        if not after:
            break
        families.append(cursor.tokens[after - 1].text)
        is_bare = is_bare and after == place + 1
        after = _given_behind(cursor, place, after)
        people.append(cursor.slice(place, after))
        end = after
        if cursor.follows(end, "et al"):
            end += 2
            is_bare = False
            if cursor.low(end) == ".":
                end += 1
        if cursor.low(end) in ("'s", "’s"):
            end += 1
            is_bare = False
        place = end
        if cursor.low(place) == ",":
            place += 1
        if cursor.low(place) in ("and", "&"):
            place += 1
        if place == end:
            break
    if not people:
        return None
    shown = " and ".join(people)
    return Clause(
        "author", end, shown, {"authors": tuple(people)}, kept=" ".join(families), is_bare=is_bare
    )


def _given_behind(cursor: Cursor, begin: int, end: int) -> int:
    """Index of the token after "LeCun, Yann" or "LeCun, Y."; `end` if no given name follows the
    comma."""
    is_single = end == begin + 1 and cursor.low(end) == "," and cursor.is_word(end + 1)
    if not is_single or not cursor.tokens[end + 1].text[:1].isupper():
        return end
    given = cursor.tokens[end + 1].text
    if len(given) == 1:
        family = cursor.tokens[begin].text
        after = end + 3 if cursor.low(end + 2) == "." else end + 2
        return after if cursor.names.has_author(f"{given}. {family}") else end
    return end + 2 if cursor.names.has_person(given, cursor.tokens[begin].text) else end


def _name_at(cursor: Cursor, at: int, *, is_marked: bool) -> int:
    """The index after the person's name found here, or 0."""
    end = at
    while end < min(len(cursor.tokens), at + 2 * LONGEST_NAME) and _in_name(cursor, at, end):
        end += 1
    words = [n for n in range(at, end) if cursor.tokens[n].kind == "word"]
    if not words or words[0] != at:
        return 0
    for count in range(min(LONGEST_NAME, len(words)), 0, -1):
        last = words[count - 1]
        if _is_name(cursor, at, last, count, is_marked=is_marked):
            return last + 1
    return 0


def _in_name(cursor: Cursor, begin: int, at: int) -> bool:
    token = cursor.tokens[at]
    if token.kind == "word":
        if token.low not in NO_NAME:
            return True
        # "He" and "You" are surnames after a given name, and before "et al.".
        is_surname = token.low in SURNAMES_TOO and (at > begin or _is_et_al(cursor, at + 1))
        return is_surname or (at > begin and token.text.istitle() and token.low in STOP_NAMES)
    return token.text == "." and at > begin and len(cursor.tokens[at - 1].text) == 1


def _is_name(cursor: Cursor, at: int, last: int, count: int, *, is_marked: bool) -> bool:
    first, family = cursor.tokens[at].text, cursor.tokens[last].text
    if count == 1:
        return _is_surname(cursor, family, last, is_marked=is_marked)
    if (
        count == 2
        and first.lower() in PARTICLES
        and cursor.names.has_author(cursor.slice(at, last + 1))
    ):
        return True  # "van Horn": a surname of two words
    return _is_full_name(cursor, at, last, count, is_marked=is_marked)


def _is_full_name(cursor: Cursor, at: int, last: int, count: int, *, is_marked: bool) -> bool:
    first, family = cursor.tokens[at].text, cursor.tokens[last].text
    known = cursor.names.surname(family) or family.lower() in STOP_NAMES
    if not known and not cursor.names.surname(first):
        return False
    capitals = all(
        t.text[:1].isupper() or t.low in PARTICLES
        for t in cursor.tokens[at : last + 1]
        if t.kind == "word"
    )
    if not is_marked and not capitals and cursor.names.titled(first) > GIVEN_IN_TITLES:
        return False
    if not is_marked and not capitals and count > 2 and len(first) > 1:
        middle = cursor.tokens[at + 1].text
        if len(middle) > 1 and middle.lower() not in PARTICLES:
            return False
    if len(first) == 1 and _has_other_name_between(cursor, at, last, is_name=is_marked or capitals):
        return False
    if count == 2 and len(first) > 1:
        return cursor.names.has_person(first, family) or (
            is_marked and cursor.names.has_author(cursor.slice(at, last + 1))
        )
    return cursor.names.has_author(cursor.slice(at, last + 1))


def _has_other_name_between(cursor: Cursor, at: int, last: int, *, is_name: bool) -> bool:
    """ "J. Devlin Bert": the library has a J. Bert, but "Devlin" is no given name of that author.

    Records abbreviate given names, so that one that looks like a name (`is_name`) and that the
    library does not know is ignored, unless a name ends with it.
    """
    between = [
        n
        for n in range(at + 1, last)
        if len(cursor.tokens[n].text) > 1 and cursor.tokens[n].low not in PARTICLES
    ]
    if not between:
        return False
    names, family = cursor.names, cursor.tokens[last].text
    given = cursor.slice(between[0], between[-1] + 1)
    is_known = names.has_person(given, family) or names.has_author(
        f"{cursor.slice(between[0], last + 1)}, {cursor.tokens[at].text}"  # of a surname in words
    )
    return not is_known and (not is_name or names.has_author(cursor.slice(at, between[-1] + 1)))


def _is_surname(cursor: Cursor, word: str, at: int, *, is_marked: bool) -> bool:
    if word.lower() in STOP_NAMES:
        return _is_et_al(cursor, at + 1) and cursor.names.has_author(word)
    papers = cursor.names.surname(word)
    if not papers or len(word) < 2 or word.isdigit():
        return False
    titles = cursor.names.titled(word)
    if _is_et_al(cursor, at + 1):
        return True
    if is_marked or _is_before_year(cursor, at) or _is_of_pair(cursor, at):
        return titles <= papers * (RARE_IN_TITLES if word[0].isupper() else 1)
    if (
        _is_behind_stranger(cursor, at)
        or _is_among_words(cursor, word)
        or _begins_a_title(cursor, at)
    ):
        return False
    return len(word) > 2 and titles * RARE_IN_TITLES <= papers and not cursor.names.is_system(word)


def _is_et_al(cursor: Cursor, at: int) -> bool:
    return cursor.low(at) == "et" and cursor.low(at + 1) == "al"


def _is_of_pair(cursor: Cursor, at: int) -> bool:
    """ "Park and Wang 2024", and "Hinton's work"."""
    if cursor.low(at + 1) in ("and", "&") and cursor.is_word(at + 2):
        return (
            _is_before_year(cursor, at + 2) and cursor.names.surname(cursor.tokens[at + 2].text) > 0
        )
    return cursor.low(at + 1) in ("'s", "’s") and cursor.low(at + 2) in PAPERS


def _is_among_words(cursor: Cursor, word: str) -> bool:
    """True for a lower-case word among many others without a year: it belongs to the topic."""
    words = [token for token in cursor.tokens if token.kind == "word"]
    return word.islower() and len(words) > FEW_WORDS and not cursor.has_year


def _begins_a_title(cursor: Cursor, at: int) -> bool:
    """ "Sloan Digital Sky Survey": a title has the word with all that follows it."""
    rest = cursor.slice(at, len(cursor.tokens))
    return cursor.is_word(at + 1) and cursor.names.titles_with(rest) > 0


def _is_behind_stranger(cursor: Cursor, at: int) -> bool:
    """ "Zed Ruiz", if "Zed" is in no title and is no surname: another Ruiz is not meant."""
    if not cursor.is_word(at - 1) or at == 0 or not cursor.tokens[at].text[0].isupper():
        return False
    given = cursor.tokens[at - 1].text
    is_given = given[0].isupper() and cursor.names.titled(given) == 0
    return is_given and cursor.names.surname(given) == 0


def _is_before_year(cursor: Cursor, at: int) -> bool:
    following = cursor.tokens[at + 1 : at + 3]
    if following and following[0].text in ("(", ","):
        following = following[1:]
    return bool(following) and re.fullmatch(r"(?:19|20)\d\d", following[0].text) is not None
