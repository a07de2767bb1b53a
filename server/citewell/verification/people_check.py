"""Checks of a reference's authors against the records.

A record may be wrong too: proceedings pages sort names, split them and drop them. Therefore an
order counts only when independent sources agree on it, and names of a preprint, with differing
versions, are a note.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from citewell.model import Author, Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.identifiers import arxiv_id
from citewell.model.names import family_key, is_organisation
from citewell.model.venues import work_venues
from citewell.sources.combine import family, is_second_hand
from citewell.sources.registry import source_titles
from citewell.sources.values import is_malformed
from citewell.verification.finding import SURE, finding, listed, names
from citewell.verification.id_check import known_registrant, registrant
from citewell.verification.identify import Match
from citewell.verification.likeness import means_preprint
from citewell.verification.people import (
    AuthorComparison,
    Difference,
    placeholder_names,
    without_anonymous,
)

LONG = 10
"""Length from which lists differ between a preprint, its later versions and the proceedings."""
PREPRINT_SHARE = 0.5
"""Minimum share of the given names for taking a preprint's list as another version of the
paper's."""
_INITIALS = re.compile(r"\s+(?:\w\.\s*)*")
_UNORDERED = 2013
"""Last year in which NeurIPS pages often began with another author than the paper; later pages
still reorder the others."""
_TELLING = 4
"""Number of names from which an alphabetical order is no coincidence."""
DOUBTFUL = 0.6
"""Confidence of a difference that may equally be the record's fault: a note."""


_FOREIGN = frozenset({Difference.UNRELATED, Difference.REPLACED, Difference.ADDED})


class _Difference(NamedTuple):
    code: str
    message: str
    severity: Severity
    confidence: float


def check_people(claim: Claim, match: Match) -> list[FieldFinding]:
    """Findings for missing, added, replaced and reordered names; initials, accents and particles
    are ignored."""
    people, record = match.people, match.record
    if claim.unread and people.difference is Difference.UNKNOWN:
        message = "The authors could not be read: compare them with the record's."
        return [
            finding(claim, "author-unread", "author", message, Severity.INFO, DOUBTFUL,
                    given=claim.unread[:200], expected=names(record.authors))
        ]  # fmt: skip
    found = _difference(claim, match) or _end(claim, record)
    unnamed = bool(claim.authors) and not without_anonymous(claim.authors)
    if unnamed and without_anonymous(record.authors):
        message = "The authors are known."
        found = _Difference("author-anonymous", message, Severity.WARNING, 0.75)
    elif found is not None:
        if people.difference is not Difference.UNRELATED and _another_version(claim, match):
            found = found._replace(confidence=min(found.confidence, DOUBTFUL))
        if claim.raw and people.difference not in _FOREIGN:
            # Printed lists are truncated and reordered more often than they are wrong.
            found = found._replace(confidence=min(found.confidence, DOUBTFUL))
        if record.others and people.difference in (Difference.ADDED, Difference.REPLACED):
            # The names may be those that the record lacks.
            found = found._replace(confidence=min(found.confidence, DOUBTFUL))
        if (
            is_second_hand(match.work)
            and _names_others(people)
            and not (
                people.missing
                and people.known >= len(claim.authors)
                and _own_identifier(claim, match)
            )
        ):
            # Two references to one work differ: either may be wrong.
            found = found._replace(confidence=min(found.confidence, DOUBTFUL))
        if _is_organisation_alone(record.authors) and people.added:
            # The record does not show whether the reference names the right people.
            message = f"The record names {record.authors[0].display} alone."
            found = found._replace(message=message, severity=Severity.INFO, confidence=DOUBTFUL)
        if is_malformed(claim.authors) or is_malformed(record.authors):
            found = found._replace(severity=Severity.WARNING,
                                   confidence=min(found.confidence, DOUBTFUL))  # fmt: skip
    if found is None:
        return []
    given, expected = names(claim.authors), names(record.authors) + ", …" * record.others
    return [
        finding(claim, found.code, "author", found.message, found.severity, found.confidence,
                given=given, expected=expected)
    ]  # fmt: skip


def _own_identifier(claim: Claim, match: Match) -> bool:
    """True for a reference with the identifier of the work: a second witness."""
    return bool(claim.arxiv and claim.arxiv in (work.arxiv for work in match.works)) or bool(
        claim.doi and claim.doi in (work.doi for work in match.works)
    )


def _names_others(people: AuthorComparison) -> bool:
    """True for several names that the record lacks, beside some of its own; a single one is a
    slip."""
    if people.difference is Difference.ADDED:
        return len(people.added) > 1
    return people.difference is Difference.REPLACED


def _is_organisation_alone(authors: Sequence[Author]) -> bool:
    """True for a single author, "OpenAI" or "Gemma Team", that may stand for people."""
    return len(authors) == 1 and (not authors[0].given or is_organisation(authors[0]))


def _another_version(claim: Claim, match: Match) -> bool:
    """True when a preprint, or a publication with its own DOI, is cited: names may differ."""
    people = match.people
    if means_preprint(claim) and people.shared >= PREPRINT_SHARE:
        wrong = len(people.added) + len(people.other_given)
        enough = bool(people.missing) and people.known >= len(claim.authors)
        # No version changes the first names of authors who stay, or replaces each by a newcomer.
        others = len(people.other_given) > 1
        return not (wrong > 1 and (others or (enough and (people.other_given or people.in_place))))
    if not claim.doi or not known_registrant(claim.doi) or arxiv_id(claim.doi):
        return False
    own = {registrant(work.doi) for work in match.works if work.doi}
    return bool(own) and registrant(claim.doi) not in own


def _difference(claim: Claim, match: Match) -> _Difference | None:  # noqa: PLR0911 - one for each
    people = match.people
    added, missing = listed(people.added), listed(people.missing)
    is_added, is_missing = _is(len(people.added)), _is(len(people.missing))
    if people.difference in (Difference.ORDER, Difference.FIRST):
        order = _order(claim, match)
        if order.confidence >= SURE or not people.missing or claim.others:
            return order
        # The order is no evidence, but a missing author is.
    if people.difference in (Difference.MISSING, Difference.ORDER):
        message = f"{missing} of the record {is_missing} missing without “and others”."
        return _Difference("author-missing", message, Severity.WARNING, 0.9)
    if people.difference is Difference.CUT:
        count = f"{len(claim.authors)} of {people.known}"
        message = f"The list stops after {count} names without “and others”."
        return _Difference("author-cut", message, Severity.INFO, 0.9)
    if people.difference is Difference.ADDED:
        # One name more than in the record: the record may lack it.
        slip = len(people.added) == 1 and people.shared >= 0.6
        message = f"{added} {is_added} not among the record's authors."
        sure = 0.65 if slip or _versions(people, claim) else 0.8
        return _Difference("author-added", message, Severity.WARNING, sure)
    if people.difference is Difference.REPLACED:
        message = (
            f"{added} {is_added} not among the record's authors, "
            f"and {missing} {is_missing} missing."
        )
        sure = DOUBTFUL if people.renamed or _versions(people, claim) else 0.9
        return _Difference("author-replaced", message, Severity.WARNING, sure)
    if people.difference is Difference.UNRELATED:
        message = "None of the authors given is an author of the work."
        # A single word is a truncated name, and it is unclear whose.
        cut = _is_organisation_alone(claim.authors)
        return _Difference("author-unrelated", message, Severity.ERROR, DOUBTFUL if cut else 0.9)
    return _spelling(people)


def _end(claim: Claim, record: Work) -> _Difference | None:
    """A note on a list that ends where the record's was truncated: it may be incomplete."""
    if not record.others or claim.others or len(claim.authors) != len(record.authors):
        return None
    message = f"The record has only the first {len(record.authors)} authors: there may be others."
    return _Difference("author-cut", message, Severity.INFO, 0.9)


def _order(claim: Claim, match: Match) -> _Difference:
    """Names in another order: certain when two independent sources agree, or the first differs."""
    people, record = match.people, match.record
    sources = supporting_sources(record, match.works)
    who = f" ({', '.join(source_titles(sources))})" if sources else ""
    if people.difference is Difference.FIRST:
        message = (
            f"“and others” follows, but the record{who} begins with {record.authors[0].display}."
        )
    else:
        message = f"The record{who} has {listed(people.moved)} further back."
    families = [family_key(author.family) for author in claim.authors]
    known = [family_key(author.family) for author in record.authors]
    sure = DOUBTFUL
    old = (record.year or 0) <= _UNORDERED
    site = "neurips" in work_venues(record) and (old or families[:1] == known[:1])
    doubted = site or families == known or was_sorted(record.authors, claim.authors)
    if doubted or _neighbours_swapped(families, known):
        pass  # undecidable; or the record's order may differ from the paper's
    elif len(sources) > 1 or families[:1] != known[:1]:
        sure = 0.8
    return _Difference("author-order", message, Severity.WARNING, sure)


def _neighbours_swapped(given: Sequence[str], known: Sequence[str]) -> bool:
    """True when the lists differ only in swapped neighbours.

    Indexes copy the order from the publisher's form, which differs from the paper in this way as
    often as references do, especially for two authors who contributed equally.
    """
    if len(given) != len(known):
        return False
    n = 0
    while n < len(given):
        if given[n] != known[n]:
            if list(given[n : n + 2]) != [*known[n + 1 : n + 2], known[n]]:
                return False
            n += 1
        n += 1
    return True


def was_sorted(known: Sequence[Author], given: Sequence[Author]) -> bool:
    """True when the record's list is sorted by surname, and the given one is not."""
    if len(known) < _TELLING:
        return False  # three names are in order by chance
    return _rising(known) == len(known) and _rising(given) < len(given)


def _rising(authors: Sequence[Author]) -> int:
    """Length of the longest sequence of names in alphabetical order.

    By surname as recorded, or by everything after the first names: for "Della Pietra", records
    often have only the last word.
    """
    families = [family_key(author.family) for author in authors]
    endings = [" ".join(_INITIALS.split(author.display.lower())[1:]) for author in authors]
    return max(_longest_rising(names) for names in (families, endings))


def _longest_rising(names: Sequence[str]) -> int:
    ends: list[str] = []  # the smallest last name of a sequence, by its length
    for name in names:
        at = bisect_right(ends, name)
        ends[at : at + 1] = [name]
    return len(ends)


def supporting_sources(record: Work, works: Sequence[Work]) -> list[str]:
    """Independent sources with the authors in the record's order. Parts of one source
    ("mlanthology:cvf", "mlanthology:pmlr") count once."""
    order = [family_key(author.family) for author in record.authors]
    return sources_of(
        [w for w in works if [family_key(author.family) for author in w.authors] == order]
    )


def sources_of(works: Sequence[Work]) -> list[str]:
    """Names of the sources of the records, each once, without their parts."""
    return list(dict.fromkeys(family(origin.source) for w in works for origin in w.provenance))


def _spelling(people: AuthorComparison) -> _Difference | None:
    if people.swapped:
        name, other = people.swapped[0]
        message = (
            "Given and family name are swapped: the record has "
            f"{other.family}, {other.given}, not {name.family}, {name.given}."
        )
        # Records swap one name of a list as often as authors do.
        sure = 0.75 if len(people.swapped) > 1 else DOUBTFUL
        return _Difference("author-swapped", message, Severity.WARNING, sure)
    if len(people.other_given) > 1 or (people.other_given and not people.misspelt):
        given, known = (_all(people.other_given, side) for side in (0, 1))
        message = f"The record has {known}, not {given}."
        sure = 0.75 if len(people.other_given) > 1 else DOUBTFUL
        return _Difference("author-given", message, Severity.WARNING, sure)
    if people.misspelt:
        name, other = people.misspelt[0]
        message = f"The record spells {name.display} as {other.display}."
        return _Difference("author-spelling", message, Severity.INFO, DOUBTFUL)
    return None


def _all(pairs: Sequence[tuple[Author, Author]], side: int) -> str:
    return listed([pair[side] for pair in pairs])


def _versions(people: AuthorComparison, claim: Claim) -> bool:
    """True for long lists that mostly agree: they belong to different versions of the paper."""
    return (
        people.known >= LONG
        and people.shared >= 0.75
        and (len(people.missing) <= 0.3 * people.known or claim.others)
        and claim.authors[0] not in people.added
    )


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def check_placeholders(claim: Claim) -> list[FieldFinding]:
    """Findings for author names that are placeholders."""
    placeholders = placeholder_names(claim.authors)
    if not placeholders:
        return []
    one = len(placeholders) == 1
    verb = "is a placeholder, not a name" if one else "are placeholders, not names"
    return [
        finding(claim, "author-placeholder", "author", f"{listed(placeholders)} {verb}.",
                Severity.ERROR, 0.9 if len(placeholders) == len(claim.authors) else 0.75,
                given=names(claim.authors))
    ]  # fmt: skip
