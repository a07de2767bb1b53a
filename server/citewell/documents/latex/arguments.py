"""Reading the arguments of LaTeX commands in text that may break off anywhere.

Every reader returns None instead of raising, and never looks further than a bound, so that a scan
stays linear whatever it is given.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from citewell.model.document import Span

_GAP = re.compile(r"(?:[ \t]|%[^\n]*\n[ \t]*)*(?:\r?\n[ \t]*)?(?:%[^\n]*\n[ \t]*)*")
_BRACES = re.compile(r"\\.|[{}]|(?<!\\)%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_BRACKETS = re.compile(r"\\.|[{}\[\]]|%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_RAW = re.compile(r"\{[^{}\n]{0,2000}(?:\{[^{}\n]{0,500}\}[^{}\n]{0,2000}){0,8}\}")

MAX_OPTION = 2_000
MAX_GROUP = 20_000


def skip_gap(text: str, position: int) -> int:
    """The place after spaces, comments and at most one line end; never past a blank line."""
    match = _GAP.match(text, position, position + 1_000)
    return match.end() if match else position


class ArgumentReader:
    """Reads groups and options of one text, with a budget for those that never close."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Failed searches may overlap, so that their sum is bounded rather than each alone.
        self._budget = 4 * len(text) + 20_000

    def group(self, position: int, limit: int = MAX_GROUP, *, blank: bool = True) -> int | None:
        """The place after the `}` that closes the `{` at `position`, or None.

        With `blank` false a blank line ends the search: no argument of that command has one.
        """
        if self._budget <= 0:
            limit = min(limit, 100)
        depth = 0
        stop = min(len(self.text), position + limit)
        for match in _BRACES.finditer(self.text, position, stop):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth <= 0:
                    return match.end()
            elif token[0] == "\n" and not blank:
                stop = match.start()
                break
        self._budget -= stop - position
        return None

    def option(self, position: int) -> int | None:
        """The place after the `]` that closes the `[` at `position`, or None."""
        limit = MAX_OPTION if self._budget > 0 else 100
        depth = 0
        stop = min(len(self.text), position + limit)
        for match in _BRACKETS.finditer(self.text, position + 1, stop):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth < 0:
                    break
            elif token == "]" and depth == 0:
                return match.end()
            elif token[0] == "\n":
                break
        self._budget -= stop - position
        return None

    def raw_group(self, position: int) -> int | None:
        """The place after a group in which `%` and `\\` mean nothing, as in `\\url{..}`."""
        match = _RAW.match(self.text, position)
        return match.end() if match else None

    def optional(self, position: int) -> int:
        """The offset after the star and all options at `position`."""
        if self.text.startswith("*", position):
            position += 1
        while True:
            start = skip_gap(self.text, position)
            end = self.option(start) if self.text.startswith("[", start) else None
            if end is None:
                return position
            position = end

    def argument(self, position: int, limit: int = MAX_GROUP) -> tuple[int, int, int] | None:
        """Start and end of the contents of the next group and the place after it, or None."""
        start = skip_gap(self.text, position)
        if not self.text.startswith("{", start):
            return None
        end = self.group(start, limit)
        return None if end is None else (start + 1, end - 1, end)


# Sorted ranges and quick questions about them.


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The ranges sorted, overlapping ones merged. Ranges that only touch stay apart."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            if span.end > merged[-1].end:
                merged[-1] = Span(merged[-1].start, span.end)
        elif span.end > span.start:
            merged.append(span)
    return merged


class SpanIndex:
    """Answers which of many sorted, non-overlapping ranges covers an offset."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._spans = spans
        self._starts = [span.start for span in spans]

    def find(self, offset: int) -> Span | None:
        """The range with start <= offset < end, if there is one."""
        place = bisect_right(self._starts, offset) - 1
        if place >= 0 and offset < self._spans[place].end:
            return self._spans[place]
        return None

    def covers(self, offset: int) -> bool:
        return self.find(offset) is not None

    def between(self, start: int, end: int) -> Sequence[Span]:
        """The ranges that begin in [start, end), and the one that covers `start`."""
        low = max(0, bisect_right(self._starts, start) - 1)
        high = bisect_right(self._starts, end - 1) if end > start else low
        if low < len(self._spans) and self._spans[low].end <= start:
            low += 1
        return self._spans[low:high]


# Where nothing counts in a LaTeX source: code, false conditions, mathematics.
#
# What may be open is never believed to close unless it does: an unfinished `$` or `\begin{align}`
# must not swallow the rest of a document that is being typed.

_SIMPLE_MATH = re.compile(
    r"\$(?:[^$\\{}%\n]|\\.|\n(?![ \t]*\r?\n)"
    r"|\{(?:[^$\\{}%\n]|\\.|\{(?:[^$\\{}%\n]|\\.){0,500}+\}){0,500}+\}){1,2000}+\$",
    re.DOTALL,
)
"""Nearly all inline mathematics: no blank line, no comment, braces that match."""
_MATH_INSIDE = re.compile(r"\\.|[{}$%]|\n[ \t]*\r?\n", re.DOTALL)
_CONDITION = re.compile(r"\\(if[A-Za-z@]*|fi|else)(?![A-Za-z@])")
_FI = re.compile(r"\\fi(?![A-Za-z@])")
_NOT_CONDITION = frozenset(("iff", "ifthenelse", "ifdefined@", "ifstrequal", "ifblank"))
_VERB = re.compile(r"\*?([^A-Za-z\s*])")
_MAX_MATH = 20_000


class Blanks:
    """Collects what is blanked in one text. Every method takes the range of a command and returns
    the place from which to go on."""

    def __init__(self, text: str, arguments: ArgumentReader) -> None:
        self.text = text
        self.arguments = arguments
        self.blanked: list[Span] = []
        self.math: list[Span] = []
        self._math_until = 0
        self._no_math_before = 0
        self._next_end: dict[str, int] = {}
        self._no_nested_conditions = False
        self._no_fi = False

    def add(self, start: int, end: int) -> int:
        """Blank a range and return its end."""
        self.blanked.append(Span(start, end))
        return end

    def verbatim(self, name: str, start: int, after: int) -> int:
        stop = self._find_end(name, after)
        stop = len(self.text) if stop < 0 else stop + len(name) + 6
        return self.add(start, stop)

    def _find_end(self, name: str, position: int) -> int:
        """Start of the next `\\end{name}`, or -1; remembered, so that looking again is free."""
        found = self._next_end.get(name, 0)
        if 0 <= found < position:
            found = self.text.find(f"\\end{{{name}}}", position)
            self._next_end[name] = found
        return found

    def environment_end(self, name: str, after: int) -> int | None:
        """The place after `\\end{name}`; None when the environment is open or another begins."""
        stop = self._find_end(name, after)
        if stop < 0 or self.text.find(f"\\begin{{{name}}}", after, min(stop, after + 50_000)) >= 0:
            return None
        return stop + len(name) + 6

    def verb(self, name: str, start: int, end: int) -> int:
        if name == "mintinline":
            language = self.arguments.argument(self.arguments.optional(end), 100)
            end = language[2] if language else end
        elif name == "lstinline":
            end = self.arguments.optional(end)
        match = _VERB.match(self.text, end)
        if match is None:
            return end
        if match[1] == "{":
            stop = self.arguments.group(match.end() - 1, 1_000, blank=False)
        else:
            line_end = self.text.find("\n", end, end + 2_000)
            stop = self.text.find(match[1], match.end(), line_end if line_end >= 0 else end + 2_000)
            stop = stop + 1 if stop >= 0 else None
        if stop is None:
            return end
        return self.add(start, stop)

    def if_false(self, name: str, start: int, end: int) -> int:
        """`\\iffalse` and `\\if0` up to their `\\else` or `\\fi`; conditions inside are counted."""
        if name == "if":
            if not self.text.startswith("0", end):
                return end
            end += 1
        stop = None if self._no_nested_conditions else self._matching_fi(end)
        if stop is None:
            # Unbalanced, perhaps through conditions of the author's own: the next `\fi` is the best
            # guess, and without one nothing is left out.
            self._no_nested_conditions = True
            following = None if self._no_fi else _FI.search(self.text, end)
            if following is None:
                self._no_fi = True
                return end
            stop = following.start()
        return self.add(start, stop)

    def _matching_fi(self, position: int) -> int | None:
        depth = 0
        for match in _CONDITION.finditer(self.text, position):
            word = match[1]
            if word in ("fi", "else"):
                if depth == 0:
                    return match.start()
                depth -= word == "fi"
            elif word not in _NOT_CONDITION and not self._declares(match.start()):
                depth += 1
        return None

    def _declares(self, start: int) -> bool:
        """True for the name in `\\newif\\ifdraft`, which opens nothing."""
        return self.text[max(0, start - 8) : start].rstrip(" {").endswith(("\\newif", "\\let"))

    def dollar(self, start: int) -> int:
        if start < self._math_until:
            return start + 1
        if self.text.startswith("$$", start):
            return self.math_until_closed(start, start + 2, "$$")
        if start >= self._no_math_before and (match := _SIMPLE_MATH.match(self.text, start)):
            return self.note_math(start, start + 1, match.end())
        return self.math_until_closed(start, start + 1, "$")

    def note_math(self, start: int, inside: int, end: int) -> int:
        """Go on inside of mathematics only if it may hold a citation."""
        self.math.append(Span(start, end))
        self._math_until = max(self._math_until, end)
        return inside if self.text.find("cit", inside, end) >= 0 else end

    def math_until_closed(self, start: int, inside: int, closer: str) -> int:
        """Note the math that opens at `start`, if it closes within the paragraph, and go on inside:
        a citation in it still counts."""
        if start < self._math_until or start < self._no_math_before:
            return inside
        depth = 0
        stop = min(len(self.text), inside + _MAX_MATH)
        position = inside
        while match := _MATH_INSIDE.search(self.text, position, stop):
            token = match[0]
            position = match.end()
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
            elif token == "%":
                line_end = self.text.find("\n", position, stop)
                position = line_end if line_end >= 0 else stop
            elif token[0] == "\n":
                stop = match.start()
                break
            elif depth <= 0 and self.text.startswith(closer, match.start()):
                end = match.start() + len(closer)
                return self.note_math(start, inside, end)
        self._no_math_before = stop
        return inside
