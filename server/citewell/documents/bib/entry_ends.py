"""Where the parts of a .bib entry end, also where a delimiter is missing, and the faults found.

A delimiter that was forgotten ends before the next line that begins a field, an entry that was not
closed ends before the next head.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from citewell.documents.bib import grammar
from citewell.documents.bib.grammar import Heads
from citewell.model.bib_body import BibFault
from citewell.model.bib_value import literal_end

_EMBEDDED = 5
"""A value may hold a few whole entries (an abstract that quotes BibTeX); so far is looked."""
_MOST_FAULTS = 50
"""Per entry: a file that is not BibTeX at all must not fill the memory with findings."""

_BRACE = re.compile(r"[{}]")


class EntryEnds:
    """One entry that is being read, and how far."""

    def __init__(
        self,
        text: str,
        heads: Heads,
        head: re.Match[str],
        strings: Mapping[str, str],
        known_names: dict[tuple[str, ...], tuple[str, ...]],
        *,
        shares_text: bool = False,
    ) -> None:
        """`known_names` are the lists of field names of other entries, most of which are equal;
        `shares_text`: the body refers to the text of the file."""
        self.text = text
        self.heads = heads
        self.strings = strings
        self.known_names = known_names
        self.shares_text = shares_text
        self.start = head.start()
        self.kind = head[1]
        self.open = head.end() - 1
        self.closer = grammar.CLOSERS[head[2]]
        self.limit = heads.limit(self.start)
        self.end = -1
        self.sight = 0
        self.key = ""
        self.key_at = head.end()
        self.names: list[str] = []
        self.marks: list[int] = []
        self.faults: list[BibFault] = []
        self.closed = True
        self._pairs: dict[int, int] | None = None
        self._looked_further = False

    def _skip_blank(self, at: int) -> int:
        """Skip blanks and, as biber does, comment lines."""
        while True:
            at = grammar.BLANK.match(self.text, at, self.limit).end()  # type: ignore[union-attr]
            if at >= self.limit or self.text[at] != "%":
                return at
            newline = self.text.find("\n", at, self.limit)
            at = self.limit if newline < 0 else newline + 1

    def _next_field(self, at: int) -> tuple[int, int]:
        """Where an unclosed value ends, and the offset at which reading continues."""
        cut = grammar.NEXT_FIELD.search(self.text, at, self.limit)
        if cut is not None:
            return cut.start(), cut.end()
        end = at + len(self.text[at : self.limit].rstrip())
        if end > at and self.text[end - 1] == self.closer:
            inner = at + len(self.text[at : end - 1].rstrip())
            return inner, end - 1
        return end, self.limit

    def _literal_end(self, at: int) -> int:
        """`literal_end` within this entry, looking beyond the next head for embedded entries."""
        text = self.text
        if self._pairs is None:
            end = literal_end(text, at, self.limit)
            if end >= 0:
                return end
            end = self._look_further(at)
            if end >= 0:
                return end
            # From here on every look-up must be cheap, for a broken entry may fail at each field.
            self._pairs = _pairs(text, self.start, self.limit)
        if text[at] == "{":
            return self._pairs.get(at, -1)
        return self._quote_end(at + 1, self._pairs)

    def _quote_end(self, at: int, pairs: Mapping[int, int]) -> int:
        while (mark := re.compile(r"[{}\"]").search(self.text, at, self.limit)) is not None:
            if mark.group() == '"':
                return mark.end()
            at = pairs.get(mark.start(), -1)
            if at < 0:
                return -1
        return -1

    def _look_further(self, at: int) -> int:
        if self._looked_further or self.limit == len(self.text):
            self.sight = max(self.sight, self.heads.sight(self.start, _EMBEDDED))
            return -1
        self._looked_further = True
        further = self.heads.limit(self.start, _EMBEDDED)
        self.sight = max(self.sight, self.heads.sight(self.start, _EMBEDDED))
        end = literal_end(self.text, at, further)
        if end < 0:
            return -1
        after = grammar.BLANK.match(self.text, end, further).end()  # type: ignore[union-attr]
        if after >= further or self.text[after] not in (",", self.closer):
            return -1
        self.limit = self.heads.limit(end - 1)
        return end

    def _unclosed(self, message: str) -> int:
        """The next entry begins, or the file ends, before this one is closed."""
        self.closed = False
        self.sight = max(self.sight, self.heads.sight(self.start))
        self.end = self.start + len(self.text[self.start : self.limit].rstrip())
        self._fault("bib-unclosed", message, f'Close it with "{self.closer}".', self.start)
        return self.limit

    def _fault_unterminated(self, name: str, at: int) -> None:
        self.closed = False
        mark = {"{": "}", '"': '"'}.get(self.text[at], "}")
        self._fault(
            "bib-unclosed-value",
            f'The value of "{name}" in "{self.key}" is not closed.',
            f"Close it with {mark} before the next field.",
            at,
        )

    def _fault(self, code: str, message: str, hint: str, at: int) -> None:
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(BibFault(code, message, hint, at - self.start))


def _pairs(text: str, start: int, limit: int) -> dict[int, int]:
    """Offset of each `{` that closes before `limit`, to the offset after its `}`."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for brace in _BRACE.finditer(text, start, limit):
        if brace.group() == "{":
            stack.append(brace.start())
        elif stack:
            pairs[stack.pop()] = brace.end()
    return pairs
