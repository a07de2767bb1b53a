"""A review as one HTML file: no script, no request, one plot."""

from __future__ import annotations

import html

from citewell import __version__
from citewell.features.checking.page import POLICY
from citewell.features.checking.report import Weight
from citewell.features.review.report import Review, ReviewFinding, figure_rows

_STYLE = """
:root{color-scheme:light dark;background:Canvas;color:CanvasText}
:root{font-family:system-ui,sans-serif;line-height:1.5}
body{max-width:60rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1,h2{line-height:1.2}ul{list-style:none;padding:0}
li{border-left:.35rem solid #7f8c8d;padding:.1rem 0 .1rem 1rem;margin:.8rem 0;break-inside:avoid}
nav li{border:0;margin:0;padding:0}li.blocking{border-color:#c0392b}li.correct{border-color:#d68910}
table{border-collapse:collapse}th,td{padding:.15rem 1rem .15rem 0;text-align:left}
th{font-weight:600;vertical-align:top}svg{max-width:100%;height:auto}
code{font-size:.9em}p{margin:.2rem 0}
@media print{body{margin:0}}
"""
_LINE_LIMIT = 40
"""Years that the plot has room for."""
_WIDTH, _HEIGHT, _BASE = 640, 150, 120


def to_html(review: Review, title: str) -> str:
    """The page: how many findings have each weight, the findings by part, the figures."""
    name = html.escape(title)
    counts = ", ".join(
        f"{count} {weight.value}" for weight in Weight if (count := review.weights[weight])
    )
    links = "".join(
        f'<li><a href="#part-{number}">{html.escape(part)}</a> ({len(found)})</li>'
        for number, (part, found) in enumerate(review.by_part())
    )
    parts = "".join(
        f'<h2 id="part-{number}">{html.escape(part)} ({len(found)})</h2>\n'
        f"<ul>{''.join(map(_item, found))}</ul>\n"
        for number, (part, found) in enumerate(review.by_part())
    )
    rows = "".join(
        f'<tr><th scope="row">{html.escape(label)}</th><td>{html.escape(value)}</td></tr>'
        for label, value in figure_rows(review.figures)
    )
    figures = f"<h2>Figures</h2><table>{rows}</table>{_plot(review)}" if rows else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><main><h1>{name}</h1><p>{counts or 'No findings'} (policy "
        f"{html.escape(review.policy)}). Citewell {__version__}.</p><nav><ul>{links}</ul></nav>\n"
        f"{parts}{figures}</main></body></html>\n"
    )


def _item(one: ReviewFinding) -> str:
    kind = "correct" if one.weight == Weight.CORRECT.value else one.weight
    hint = f"<p>{html.escape(one.hint)}</p>" if one.hint else ""
    place = f"{one.path}:{one.line}"
    return (
        f'<li class="{kind}"><p><strong>{html.escape(one.weight)}</strong> '
        f"{html.escape(place)} <code>{html.escape(one.code)}</code></p>"
        f"<p>{html.escape(one.message)}</p>{hint}</li>"
    )


def _plot(review: Review) -> str:
    """The references by year as bars, each with its number for readers of the text."""
    known = [(int(year), count) for year, count in review.figures.by_year.items() if year]
    years = known[-_LINE_LIMIT:]
    if not years:
        return ""
    first, last = years[0][0], years[-1][0]
    first = max(first, last - _LINE_LIMIT)
    years = [one for one in years if one[0] >= first]
    most = max(count for _, count in years)
    step = _WIDTH / (last - first + 1)
    bars = "".join(
        f'<rect x="{(year - first) * step + 1:.1f}" y="{_BASE - 100 * count / most:.1f}" '
        f'width="{step - 2:.1f}" height="{100 * count / most:.1f}"><title>{year}: {count}</title>'
        "</rect>"
        for year, count in years
    )
    words = ", ".join(f"{year}: {count}" for year, count in years)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="References by year: {words}"'
        f' fill="currentColor">{bars}<text x="0" y="{_BASE + 20}" font-size="14">{first}</text>'
        f'<text x="{_WIDTH}" y="{_BASE + 20}" font-size="14" text-anchor="end">{last}</text></svg>'
    )
