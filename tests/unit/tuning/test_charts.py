"""The charts draw every attempt and every model to scale, inside of their frames."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from citewell_lab.evaluation.statistics import Estimate
from citewell_lab.tuning.compare_models import RANKER, Compared, ModelComparison
from citewell_lab.tuning.page import models_chart


def inside(text: str) -> ET.Element:
    """The chart, after everything with a place was found inside of its frame."""
    root = ET.fromstring(text)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    for one in root.iter():
        for name, most in (("x", width), ("cx", width), ("x1", width), ("x2", width),
                           ("y", height), ("cy", height), ("y1", height), ("y2", height)):  # fmt: skip
            assert 0 <= float(one.get(name, 0)) <= most, (one.tag, one.attrib)
        if one.get("width"):
            assert float(one.get("x", 0)) + float(one.get("width", 0)) <= width
    return root


def compared(model: str, mrr: float, **more: float | None) -> Compared:
    return Compared(model=model, figures={"mrr": Estimate(mrr, mrr - 0.1, mrr + 0.1)}, **more)


def test_latency_and_cost_stand_beside_quality() -> None:
    long = "litellm:" + "a-very-long-name/" * 8
    models = (
        compared(RANKER, 0.5),
        compared("ollama:small", 0.55, p50=1.0, p95=2.0, cost_per_thousand=0.0),
        compared(long, 0.95, p50=2.0, p95=4.0, cost_per_thousand=8.0),
        compared("dear", 0.7, p50=0.5, p95=0.9, cost_per_thousand=None),
    )
    found = ModelComparison(program="pick", created="", examples=8, papers=2, models=models)
    root = inside(models_chart(found))
    texts = [one.text or "" for one in root.iter("text")]
    for expected in ("ranker", "1.00 / 2.00 s", "2.00 / 4.00 s", "$8.00", "$0.00", "unknown", long):
        assert expected in texts, expected
    (narrowed,) = [one for one in root.iter("text") if one.get("textLength")]
    assert narrowed.text == long
    widths = [float(one.get("width", 0)) for one in root.iter("rect")]
    assert widths == pytest.approx([270 / 4, 1, 270 / 2, 236, 270 / 8], abs=0.1)
    assert len(list(root.iter("circle"))) == len(models)
