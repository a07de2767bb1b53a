"""The charts of the pages on tuning and on models: SVG without script, drawn to scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from citewell.tuning.compare_models import RANKER, Compared, Comparison
from citewell.tuning.plan import Step, Tuning

_WIDTH = 1080
_ROW = 46
_BAR = 12
_PANELS = ((4, 470), (520, 790), (840, _WIDTH - 4))
"""Left and right ends of quality, latency and cost."""
_LEAST_STEP = 60
_HEIGHT = 240


def attempts_chart(tuning: Tuning) -> str:
    """The metric on the validation papers, from the first version over each attempt; empty without
    any. A filled dot was accepted, a ring was not, a cross failed."""
    steps = tuning.steps
    if not steps:
        return ""
    values = [tuning.valid, *(step.after for step in steps if step.after is not None)]
    values += [step.before for step in steps]
    low, high = _span([*values, tuning.threshold])
    gap = max(_LEAST_STEP, min(160, (_WIDTH - 110) // (len(steps) + 1)))
    width, bottom = max(_WIDTH, 110 + gap * (len(steps) + 1)), _HEIGHT - 34

    def x(number: int) -> int:
        return 70 + gap * number

    def y(value: float) -> float:
        return 14 + (bottom - 14) * (high - value) / (high - low)

    drawn = [
        f'<svg viewBox="0 0 {width} {_HEIGHT}" role="img" '
        'aria-label="The metric over the attempts">'
    ]
    end = x(len(steps)) + 30
    for tick in _ticks(low, high):
        at = y(tick)
        drawn.append(
            f'<line class="grid" x1="54" x2="{end}" y1="{at:.1f}" y2="{at:.1f}"/>'
            f'<text class="tick" text-anchor="end" x="48" y="{at + 4:.1f}">{tick:.3f}</text>'
        )
    least = y(tuning.threshold)
    drawn.append(
        f'<line class="axis" stroke-dasharray="4 3" x1="54" x2="{end}" y1="{least:.1f}" '
        f'y2="{least:.1f}"><title>threshold: {tuning.threshold:g}</title></line>'
    )
    line: list[tuple[float, float]] = [(x(0), y(tuning.valid))]
    value = tuning.valid
    for number, step in enumerate(steps, 1):
        value = step.after if step.accepted and step.after is not None else value
        line += [(x(number), line[-1][1]), (x(number), y(value))]
    line.append((end, line[-1][1]))
    points = " ".join(f"{across:.0f},{down:.1f}" for across, down in line)
    drawn.append(f'<polyline class="kept" points="{points}"/>')
    drawn.append(_dot(x(0), y(tuning.valid), "yes", f"first version: {tuning.valid:.3f}"))
    drawn.append(_under(x(0), "first"))
    for number, step in enumerate(steps, 1):
        drawn.append(_attempt(step, x(number), y, bottom))
        drawn.append(_under(x(number), str(step.number)))
    return "".join(drawn) + "</svg>"


def _attempt(step: Step, x: int, y: Callable[[float], float], bottom: int) -> str:
    """The mark of one attempt, with its words."""
    if step.after is None:
        why = step.problem.message if step.problem else "nothing was made"
        return (
            f'<path class="no" d="M{x - 5} {bottom - 15} l10 10 m0 -10 l-10 10">'
            f"<title>{escape(f'attempt {step.number}: {why}')}</title></path>"
        )
    words = f"attempt {step.number}, {step.optimizer}: {step.after:.3f}"
    words += ", accepted" if step.accepted else ", not accepted"
    return _dot(x, y(step.after), "yes" if step.accepted else "no", words)


def _dot(x: float, y: float, kind: str, words: str) -> str:
    return (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="6">'
        f"<title>{escape(words)}</title></circle>"
    )


def _under(x: int, text: str) -> str:
    return (
        f'<text class="tick" text-anchor="middle" x="{x}" y="{_HEIGHT - 10}">{escape(text)}</text>'
    )


def _span(values: Sequence[float]) -> tuple[float, float]:
    """The lowest and highest value to draw, with room around them."""
    room = max(0.02, (max(values) - min(values)) / 8)
    return max(0.0, min(values) - room), max(values) + room


def _ticks(low: float, high: float) -> list[float]:
    return [low + (high - low) * n / 4 for n in range(5)]


def models_chart(found: Comparison) -> str:
    """A row for each model that answered: its mean reciprocal rank with the interval, and beside it
    the seconds of a request (p50, and p95 as a line) and the cost of 1,000 passages."""
    models = [one for one in found.models if one.answered]
    slowest = max((one.p95 for one in models), default=0.0)
    dearest = max((one.cost_per_thousand or 0.0 for one in models), default=0.0)
    bottom = 34 + _ROW * len(models)
    drawn = [
        f'<svg viewBox="0 0 {_WIDTH} {bottom + 24}" role="img" '
        'aria-label="Quality, latency and cost by model">'
    ]
    heads = ("Mean reciprocal rank", "Seconds of a request, p50 and p95", "Cost of 1,000 passages")
    for (left, _), text in zip(_PANELS, heads, strict=True):
        drawn.append(f'<text class="head" x="{left}" y="14">{text}</text>')
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        at = _across(0, tick)
        drawn.append(
            f'<line class="grid" x1="{at:.0f}" x2="{at:.0f}" y1="26" y2="{bottom}"/>'
            f'<text class="tick" text-anchor="middle" x="{min(at, 462):.0f}" y="{bottom + 18}">'
            f"{tick:g}</text>"
        )
    base = _across(0, found.models[0].figures["mrr"].mean)
    drawn.append(f'<line class="axis" x1="{base:.1f}" x2="{base:.1f}" y1="26" y2="{bottom}"/>')
    for row, one in enumerate(models):
        drawn.append(_row(one, 26 + _ROW * row, slowest, dearest))
    return "".join(drawn) + "</svg>"


def _row(one: Compared, top: float, slowest: float, dearest: float) -> str:
    """The name above its dot, and the two bars."""
    y = top + 32
    figure = one.figures["mrr"]
    low = figure.mean if figure.low is None else figure.low
    high = figure.mean if figure.high is None else figure.high
    words = f"{one.model}: {figure.mean:.3f} [{low:.3f}, {high:.3f}]"
    drawn = [
        f'<g class="l{1 if one.model == RANKER else 5} dot">{_name(one.model, top + 18)}'
        f'<line x1="{_across(0, low):.1f}" x2="{_across(0, high):.1f}" y1="{y}" y2="{y}"/>'
        f'<circle cx="{_across(0, figure.mean):.1f}" cy="{y}" r="5"><title>{escape(words)}</title>'
        "</circle>"
    ]
    if one.p50:
        share, late = one.p50 / (slowest or 1), one.p95 / (slowest or 1)
        drawn.append(_bar(1, share, y))
        drawn.append(
            f'<line x1="{_across(1, share):.1f}" x2="{_across(1, late):.1f}" y1="{y}" y2="{y}"/>'
        )
        drawn.append(_label(1, y, f"{one.p50:.2f} / {one.p95:.2f} s"))
    if one.cost_per_thousand is not None:
        drawn.append(_bar(2, one.cost_per_thousand / (dearest or 1), y))
        drawn.append(_label(2, y, f"${one.cost_per_thousand:.2f}"))
    elif one.model != RANKER:
        drawn.append(_label(2, y, "unknown"))
    return "".join(drawn) + "</g>"


def _name(model: str, y: float) -> str:
    """The whole name: one that is too long for its panel is drawn narrower."""
    left, right = _PANELS[0]
    narrow = f' textLength="{right - left}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{left}" y="{y}"{narrow if len(model) > 62 else ""}>{escape(model)}</text>'


def _across(panel: int, share: float) -> float:
    left, right = _PANELS[panel]
    return left + (right - left) * min(1.0, max(0.0, share))


def _bar(panel: int, share: float, y: float) -> str:
    left = _PANELS[panel][0]
    width = max(1.0, _across(panel, share) - left)
    return f'<rect x="{left}" y="{y - _BAR / 2:.1f}" width="{width:.1f}" height="{_BAR}" rx="2"/>'


def _label(panel: int, y: float, text: str) -> str:
    return f'<text x="{_PANELS[panel][0]}" y="{y - 12:.1f}">{escape(text)}</text>'
