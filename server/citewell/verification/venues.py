"""Which venue a text names: one short id for all the spellings of a conference or journal.

A text may name several ("EMNLP-IJCNLP", "Findings of ACL: EMNLP"); two texts agree when they share
one. The table is a matter of fact (DBLP's and the ACL Anthology's names); what it does not hold
is compared by words, so that an unknown venue is never taken for a wrong one by mistake.
"""

from __future__ import annotations

import re
from functools import lru_cache

from citewell.model import Work
from citewell.model.check import Claim
from citewell.model.titles import normalise_title
from citewell.verification.venue_names import ACRONYMS, JOURNALS, NAMES, PREPRINTS, SHORT

_GENERIC = frozenset(
    """proceedings proc of the in on for and a an annual international intl int national conference
    conf joint workshop workshops symposium symp meeting journal j transactions trans trans. volume
    vol part long short papers main track ieee acm cvf rsj press letters research advances
    annals review reviews lecture notes series edition european world asian pacific first second
    third fourth fifth companion extended abstracts adjunct findings society association chapter
    advance usa""".split()
)
_ORDINAL = re.compile(r"^(?:\d+(?:st|nd|rd|th)?|[ivxlc]+|\w+(?:ieth|teenth)|\d+\w?)$")
_CODE = re.compile(r"^([a-z]{2,})\d{2,}$")
_MLA = re.compile(r"^mla:[^:]*?\d{4}([a-z]+)-")
_DBLP = re.compile(r"DBLP:(?:conf|journals)/([a-z0-9]+)/")
_SERIES = re.compile(
    r"(?:including (?:its )?subseries )?(?:and )?lecture notes in "
    r"(?:computer science|artificial intelligence|bioinformatics)"
)
"""A series holds the volumes of many meetings and is none itself."""
_PUBLISHED = re.compile(
    r"\b(?:conference|symposium|proceedings|proc|journal|transactions|meeting|congress|colloquium|"
    r"summit|forum|letters|annals|workshop|conf)\b"
)


@lru_cache(maxsize=16384)
def venue_ids(text: str) -> frozenset[str]:
    """Ids of the venues that the text names; empty for one that the table does not know."""
    words = _SERIES.sub(" ", normalise_title(text)).strip()
    if not words:
        return frozenset()
    if found := SHORT.get(words):
        return frozenset({found})
    ids = {name for pattern, name in NAMES if pattern.search(words)}
    if {"naacl", "eacl", "aacl", "tacl"} & ids:
        ids.discard("acl")
    if len(words) > 12 or not ids:
        for word in words.split():
            coded = _CODE.match(word)
            word = coded[1] if coded else word
            if word in ACRONYMS:
                ids.add(ACRONYMS[word])
    return frozenset(ids)


def is_preprint(text: str) -> bool:
    """True for a text that names a preprint server, or says that nothing is published yet."""
    return PREPRINTS.search(normalise_title(text)) is not None


def means_preprint(claim: Claim) -> bool:
    """True when a preprint is cited: its server stands as the venue, or only its identifier."""
    return is_preprint(claim.venue) if claim.venue else bool(claim.arxiv)


def names_published_venue(text: str) -> bool:
    """True when the text speaks of a conference or journal, known or not."""
    return bool(venue_ids(text)) or _PUBLISHED.search(normalise_title(text)) is not None


def is_journal(ids: frozenset[str]) -> bool:
    """True when all the ids are journals."""
    return bool(ids) and ids <= JOURNALS


def work_venues(work: Work) -> frozenset[str]:
    """Ids of every venue that a record names: in its fields, and in the ids merged into it."""
    ids: set[str] = set()
    for text in (work.venue, work.booktitle, work.journal):
        if text:
            ids |= venue_ids(text)
    for identifier in (work.id, *work.same_as):
        found = _MLA.match(identifier) or _DBLP.search(identifier)
        if found:
            ids |= venue_ids(found[1])
    return frozenset(ids)


def content_words(text: str) -> list[str]:
    """Words that tell venues apart, in order."""
    return [
        word
        for word in normalise_title(text).split()
        if word not in _GENERIC and not _ORDINAL.match(word)
    ]


def same_words(given: str, known: str, share: float = 0.6) -> bool:
    """True when one text is likely another spelling of the other: words, stems or initials agree.

    `share` of the given text's words must be among the known one's.

    "Mach. Learn." and "Machine Learning", "IJCAI" and "International Joint Conference on
    Artificial Intelligence".
    """
    ours, theirs = content_words(given), content_words(known)
    if not ours:
        # All words were generic ("Transactions of the ACM"): nothing speaks against it.
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


def misspelt(given: str, known: str) -> bool:
    """True when the telling words differ in a few letters: "Neutral Information Processing"."""
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
    return long.startswith(short) if len(short) >= 3 else a == b


def _initials(short: str, long: str) -> bool:
    acronym = next((w for w in content_words(short) if 3 <= len(w) <= 8), "")
    words = [w for w in normalise_title(long).split() if not w.isdigit()]
    letters = "".join(w[0] for w in words)
    strict = "".join(w[0] for w in words if w not in ("of", "the", "on", "in", "and", "for", "a"))
    return bool(acronym) and (acronym in letters or acronym in strict)
