"""The codes of a review by part: for selection, policies, reports and the manual."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from citewell.features.checking.check import CODES as CHECK_CODES
from citewell.features.checking.lint import ANY_SYNTAX, RULES, SYNTAX
from citewell.features.checking.lint import CODES as LINT_CODES
from citewell.model import CitewellError, Problem
from citewell.model.check import Verdict
from citewell.model.words import PARTS, VERDICTS
from citewell.verification.finding import MEANINGS

OWN = {
    "name-uncited": ("names", "A name stands for a work that most papers with the name cite, and "
                     "the paper never cites it."),
    "sentence-uncited": ("sentences", "A sentence refers to the work of others without a "
                         "citation; at most ten."),
    "work-suggested": ("suggestions", "Others cite the work together with references of the "
                       "paper; at most ten, never a fault."),
    "venue-spelling": ("consistency", "One venue is written in several ways."),
    "given-names": ("consistency", "Some entries have given names in full, others initials."),
    "title-capitals": ("consistency", "A name in a title has capitals without braces, which BibTeX "
                       "styles lose."),
    "title-braces": ("consistency", "Some titles have double braces, others do not."),
    "pages-partly": ("consistency", "Of one venue, some entries have pages and others none."),
    "doi-partly": ("consistency", "Of one venue, some entries have a DOI and others none."),
    "arxiv-kinds": ("consistency", "Preprints on arXiv are entered in several ways."),
    "doi-link": ("consistency", "A DOI is a link with http or dx.doi.org."),
    "dates-partly": ("consistency", "Of one kind, some entries have a month and others none."),
}  # fmt: skip
"""The codes that only a review reports: part and meaning."""

CODES = (*LINT_CODES, *CHECK_CODES, *OWN)
"""Every code of a review."""


def part_of(code: str) -> str:
    """The part to which a code belongs."""
    if code in OWN:
        return OWN[code][0]
    return "keys" if code in LINT_CODES else "references"


def meaning_of(code: str) -> str:
    """The meaning of a code, in one sentence."""
    if code in OWN:
        return OWN[code][1]
    if code in SYNTAX:
        return "BibTeX cannot read the entry as it is meant."
    for rule in RULES:
        if rule.code == code != ANY_SYNTAX:
            words = " ".join(((rule.in_document or rule.in_bib).__doc__ or "").split())
            return re.split(r"(?<=\.) (?=[A-Z])", words)[0]
    verdict = code.removeprefix("reference-")
    return VERDICTS[Verdict(verdict)].meaning if verdict != code else MEANINGS[code]


class CodeSelection:
    """Which codes are wanted: by part, by code, or by the beginning of codes."""

    def __init__(self, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> None:
        """Raises `CitewellError` for a name that is neither a part nor begins a code."""
        for name in (*select, *ignore):
            if name not in PARTS and not any(code.startswith(name) for code in CODES):
                near = get_close_matches(name, (*PARTS, *CODES), 1, 0.5)
                known = f"Did you mean {near[0]!r}?" if near else f"Parts: {', '.join(PARTS)}."
                raise CitewellError(
                    Problem("review-code", f"No finding has the code {name[:100]!r}.", known)
                )
        self._select, self._ignore = tuple(select), tuple(ignore)

    def has(self, code: str) -> bool:
        """Whether findings of a code are wanted."""
        return (not self._select or _named(code, self._select)) and not _named(code, self._ignore)

    def has_part(self, part: str) -> bool:
        """Whether any code of a part is wanted."""
        return any(part_of(code) == part and self.has(code) for code in CODES)


def _named(code: str, names: Sequence[str]) -> bool:
    return any(part_of(code) == name or code.startswith(name) for name in names)
