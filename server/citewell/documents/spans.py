"""Sorted ranges and quick questions about them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from citewell.model.document import Span


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
