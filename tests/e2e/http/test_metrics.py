"""Metrics and logs of a running server, and many clients of several search processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

TOKEN = "a-token"
CLIENTS = 64
CALLS = 12


def value(text: str, name: str) -> float:
    """The sum of the values of a metric whose line begins with `name`."""
    lines = [line for line in text.splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_metrics_count_requests_stages_and_refusals(env: dict[str, str], serving: Any) -> None:
    with serving(env | {"CITEWELL_SERVE_METRICS": "true"}) as (url, _):
        for _ in range(3):
            body = {"query": "graph attention networks", "k": 1}
            httpx2.post(f"{url}/v1/search", json=body, timeout=120).raise_for_status()
        assert httpx2.get(f"{url}/v1/nothing", timeout=120).status_code == 404
        found = httpx2.get(f"{url}/metrics", timeout=120)
    assert found.headers["content-type"].startswith("text/plain; version=")
    text = found.text
    assert value(text, 'citewell_requests_total{endpoint="search",method="POST",status="200"}') == 3
    assert value(text, 'citewell_requests_total{endpoint="none",method="GET",status="404"}') == 1
    assert value(text, 'citewell_request_seconds_count{endpoint="search"}') == 3
    assert value(text, 'citewell_stage_seconds_count{stage="total"}') == 3
    assert value(text, 'citewell_engine_calls_total{call="find",outcome="ok"}') == 3
    assert "attention" not in text


def test_what_the_cache_of_the_sources_had_is_counted_over_all_search_processes(
    env: dict[str, str], serving: Any, fake_sources: Any, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'[sources]\nallow = ["crossref", "dblp"]\nbase_url = "{fake_sources.url}"\n'
        "[serve]\nworkers = 2\nmetrics = true\n",
        encoding="utf-8",
    )
    own = env | {"CITEWELL_CONFIG": str(config), "CITEWELL_CACHE": str(tmp_path / "cache")}
    text = "@article{a, title={Porcelain Teacups in the Third Century}, author={Doe, Jane}}"
    with serving(own) as (url, _):

        def check(number: int) -> None:
            body = {"text": text, "online": True}
            httpx2.post(f"{url}/v1/check", json=body, timeout=300).raise_for_status()

        def counted() -> dict[tuple[str, str], float]:
            metrics = httpx2.get(f"{url}/metrics", timeout=120).text
            assert "teacup" not in metrics.lower()
            return {
                (source, outcome): value(
                    metrics, f'citewell_source_cache_total{{outcome="{outcome}",source="{source}"}}'
                )
                for source in ("crossref", "dblp")
                for outcome in ("hit", "miss", "revalidated", "uncached", "failed")
            }

        check(0)
        first = counted()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(check, range(12)))
        last = counted()
    for source in ("crossref", "dblp"):
        sent = first[source, "miss"]
        assert sent == len(fake_sources.of(source)) > 0
        assert last[source, "miss"] == sent
        assert last[source, "hit"] == first[source, "hit"] + 12 * (sent + first[source, "hit"])
        assert not any(last[source, one] for one in ("revalidated", "uncached", "failed"))


@pytest.mark.parametrize(
    ("settings", "token", "status"),
    [
        ({}, "", 404),
        ({"CITEWELL_SERVE_METRICS": "true"}, TOKEN, 401),
        ({"CITEWELL_SERVE_METRICS": "true", "CITEWELL_SERVE_READ_ONLY": "true"}, "", 404),
    ],
)
def test_metrics_are_off_by_default_and_ask_for_the_token(
    env: dict[str, str], serving: Any, settings: dict[str, str], token: str, status: int
) -> None:
    with serving(env | settings, token=token) as (url, _):
        assert httpx2.get(f"{url}/metrics", timeout=120).status_code == status
        if token:
            headers = {"Authorization": f"Bearer {token}"}
            found = httpx2.get(f"{url}/metrics", headers=headers, timeout=120)
            assert value(found.text, "citewell_requests_total") == 1


def test_the_log_has_a_line_of_json_for_each_request_without_its_content(
    env: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "citewell", "serve", "--port", "0"]
    settings = env | {"CITEWELL_SERVE_LOG_FORMAT": "json"}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=log)
    assert server.stdout is not None
    try:
        url = json.loads(server.stdout.readline())["url"]
        params = {"query": "attention"}
        httpx2.get(f"{url}/v1/search", params=params, timeout=120).raise_for_status()
    finally:
        server.terminate()
        server.communicate(timeout=180)
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    (request,) = [line for line in lines if line["logger"] == "citewell.requests"]
    assert (request["endpoint"], request["method"], request["status"]) == (
        "search_by_address", "GET", 200,
    )  # fmt: skip
    assert request["milliseconds"] > 0
    assert not re.search("attention|127.0.0.1", json.dumps(lines))


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="PSS is of Linux")
async def test_64_clients_of_two_search_processes_get_answers_in_flat_memory(
    env: dict[str, str], serving: Any
) -> None:
    settings = {"CITEWELL_SERVE_WORKERS": "2", "CITEWELL_SERVE_METRICS": "true"}
    with serving(env | settings) as (url, process):

        async def ask(number: int, calls: int) -> None:
            async with httpx2.AsyncClient(base_url=url, timeout=600) as client:
                for call in range(calls):
                    query = ("attention", "residual learning", "memory")[(number + call) % 3]
                    found = await client.post("/v1/search", json={"query": query, "k": 3})
                    assert found.status_code == 200, found.text
                    assert found.json()["papers"]

        async def crowd(calls: int) -> None:
            await asyncio.gather(*(ask(number, calls) for number in range(CLIENTS)))

        await crowd(CALLS)  # what is kept is kept by now
        before = anonymous_memory(process.pid)
        await crowd(CALLS)
        after = anonymous_memory(process.pid)
        text = httpx2.get(f"{url}/metrics", timeout=120).text
    assert value(text, 'citewell_requests_total{endpoint="search"') == 2 * CLIENTS * CALLS
    assert value(text, "citewell_dropped_total") == 0
    assert after < before * 1.15 + 10, (before, after)


def anonymous_memory(root: int) -> float:
    """Megabytes that a server and its search processes have for themselves."""
    server = psutil.Process(root)
    found = 0.0
    for process in (server, *server.children(recursive=True)):
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        found += int(re.search(r"Pss_Anon:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="PSS is of Linux")
def test_search_processes_share_the_pages_of_the_library(env: dict[str, str], serving: Any) -> None:
    """The vectors of the encoder and the index are mapped from files by both processes."""
    with serving(env | {"CITEWELL_SERVE_WORKERS": "2"}) as (url, process):
        queries = [f"attention in networks {n}" for n in range(8)]
        for query in queries:
            httpx2.post(f"{url}/v1/search", json={"query": query}, timeout=120).raise_for_status()
        workers = [child for child in psutil.Process(process.pid).children(recursive=True)
                   if "citewell.engine.worker" in " ".join(child.cmdline())]  # fmt: skip
        assert len(workers) == 2
        folder = os.path.realpath(env["CITEWELL_LIBRARY_PATH"])
        for worker in workers:
            mapped = [
                one for one in worker.memory_maps(grouped=True) if one.path.startswith(folder)
            ]
            assert mapped, "the library is mapped"
            assert sum(one.private_dirty for one in mapped) == 0
