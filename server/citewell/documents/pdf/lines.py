"""The lines of a PDF page with their position and size, as pdfium reports them.

This is the only module that uses pypdfium2; only the reading process (`child`) imports it.
"""

from __future__ import annotations

import ctypes
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_PAGE_CHARACTERS = 100_000
"""Of one page; a page of a dense two-column paper has about 7,000."""

# pdfium gives the character code where a font says nothing of Unicode. TeX's fonts in the T1
# encoding are the frequent case, and their codes 0B, 0C, 0E and 0F those of OT1.
_CODES = {
    0x0B: "ff", 0x0C: "fi", 0x0E: "ffi", 0x0F: "ffl",
    0x10: "“", 0x11: "”", 0x12: "„", 0x13: "«", 0x14: "»", 0x15: "–", 0x16: "—",
    0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl",
}  # fmt: skip
_CODES |= {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_CODES |= dict.fromkeys((0x00, *range(0x03, 0x09), 0x17, 0x18, 0x19, 0x1A, 0x7F), "")
_HYPHENS = ("\ufffe", "\x02")
"""What stands for a hyphen at the end of a line, after which the next line follows at once."""


class Line(NamedTuple):
    """One line of text."""

    page: int
    """1-based."""
    text: str
    x: float
    """Left end of the baseline in points."""
    y: float
    """Height of the baseline; grows upwards."""
    size: float
    """Of the first letter's font, in points."""


def page_lines(page: Any, number: int) -> list[Line]:
    """The lines of a page of `pypdfium2`, in the order in which the file draws them."""
    from pypdfium2 import raw

    text_page = page.get_textpage()
    try:
        handle = text_page.raw
        count = min(raw.FPDFText_CountChars(handle), MAX_PAGE_CHARACTERS)
        if count <= 0:
            return []
        text = text_page.get_text_range(0, count, errors="ignore")
        return [
            Line(number, readable(words), *_place(raw, handle, at))
            for at, words in _split(text)
            if words.strip()
        ]
    finally:
        text_page.close()


def readable(text: str) -> str:
    """The text with hyphenated words joined, ligatures split and unmapped codes replaced.

    A hyphen at a line end goes when a small letter follows, as in `reference_list.joined`.
    """
    for hyphen in _HYPHENS:
        if hyphen in text:
            first, *rest = text.split(hyphen)
            text = first + "".join(
                part if part[:1].islower() and first[-1:].isalpha() else f"-{part}" for part in rest
            )
    return text.translate(_CODES).replace("\u00a0", " ").strip()


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Index of the first visible character and the text of each line."""
    at = 0
    for line in text.split("\n"):
        yield at + len(line) - len(line.lstrip()), line.strip("\r")
        at += len(line) + 1


def _place(raw: Any, handle: Any, at: int) -> tuple[float, float, float]:
    """Left end, height and font size of the character at an index of the text."""
    index = raw.FPDFText_GetCharIndexFromTextIndex(handle, at)
    x, y, box = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
    raw.FPDFText_GetCharOrigin(handle, index, x, y)
    size = raw.FPDFText_GetFontSize(handle, index)
    if size < 2 and raw.FPDFText_GetLooseCharBox(handle, index, box):
        # The font is scaled by the text matrix.
        size = box.top - box.bottom
    return x.value, y.value, float(size)
