"""Whether two texts name the same venue, and what a text says of publication.

What the table of `model/venues` does not hold is compared by words, so that an unknown venue is
never taken for a wrong one by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.model.check import Claim
from citewell.model.fields import JOURNAL_FIELDS
from citewell.model.titles import normalise_title
from citewell.model.venues import JOURNALS, PREPRINTS, content_words, venue_ids

_PUBLISHED = re.compile(
    r"\b(?:conference|symposium|proceedings|proc|journal|transactions|meeting|congress|colloquium|"
    r"summit|forum|letters|annals|workshop|conf)\b"
)


def names_preprint(text: str) -> bool:
    """True for a text that names a preprint server, or says that nothing is published yet."""
    return PREPRINTS.search(normalise_title(text)) is not None


def means_preprint(claim: Claim) -> bool:
    """True when a preprint is cited: its server stands as the venue, or only its identifier."""
    return names_preprint(claim.venue) if claim.venue else bool(claim.arxiv)


def names_published_venue(text: str) -> bool:
    """True when the text mentions a conference or journal, known or not."""
    return bool(venue_ids(text)) or _PUBLISHED.search(normalise_title(text)) is not None


_JOURNAL = re.compile(r"\b(?:journal|transactions|trans|letters|magazine)\b")


def in_journal(claim: Claim) -> bool:
    """True when the reference gives a journal, in whatever field."""
    if claim.venue_field in JOURNAL_FIELDS:
        return True
    return _JOURNAL.search(normalise_title(claim.venue)) is not None


def is_journal(ids: frozenset[str]) -> bool:
    """True when all the ids are journals."""
    return bool(ids) and ids <= JOURNALS


def same_words(given: str, known: str, share: float = 0.6) -> bool:
    """True when one text is likely another spelling of the other: words, stems or initials agree.

    `share` of the given text's words must be among the known one's.

    "Mach. Learn." and "Machine Learning", "IJCAI" and "International Joint Conference on
    Artificial Intelligence".
    """
    ours, theirs = content_words(given), content_words(known)
    ours = [word for short in ours for word in _written_out(short, theirs)]
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


def _written_out(short: str, words: Sequence[str]) -> Sequence[str]:
    """The words in a row of which the short one is the initials: "mt" of "machine translation"."""
    size = len(short)
    if size < 2 or short in words:
        return (short,)
    runs = (words[start : start + size] for start in range(len(words) - size + 1))
    return next((run for run in runs if "".join(word[0] for word in run) == short), (short,))


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
