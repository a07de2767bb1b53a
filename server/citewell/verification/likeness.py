"""Similarity of two titles: equal, one with a subtitle, a spelling slip, some words, or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from citewell.model import Author
from citewell.model.check import Claim
from citewell.model.fields import JOURNAL_FIELDS
from citewell.model.names import family_key
from citewell.model.titles import fold, normalise_title, title_key
from citewell.model.venues import JOURNALS, PREPRINTS, abbreviates, content_words, venue_ids

_LITTLE = frozenset({"a", "an", "the", "and"})
_SMALL = frozenset(
    "a an the of for in on with to and from by via at as is are how what towards toward".split()
)


class TitleLike(StrEnum):
    SAME = "same"
    SUBTITLE = "subtitle"
    """One of them has a subtitle that the other lacks."""
    SPELLING = "spelling"
    """They differ in a letter or two, a plural, or a joined word."""
    WORDS = "words"
    """One or a few words are replaced, added or dropped: most of the title is the same."""
    HEAD = "head"
    """They share the words before the colon, and differ after it."""
    OTHER = "other"


def title_likeness(given: str, known: str) -> TitleLike:
    """Classify the similarity; numbers must be equal, since "Part II" is no typo."""
    if not given or title_key(given) == title_key(known):
        return TitleLike.SAME
    return _likeness(given, known) if known else TitleLike.OTHER


def _likeness(given: str, known: str) -> TitleLike:
    ours, theirs = title_key(given), title_key(known)
    a, b = normalise_title(given).split(), normalise_title(known).split()
    if _subtitle(given, known, a, b) or _cut(ours, theirs):
        return TitleLike.SUBTITLE
    if {w for w in a if w.isdigit()} != {w for w in b if w.isdigit()}:
        return TitleLike.OTHER
    from rapidfuzz import fuzz
    from rapidfuzz.distance import OSA, Levenshtein

    if [w for w in a if w not in _LITTLE] == [w for w in b if w not in _LITTLE]:
        return TitleLike.SUBTITLE
    letters = OSA.distance(ours, theirs, score_cutoff=3)
    if _without_acronyms(given, known) or _without_edition(given, known):
        return TitleLike.SUBTITLE
    if letters <= max(1, min(3, len(theirs) // 20)) and _same_words_spelt(a, b):
        return TitleLike.SPELLING
    ratio = fuzz.ratio(" ".join(a), " ".join(b))
    changed = Levenshtein.distance(a, b, score_cutoff=4)
    shorter = min(len(a), len(b))
    few = (changed <= 1 and shorter >= 4) or (changed <= 2 and shorter >= 6)
    few = few or (ratio >= 72 and changed <= 3 and shorter >= 7)
    few = few or ratio >= 82 or _same_name(given, known)
    return TitleLike.WORDS if few else TitleLike.OTHER


def head_of(title: str) -> str:
    """Return the normalised words before the colon of a title; empty if many titles share them."""
    head, colon, tail = title.partition(":")
    words = normalise_title(head)
    return words if colon and tail.strip() and len(words) >= _LEAST_HEAD else ""


_LEAST_HEAD = 6
"""Minimum number of letters of a head that few titles share."""


def begins_alike(given: str, known: str) -> TitleLike:
    """HEAD for the same head with another tail, else the similarity of the titles."""
    likeness = title_likeness(given, known)
    if likeness is TitleLike.OTHER and (head := head_of(given)) and head == head_of(known):
        return TitleLike.HEAD
    return likeness


def are_versions(one: str, other: str, first: Author | str, second: Author | str) -> bool:
    """Whether two titles with these first authors are versions of one work, such as a preprint and
    its paper: alike, unless they begin with two names, as "PointNet" and "PointNet++" are."""
    heads = {
        fold(head).strip() for head, colon, _ in (one.partition(":"), other.partition(":")) if colon
    }
    if len(heads) == 2:
        return False
    return (
        bool(family_key(first))
        and family_key(first) == family_key(second)
        and begins_alike(one, other) is not TitleLike.OTHER
    )


def _same_name(given: str, known: str) -> bool:
    """True when both titles begin with one coined name: "AugMix: ..."."""
    ours, theirs = (title.partition(":") for title in (given, known))
    name = title_key(ours[0])
    if not (ours[2] and theirs[2]) or name != title_key(theirs[0]):
        return False
    return len(name) >= 4 and len(normalise_title(ours[0]).split()) == 1


def _same_words_spelt(a: Sequence[str], b: Sequence[str]) -> bool:
    """True when the differing words are variants of each other: a plural, a typo, a hyphen."""
    from rapidfuzz.distance import OSA

    ours, theirs = [w for w in a if w not in b], [w for w in b if w not in a]
    if len(ours) != len(theirs):
        return "".join(ours) == "".join(theirs)
    return all(
        max(len(x), len(y)) >= 5 and OSA.distance(x, y, score_cutoff=2) <= 2
        for x, y in zip(ours, theirs, strict=True)
    )


_BRITISH = (("our", "or"), ("ise", "ize"), ("isa", "iza"), ("isi", "izi"), ("yse", "yze"),
            ("ll", "l"), ("tre", "ter"), ("ogue", "og"), ("ence", "ense"))  # fmt: skip


def same_english(a: str, b: str) -> bool:
    """True when two titles differ only as British and American spelling do, or by a double
    letter."""

    def plain(text: str) -> str:
        key = title_key(text)
        for british, american in _BRITISH:
            key = key.replace(british, american)
        return key

    return plain(a) == plain(b)


_TAIL = re.compile(r"\s*\([^()]{2,40}\)\s*$")
_ACRONYM = re.compile(r"\b[A-Z]{2,6}\b")


_EDITION = re.compile(
    r"[\s,.;:(\[]+(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|revised|new|"
    r"international)\s+(?:ed\.|ed|edn|edition)[\s.)\]]*$",
    re.IGNORECASE,
)


def _without_edition(given: str, known: str) -> bool:
    """True when one title ends with its edition, which has its own field."""
    short, long = _EDITION.sub("", given), _EDITION.sub("", known)
    return (short, long) != (given, known) and title_key(short) == title_key(long)


def _without_acronyms(given: str, known: str) -> bool:
    """True when the titles differ only in acronyms: "(GPCA)" at the end, "WSD" for its words."""
    short, long = _TAIL.sub("", given), _TAIL.sub("", known)
    if (short, long) != (given, known) and title_key(short) == title_key(long):
        return True
    for one, other in ((given, known), (known, given)):
        for acronym in _ACRONYM.findall(one):
            words = normalise_title(other).split()
            size = len(acronym)
            for start in range(len(words) - size + 1):
                run = words[start : start + size]
                if "".join(word[0] for word in run) == acronym.lower():
                    whole = one.replace(acronym, " ".join(run), 1)
                    if title_key(whole) == title_key(other):
                        return True
    return False


def _cut(ours: str, theirs: str) -> bool:
    """True when one title is a long prefix of the other: cut, or with an addition."""
    short, long = sorted((ours, theirs), key=len)
    # One or two more letters are a plural.
    return len(short) >= 36 and long.startswith(short) and len(long) - len(short) > 2


def _subtitle(given: str, known: str, a: Sequence[str], b: Sequence[str]) -> bool:
    short, whole = (a, known) if len(a) < len(b) else (b, given)
    if len(short) < 3:
        return False
    head, _, tail = whole.partition(":")
    if not tail:
        head, _, tail = whole.partition(" - ")
    if not tail:
        return False
    return list(short) in (normalise_title(head).split(), normalise_title(tail).split())


def telling_words(title: str) -> int:
    """Number of distinctive words in a title: a few may be shared by chance."""
    return sum(word not in _SMALL for word in normalise_title(title).split())


# Comparison of venues, and statements about publication.
#
# Venues outside the table of `model/venues` are compared by words, so that an unknown venue is
# never taken for a wrong one.

_PUBLISHED = re.compile(
    r"\b(?:conference|symposium|proceedings|proc|journal|transactions|meeting|congress|colloquium|"
    r"summit|forum|letters|annals|workshop|conf)\b"
)


def names_preprint(text: str) -> bool:
    """True for a text that names a preprint server, or says that the work is unpublished."""
    return PREPRINTS.search(normalise_title(text)) is not None


def means_preprint(claim: Claim) -> bool:
    """True when a preprint is cited: the venue is its server, or only its identifier is given."""
    return names_preprint(claim.venue) if claim.venue else bool(claim.arxiv)


def names_published_venue(text: str) -> bool:
    """True when the text mentions a conference or journal, known or not."""
    return bool(venue_ids(text)) or _PUBLISHED.search(normalise_title(text)) is not None


_JOURNAL = re.compile(r"\b(?:journal|transactions|trans|letters|magazine)\b")


def in_journal(claim: Claim) -> bool:
    """True when the reference names a journal, in any field."""
    if claim.venue_field in JOURNAL_FIELDS:
        return True
    return _JOURNAL.search(normalise_title(claim.venue)) is not None


def is_journal(ids: frozenset[str]) -> bool:
    """True when all the ids are journals."""
    return bool(ids) and ids <= JOURNALS


def same_words(given: str, known: str, share: float = 0.6) -> bool:
    """True when the texts are probably variants of one name: words, stems or initials agree.

    `share` of the given text's words must be among the known one's.

    "Mach. Learn." and "Machine Learning", "IJCAI" and "International Joint Conference on
    Artificial Intelligence".
    """
    ours, theirs = content_words(given), content_words(known)
    ours = [word for short in ours for word in _written_out(short, theirs)]
    if not ours:
        # All words were generic ("Transactions of the ACM"): no contradiction.
        return True
    if not theirs:
        return False
    matched = sum(any(_stem_of(a, b) for b in theirs) for a in ours)
    back = sum(any(_stem_of(a, b) for a in ours) for b in theirs)
    if matched >= share * len(ours) or back >= 0.75 * len(theirs):
        return True
    if misspelt(given, known):
        return True
    return _initials(given, known) or _initials(known, given)


def _written_out(short: str, words: Sequence[str]) -> Sequence[str]:
    """The consecutive words with these initials: "mt" of "machine translation"."""
    size = len(short)
    if size < 2 or short in words:
        return (short,)
    runs = (words[start : start + size] for start in range(len(words) - size + 1))
    return next((run for run in runs if "".join(word[0] for word in run) == short), (short,))


def misspelt(given: str, known: str) -> bool:
    """True when the distinctive words differ in a few letters: "Neutral Information Processing"."""
    from rapidfuzz import fuzz

    ours, theirs = content_words(given), content_words(known)
    if not ours or fuzz.token_sort_ratio(" ".join(ours), " ".join(theirs)) < 75:
        return False
    other = [word for word in theirs if word not in ours]
    return all(
        word in theirs or any(fuzz.ratio(word, name) >= 70 for name in other) for word in ours
    )


def _stem_of(a: str, b: str) -> bool:
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    return abbreviates(short, long) if len(short) >= 3 else a == b


def _initials(short: str, long: str) -> bool:
    acronym = next((w for w in content_words(short) if 3 <= len(w) <= 8), "")
    words = [w for w in normalise_title(long).split() if not w.isdigit()]
    letters = "".join(w[0] for w in words)
    strict = "".join(w[0] for w in words if w not in ("of", "the", "on", "in", "and", "for", "a"))
    return bool(acronym) and (acronym in letters or acronym in strict)
