"""The words of every front end for verdicts and for the certainty of suggestions.

Editors, the command line, reports and the page take them from here; the page and the clients hold
no word and no threshold of their own.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from citewell.model.check import Check, Verdict

Tone = Literal["good", "warn", "bad", ""]
"""The colour of an outcome, defined by each front end."""


class VerdictWords(msgspec.Struct, frozen=True):
    """The words and the sign of a verdict."""

    sign: str
    label: str
    """In running text, in lower case: "likely fabricated"."""
    meaning: str
    """One sentence."""
    tone: Tone = ""


VERDICTS = {
    Verdict.FABRICATED: VerdictWords(
        "✗", "likely fabricated", "Evidence contradicts the reference.", "bad"
    ),
    Verdict.NOT_IN_VENUE: VerdictWords(
        "∉",
        "not in the venue that it names",
        "All papers of the venue are known, and this is none of them.",
        "bad",
    ),
    Verdict.WRONG_DETAIL: VerdictWords(
        "⚠", "wrong detail", "The work exists; a detail of the reference is wrong.", "warn"
    ),
    Verdict.NOT_FOUND: VerdictWords(
        "?",
        "not found",
        "No queried source has the work; this is no evidence against it.",
    ),
    Verdict.UNCHECKED: VerdictWords(
        "·", "not checked", "Nothing could be looked up, or the evidence does not suffice."
    ),
    Verdict.VERIFIED: VerdictWords("✓", "verified", "A record matches the reference.", "good"),
}
"""By verdict, the ones that need attention first."""

MARKED = VerdictWords(
    "☑", "marked as checked", "Its author has checked the reference, and answers for it."
)
"""For a reference with a mark that answers the findings against it; the verdict stays."""

PARTS = {
    "keys": "Keys and places",
    "references": "References",
    "names": "Names without a citation",
    "sentences": "Sentences without a citation",
    "suggestions": "Works that the references suggest",
    "consistency": "Consistency of the bibliography",
}
"""The title of each part of a review, in the order of a report."""


def words_of(check: Check) -> VerdictWords:
    """The words for the outcome of a check: its verdict, and the author's mark if there is one.

    "verified, with notes"; "likely fabricated, marked as checked on 2026-11-28 against 10.1000/a"
    """
    words = VERDICTS[check.verdict]
    if (mark := check.mark) is not None:
        label = f"{words.label}, {MARKED.label} on {mark.shown}"
        return VerdictWords(MARKED.sign, label, MARKED.meaning)
    if check.verdict is Verdict.VERIFIED and check.findings:
        return VerdictWords(words.sign, f"{words.label}, with notes", words.meaning, "warn")
    return words


def assurance(confidence: float) -> str:
    """The certainty of a finding: "90% sure"."""
    return f"{confidence:.0%} sure"


Certainty = Literal["", "sure", "likely", "a guess"]
SURE_TYPED, SURE_SENTENCE = 0.8, 0.7
"""Minimum probabilities of a paper called sure, for typed words and for a sentence: the defaults of
`fill`, which writes it."""
LIKELY = 0.5


def certainty(confidence: float | None, *, typed: bool) -> Certainty:
    """A probability in words; "" if it is unknown. `typed` says whether the author typed words,
    whose probability has a calibration of its own."""
    if confidence is None:
        return ""
    if confidence >= (SURE_TYPED if typed else SURE_SENTENCE):
        return "sure"
    return "likely" if confidence >= LIKELY else "a guess"
