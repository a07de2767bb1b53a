"""The inputs of a prompt: the passage and the numbered candidates.

Both are untrusted text and may contain instructions. They are truncated and stripped of prompt
delimiters; whatever they contain, the output is a number from the list or nothing (`answers`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.model import Query, Work
from citewell.model.display_text import shorten
from citewell.model.query import MARK

PASSAGE_CHARACTERS = 1800
TITLE_CHARACTERS = 300
CHARACTERS_PER_TOKEN = 3
"""A low estimate: English has four or more, formulas and other scripts fewer."""
_SPACE = re.compile(r"\s+")
_MARKS = re.compile(r"\[\[\s*##|##\s*\]\]|<\|[^|>]{0,40}\|>")
"""The field delimiters of DSPy's prompts and the turn delimiters of chat templates."""


def clean(text: str, most: int) -> str:
    """The beginning of a text on one line, without control characters and prompt delimiters."""
    text = text[: most * 4].encode("utf-8", "replace").decode("utf-8")
    text = "".join(c if c.isprintable() else " " for c in text)
    while (less := _MARKS.sub(" ", text)) != text:
        text = less
    text = _SPACE.sub(" ", text).strip()
    return shorten(text, most)


def passage_of(query: Query) -> str:
    """The citing sentence with its context; `[CITATION]` marks the place."""
    parts = []
    if query.paper.title:
        parts.append(f"Paper: {clean(query.paper.title, TITLE_CHARACTERS)}")
    if query.section:
        parts.append(f"Section: {clean(query.section, 200)}")
    sentence = query.sentence or MARK
    prose = " ".join((*query.before[-2:], sentence, *query.after[:1]))
    parts.append(f"Passage: {clean(prose, PASSAGE_CHARACTERS)}")
    if query.text:
        parts.append(f"The author typed: {clean(query.text, 300)}")
    return "\n".join(parts)


def candidate_of(work: Work, abstract: int) -> str:
    """One candidate on one line: title, authors, year, the beginning of the abstract."""
    names = [author.family or author.given for author in work.authors]
    who = ", ".join(names[:3]) + (" et al." if len(names) > 3 else "")
    line = clean(work.title, TITLE_CHARACTERS)
    details = "; ".join(part for part in (who, str(work.year or "")) if part)
    if details:
        line += f" ({clean(details, 120)})"
    if abstract and work.abstract:
        line += f". {clean(work.abstract, abstract)}"
    return line


def numbered(lines: Sequence[str]) -> str:
    """The lines, numbered from 1."""
    return "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1))


def tokens_of(text: str) -> int:
    """The approximate number of tokens of a text, rather too high than too low."""
    return len(text) // CHARACTERS_PER_TOKEN + 1


def fitting(lines: Sequence[str], room: int) -> int:
    """How many of the lines fit into `room` tokens; at least one."""
    spent = 0
    for number, line in enumerate(lines):
        spent += tokens_of(line) + 4
        if spent > room and number:
            return number
    return len(lines)
