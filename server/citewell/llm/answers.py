"""What counts as an answer: a number of the list, an order of its numbers, words of the abstract.

The answer's type asks for it, a server that knows JSON schemas enforces it, and these functions
check it again. What fails here is no answer, whatever else it says.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from citewell.llm.remarks import GAP, without_identifiers

NONE = "none"
LEAST_QUOTE = 8
"""Letters of a quotation that says something."""
_CHOICE = re.compile(
    r'"?choice"?\s*[:=]\s*(?:"\[?(\d{1,3}|none)\]?"|\[?(\d{1,3}|none)\]?(?=\s*(?:[,}\n]|$)))',
    re.IGNORECASE,
)
_ALONE = re.compile(r"\W*(?:candidate|paper|number)?\W*(\d{1,3}|none)\W*", re.IGNORECASE)
_NUMBERS = re.compile(r"\d{1,4}")


def choice(answer: object, count: int) -> int | None:
    """The chosen number from 1 to `count`; 0 for "none"; None when it is no answer."""
    if isinstance(answer, bool) or not isinstance(answer, (str, int)):
        return None
    text = str(answer).strip().strip("[]").lower()
    if text == NONE:
        return 0
    if not (text.isascii() and text.isdecimal()) or len(text) > 3:
        return None
    number = int(text)
    return number if 1 <= number <= count else None


def repaired_choice(raw: str, count: int) -> int | None:
    """The number in an answer that is not of the form asked for; None unless it is plain.

    Plain is one `choice` field, or a number alone: a number somewhere in prose is no choice.
    """
    found = {(a or b).lower() for a, b in _CHOICE.findall(raw[:20_000])}
    if len(found) == 1:
        return choice(found.pop(), count)
    alone = _ALONE.fullmatch(raw.strip()[:200])
    return choice(alone[1], count) if alone is not None and not found else None


def order(answer: object, count: int) -> list[int]:
    """The numbers of an answer that are on the list, from 1, each once, in its order.

    Takes a list or a text; all that is no number of the list is left out.
    """
    if isinstance(answer, str):
        items: Iterable[object] = _NUMBERS.findall(answer[:20_000])
    elif isinstance(answer, (list, tuple)):
        items = answer[:1000]
    else:
        return []
    numbers = (choice(item, count) for item in items)
    return list(dict.fromkeys(number for number in numbers if number))


def completed(first: Sequence[int], count: int) -> list[int]:
    """The order with all that it does not name behind it, in the old order; from 1."""
    named = set(first)
    return [*first, *(number for number in range(1, count + 1) if number not in named)]


def quotation(answer: object, sources: Sequence[str]) -> str:
    """The words as the first source that holds them has them; empty when none does.

    Case, blanks and the forms of quotes and dashes are ignored; letters and digits must match.
    """
    wanted = _folded(str(answer or "")[:2000])[0]
    if len(wanted.replace(" ", "")) < LEAST_QUOTE:
        return ""
    for source in sources:
        text, places = _folded(source)
        at = text.find(wanted)
        if at >= 0:
            return source[places[at] : places[at + len(wanted) - 1] + 1]
    return ""


def queries(answer: object, most: int) -> list[str]:
    """Other queries, in one line each, without repetition. They are words to search for: an
    identifier in one would name a paper."""
    items = answer if isinstance(answer, (list, tuple)) else [answer]
    lines = [without_identifiers(item).replace(GAP, " ") for item in items[:20]]
    lines = [" ".join(line.split())[:300] for line in lines]
    return list(dict.fromkeys(line for line in lines if len(line) > 2))[:most]


def _folded(text: str) -> tuple[str, list[int]]:
    """Letters and digits, one blank between words, and the offset of each in the text."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        folded = unicodedata.normalize("NFKC", character).casefold()
        for letter in folded:
            if letter.isalnum():
                letters.append(letter)
                places.append(place)
            elif letters and letters[-1] != " ":
                letters.append(" ")
                places.append(place)
    if letters and letters[-1] == " ":
        letters.pop()
        places.pop()
    return "".join(letters), places
