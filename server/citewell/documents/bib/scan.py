"""Parses one entry of a .bib file, intact or broken, into a body with exact offsets.

A common field is one match of one regular expression. Anything else goes through the slower steps
below: a missing delimiter ends before the next line that begins a field, an unclosed entry before
the next head.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from sys import intern

from citewell.model.bib import BibBody, BibFault, literal_end

# Every repetition is possessive: no input causes backtracking, and parsing is linear.
HEAD = re.compile(r"@\s*+([A-Za-z][\w+-]*+)\s*+([{(])")
BLANK = re.compile(r"\s*+")
SPACES = re.compile(r"[ \t]*+")
CLOSERS = {"{": "}", "(": ")"}

# BibTeX's own rule without the @, which would hide the next entry's head.
_NAME = r"[^\s\d={},\"#%()'@][^\s={},\"#%()']*+"
_FLAT = r"\{[^{}]*+\}"
_TWO = rf"\{{[^{{}}]*+(?:{_FLAT}[^{{}}]*+)*+\}}"
_THREE = rf"\{{[^{{}}]*+(?:{_TWO}[^{{}}]*+)*+\}}"
_BRACED = rf"\{{[^{{}}]*+(?:{_THREE}[^{{}}]*+)*+\}}"
_QUOTED = rf"\"[^\"{{}}]*+(?:{_THREE}[^\"{{}}]*+)*+\""


def _field(closer: str) -> re.Pattern[str]:
    value = rf"{_BRACED}|{_QUOTED}|\d++(?=\s*+[,{closer}])|{_NAME}"
    return re.compile(rf"\s*+({_NAME})\s*+=\s*+({value})\s*+(,|{closer}|)")


def _key(closer: str) -> re.Pattern[str]:
    return re.compile(rf"\s*+([^\s,{{}}={closer}]*+)\s*+(,|{closer}|)")


FIELD = {"}": _field(r"\}"), ")": _field(r"\)")}
"""One whole field up to its comma or the entry's end; group 3 is empty if neither follows."""
KEY = {"}": _key(r"\}"), ")": _key(r"\)")}
LONG_KEY = re.compile(r"[^\n,={}]*+(?=,)")
"""A key that contains blanks."""
NAME_EQUALS = re.compile(rf"({_NAME})\s*+=\s*+")
NAME_VALUE = re.compile(rf"({_NAME})\s*+(?=[{{\"\d])")
"""A field without its `=`."""
BARE = re.compile(r"[^\s={},\"#%()@]++")
NEXT_FIELD = re.compile(rf",?[ \t]*+\r?\n[ \t]*+(?={_NAME}[ \t]*+=[ \t]*+[\"{{\w])")
"""The end of a field without a closing delimiter: before a line that begins another field."""
AFTER_CLOSER = re.compile(rf",\s*+(?={_NAME}\s*+=\s*+[\"{{\d])")
"""The text after a superfluous brace on its line: the rest of the entry."""
RESYNC = {
    closer: re.compile(rf"[,{{{mark}]|\n(?=[ \t]*+{_NAME}[ \t]*+=)")
    for closer, mark in (("}", "}"), (")", ")}"))
}


class Heads:
    """The `@type{` heads of a text from an offset, found on demand."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._found = HEAD.finditer(text, at)
        self._queue: deque[re.Match[str]] = deque()
        self._line_heads: deque[re.Match[str]] = deque()
        self.comment_sight = 0
        """Offset up to which text was examined to decide whether a head is commented out."""

    def next(self, at: int) -> re.Match[str] | None:
        """The first head at or after `at`, which must not decrease from call to call."""
        while self._queue or self._pull():
            head = self._queue.popleft()
            if head.start() >= at:
                while self._line_heads and self._line_heads[0].start() <= head.start():
                    self._line_heads.popleft()
                return head
        return None

    def limit(self, at: int, count: int = 1) -> int:
        """Start of the `count`-th head after `at` that begins a line; else the text's length.
        Another entry begins there, whatever is still open."""
        head = self._line_head(at, count)
        return len(self._text) if head is None else head.start()

    def sight(self, at: int, count: int = 1) -> int:
        """Offset that `limit` reads up to: the end of that head, or one beyond the text's end."""
        head = self._line_head(at, count)
        return len(self._text) + 1 if head is None else head.end()

    def _line_head(self, at: int, count: int) -> re.Match[str] | None:
        index = 0
        while True:
            while index >= len(self._line_heads):
                if not self._pull():
                    return None
            head = self._line_heads[index]
            index += 1
            if head.start() > at:
                count -= 1
                if count == 0:
                    return head

    def _pull(self) -> bool:
        for head in self._found:
            start = head.start()
            before = self._text[max(0, start - 16) : start]
            if before and (before[-1].isalnum() or before[-1] == "."):
                continue  # an address: user@example (work)
            line = max(before.rfind("\n"), before.rfind("\r"))
            indent = before[line + 1 :].strip(" \t\ufeff")
            if indent == "%" and self._commented_out(head.end()):
                continue
            self._queue.append(head)
            if not indent and (line >= 0 or start < 16):
                self._line_heads.append(head)
            return True
        return False

    def _commented_out(self, at: int) -> bool:
        """True when the next line is a comment too: `%@article{...` of a disabled entry."""
        end = self._text.find("\n", at, at + 4096)
        begin = end + 1 if end >= 0 else min(at + 4096, len(self._text))
        self.comment_sight = max(self.comment_sight, begin + 17)
        return end >= 0 and self._text[begin : begin + 16].lstrip().startswith("%")


# The ends of the parts of a .bib entry, also where a delimiter is missing, and the faults found.
#
# A missing delimiter ends before the next line that begins a field, an unclosed entry before the
# next head.

_EMBEDDED = 5
"""Number of whole entries that a value may contain (an abstract that quotes BibTeX)."""
_MOST_FAULTS = 50
"""Faults per entry: a file that is not BibTeX at all must not fill the memory."""

_BRACE = re.compile(r"[{}]")


class EntryEnds:
    """The state of parsing one entry."""

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
        """`known_names` holds the lists of field names of other entries, most of which are equal;
        `shares_text`: the body refers to the text of the file."""
        self.text = text
        self.heads = heads
        self.strings = strings
        self.known_names = known_names
        self.shares_text = shares_text
        self.start = head.start()
        self.kind = head[1]
        self.open = head.end() - 1
        self.closer = CLOSERS[head[2]]
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
            at = BLANK.match(self.text, at, self.limit).end()  # type: ignore[union-attr]
            if at >= self.limit or self.text[at] != "%":
                return at
            newline = self.text.find("\n", at, self.limit)
            at = self.limit if newline < 0 else newline + 1

    def _next_field(self, at: int) -> tuple[int, int]:
        """The end of an unclosed value, and the offset at which to continue."""
        cut = NEXT_FIELD.search(self.text, at, self.limit)
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
            # All look-ups below must be cheap, since a broken entry may fail at each field.
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
        after = BLANK.match(self.text, end, further).end()  # type: ignore[union-attr]
        if after >= further or self.text[after] not in (",", self.closer):
            return -1
        self.limit = self.heads.limit(end - 1)
        return end

    def _unclosed(self, message: str) -> int:
        """Report that the next entry begins, or the file ends, before this one is closed."""
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


_EMBEDDED_IN_COMMENT = 32


def plain_entry(
    text: str,
    heads: Heads,
    head: re.Match[str],
    strings: Mapping[str, str],
    known_names: dict[tuple[str, ...], tuple[str, ...]],
    *,
    shares_text: bool = False,
) -> tuple[str, BibBody] | None:
    """Key and body of an ordinary entry, as nearly all are: the result of `EntryScan` in two thirds
    of the time. None for any other entry."""
    closer = CLOSERS[head[2]]
    start = head.start()
    limit = heads.limit(start)
    found = KEY[closer].match(text, head.end(), limit)
    if found is None or found[2] != "," or not found[1]:
        return None
    key, key_at, at = found[1], found.start(1), found.end()
    names: list[str] = []
    marks: list[int] = []
    match = FIELD[closer].match
    after = ","
    while after == ",":
        found = match(text, at, limit)
        if found is None:
            # A comma after the last field.
            at = BLANK.match(text, at, limit).end() + 1  # type: ignore[union-attr]
            after = text[at - 1 : at] if at <= limit else ""
            break
        names.append(intern(found[1].lower()))
        marks += found.span(1)
        marks += found.span(2)
        at = found.end()
        after = found[3]
    if after != closer or len(set(names)) < len(names):
        return None
    seen = SPACES.match(text, at, limit).end()  # type: ignore[union-attr]
    if seen < limit and text[seen] == ",":
        return None  # a superfluous brace
    found_names = tuple(names)
    source, place = (text, start) if shares_text else (text[start:at], 0)
    return key, BibBody.at(
        source,
        place,
        [mark - start for mark in marks],
        known_names.setdefault(found_names, found_names),
        strings,
        length=at - start,
        key_at=key_at - start,
        reach=max(seen + 1, heads.comment_sight) - start,
    )


class EntryScan(EntryEnds):
    """Parses one entry: its key, its fields and their faults."""

    def entry(self) -> tuple[str, BibBody]:
        """Parse key and fields."""
        self._fields(self._key())
        if len(set(self.names)) < len(self.names):
            self._duplicate_fields()
        return self.key, self._body()

    def block(self, kind: str) -> BibBody:
        """Parse a @string, @preamble or @comment."""
        self.key_at = self.open + 1
        if kind == "string":
            self._fields(self.open + 1)
            return self._body()
        if self.closer == ")":
            end = self.text.find(")", self.open, self.limit) + 1 or -1
        else:
            end = literal_end(self.text, self.open, self.limit)
            if end < 0 and self.limit < len(self.text):
                further = self.heads.limit(self.start, _EMBEDDED_IN_COMMENT)
                end = literal_end(self.text, self.open, further)
                self.sight = self.heads.sight(self.start, _EMBEDDED_IN_COMMENT)
        if end < 0:
            self._unclosed(f"This @{kind} is not closed.")
        else:
            self.end = end
            self.sight = max(self.sight, end + 1)
        return self._body()

    def _body(self) -> BibBody:
        start = self.start
        if self.faults:
            # How a fault is repaired depends on where the next entry begins.
            self.sight = max(self.sight, self.heads.sight(self.limit - 1))
        self.sight = max(self.sight, self.heads.comment_sight)
        names = self.known_names.setdefault(found := tuple(self.names), found)
        source, at = (self.text, start) if self.shares_text else (self.text[start : self.end], 0)
        return BibBody.at(
            source,
            at,
            [mark - start for mark in self.marks],
            names,
            self.strings,
            length=self.end - start,
            key_at=self.key_at - start,
            reach=self.sight - start,
            faults=tuple(self.faults),
            closed=self.closed,
        )

    def _key(self) -> int:
        """Parse the key; return the offset of the fields."""
        text, limit = self.text, self.limit
        found = KEY[self.closer].match(text, self.open + 1, limit)
        assert found is not None, "every part of the pattern is optional"
        self.key_at, at = found.span(1)
        self.key = found[1]
        if found[2] == ",":
            at = found.end()
        elif found[2]:
            at = found.end() - 1
        elif found.end() < limit and text[found.end()] == "=":
            self.key, at = "", self.key_at
        elif long := LONG_KEY.match(text, self.key_at, limit):
            self.key = long.group().rstrip()
            if self.key:
                self._fault(
                    "bib-key-blank",
                    f'The key "{self.key}" contains whitespace.',
                    "Remove the whitespace.",
                    self.key_at,
                )
            at = long.end() + 1
        elif found.end() < limit and self.key:
            self._fault(
                "bib-missing-comma",
                f'A comma is missing after the key "{self.key}".',
                "Put a comma after the key.",
                at,
            )
        if not self.key:
            self._fault(
                "bib-missing-key",
                f"This @{self.kind} has no key.",
                "Write a key and a comma after the opening brace.",
                self.key_at,
            )
        return at

    def _fields(self, at: int) -> None:
        """Parse fields up to the end of the entry, which is stored in `self.end`."""
        text = self.text
        match = FIELD[self.closer].match
        names, marks = self.names, self.marks
        while self.end < 0:
            found = match(text, at, self.limit)
            if found is None:
                at = self._careful(at)
                continue
            names.append(intern(found[1].lower()))
            marks += found.span(1)
            marks += found.span(2)
            at = found.end()
            after = found[3]
            if after == ",":
                continue
            # The end of the entry, or something odd after the value.
            at = self._close(at) if after else self._after_value(first_part=True)

    def _close(self, end: int) -> int:
        """Close the entry at `end`, unless that brace is superfluous; return where to continue."""
        at = SPACES.match(self.text, end, self.limit).end()  # type: ignore[union-attr]
        self.sight = max(self.sight, at + 1)
        if at < self.limit and self.text[at] == ",":
            self.sight = max(self.sight, self.heads.sight(end))
            if rest := AFTER_CLOSER.match(self.text, at, self.limit):
                self._fault(
                    "bib-extra-brace",
                    f'"{self.text[end - 1]}" ends the entry "{self.key}" before its last field.',
                    "Remove that closing delimiter.",
                    end - 1,
                )
                return rest.end()
        self.end = end
        return end

    def _careful(self, at: int) -> int:
        """Take one step where the fast pattern fails; return where to continue."""
        text, limit = self.text, self.limit
        at = self._skip_blank(at)
        if at >= limit:
            return self._unclosed(
                f'The entry "{self.key}" is not closed.'
                if self.key
                else f"This @{self.kind} is not closed."
            )
        if text[at] == self.closer:
            return self._close(at + 1)
        if text[at] == ",":
            self._fault("bib-extra-comma", "Extra comma.", "Remove it.", at)
            return at + 1
        if name := NAME_EQUALS.match(text, at, limit):
            return self._value(name)
        if name := NAME_VALUE.match(text, at, limit):
            self._fault(
                "bib-missing-equals",
                f'The field "{name[1]}" has no "=".',
                'Write "=" between name and value.',
                name.end(1),
            )
            return self._value(name)
        return self._skip_junk(at)

    def _skip_junk(self, at: int) -> int:
        end = min(at + 20, self.limit)
        # The words shown may extend beyond the end of the entry.
        self.sight = max(self.sight, end)
        words = self.text[at:end].split() or [self.text[at]]
        self._fault(
            "bib-unexpected-text",
            f'Unexpected text "{words[0]}".',
            "Write fields as name = {value}, separated by commas.",
            at,
        )
        found = RESYNC[self.closer].search(self.text, at, self.limit)
        if found is None:
            return self.limit
        if found.group() == self.closer:
            return found.start()
        if found.group() == "{":
            end = self._literal_end(found.start())
            if end < 0:
                self.closed = False
                return self._next_field(at)[1]
            end = self._skip_blank(end)
            return end + 1 if self.text[end : end + 1] == "," else end
        return found.end()

    def _value(self, name: re.Match[str]) -> int:
        """Parse the value after a field's name, part by part."""
        text = self.text
        begin = at = name.end()
        end = begin
        while True:
            char = text[at] if at < self.limit else ""
            if char in ("{", '"'):
                end = self._literal_end(at)
                if end < 0:
                    return self._unterminated(name, begin)
            else:
                bare = BARE.match(text, at, self.limit)
                if bare is None:
                    self._fault(
                        "bib-missing-value",
                        f'The field "{name[1]}" has no value.',
                        "Write a value in braces, or remove the field.",
                        name.start(1),
                    )
                    if end == begin:
                        begin = end = name.start() + len(name.group().rstrip())
                    break
                end = bare.end()
            at = self._skip_blank(end)
            if at >= self.limit or text[at] != "#":
                break
            end = at + 1
            at = self._skip_blank(end)
        self._add(name, begin, max(begin, min(end, self.limit)))
        return self._after_value()

    def _after_value(self, first_part: bool = False) -> int:
        """Handle anything other than a comma after the last value; return where to continue.
        `first_part`: a `#` and further parts may follow."""
        text = self.text
        begin, end = self.marks[-2:]
        at = self._skip_blank(end)
        char = text[at] if at < self.limit else ""
        if char == ",":
            return at + 1
        if char == self.closer:
            return self._close(at + 1)
        if char == "#" and first_part:
            name = NAME_EQUALS.match(text, self.marks[-4], self.limit)
            if name is not None:
                self.names.pop()
                del self.marks[-4:]
                return self._value(name)
        if char and NAME_EQUALS.match(text, at, self.limit):
            self._fault(
                "bib-missing-comma",
                f'A comma is missing after the field "{self.names[-1]}".',
                "Put a comma after the value.",
                end,
            )
            return at
        cut = NEXT_FIELD.search(text, begin, end)
        if cut is None:
            return at
        self._fault_unterminated(self.names[-1], begin)
        self.marks[-1] = cut.start()
        return cut.end()

    def _unterminated(self, name: re.Match[str], begin: int) -> int:
        """End a value that never closes before the next field, or with the entry."""
        end, resume = self._next_field(begin)
        self._fault_unterminated(name[1], begin)
        self._add(name, begin, end)
        return resume

    def _add(self, name: re.Match[str], begin: int, end: int) -> None:
        self.names.append(intern(name[1].lower()))
        self.marks += (name.start(1), name.end(1), begin, end)

    def _duplicate_fields(self) -> None:
        seen: set[str] = set()
        for index, name in enumerate(self.names):
            if name in seen:
                self._fault(
                    "bib-duplicate-field",
                    f'Duplicate field "{name}" in "{self.key}"; BibTeX reads the first.',
                    "Remove one of the two.",
                    self.marks[4 * index],
                )
            seen.add(name)
