"""Typed words in the spelling in which they are read, with the way back to what was typed.

macOS pastes accents as characters of their own, and a name copied from a `.bib` has LaTeX accents:
both are composed letters for everything that reads the words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

import msgspec

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.tex import tex_to_unicode
from citewell.model.typed_query import QueryPart, Understood

_DECOMPOSED = lazy_pattern(
    r"[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?|[\u2126\u212a\u212b]|"
    r"\w[^\w\s\x00-\u02ff\u2000-\u206f]+"
)
"""Characters that may compose: Hangul letters, three old signs, a letter and the marks on it."""
_BASE = r"(?:\\[ij](?![a-zA-Z])\s?|[^\W\d_])"
_ACCENT = (
    rf"\\(?:[`'^\"~=.]\s?|[uvHcdbrk](?:\s|(?=[{{\\])))"
    rf"(?:\{{\s?{_BASE}\s?\}}|\{{\s?\{{\s?{_BASE}\s?\}}\s?\}}|{_BASE})"
)
_LETTER = r"\\(?:ss|ae|AE|oe|OE|aa|AA|dh|DH|dj|DJ|th|TH|[oOlLij])(?![a-zA-Z])(?:\{\}|\s(?=\w))?"
_TEX = lazy_pattern(rf"\{{\s?(?:{_ACCENT}|{_LETTER})\s?\}}|{_ACCENT}|{_LETTER}")

KEY = lazy_pattern(r"(?<!\S)[^\W\d_]{2,}[_:]?(?:\d{4}|\d\d)(?:[-_:]?[^\W\d_]*)(?!\S)")
"""A word in the form of a key: "vaswani2017attention", "brown20"; "CoNLL-2011" names an event."""
_KEY_PARTS = lazy_pattern(r"([^\W\d_]+)[_:]?(\d+)[-_:]?([^\W\d_]*)")
_OLDEST = 60
"""Two digits from here on are a year of the last century."""


class TypedText(msgspec.Struct, frozen=True):
    """A text that was changed, and which characters of the original each character stands for."""

    text: str
    starts: Sequence[int]
    """Of each character, where its part of the original starts; `ends`: where that ends."""
    ends: Sequence[int]

    def replaced(self, pattern: re.Pattern[str], instead: Callable[[str], str]) -> TypedText:
        """The text with each match replaced; a replacement stands for the whole of its match."""
        pieces: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for match in pattern.finditer(self.text):
            new = instead(match[0])
            if not new or new == match[0]:
                continue
            start, end = match.span()
            pieces += (self.text[at:start], new)
            starts += (*self.starts[at:start], *[self.starts[start]] * len(new))
            ends += (*self.ends[at:start], *[self.ends[end - 1]] * len(new))
            at = end
        if not at:
            return self
        return TypedText(
            "".join((*pieces, self.text[at:])),
            [*starts, *self.starts[at:]],
            [*ends, *self.ends[at:]],
        )

    def in_original(self, understood: Understood) -> Understood:
        """What was understood of the text, with the places of its parts in the original."""
        parts = tuple(
            msgspec.structs.replace(
                part, start=self.starts[part.start], end=self.ends[part.end - 1]
            )
            for part in understood.parts
        )
        return msgspec.structs.replace(understood, parts=_apart(parts))


def _apart(parts: tuple[QueryPart, ...]) -> tuple[QueryPart, ...]:
    """The parts without those that would begin inside the one before: two parts may meet within
    one replacement."""
    found: list[QueryPart] = []
    for part in parts:
        if not found or part.start >= found[-1].end:
            found.append(part)
    return tuple(found)


def as_read(text: str) -> TypedText:
    """The typed text with composed accents, whether they were typed as marks or as LaTeX."""
    found = TypedText(text, range(len(text)), range(1, len(text) + 1))
    if "\\" in text:
        found = found.replaced(_TEX, _letter)
    if not unicodedata.is_normalized("NFC", found.text):
        found = found.replaced(_DECOMPOSED, lambda marks: unicodedata.normalize("NFC", marks))
    return found


def key_words(key: str, now: int, is_author: Callable[[str, bool], bool]) -> str:
    """The words of a key, "brown 2020" of "brown20"; the key itself where it is none.

    `is_author` says whether a word is a surname, and whether it is more often one than a word of
    titles: "llama13" is no key. `now` is the year after which no paper is from.
    """
    found = _KEY_PARTS.fullmatch(key)
    if found is None:
        return key
    name, digits, rest = found.groups()
    year = int(digits)
    if len(digits) == 2:
        year += 2000 if year <= (now + 1) % 100 else 1900
        if year < 1900 + _OLDEST:
            return key
    if not 1900 <= year <= now + 1 or not is_author(name, len(digits) == 2):
        return key
    # A single letter distinguishes papers of one year.
    return f"{name} {year} {rest}" if len(rest) > 1 else f"{name} {year}"


def _letter(markup: str) -> str:
    """The letter that the markup prints; empty where it prints none, as for `\\"q`."""
    shown = tex_to_unicode(markup)
    return shown if shown.isalpha() else ""
