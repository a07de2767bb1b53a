"""The parts of asking: patience, rest, keys, and addresses that are not followed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("httpx2", reason="the extra `online` is not installed")

from citewell.options.merge import load
from citewell.sources import contract
from citewell.sources.adapters.crossref import Crossref
from citewell.sources.adapters.doi import DoiOrg
from citewell.sources.adapters.openalex import OpenAlex
from citewell.sources.adapters.semantic_scholar import SemanticScholar
from citewell.sources.contract import Failed, Matched, Reason, SourceQuery
from citewell.sources.registry import ALL, SOURCES, allowed
from citewell.sources.web.client import RateLimiter, Web, WebOptions, Wire, retry_after
from citewell.sources.web.keys import key_of
from citewell.sources.web.shared_pace import FAILURES, REST_SECONDS, Breaker, Trouble


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), (" 120 ", 120.0), ("", None), ("soon", None), ("-3", None)]
)
def test_the_time_that_a_source_asks_for_is_read(value: str, seconds: float | None) -> None:
    assert retry_after(value) == seconds


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_circuit_opens_rests_probes_and_closes() -> None:
    clock = Clock()
    breaker = Breaker("Crossref", clock)
    for _ in range(FAILURES - 1):
        breaker.enter()
        breaker.failed()
    breaker.enter()
    breaker.failed()
    with pytest.raises(Trouble) as raised:
        breaker.enter()
    assert raised.value.reason is Reason.RESTING
    clock.now += REST_SECONDS + 1
    breaker.enter()  # the probe
    with pytest.raises(Trouble):
        breaker.enter()  # no second one beside it
    breaker.failed()
    clock.now += REST_SECONDS + 1
    with pytest.raises(Trouble):
        breaker.enter()  # it rests longer each time
    clock.now += REST_SECONDS
    breaker.enter()
    breaker.succeeded()
    breaker.enter()
    breaker.enter()


def test_a_source_that_cannot_be_reached_is_called_so_before_it_is_called_paused() -> None:
    clock = Clock()
    breaker = Breaker("Crossref", clock)
    for _ in range(FAILURES):
        breaker.enter()
        breaker.failed(unreachable="Crossref cannot be reached (ConnectError).")
    with pytest.raises(Trouble, match=r"Crossref cannot be reached \(ConnectError\)."):
        breaker.enter()
    clock.now += REST_SECONDS + 1
    breaker.enter()
    breaker.failed(wait=20)
    with pytest.raises(Trouble, match="paused"):
        breaker.enter()


def test_a_request_that_is_given_up_says_nothing_about_its_source() -> None:
    breaker = Breaker("Crossref", Clock())
    for _ in range(FAILURES * 2):
        breaker.enter()
        breaker.withdrawn()
    breaker.enter()


async def test_a_pace_heeds_what_a_server_states_and_is_never_faster_than_its_own() -> None:
    rate_limiter = RateLimiter(10.0, 2)
    rate_limiter.learn({"x-rate-limit-limit": "5", "x-rate-limit-interval": "1s"})
    assert rate_limiter.interval == pytest.approx(0.2)
    rate_limiter.learn({"x-rate-limit-limit": "500", "x-rate-limit-interval": "1s"})
    assert rate_limiter.interval == pytest.approx(0.1)
    for odd in (
        {"x-rate-limit-limit": "0", "x-rate-limit-interval": "1s"},
        {},
        {"x-rate-limit-limit": "x"},
    ):
        rate_limiter.learn(odd)
    assert rate_limiter.interval == pytest.approx(0.1)
    rate_limiter.learn({"x-rate-limit-limit": "1", "x-rate-limit-interval": "86400s"})
    assert rate_limiter.interval == 60.0


def test_a_key_shows_itself_nowhere_and_an_odd_one_is_no_key() -> None:
    key = key_of(OpenAlex, {"OPENALEX_API_KEY": "k3y"})
    assert key is not None and key.value == "k3y"
    assert "k3y" not in f"{key} {key!r}"
    for odd in ("", "  ", "a\nb", "ü", "x" * 1000):
        assert key_of(OpenAlex, {"OPENALEX_API_KEY": odd}) is None
    assert key_of(DoiOrg, {"OPENALEX_API_KEY": "k3y"}) is None


def test_a_key_may_come_from_the_keyring_which_may_be_locked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ring = ModuleType("keyring")
    kept = {("citewell", "crossref"): "from-ring"}
    ring.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setattr("citewell.sources.web.keys.find_spec", lambda name: object())
    key = key_of(Crossref, {})
    assert key is not None and (key.value, key.origin) == ("from-ring", "keyring")
    assert key_of(OpenAlex, {}) is None

    def locked(service: str, name: str) -> str:
        raise RuntimeError("the keyring is locked")

    ring.get_password = locked  # type: ignore[attr-defined]
    assert key_of(Crossref, {}) is None


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("https://api.crossref.org/v1/works/10.1/x", "https://api.crossref.org/v1/works/10.1/x"),
        ("http://api.crossref.org/works/10.1/x", "https://api.crossref.org/works/10.1/x"),
        ("/10.1/y", "https://doi.org/10.1/y"),
        ("https://user:word@data.crosscite.org/x", "https://data.crosscite.org/x"),
        ("https://publisher.example/article", None),
        ("http://169.254.169.254/latest", None),
        ("https://api.crossref.org:8443/x", None),
        ("https://api.crossref.org.evil.example/x", None),
        ("file:///etc/passwd", None),
        ("http://localhost/x", None),
        ("", None),
        ("https://[", None),
    ],
)
def test_redirects_lead_only_to_hosts_of_the_source(location: str, target: str | None) -> None:
    import httpx2

    wire = Wire({})
    begin = httpx2.URL("https://doi.org/10.1/x")
    if target is None:
        with pytest.raises(Trouble) as raised:
            wire._followed(begin, location, DoiOrg)
        assert raised.value.reason is Reason.REFUSED
    else:
        assert str(wire._followed(begin, location, DoiOrg)) == target


@pytest.mark.parametrize(
    ("address", "good"),
    [
        ("http://127.0.0.1:8765", True), ("http://localhost:1/x", True), ("http://[::1]:9", True),
        ("https://proxy.example.org/sources", True), ("", True), ("http://proxy.example.org", False),
        ("https://user:word@proxy.example.org", False), ("file:///tmp", False), ("ftp://x", False),
    ],
)  # fmt: skip
def test_another_address_is_on_this_machine_or_speaks_https(address: str, good: bool) -> None:
    loaded = load(environ={}, overrides={"sources.base_url": address})
    ours = [problem for problem in loaded.problems if "base_url" in problem.message]
    assert bool(ours) is not good


def test_names_of_sources_are_read_kindly_and_wrong_ones_are_told() -> None:
    assert allowed(())[0] == ()
    assert allowed((ALL,))[0] == tuple(SOURCES)
    assert allowed((" Semantic_Scholar ", "doi"))[0] == ("semantic-scholar", "doi")
    names, problems = allowed(("crossref", "scopus"))
    assert names == ("crossref",)
    assert [problem.code for problem in problems] == ["sources-unknown"]
    assert "scopus" in problems[0].message


async def test_a_cache_that_cannot_be_written_costs_no_answer(
    fake_sources: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    web = Web([Crossref], WebOptions(base_url=fake_sources.url, cache=tmp_path / "file" / "cache"))
    answer = await Crossref(web).by_id("doi", "10.18653/v1/n19-1423")
    await web.aclose()
    assert isinstance(answer, Matched)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The requests that are counted, with their outcomes."""
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(
        contract, "_listeners", [lambda source, outcome: found.append((source, outcome))]
    )
    return found


async def test_each_request_is_counted_by_what_the_cache_had_of_it(
    fake_sources: Any, fakes: Any, tmp_path: Path, counted: list[tuple[str, str]]
) -> None:
    options = WebOptions(base_url=fake_sources.url, cache=tmp_path, backoff=0.001)
    web = Web([Crossref, SemanticScholar], options)
    for _ in range(3):
        await Crossref(web).by_id("doi", "10.18653/v1/n19-1423")
    assert counted == [("crossref", "miss"), ("crossref", "hit"), ("crossref", "hit")]
    counted.clear()
    fake_sources.extra["crossref"] = {"cache-control": "max-age=0", "etag": '"v1"'}
    await Crossref(web).match(SourceQuery(title="Long Short-Term Memory"))
    await Crossref(web).match(SourceQuery(title="Long Short-Term Memory"))
    assert counted == [("crossref", "miss"), ("crossref", "revalidated")]
    counted.clear()
    # A list of identifiers is sent as a body, which no cache holds.
    for _ in range(2):
        await SemanticScholar(web).by_ids("doi", ["10.1/a", "10.1/b"])
    assert counted == [("semantic-scholar", "uncached")] * 2
    counted.clear()
    # Tries that are repeated are one request.
    fake_sources.fail("crossref", fakes.Fault(status=500))
    assert isinstance(await Crossref(web).by_id("doi", "10.1/gone"), Failed)
    await web.aclose()
    assert counted == [("crossref", "failed")]


async def test_a_request_that_is_no_longer_waited_for_is_counted_too(
    fake_sources: Any, fakes: Any, counted: list[tuple[str, str]]
) -> None:
    fake_sources.fail("crossref", fakes.Fault(kind="hang"))
    web = Web([Crossref], WebOptions(base_url=fake_sources.url))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await Crossref(web).by_id("doi", "10.18653/v1/n19-1423")
    await web.aclose()
    assert counted == [("crossref", "failed")]


async def test_a_damaged_cache_costs_no_answer(fake_sources: Any, tmp_path: Path) -> None:
    from citewell.sources.web.client import CACHE_FILE

    (tmp_path / CACHE_FILE).write_bytes(b"this is no database" * 100)
    web = Web([Crossref], WebOptions(base_url=fake_sources.url, cache=tmp_path))
    answer = await Crossref(web).by_id("doi", "10.18653/v1/n19-1423")
    await web.aclose()
    assert isinstance(answer, Matched)
