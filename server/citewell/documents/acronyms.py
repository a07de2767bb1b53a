"""Acronyms that a document writes out: "graph attention network (GAT)".

The long form is found as Schwartz and Hearst do (A simple algorithm for identifying abbreviation
definitions in biomedical text, PSB 2003): backwards from the bracket, each letter of the acronym
must be met in order, its first letter at the beginning of a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST = 8
"""Acronyms of one passage that are looked for."""
MOST_WORDS = 60
"""Words at the end of a text at which a long form may end."""
_ACRONYM = re.compile(r"(?<![\w\\{])[A-Z][A-Za-z0-9]*[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
_WORDS = re.compile(r"[\w'-]+")
_BREAK = re.compile(r"[.;:!?]\s|\n\s*\n|[()\[\]]")
_MARKUP = re.compile(r"\\[A-Za-z]+\*?|[{}$~*_]")
_LONGEST = 10


def acronyms_in(text: str) -> tuple[str, ...]:
    """Words with two capitals or more, in order, each once: "GAT", "RoBERTa"; no citation mark."""
    found = [name for name in _ACRONYM.findall(text) if 2 <= len(name) <= _LONGEST]
    marks = ("CITATION", "OTHER", "CITE", "REF", "TODO")
    return tuple(dict.fromkeys(name for name in found if name not in marks))[:MOST]


def written_out(text: str, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Each of the acronyms that the text writes out, with its long form."""
    found = []
    for name in names:
        stem = name[:-1] if name.endswith("s") and len(name) > 2 else name
        for shape in (f"({name})", f"({stem})", f"({stem}s)"):
            at = text.find(shape)
            if at > 0 and (long := _long_form(text[max(0, at - 200) : at], stem)):
                found.append((name, long))
                break
    return tuple(found)


def long_forms(text: str, acronym: str) -> tuple[str, ...]:
    """Words in a row anywhere in a text that the acronym may stand for."""
    stem = acronym[:-1] if acronym.endswith("s") and len(acronym) > 2 else acronym
    ends = [match.end() for match in _WORDS.finditer(text)][-MOST_WORDS:]
    found = (_long_form(text[max(0, end - 200) : end], stem) for end in ends)
    return tuple(dict.fromkeys(long for long in found if long))


def _long_form(before: str, acronym: str) -> str:
    """The words at the end of `before` that the acronym stands for; empty when they do not fit."""
    plain = _BREAK.split(_MARKUP.sub(" ", before))[-1]
    words = _WORDS.findall(plain)[-min(len(acronym) + 5, 2 * len(acronym)) :]
    text = " ".join(words)
    letters = [letter for letter in acronym.lower() if letter.isalnum()]
    place = len(text)
    for number, letter in enumerate(reversed(letters), 1):
        place -= 1
        first = number == len(letters)
        while place >= 0 and (
            text[place].lower() != letter or (first and place > 0 and text[place - 1] not in " -")
        ):
            place -= 1
        if place < 0:
            return ""
    long = text[place:]
    return long if len(long.split()) > 1 or "-" in long else ""
