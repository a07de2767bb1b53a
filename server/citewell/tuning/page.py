"""A tuning or a model comparison as a self-contained HTML page: no script, no network."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from citewell.features.checking.page import POLICY
from citewell.llm.versions import Version
from citewell.model.llm import Usage
from citewell.tuning.charts import attempts_chart, models_chart
from citewell.tuning.compare_models import RANKER, Comparison
from citewell.tuning.plan import Step, Tuning
from citewell.tuning.threshold import PickThreshold

_PARTS = ("metric", "first", "mrr", "recall@5", "recall@10", "recall@20", "failed")


def tuning_page(tuning: Tuning) -> str:
    """The HTML page of a tuning: prompts before and after, figures, examples and cost."""
    return _page(f"Tuning of “{tuning.program}”", _tuning(tuning))


def comparison_page(comparison: Comparison) -> str:
    """The HTML page of a comparison: each model's gain over the ranker, and all figures."""
    return _page("Language models compared", _comparison(comparison))


def _page(title: str, body: Iterable[str]) -> str:
    css = files("citewell.evaluation").joinpath("page.css").read_text(encoding="utf-8")
    more = files("citewell.tuning").joinpath("page.css").read_text(encoding="utf-8")
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


def _comparison(found: Comparison) -> Iterator[str]:
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
