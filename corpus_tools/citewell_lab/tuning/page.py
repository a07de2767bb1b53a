"""A tuning or a model comparison as a self-contained HTML page: no script, no network."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from citewell.features.checking.page import POLICY
from citewell.llm.versions import Version
from citewell.model.llm import Usage
from citewell_lab.tuning.compare_models import RANKER, Compared, ModelComparison
from citewell_lab.tuning.plan import Step, Tuning
from citewell_lab.tuning.threshold import PickThreshold

# The charts of the pages on tuning and on models: SVG without script, drawn to scale.

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


def models_chart(found: ModelComparison) -> str:
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


_PARTS = ("metric", "first", "mrr", "recall@5", "recall@10", "recall@20", "failed")


def tuning_page(tuning: Tuning) -> str:
    """The HTML page of a tuning: prompts before and after, figures, examples and cost."""
    return _page(f"Tuning of “{tuning.program}”", _tuning(tuning))


def comparison_page(comparison: ModelComparison) -> str:
    """The HTML page of a comparison: each model's gain over the ranker, and all figures."""
    return _page("Language models compared", _comparison(comparison))


def _page(title: str, body: Iterable[str]) -> str:
    css = files("citewell_lab.evaluation").joinpath("page.css").read_text(encoding="utf-8")
    more = files("citewell_lab.tuning").joinpath("page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}{more}</style>\n</head>\n<body>\n<main>\n"
        f"<header><h1>{escape(title)}</h1>" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )


# -- tuning ------------------------------------------------------------------------------------


def _tuning(tuning: Tuning) -> Iterator[str]:
    yield f'<p class="lede">{escape(_lede(tuning))}</p></header>'
    tiles = [
        (f"{tuning.before.get('metric', 0):.3f}", f"before: version {tuning.started.version}"),
        (f"{tuning.after.get('metric', 0):.3f}", f"after: version {tuning.ended.version}"),
        (f"{tuning.ranker.get('metric', 0):.3f}", "the ranker alone, without a model"),
        (f"{tuning.usage.input_tokens + tuning.usage.output_tokens:,}", _spent(tuning.usage)),
    ]
    yield (
        '<ul class="tiles">'
        + "".join(f"<li><b>{escape(a)}</b><span>{escape(b)}</span></li>" for a, b in tiles)
        + "</ul>"
    )
    yield f'<p class="soft">{escape(_sizes(tuning))}</p>'
    for note in tuning.notes:
        yield f'<p class="note">{escape(note)}</p>'
    yield "<section><h2>Figures on the test papers</h2>"
    yield _figures(
        [("ranker alone", tuning.ranker), ("before", tuning.before), ("after", tuning.after)]
    )
    if tuning.difference is not None:
        yield f"<p>Difference, after - before: {escape(_difference(tuning.difference))}.</p>"
    if tuning.pick_threshold is not None:
        yield "</section><section><h2>Minimum confidence of a choice</h2>"
        yield _threshold(tuning.pick_threshold)
    yield "</section><section><h2>Attempts</h2>"
    if tuning.steps:
        yield f"<figure>{attempts_chart(tuning)}<figcaption>The metric on the validation papers. "
        yield "The line is the version in use, the dashed one the threshold; a ring was not "
        yield "accepted, a cross failed.</figcaption></figure>"
    yield _steps(tuning.steps) if tuning.steps else "<p>None: the threshold was already met.</p>"
    yield "</section>"
    if tuning.started.version != tuning.ended.version:
        yield "<section><h2>The prompt, before and after</h2>"
        yield _changed(tuning.started, tuning.ended)
        yield "</section>"
    else:
        yield "<section><h2>The prompt</h2>" + _prompt(tuning.ended) + "</section>"
    for step in tuning.steps:
        if step.version is not None and not step.accepted:
            yield f"<section><h2>Not accepted: attempt {step.number}</h2>"
            yield _changed(tuning.started, step.version) + "</section>"


def _lede(tuning: Tuning) -> str:
    accepted = sum(step.accepted for step in tuning.steps)
    if not tuning.steps:
        return (
            f"The program reaches {tuning.valid:.3f} with {tuning.model}, at or above the "
            f"threshold of {tuning.threshold:g}; no changes."
        )
    outcome = f"{len(tuning.steps)} attempts with {tuning.model}; {accepted} significantly better"
    if not accepted:
        return f"{outcome}. The current version is kept."
    return f"{outcome}; the last of these is now in use."


def _sizes(tuning: Tuning) -> str:
    sizes = tuning.sizes
    return (
        f"{sizes['train']} training, {sizes['valid']} validation, {sizes['test']} test passages, "
        "split by paper. For "
        f"{sizes['absent']} of {sizes['asked']}, the right paper was not among the first hundred "
        f"found. Created on {tuning.created[:10]}."
    )


def _figures(rows: Sequence[tuple[str, dict[str, float]]]) -> str:
    names = [name for name in _PARTS if any(name in row for _, row in rows)]
    return _table(
        ["", *names],
        [[label, *(f"{row[n]:.3f}" if n in row else "" for n in names)] for label, row in rows],
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str | tuple[str, str]]]) -> str:
    """An HTML table that fits the width: words wrap, and on a narrow page each row becomes a list.
    A cell is its text, or its text and CSS class."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = []
    for row in rows:
        cells = [cell if isinstance(cell, tuple) else (cell, "") for cell in row]
        body.append(f"<tr><th>{escape(cells[0][0])}</th>")
        for name, (text, kind) in zip(head[1:], cells[1:], strict=True):
            known = f' class="{kind}"' if kind else ""
            body.append(f'<td{known} data-name="{escape(name)}">{escape(text)}</td>')
        body.append("</tr>")
    return (
        '<div class="scroll" tabindex="0"><table class="stack">'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _threshold(found: PickThreshold) -> str:
    words = "".join(f"<p>{escape(line)}</p>" for line in found.in_words())
    rows = [(f"{row.threshold:g}", row) for row in found.valid]
    rows.append(("the ranker alone", found.valid_ranker))
    table = _table(
        ["threshold (validation papers)", "filled", "correct", "utility"],
        [[label, str(row.filled), str(row.right), f"{row.worth:+.3f}"] for label, row in rows],
    )
    return (
        f"{words}{table}"
        f'<p class="note">Utility: {1 - found.least:g} for a correct paper, -{found.least:g} for a '
        "wrong one, 0 for an open placeholder. Difference to the ranker alone on the test papers: "
        f"{escape(_difference(found.difference))}.</p>"
    )


def _steps(steps: Sequence[Step]) -> str:
    rows: list[list[str | tuple[str, str]]] = []
    for step in steps:
        result: list[str | tuple[str, str]]
        if step.problem is not None:
            result = ["", "", (step.problem.message, "text bad")]
        else:
            verdict = "accepted" if step.accepted else "not accepted"
            difference = "" if step.difference is None else _difference(step.difference)
            result = [
                f"{step.after or 0:.3f}",
                (difference, "words"),
                (verdict, "good" if step.accepted else "bad"),
            ]
        rows.append(
            [
                f"{step.number}. {step.optimizer}",
                str(step.fooled),
                f"{step.before:.3f}",
                *result,
                (_spent(step.usage), "words"),
            ]
        )
    head = ["attempt", "hard negatives", "before", "after", "difference", "result", "cost"]
    return (
        _table(head, rows)
        + "<p class=soft>On the validation papers; accepted if the 95% interval of the "
        "difference is above zero and p is at most .05.</p>"
    )


def _changed(before: Version, after: Version) -> str:
    out = ['<pre class="prompt">']
    for line in difflib.ndiff(before.instructions.splitlines(), after.instructions.splitlines()):
        kind = {"+": "ins", "-": "del"}.get(line[0])
        text = escape(line[2:])
        if kind:
            out.append(f"<{kind}>{text}</{kind}>\n")
        elif line[0] == " ":
            out.append(f"{text}\n")
    out.append("</pre>")
    return "".join(out) + _demos(after)


def _prompt(version: Version) -> str:
    return f'<pre class="prompt">{escape(version.instructions)}</pre>' + _demos(version)


def _demos(version: Version) -> str:
    if not version.demos:
        return "<p>No examples in the prompt.</p>"
    parts = [f"<p>{len(version.demos)} examples in the prompt:</p>"]
    for demo in version.demos:
        rows = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(_text(value))}</dd>"
            for name, value in demo.items()
        )
        answer = _text(demo.get("choice") or demo.get("fits") or demo.get("order") or "")
        parts.append(
            f"<details><summary>answer: {escape(answer[:60])}</summary><dl>{rows}</dl></details>"
        )
    return "".join(parts)


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _difference(found: object) -> str:
    low, high = getattr(found, "low", None), getattr(found, "high", None)
    interval = f" [{low:+.3f}, {high:+.3f}]" if low is not None and high is not None else ""
    return (
        f"{found.difference:+.3f}{interval}, p {found.p:.3f}, "  # type: ignore[attr-defined]
        f"{found.units} {found.unit}s"  # type: ignore[attr-defined]
    )


def _spent(usage: Usage) -> str:
    cost = f", ${usage.cost:.4f}" if usage.cost else ""
    unknown = f", {usage.unpriced} at an unknown price" if usage.unpriced else ""
    tokens = usage.input_tokens + usage.output_tokens
    return f"{usage.requests:,} requests, {tokens:,} tokens{cost}{unknown}"


# -- models ------------------------------------------------------------------------------------


def _comparison(found: ModelComparison) -> Iterator[str]:
    yield (
        f'<p class="lede">{len(found.models) - 1} models with the program '
        f"“{escape(found.program)}” on {found.examples} passages of {found.papers} papers, and the "
        "ranker without a model.</p></header>"
    )
    yield "<section><h2>Quality, latency and cost</h2><figure>" + models_chart(found)
    yield (
        "<figcaption>Mean reciprocal rank of the right paper, with 95% intervals over papers. "
        "The line is the ranker without a model. Latency and cost are drawn from zero to the "
        "highest value.</figcaption></figure></section>"
    )
    names = list(found.models[0].figures)
    rows: list[list[str | tuple[str, str]]] = []
    for one in found.models:
        cells = [f"{one.figures[name].mean:.3f}" for name in names]
        gain = "" if one.gain is None else _difference(one.gain)
        times = f"{one.p50:.2f} / {one.p95:.2f}"
        cost = "" if one.model == RANKER else "unknown"
        if one.cost_per_thousand is not None:
            cost = f"${one.cost_per_thousand:.2f}"
        if not one.answered:
            cells, gain, times, cost = ["-"] * len(names), "no answer", "-", "-"
        rows.append([one.model, *cells, (gain, "words"), times, f"{one.failed:.0%}", cost])
    head = ["", *names, "MRR - ranker", "seconds p50 / p95", "failed", "cost of 1,000 passages"]
    yield (
        f"<section><h2>Figures</h2>{_table(head, rows)}"
        f'<p class="soft">Created on {escape(found.created[:10])}.</p></section>'
    )
