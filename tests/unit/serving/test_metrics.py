"""Metrics in the text format of Prometheus, and log lines in JSON."""

from __future__ import annotations

import json
import logging
import re
from concurrent.futures import ThreadPoolExecutor

from citewell.model.system.json_log import FIELDS, JsonFormatter
from citewell.serving.metrics import REQUEST_SECONDS, Metrics

LINE = re.compile(r'^[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? (\+Inf|[-+0-9.e]+)$')


def values(text: str) -> dict[str, float]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            assert LINE.match(line), line
            name, _, value = line.rpartition(" ")
            assert name not in found
            found[name] = float(value)
    return found


def test_requests_are_counted_by_endpoint_and_status_and_their_times_cumulated() -> None:
    metrics = Metrics()
    for status, seconds in ((200, 0.003), (200, 0.02), (503, 400.0)):
        metrics.request("search", "POST", status, seconds)
    found = values(metrics.text())
    assert found['citewell_requests_total{endpoint="search",method="POST",status="200"}'] == 2
    assert found['citewell_requests_total{endpoint="search",method="POST",status="503"}'] == 1
    buckets = [found[f'citewell_request_seconds_bucket{{endpoint="search",le="{le}"}}']
               for le in ("0.005", "0.01", "0.025", "60.0", "+Inf")]  # fmt: skip
    assert buckets == [1, 1, 2, 2, 3]
    assert found['citewell_request_seconds_count{endpoint="search"}'] == 3
    assert found['citewell_request_seconds_sum{endpoint="search"}'] == 400.023


def test_a_time_on_a_bound_belongs_to_it() -> None:
    metrics = Metrics()
    metrics.request("search", "POST", 200, REQUEST_SECONDS[0])
    assert values(metrics.text())[
        f'citewell_request_seconds_bucket{{endpoint="search",le="{REQUEST_SECONDS[0]}"}}'
    ] == 1  # fmt: skip


def test_each_metric_has_one_type_before_its_values() -> None:
    metrics = Metrics()
    metrics.request("search", "POST", 200, 0.1)
    metrics.search({"bm25": 3.0, "total": 20.0}, ["retriever-late"])
    metrics.call("find", "ok")
    types = [line.split()[2] for line in metrics.text().splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types)) == 7
    found = values(metrics.text())
    assert found['citewell_stage_seconds_sum{stage="bm25"}'] == 0.003
    assert found['citewell_dropped_total{code="retriever-late"}'] == 1
    assert found['citewell_engine_calls_total{call="find",outcome="ok"}'] == 1


def test_requests_to_sources_are_counted_by_source_and_outcome() -> None:
    metrics = Metrics()
    for source, outcome in (("crossref", "hit"), ("crossref", "hit"), ("dblp", "miss")):
        metrics.source_cache(source, outcome)
    found = values(metrics.text())
    assert found['citewell_source_cache_total{outcome="hit",source="crossref"}'] == 2
    assert found['citewell_source_cache_total{outcome="miss",source="dblp"}'] == 1


def test_quotes_and_line_ends_in_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.call('a"b\\c\nd', "ok")
    assert r'call="a\"b\\c\nd"' in metrics.text()


def test_counts_of_several_threads_add_up() -> None:
    metrics = Metrics()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: metrics.request("search", "GET", 200, 0.01), range(4000)))
    assert values(metrics.text())['citewell_request_seconds_count{endpoint="search"}'] == 4000


def test_a_log_record_is_one_line_of_json_with_its_fields_and_traceback() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("citewell.x", logging.ERROR, "x.py", 1, "It %s", ("failed",), info)
    setattr(record, FIELDS, {"status": 500})
    line = JsonFormatter().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["logger"], found["message"], found["status"]) == (
        "error", "citewell.x", "It failed", 500,
    )  # fmt: skip
    assert "ValueError: two" in found["traceback"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}\+00:00", found["time"])
