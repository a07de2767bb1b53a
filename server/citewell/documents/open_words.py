"""Where the words of an unclosed placeholder end: `\\cite<spectral graph` within prose.

No rule can reliably separate the author's words from the prose that follows. The result is a guess
for searching and display; only a cursor position makes it certain (`features.citation.until`).
"""

from __future__ import annotations

import re

import msgspec

MOST_WORDS = 8
"""Words that are taken for the author's where nothing else ends them."""
MOST_TYPED = 25
"""Words before a cursor that may be the author's: as many as a long title has."""

SENTENCE_STOP = r"(?<!\b[A-Z])(?<!\bal)\.\s+(?=[A-Z])"
"""A pattern for the full stop of a sentence, not of `J. Devlin` or `et al. Neural`."""

_TOKEN = re.compile(r"\S+")
_PUNCTUATION = ".,;:!?)]}\"'”’"
_PROSE = frozenset(
    """a an the is are was were be been being am has have had can could may might will would shall
    should must do does did which that who whom whose where when while whereas because since
    although though if unless until however therefore thus hence then so we our us they
    their them he she his her it its this these those there i you your not also but as than
    such show shows showed shown use uses used propose proposes proposed find finds found
    achieve achieves achieved""".split()
)
"""Words that mark the continuation of the prose; they are rare in a query of a few words."""
_JOINING = frozenset(
    """and or of for in on at to from by with without via over under between into through
    against about both more most very""".split()
)
"""Words that end no query."""
_SENTENCE_END = re.compile(r"(?<=[a-z]{4})[.!?]\s+[A-Z]")


class OpenWords(msgspec.Struct, frozen=True):
    """The words after an opening `<`, `{` or `@`."""

    end: int
    """Offset after the last plausible word; the offset where words would start if there is none."""
    reach: int
    """Offset up to which typed words may extend."""
    certain: bool
    """True when no prose follows that could be confused with the words."""


def open_words(text: str, start: int, reach: int) -> OpenWords:
    """The plausible words in [start, reach), where `reach` is the next item that is not a word.

    White space at the start means that the citation is empty so far and what follows is prose.
    """
    tokens = list(_TOKEN.finditer(text, start, reach))
    if len(tokens) > MOST_TYPED:
        reach = tokens[MOST_TYPED - 1].end()
    if not tokens or tokens[0].start() > start:
        return OpenWords(start, reach, True)
    kept: list[tuple[str, int]] = []
    for token in tokens[:MOST_WORDS]:
        bare = token[0].rstrip(_PUNCTUATION)
        if kept and bare.lower() in _PROSE:
            break
        kept.append((bare.lower(), token.start() + len(bare)))
        if len(bare) < len(token[0]):
            break
    while len(kept) > 1 and kept[-1][0] in _JOINING:
        kept.pop()
    return OpenWords(kept[-1][1], reach, len(tokens) == 1)


def runs_on(words: str) -> bool:
    """True of text that is too much for a query: what closes it belongs to something else."""
    return len(words.split()) > 2 * MOST_TYPED or _SENTENCE_END.search(words) is not None


def closes_words(text: str, place: int) -> bool:
    """True of a `>` that ends words, false of one that compares or is part of an arrow."""
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if after and after in "{[":
        return True
    if before.isspace():  # `accuracy > 90`, `accuracy >90`
        return bool(after) and not after.isspace() and not after.isalnum() and after not in "$\\="
    if before in ("-", "=") or after == "=" or after.isdigit():
        return False
    return not (after.isalpha() and re.search(r"\b\w\Z", text[max(0, place - 2) : place]))


def runs_into_prose(content: str) -> bool:
    """True when `>` was found in later prose and closes nothing: `\\cite<query ... $p > 0$`."""
    foreign = "\\cite" in content or "\\begin" in content
    return content.count("$") % 2 == 1 or foreign or runs_on(content)
