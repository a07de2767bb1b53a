"""What the settings `serve.*` allow, of a server as a user starts it."""

from __future__ import annotations

import sys
from typing import Any

import httpx2
import psutil
import pytest

PAGE = "http://localhost:3000"
SEARCH = {"query": "attention is all you need", "k": 1}


def searched(url: str, **how: Any) -> Any:
    return httpx2.post(f"{url}/v1/search", json=SEARCH, timeout=300, **how)


def test_pages_may_read_where_the_settings_say_so(serving: Any, env: dict[str, str]) -> None:
    with serving(env | {"CITEWELL_SERVE_ALLOW_ORIGINS": PAGE}) as (url, _):
        found = searched(url, headers={"Origin": PAGE})
        assert found.status_code == 200
        assert found.headers["access-control-allow-origin"] == PAGE
        assert searched(url, headers={"Origin": "http://localhost:3001"}).status_code == 403


@pytest.mark.parametrize(
    ("proxies", "status"), [("", 429), ("192.0.2.1", 429), ("127.0.0.0/8", 200)]
)
def test_only_a_named_proxy_may_say_who_the_client_is(
    serving: Any, env: dict[str, str], proxies: str, status: int
) -> None:
    own = {"CITEWELL_SERVE_RATE_LIMIT": "1", "CITEWELL_SERVE_PROXIES": proxies}
    with serving(env | own) as (url, _):
        first = searched(url, headers={"X-Forwarded-For": "203.0.113.1"})
        second = searched(url, headers={"X-Forwarded-For": "203.0.113.2"})
        assert (first.status_code, second.status_code) == (200, status)


def test_of_several_workers_the_pipeline_shows_the_last_search_of_any(
    env: dict[str, str], serving: Any
) -> None:
    with serving(env | {"CITEWELL_SERVE_WORKERS": "2"}) as (url, _):
        shown = []
        for _ in range(3):
            assert searched(url).status_code == 200
            totals = {
                httpx2.get(f"{url}/v1/pipeline", timeout=120).json().get("total") for _ in range(4)
            }
            assert len(totals) == 1 and None not in totals
            shown += totals
        assert len(set(shown)) > 1


def test_several_workers_answer_and_one_that_dies_is_replaced(
    serving: Any, env: dict[str, str]
) -> None:
    with serving(env | {"CITEWELL_SERVE_WORKERS": "2"}) as (url, process):
        title = searched(url).json()["papers"][0]["title"]
        assert title == "Attention Is All You Need"
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) >= 2
        for one in workers:
            if one.is_running():
                one.kill()
        psutil.wait_procs(workers, timeout=3)
        answers = [searched(url) for _ in range(6)]
        assert all(one.status_code in (200, 503) for one in answers)
        assert answers[-1].json()["papers"][0]["title"] == title
        family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert process.wait(timeout=120) in ((0, 1) if sys.platform == "win32" else (0,))
        assert not psutil.wait_procs(family, timeout=60)[1]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that even root cannot write")
def test_a_public_demo_needs_no_token_and_writes_nothing(serving: Any, env: dict[str, str]) -> None:
    unwritable = {
        "CITEWELL_DATA": "/proc/citewell-data",
        "CITEWELL_CACHE": "/proc/citewell-cache",
        "CITEWELL_SERVE_ALLOW_HOSTS": "127.0.0.1:7499,demo.example",
        "CITEWELL_SERVE_RATE_LIMIT": "1000",
    }
    with serving(env | unwritable, "--read-only", "--host", "0.0.0.0") as (url, _):
        port = url.rpartition(":")[2]
        address = f"http://127.0.0.1:{port}"
        found = searched(address, headers={"Host": "demo.example"})
        assert found.json()["papers"][0]["title"] == "Attention Is All You Need"
        assert searched(address, headers={"Host": "evil.example"}).status_code == 421
        body = {"text": "Attention is all you need [CITATION]."}
        for path in ("/v1/find", "/api/find-citation", "/v1/check"):
            found = httpx2.post(
                address + path, json=body, headers={"Host": "demo.example"}, timeout=300
            )
            assert found.status_code == 200, found.text
        online = {"text": "@misc{a, title={X}}", "online": True}
        refused = httpx2.post(
            f"{address}/v1/check", json=online, headers={"Host": "demo.example"}, timeout=300
        )
        codes = [one["code"] for one in refused.json().get("problems", ())]
        assert refused.status_code == 403 or "sources-off" in codes, refused.text
