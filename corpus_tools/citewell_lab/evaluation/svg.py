"""The recall curve and the strip of citations, drawn as inline SVG without any library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import msgspec

from citewell_lab.evaluation.results import Evaluation, MethodRun

WIDTH, HEIGHT = 720, 330
LEFT, RIGHT, TOP, BOTTOM = 52, 178, 16, 46
_TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_TOPS = ((0.1, 5), (0.2, 4), (0.4, 4), (0.6, 6), (0.8, 4), (1.0, 5))
"""Heights of the axis, each with a number of steps that makes round percentages."""
CHIEF = 5
"""Number of the line colour, of those that the style sheet names --c1 ... --c6 (Okabe and Ito,
adapted), that the accent has."""
_OTHERS = (1, 2, 3, 4, 6)


class RecallCurve(msgspec.Struct, frozen=True):
    """Recall at 1, 2 ... n of one method."""

    label: str
    values: tuple[float, ...]
    colour: int
    dashed: bool


def lines(evaluation: Evaluation) -> list[RecallCurve]:
    """One line per run; the methods differ by colour, the cold setting is dashed."""
    held = {item.id: item for item in evaluation.items if item.held}
    names = list(dict.fromkeys(run.name for run in evaluation.runs))
    both = len({run.setting for run in evaluation.runs}) > 1
    answers = {i: item.held for i, item in held.items()}
    out: list[RecallCurve] = []
    for run in evaluation.runs:
        # The last method is the subject of the page: it has the accent colour.
        place = names.index(run.name)
        colour = CHIEF if place == len(names) - 1 else _OTHERS[place % len(_OTHERS)]
        values = recalls(run, answers, evaluation.depth)
        twin = next(
            (n for n, line in enumerate(out) if (line.colour, line.values) == (colour, values)),
            None,
        )
        if twin is not None:
            out[twin] = RecallCurve(f"{shown(run.name)} (both)", values, colour, False)
            continue
        name = shown(run.name)
        label = f"{name} ({run.setting})" if both else name
        out.append(RecallCurve(label, values, colour, both and run.setting == "cold"))
    return out


def shown(name: str) -> str:
    """The display name of a method."""
    return "Citewell" if name == "pipeline" else name


def recalls(run: MethodRun, held: dict[str, int], depth: int) -> tuple[float, ...]:
    """Mean recall at every depth from 1 to `depth`."""
    gained = [0.0] * (depth + 1)
    for one in run.judged:
        if one.id in held:
            for rank in one.ranks:
                gained[min(rank, depth)] += 1.0 / held[one.id]
    out, total = [], 0.0
    for gain in gained[1:]:
        total += gain
        out.append(total / len(held) if held else 0.0)
    return tuple(out)


class Frame(msgspec.Struct, frozen=True):
    """The area of a chart: wide with line names at the ends, or narrow with a legend."""

    width: int = WIDTH
    right: int = RIGHT

    @property
    def named(self) -> bool:
        return self.right >= RIGHT

    def x(self, rank: int, depth: int) -> float:
        return LEFT + (self.width - LEFT - self.right) * math.log(rank) / math.log(depth)


WIDE, NARROW = Frame(), Frame(width=400, right=18)


def recall_chart(chart: Sequence[RecallCurve], depth: int) -> str:
    """Recall against rank on a logarithmic axis, for wide pages and for narrow ones."""
    if not chart or depth < 2:
        return ""
    legend = "".join(
        f'<li class="l{line.colour}"><i class="dash{" cold" if line.dashed else ""}"></i>'
        f"{escape(line.label)} {line.values[-1]:.0%}</li>"
        for line in chart
    )
    return (
        f'<div class="wide">{_chart(chart, depth, WIDE)}</div>'
        f'<div class="narrow">{_chart(chart, depth, NARROW)}<ul class="key">{legend}</ul></div>'
    )


def _chart(chart: Sequence[RecallCurve], depth: int, frame: Frame) -> str:
    peak = max(max(line.values) for line in chart)
    top, steps = next((t, n) for t, n in _TOPS if t >= min(1.0, peak))
    name = "wide" if frame.named else "narrow"
    parts = [
        f'<svg viewBox="0 0 {frame.width} {HEIGHT}" role="img" '
        f'aria-labelledby="{name}-t {name}-d">',
        f'<title id="{name}-t">Recall by length of the list</title>',
        f'<desc id="{name}-d">{escape(_describe(chart, depth))}</desc>',
        *_axes(depth, top, steps, frame),
    ]
    places = _label_places([_y(line.values[-1], top) for line in chart])
    for line, place in zip(chart, places, strict=True):
        parts.append(_path(line, depth, top, place, frame))
    parts.append("</svg>")
    return "".join(parts)


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / top)


def _axes(depth: int, top: float, steps: int, frame: Frame) -> list[str]:
    parts = []
    end = frame.width - frame.right
    for i in range(steps + 1):
        value = top * i / steps
        y = _y(value, top)
        kind = "axis" if i == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{value:.0%}</text>"
        )
    for rank in [tick for tick in _TICKS if tick <= depth]:
        x = frame.x(rank, depth)
        y = HEIGHT - BOTTOM
        parts.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 4}"/>')
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{y + 18}" text-anchor="middle">{rank}</text>'
        )
    parts.append(
        f'<text class="name" x="{(LEFT + end) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">'
        "papers in the list</text>"
    )
    return parts


def _path(line: RecallCurve, depth: int, top: float, label_y: float, frame: Frame) -> str:
    points = " ".join(
        f"{frame.x(rank, depth):.1f},{_y(value, top):.1f}"
        for rank, value in enumerate(line.values, start=1)
        if rank < 40 or rank % max(1, depth // 100) == 0 or rank == depth
    )
    end_x, end_y = frame.x(depth, depth), _y(line.values[-1], top)
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    name = escape(line.label)
    ten = line.values[min(10, depth) - 1]
    label = (
        f'<line class="lead" x1="{end_x + 4:.1f}" y1="{end_y:.1f}" '
        f'x2="{end_x + 14:.1f}" y2="{label_y:.1f}"/>'
        f'<text x="{end_x + 18:.1f}" y="{label_y + 4:.1f}">{name} {line.values[-1]:.0%}</text>'
    )
    return (
        f'<g class="line l{line.colour}"><title>{name}: {ten:.1%} in the first ten</title>'
        f'<polyline points="{points}"{dash}/>'
        f'<circle cx="{end_x:.1f}" cy="{end_y:.1f}" r="3"/>{label if frame.named else ""}</g>'
    )


LABEL_GAP = 16.0
"""Least distance between two labels, in pixels."""


def _label_places(wanted: Sequence[float]) -> list[float]:
    """Heights of the labels, in the order of the lines, pushed apart so that none overlap."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    previous = TOP - LABEL_GAP
    for i in order:
        previous = max(wanted[i], previous + LABEL_GAP)
        placed[i] = previous
    over = previous - (HEIGHT - BOTTOM)
    if over > 0:
        limit = HEIGHT - BOTTOM + LABEL_GAP
        for i in reversed(order):
            limit = min(placed[i], limit - LABEL_GAP)
            placed[i] = limit
    return placed


def _describe(chart: Sequence[RecallCurve], depth: int) -> str:
    shown = [k for k in (1, 10, 100) if k <= depth]
    return " ".join(
        f"{line.label}: "
        + ", ".join(f"{line.values[k - 1]:.0%} in the first {k}" for k in shown)
        + "."
        for line in chart
    )


BANDS = (
    (1, "b1", "first"),
    (5, "b2", "2 to 5"),
    (10, "b3", "6 to 10"),
    (20, "b4", "11 to 20"),
    (10**9, "b5", "lower"),
)


def band(rank: int | None, held: bool) -> tuple[str, str]:
    """Class and words for the place of the right paper."""
    if not held:
        return "b0", "not in the library"
    if rank is None:
        return "b6", "not found"
    return next((css, words) for limit, css, words in BANDS if rank <= limit)


def strip(evaluation: Evaluation, run: MethodRun) -> str:
    """Every citation of the paper as a square, in the order of the text, coloured by its rank."""
    judged = {one.id: one for one in run.judged}
    squares = []
    for item in evaluation.items:
        one = judged.get(item.id)
        rank = one.ranks[0] if one and one.ranks else None
        css, words = band(rank, item.held > 0)
        tags = dict(tag.split(":", 1) for tag in item.tags if ":" in tag)
        what = f"{tags.get('key', item.id)}: {f'rank {rank}' if rank else words}"
        squares.append(f'<i class="{css}" title="{escape(what)}"></i>')
    label = f"{len(evaluation.items)} citations in the order of the text"
    return f'<div class="strip" role="img" aria-label="{label}">{"".join(squares)}</div>'
