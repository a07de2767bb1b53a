"""The braces of a LaTeX citation: where they end, also when the closing one is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.documents.open_words import SENTENCE_STOP, runs_on
from citewell.documents.placeholders import KeyPiece, key_pieces

COMMAND = re.compile(r"\\[A-Za-z]")
_KEY_STOP = re.compile(r"\\.|[{}$]|%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_LOOSE_STOP = re.compile(rf"[\r\n\\${{}}<>%&]|[!?;]\s+(?=[A-Z])|{SENTENCE_STOP}")
_TYPED_STOP = re.compile(rf"[\r\n\\${{}}<>%]|{SENTENCE_STOP}")
COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?[ \t]*")
_BRACE = re.compile(r"\\.|[{}]|%[^\n]*", re.DOTALL)
_PARAGRAPH = re.compile(r"\n[ \t]*\r?\n")

MAX_KEYS = 20_000
_LONG_WORDS = 8


class KeyGroup(msgspec.Struct, frozen=True):
    """The `{...}` that holds the keys of a citation."""

    start: int
    """First character of the contents."""
    end: int
    """End of the contents."""
    after: int
    """Place after the closing brace; `end` when it is missing."""
    closed: bool


class KeyGroupReader:
    """Reads the key groups of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._balance_checks = 100  # each reads a paragraph

    def read(self, place: int) -> KeyGroup:
        """The contents of the group at `place`, up to a sensible end when it is not closed."""
        text = self.text
        depth = 1
        for match in _KEY_STOP.finditer(text, place + 1, min(len(text), place + MAX_KEYS)):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth == 0:
                    group = KeyGroup(place + 1, match.start(), match.end(), True)
                    if self._belongs_outside(group):
                        break
                    return group
            elif token[0] == "\\" and (len(token) < 2 or not token[1].isalpha()):
                continue
            elif token[0] in "\\$" and not text[place + 1 : match.start()].strip():
                continue  # `\cite{\mykeys}`
            elif token == "$" and not text[match.start() - 1].isspace():
                continue  # Zotero makes keys such as yao$t$bench2024
            elif token[0] in "\\$\n":
                break
        end = self.loose_end(place + 1)
        return KeyGroup(place + 1, end, end, False)

    def _belongs_outside(self, group: KeyGroup) -> bool:
        """True when the brace that closes `\\footnote{see \\cite{neural mach and so on}` is the
        footnote's: long prose in a paragraph that has one closing brace too few."""
        text = self.text
        words = text[group.start : group.end]
        if runs_on(words):
            return True
        if len(words.split()) <= _LONG_WORDS or "," in words or self._balance_checks <= 0:
            return False
        self._balance_checks -= 1
        window = 4_000
        low, high = max(0, group.start - window), min(len(text), group.end + window)
        for match in _PARAGRAPH.finditer(text, low, group.start):
            low = match.end()
        following = _PARAGRAPH.search(text, group.end, high)
        high = following.start() if following else high
        depth = 0
        for match in _BRACE.finditer(text, low, high):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
        return depth > 0

    def loose_end(self, start: int) -> int:
        """Where words end that nothing closes: the line, a command or a sentence end."""
        return self._end(_LOOSE_STOP, start)

    def typed_end(self, start: int) -> int:
        """Where words before a cursor end: `kingma & ba` and `Zhou 2015; Luo 2016` are words there,
        though the rest of a table or of a sentence may look the same."""
        return self._end(_TYPED_STOP, start)

    def _end(self, stop: re.Pattern[str], start: int) -> int:
        limit = min(len(self.text), start + 300)
        match = stop.search(self.text, start, limit)
        return match.start() if match else limit

    def pieces(self, group: KeyGroup) -> Iterator[KeyPiece]:
        """The keys of a group, and its words where they are none."""
        text = self.text
        content = text[group.start : group.end]
        if "%" in content:
            content = COMMENT.sub(lambda m: " " * len(m[0]), content)
        stripped = content.strip()
        if stripped.startswith("{") and stripped.endswith("}"):
            content = content.replace("{", " ").replace("}", " ")
        if "#" in content or COMMAND.search(content):
            return  # a macro's parameter or a macro: no key that could be known here
        pieces = list(key_pieces(content, group.start))
        if not group.closed and len(pieces) == 1 and content.strip() and content[-1:].isspace():
            # A space after the first word, and no brace yet: words are being typed, not a key.
            yield KeyPiece(pieces[0].text + " ?", pieces[0].span)
            return
        yield from pieces
