"""Text that is cut for display."""

from __future__ import annotations

_LOOSE = " ,;:."


def shorten(text: str, most: int, *, inside_words: bool = False) -> str:
    """The text on one line of at most `most` characters: truncated between words, or within one if
    there is little room, with a final ellipsis."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    if not inside_words and text[most - 1] != " ":
        cut = cut.rsplit(" ", 1)[0]
    return cut.rstrip(_LOOSE) + "…"


def first_line(error: Exception) -> str:
    """The first line of an error's message, without a final period; else the name of its class."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__).rstrip(".")[:300]
