"""The charts draw every attempt and every model to scale, inside of their frames."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from msgspec.structs import replace

from citewell.llm.versions import Version
from citewell.model import Problem
from citewell_lab.evaluation.statistics import Estimate
from citewell_lab.tuning.compare_models import RANKER, Compared, ModelComparison
from citewell_lab.tuning.metric import MetricWeights
from citewell_lab.tuning.page import attempts_chart, models_chart
from citewell_lab.tuning.plan import Step, Tuning

VERSION = Version(program="pick", version="builtin", instructions="Pick.")
TUNING = Tuning(
    program="pick", model="m", created="2026-01-01", weights=MetricWeights(), threshold=0.9, sizes={},
    started=VERSION, ended=VERSION, ranker={}, before={}, after={}, valid=0.5,
)  # fmt: skip


def step(number: int, after: float | None, *, accepted: bool = False) -> Step:
    problem = None if after is not None else Problem("llm-down", "No <answer>.", "Start it.")
    return Step(
        number=number, optimizer="mipro", fooled=3, before=0.5, after=after, accepted=accepted,
        problem=problem,
    )  # fmt: skip


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


def titles(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter("title")]


@pytest.mark.parametrize("count", [1, 3, 40])
def test_every_attempt_has_its_mark(count: int) -> None:
    steps = [step(n, 0.5 + n / 100, accepted=n == 2) for n in range(1, count + 1)]
    root = inside(attempts_chart(replace(TUNING, steps=tuple(steps))))
    found = titles(root)
    assert found.pop(0) == "threshold: 0.9"
    assert len(found) == count + 1 and found[0] == "first version: 0.500"
    assert found[1] == "attempt 1, mipro: 0.510, not accepted"
    circles = list(root.iter("circle"))
    heights = [float(one.get("cy", 0)) for one in circles]
    assert heights == sorted(heights, reverse=True), "higher is better"
    assert [one.get("class") for one in circles].count("yes") == 1 + (count >= 2)


def test_an_attempt_that_failed_is_a_cross_with_its_reason() -> None:
    root = inside(attempts_chart(replace(TUNING, steps=(step(1, None), step(2, 0.6)))))
    (cross,) = root.iter("path")
    assert titles(cross) == ["attempt 1: No <answer>."]


def test_without_attempts_there_is_no_chart() -> None:
    assert attempts_chart(TUNING) == ""


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
