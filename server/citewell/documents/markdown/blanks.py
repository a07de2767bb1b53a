"""The parts of a Markdown source in which nothing is cited: code, comments, mathematics."""

from __future__ import annotations

import re

from citewell.model.document import Span

_CODE = re.compile(
    r"(?P<fence>^[ \t]{0,3}(?P<mark>`{3,}|~{3,})[^\n]*$)"
    r"|(?P<comment><!--)"
    r"|(?P<math>\$\$)"
    r"|\\."
    r"|(?P<ticks>`+)"
    r"|(?P<dollar>\$(?=[^\s$]))"
    r"|(?P<link>\]\()"
    r"|(?P<url><(?:https?|mailto|ftp):[^\s<>]{0,2000}>|\b(?:https?|ftp)://[^\s<>()\[\]]{1,2000})",
    re.MULTILINE | re.DOTALL,
)
_DOLLAR_END = re.compile(r"(?<![\s\\])\$(?!\d)|\n[ \t]*\r?\n")
_LINK_END = re.compile(r"\)|\n")


def blanked_spans(text: str, position: int) -> list[Span]:
    """Code, comments, mathematics and addresses from `position` on: nothing counts there."""
    found: list[Span] = []
    limits: dict[str, int] = {}
    while match := _CODE.search(text, position):
        kind = match.lastgroup
        start, position = match.start(), match.end()
        end: int | None = None
        if match["fence"]:
            end = _fence_end(text, match)
        elif match["comment"]:
            stop = text.find("-->", position)
            end = stop + 3 if stop >= 0 else len(text)
        elif kind in ("math", "ticks"):
            end = _delimited(text, match[0], position, limits)
        elif kind == "dollar" and start >= limits.get("$", 0):
            stop_match = _DOLLAR_END.search(text, position, position + 2_000)
            if stop_match and stop_match[0] == "$":
                end = stop_match.end()
            else:  # then none that opens before that place closes either
                limits["$"] = stop_match.start() if stop_match else position + 2_000
        elif kind == "link":
            stop_match = _LINK_END.search(text, position, position + 2_000)
            end = stop_match.start() if stop_match and stop_match[0] == ")" else None
        elif kind == "url":
            end = position
        if end is not None:
            found.append(Span(start, end))
            position = end
    return found


def _fence_end(text: str, match: re.Match[str]) -> int:
    mark = match["mark"]
    closing = re.compile(
        rf"^[ \t]{{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?$", re.MULTILINE
    )
    found = closing.search(text, match.end())
    return found.end() if found else len(text)


def _delimited(text: str, mark: str, position: int, limits: dict[str, int]) -> int | None:
    """The end of a span that the same mark closes in the same paragraph."""
    if position < limits.get(mark, 0):
        return None
    paragraph = re.compile(r"\n[ \t]*\r?\n").search(text, position, position + 20_000)
    stop = paragraph.start() if paragraph else min(len(text), position + 20_000)
    run = re.escape(mark)
    edge = re.escape(mark[0])
    found = re.compile(rf"(?<!{edge}){run}(?!{edge})").search(text, position, stop)
    if found is None:
        limits[mark] = stop
        return None
    return found.end()
