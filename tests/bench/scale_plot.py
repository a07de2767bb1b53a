"""Draws the figures of `scale_bench.py` as an SVG: what grows with the number of works.

python tests/bench/scale_plot.py /data/scale/figures.jsonl docs/images/scale.svg
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 260, 200, 48, 34, 30, 54
STYLE = "font-family:sans-serif;font-size:11px;fill:#333"


def panels(rows: list[dict[str, Any]]) -> list[tuple[str, dict[str, list[tuple[float, float]]]]]:
    """Title of each panel, and the points of its curves: works and value."""
    built = [row for row in rows if "build" in row]
    return [
        ("build, processor seconds", {"": [(r["size"], r["build"]["cpu_s"]) for r in built]}),
        ("disk, MB", {"": [(r["size"], sum(r["disk_mb"].values())) for r in rows]}),
        (
            "search, processor ms",
            {
                "p50": [(r["size"], r["warm"]["processor_ms"][0]) for r in rows],
                "p95": [(r["size"], r["warm"]["processor_ms"][1]) for r in rows],
            },
        ),
        (
            "memory, MB",
            {
                "search": [(r["size"], r["search_mb"]["Pss_Anon"]) for r in rows],
                "build": [(r["size"], r["build"]["peak_anon_mb"]) for r in built],
            },
        ),
    ]


def panel(title: str, curves: dict[str, list[tuple[float, float]]], left: float) -> list[str]:
    """One panel with logarithmic axes."""
    points = [point for curve in curves.values() for point in curve]
    low_x, high_x = (math.log10(f(x for x, _ in points)) for f in (min, max))
    high_y = 10 ** math.ceil(math.log10(max(y for _, y in points)))
    low_y = 10 ** math.floor(math.log10(min(y for _, y in points)))
    span_y = math.log10(high_y / low_y) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        share = (math.log10(x) - low_x) / ((high_x - low_x) or 1.0)
        up = math.log10(y / low_y) / span_y
        inner = HEIGHT - TOP - BOTTOM
        return left + LEFT + share * (WIDTH - LEFT - RIGHT), TOP + inner * (1 - up)

    bottom = HEIGHT - BOTTOM
    out = [
        f'<text x="{left + LEFT}" y="16" style="{STYLE};font-weight:bold">{title}</text>',
        f'<path d="M{left + LEFT - 6},{TOP}V{bottom}H{left + WIDTH - RIGHT + 10}" fill="none" stroke="#999"/>',
    ]
    for value in (low_y, high_y):
        _, y = place(points[0][0], value)
        out.append(
            f'<text x="{left + LEFT - 10}" y="{y + 4:.0f}" text-anchor="end" style="{STYLE}">'
            f"{value:,.0f}</text>"
        )
    for x_value in sorted({x for x, _ in points}):
        x, _ = place(x_value, high_y)
        out.append(
            f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle" style="{STYLE}">'
            f"{x_value / 1e6:g}M</text>"
        )
    for (name, curve), colour in zip(curves.items(), ("#1f6feb", "#bf5700"), strict=False):
        places = [place(x, y) for x, y in sorted(curve)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        x, y = places[-1]
        out.append(f'<text x="{x + 6:.0f}" y="{y + 4:.0f}" style="{STYLE}">{name}</text>')
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("figures", type=Path)
    parser.add_argument("image", type=Path)
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.figures.read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: row["size"])
    shapes = [
        shape
        for number, (title, curves) in enumerate(panels(rows))
        for shape in panel(title, curves, number * WIDTH)
    ]
    total = WIDTH * len(panels(rows))
    given.image.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {HEIGHT}">'
        f'<title>Growth of a library</title><rect width="{total}" height="{HEIGHT}" fill="#fff"/>\n'
        + "\n".join(shapes)
        + "\n</svg>\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
