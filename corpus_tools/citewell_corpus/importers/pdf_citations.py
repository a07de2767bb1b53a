"""The sentences of a PDF that cite, each with the reference that it names.

By number, "[12, 14-16]", or by author and year, "(Ash et al., 2019)", "Ash and Beech (2019)". A
mark that names no reference of the list, or several, is left as it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from citewell.documents.sentences import split_sentences
from citewell.model.check import Claim
from citewell.model.names import family_key
from citewell.model.pdf import CitingSentence, PdfPage
from citewell.model.query import MARK, OTHER

MAX_SENTENCES = 2_000
_MAX_LENGTH = 2_000
_MAX_RANGE = 30
_NUMBERS = re.compile(r"\[(\d{1,4}(?:\s*[-–,;]\s*\d{1,4}){0,40})\]")
_UP = r"[^\W\d_a-zß-ÿ]"
_PARTICLES = r"(?:(?:van|von|der|den|de|du|di|da|del|la|le)\s+){0,3}"
_NAME = rf"{_PARTICLES}{_UP}[\w'’-]+"
_NAMED = re.compile(
    rf"({_NAME})(?:\s+et\s+al\.?|(?:,\s*{_NAME}){{0,2}},?\s+(?:and|&)\s+{_NAME})?"
    r"(?:,?\s+((?:19|20)\d\d)[a-z]?(?!\d)|\s+[(\[]((?:19|20)\d\d)[a-z]?[)\]])"
)
_HELD = re.compile("\ue000(\\d+)\ue001")


def citing_sentences(
    pages: Sequence[PdfPage], claims: Sequence[Claim]
) -> tuple[CitingSentence, ...]:
    """In order, one for each reference that a sentence cites."""
    text = " ".join(" ".join(page.text for page in pages).split())
    numbered = sum(claim.key.isdigit() for claim in claims) > 0.5 * len(claims)
    marks: list[list[int]] = []
    if numbered and _NUMBERS.search(text):
        number_of = {int(claim.key): at for at, claim in enumerate(claims) if claim.key.isdigit()}
        text = _NUMBERS.sub(
            lambda found: _held(found, _by_number(found[1], number_of), marks), text
        )
    else:
        of_name = _by_names(claims)
        text = _NAMED.sub(lambda found: _held(found, _by_name(found, of_name), marks), text)
    found: list[CitingSentence] = []
    for sentence in split_sentences(text):
        places = list(_HELD.finditer(sentence))
        if not places or len(sentence) > _MAX_LENGTH:
            continue
        for place in places:
            found += [CitingSentence(one, _shown(sentence, place)) for one in marks[int(place[1])]]
        if len(found) >= MAX_SENTENCES:
            break
    return tuple(found[:MAX_SENTENCES])


def _shown(sentence: str, own: re.Match[str]) -> str:
    """The sentence with one of its marks as the citation, and all others as other ones."""
    return _HELD.sub(lambda mark: MARK if mark.start() == own.start() else OTHER, sentence)


def _held(found: re.Match[str], references: list[int], marks: list[list[int]]) -> str:
    if not references:
        return found[0]
    marks.append(references)
    return f"\ue000{len(marks) - 1}\ue001"


def _by_number(text: str, number_of: dict[int, int]) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r"[,;]", text):
        first, *last = (int(one) for one in re.split(r"[-–]", part) if one.strip())
        end = last[0] if last else first
        numbers += range(first, min(end, first + _MAX_RANGE) + 1)
    return [number_of[one] for one in dict.fromkeys(numbers) if one in number_of]


def _by_names(claims: Sequence[Claim]) -> dict[tuple[str, int], list[int]]:
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, claim in enumerate(claims):
        if claim.authors and claim.year:
            found[family_key(claim.authors[0].family), claim.year].append(at)
    return found


def _by_name(found: re.Match[str], of_name: dict[tuple[str, int], list[int]]) -> list[int]:
    """The one reference of a first author and a year; none where there are several."""
    key = family_key(found[1]), int(found[2] or found[3])
    named = of_name.get(key, [])
    return named if len(named) == 1 else []
