"""Every source keeps one contract: values in every case, and good manners."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from citewell.sources.contract import Failed, Matched, NoMatch, Reason, Source, SourceQuery
from citewell.sources.registry import SOURCES, source_named

pytest.importorskip("httpx2", reason="the extra `online` is not installed")

from citewell.sources.web.client import Web, WebOptions

KNOWN = {
    "doi": "10.18653/v1/n19-1423", "arxiv": "1706.03762", "pmid": "9377276",
    "isbn": "9780471062592",
}  # fmt: skip
OTHER = {
    "europe-pmc": {"doi": "10.1162/neco.1997.9.8.1735"},
    "inspire": {"doi": "10.1000/kettles.frontier"},
    "zbmath": {"doi": "10.1000/kettles.cohomology"},
    "datacite": {"doi": "10.48550/arxiv.1706.03762"},
    "pubmed": {"doi": "10.1162/neco.1997.9.8.1735"},
}
ABSENT = {"doi": "10.1371/notarealdoi", "arxiv": "2301.99999", "pmid": "1", "isbn": "9780000000002"}
TITLES = {
    "europe-pmc": "Long Short-Term Memory",
    "inspire": "Attention Is All You Need",
    "zbmath": "On the cohomology of kettles",
    "open-library": "Elements of Information Theory",
    "datacite": "Attention Is All You Need",
    "pubmed": "Long Short-Term Memory",
    "openreview": "On the Patience of Kettles",
}
BERT = "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding"
SEARCHES_DOIS = ("pubmed", "europe-pmc")
"""Sources without an address for one record: a DOI is searched for."""
EMPTY_IS_ABSENT = ("zbmath",)
"""Sources that answer a search without results with 404."""
FAULTS = {
    "429": ({"status": 429}, Reason.THROTTLED),
    "429 and a long wait": ({"status": 429, "headers": {"retry-after": "600"}}, Reason.THROTTLED),
    "503": ({"status": 503}, Reason.UNREACHABLE),
    "503 and a long wait": ({"status": 503, "headers": {"retry-after": "600"}}, Reason.THROTTLED),
    "500": ({"status": 500}, Reason.UNREACHABLE),
    "403": ({"status": 403}, Reason.REFUSED),
    "401": ({"status": 401}, Reason.REFUSED),
    "418": ({"status": 418}, Reason.REFUSED),
    "no answer": ({"kind": "hang"}, Reason.UNREACHABLE),
    "broken off": ({"kind": "truncated"}, Reason.NONSENSE),
    "malformed": ({"kind": "malformed"}, Reason.NONSENSE),
    "empty body": ({"kind": "empty-body"}, Reason.NONSENSE),
    "another shape": ({"kind": "shape"}, Reason.NONSENSE),
    "too large": ({"kind": "huge"}, Reason.NONSENSE),
    "redirect to a stranger": ({"kind": "foreign-redirect"}, Reason.REFUSED),
    "redirect in a circle": ({"kind": "loop"}, Reason.REFUSED),
}

Opened = Callable[..., Source]


@pytest.fixture(params=SOURCES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources that take a thousand requests a second, where the pace is not what is tested."""
    import msgspec

    for name in SOURCES:
        kind = source_named(name)
        changed = msgspec.structs.replace(
            kind.policy,
            per_second=1000.0,
            per_second_with_key=1000.0,
            at_once=8,
            max_bytes=1_000_000,
        )
        monkeypatch.setattr(kind, "policy", changed)


@pytest.fixture
async def opened(fake_sources: Any, tmp_path: Path) -> AsyncIterator[Opened]:
    """`opened(name)` is a source that asks the fake server, with a cache on disk."""
    webs: list[Web] = []

    def make(name: str, **changes: Any) -> Source:
        options = WebOptions(
            **{
                "base_url": fake_sources.url, "cache": tmp_path / "cache", "timeout": 0.7,
                "backoff": 0.01, "contact": "author@example.org", **changes,
            }
        )  # fmt: skip
        kind = source_named(name)
        web = Web([kind], options)
        webs.append(web)
        return kind(web)

    yield make
    for web in webs:
        await web.aclose()


def title_for(name: str) -> str:
    return TITLES.get(name, BERT)


def one_question(source: Source) -> Any:
    """A question that the source can answer from the fake's records."""
    if "match" in source.can:
        return source.match(SourceQuery(title=title_for(source.name)))
    return source.by_id("doi", KNOWN["doi"])


# -- what is answered -----------------------------------------------------------------------


async def test_a_known_identifier_brings_the_record_with_its_origin(
    name: str, opened: Opened, quick: None
) -> None:
    source = opened(name)
    for kind in source.ids:
        value = OTHER.get(name, {}).get(kind, KNOWN[kind])
        answer = await source.by_id(kind, value)
        assert isinstance(answer, Matched), answer
        work = answer.works[0]
        assert work.title and work.authors and work.year
        assert [origin.source for origin in work.provenance] == [name]
        assert work.provenance[0].source_id and work.provenance[0].retrieved
        assert getattr(work, kind, value) in (value, work.doi)


async def test_an_unknown_identifier_is_nothing_and_no_failure(
    name: str, opened: Opened, quick: None
) -> None:
    source = opened(name)
    for kind in source.ids:
        assert await source.by_id(kind, ABSENT[kind]) == NoMatch(name)


async def test_many_identifiers_are_answered_in_order(
    name: str, opened: Opened, quick: None, fake_sources: Any
) -> None:
    source = opened(name)
    for kind in source.ids:
        known = OTHER.get(name, {}).get(kind, KNOWN[kind])
        before = len(fake_sources.of(name))
        answers = await source.by_ids(kind, [ABSENT[kind], known, ABSENT[kind] + "8"])
        assert [type(answer) for answer in answers] == [NoMatch, Matched, NoMatch]
        if source.batch > 2:
            assert len(fake_sources.of(name)) == before + 1


async def test_a_reference_is_matched_by_its_title(name: str, opened: Opened, quick: None) -> None:
    source = opened(name)
    answer = await source.match(SourceQuery(title=title_for(name), authors=("Devlin",), year=2019))
    if "match" not in source.can:
        assert isinstance(answer, Failed) and answer.reason is Reason.UNABLE
        return
    assert isinstance(answer, Matched)
    assert answer.works[0].title.lower() == title_for(name).lower()


async def test_a_title_that_nobody_knows_is_nothing_though_sources_always_offer_something(
    name: str, opened: Opened, quick: None
) -> None:
    source = opened(name)
    if "match" in source.can:
        wanted = SourceQuery(
            title="Long Patience of Bidirectional Kettles Is All Attention Memory Needs"
        )
        assert await source.match(wanted) == NoMatch(name)


async def test_words_are_searched(name: str, opened: Opened, quick: None) -> None:
    source = opened(name)
    answer = await source.search(title_for(name), 3)
    if "search" in source.can:
        assert isinstance(answer, Matched) and 1 <= len(answer.works) <= 3
        assert await source.search("zzz qqq xxx", 3) == NoMatch(name)
        assert await source.search("  ", 3) == NoMatch(name)
    else:
        assert isinstance(answer, Failed) and answer.reason is Reason.UNABLE


async def test_references_and_citations_come_from_those_that_have_them(
    name: str, opened: Opened, quick: None
) -> None:
    source = opened(name)
    doi = "10.1162/neco.1997.9.8.1735" if name == "crossref" else KNOWN["doi"]
    for what, ask in (("references", source.references), ("citations", source.citations)):
        answer = await ask("doi", doi, 10)
        if what in source.can:
            assert isinstance(answer, Matched) and answer.works[0].title
        else:
            assert isinstance(answer, Failed) and answer.reason is Reason.UNABLE


# -- what goes wrong ------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failure_is_a_value_with_its_reason_and_is_never_stored(
    fault: str, name: str, opened: Opened, quick: None, fake_sources: Any, fakes: Any
) -> None:
    facts, reason = FAULTS[fault]
    # Only a source that never answers has to be waited for.
    source = opened(name, timeout=0.25 if facts.get("kind") == "hang" else 10)
    # doi.org leads to Crossref, whose answer is the one that matters.
    failing = "crossref" if name == "doi" and reason is Reason.NONSENSE else name
    fake_sources.fail(failing, fakes.Fault(**facts))
    answer = await one_question(source)
    assert isinstance(answer, Failed), answer
    assert answer.reason is reason
    assert source.title in answer.message
    fake_sources.fail(failing)
    if "long wait" in fault:
        answer = await one_question(source)
        assert isinstance(answer, Failed) and answer.reason is Reason.RESTING
        return
    answer = await one_question(opened(name))
    assert isinstance(answer, Matched), "the failure was remembered"


@pytest.mark.parametrize("status", [404, 410])
async def test_absence_counts_only_where_a_record_was_asked_for(
    status: int, name: str, opened: Opened, quick: None, fake_sources: Any, fakes: Any
) -> None:
    source = opened(name)
    fake_sources.fail(name, fakes.Fault(status=status))
    answer = await source.search(title_for(name), 3)
    if name in EMPTY_IS_ABSENT:
        assert answer == NoMatch(name)
    elif "search" in source.can:
        assert isinstance(answer, Failed) and answer.reason is Reason.REFUSED
    kinds = source.ids & {"doi"} if name not in SEARCHES_DOIS else frozenset()
    for kind in kinds:
        assert await source.by_id(kind, KNOWN["doi"]) == NoMatch(name)
    fake_sources.fail(name)
    for kind in kinds:
        value = OTHER.get(name, {}).get(kind, KNOWN[kind])
        assert isinstance(await source.by_id(kind, value), Matched), "absence was stored"


async def test_a_source_that_recovers_within_the_tries_is_no_failure(
    name: str, opened: Opened, quick: None, fake_sources: Any, fakes: Any
) -> None:
    fake_sources.fail(name, fakes.Fault(status=503), fakes.Fault(kind="truncated"), fakes.Fault())
    assert isinstance(await one_question(opened(name)), Matched)


async def test_a_source_that_keeps_failing_is_left_alone(
    name: str, opened: Opened, quick: None, fake_sources: Any, fakes: Any
) -> None:
    source = opened(name)
    fake_sources.fail(name, fakes.Fault(status=500))
    for _ in range(6):
        await one_question(source)
    requests_before = len(fake_sources.of(name))
    assert requests_before <= 6
    answer = await one_question(source)
    assert isinstance(answer, Failed) and answer.reason is Reason.RESTING
    assert len(fake_sources.of(name)) == requests_before


# -- manners --------------------------------------------------------------------------------


async def test_the_pace_is_kept_whatever_is_asked_at_once(
    name: str, opened: Opened, fake_sources: Any
) -> None:
    """At the pace that the source itself states, three requests at least."""
    source = opened(name, timeout=30)
    await one_question(source)  # the first one also opens the connection
    interval = 1 / source.policy.per_second
    count = 3 if interval > 1 else 5 if interval > 0.3 else 10
    if "search" in source.can:
        searches = [source.search(f"{title_for(name)} {n}", 2) for n in range(count)]
    else:
        searches = [source.by_id("doi", f"{KNOWN['doi']}{n}") for n in range(count)]
    fake_sources.delay = 0.05
    await asyncio.gather(*searches)
    times = sorted(one.at for one in fake_sources.of(name))
    assert len(times) >= count
    # A busy machine may delay the receipt of any one of them, so that short gaps prove nothing.
    late = 0.25
    assert times[-1] - times[0] >= interval * (len(times) - 1) - late
    if interval >= 1:
        assert min(later - before for before, later in pairwise(times)) >= interval - late
    assert max(one.open_now for one in fake_sources.of(name)) <= source.policy.at_once


async def test_requests_say_who_asks_and_nothing_else(
    name: str, opened: Opened, quick: None, fake_sources: Any
) -> None:
    source = opened(name)
    await one_question(source)
    for one in fake_sources.of(name):
        assert one.headers["user-agent"].startswith("citewell/")
        assert "mailto:author@example.org" in one.headers["user-agent"]
        assert set(one.headers) <= {
            "host", "user-agent", "accept", "accept-encoding", "content-type", "content-length",
        }  # fmt: skip
        parameter = source.policy.contact_parameter
        if parameter:
            assert dict(one.params)[parameter] == "author@example.org"


@pytest.mark.parametrize(
    "name", [name for name in SOURCES if source_named(name).policy.key_variables]
)
async def test_a_key_goes_to_the_source_and_nowhere_else(
    name: str,
    opened: Opened,
    quick: None,
    fake_sources: Any,
    fakes: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    policy = source_named(name).policy
    secret = "k3y-0f-a-us3r"
    monkeypatch.setenv(policy.key_variables[0], secret)
    caplog.set_level(logging.DEBUG)
    source = opened(name)
    assert isinstance(await one_question(source), Matched)
    for one in fake_sources.of(name):
        held = one.headers.get(policy.key_header.lower(), "")
        assert secret in held + dict(one.params).get(policy.key_parameter, "")
    messages = []
    for facts, _ in FAULTS.values():
        fake_sources.fail(name, fakes.Fault(**facts))
        answer = await one_question(opened(name, cache=None, timeout=0.1))
        assert isinstance(answer, Failed)
        messages.append(answer.message)
    assert secret not in " ".join(messages)
    assert secret not in caplog.text
    for file in (tmp_path / "cache").rglob("*"):
        assert secret.encode() not in file.read_bytes(), f"the key is in {file.name}"


async def test_a_redirect_takes_no_key_to_another_host(
    opened: Opened, quick: None, fake_sources: Any, fakes: Any
) -> None:
    """The fake stands in for every host, so that following it would show in its log."""
    fake_sources.fail("crossref", fakes.Fault(kind="foreign-redirect"))
    answer = await opened("crossref").by_id("doi", KNOWN["doi"])
    assert isinstance(answer, Failed) and answer.reason is Reason.REFUSED
    assert [one.path for one in fake_sources.log] == [f"/works/{KNOWN['doi']}"]


# -- the cache ------------------------------------------------------------------------------


async def test_an_answer_is_asked_for_once(
    name: str, opened: Opened, quick: None, fake_sources: Any
) -> None:
    first = await one_question(opened(name))
    requests_before = len(fake_sources.log)
    again = await one_question(opened(name))
    assert again == first
    assert len(fake_sources.log) == requests_before


async def test_an_answer_that_is_no_longer_fresh_is_asked_after_and_not_sent_again(
    opened: Opened, quick: None, fake_sources: Any
) -> None:
    fake_sources.extra["crossref"] = {"cache-control": "max-age=0", "etag": '"v1"'}
    source = opened("crossref")
    first = await source.by_id("doi", KNOWN["doi"])
    again = await opened("crossref").by_id("doi", KNOWN["doi"])
    assert again == first and isinstance(first, Matched)
    assert fake_sources.log[1].headers["if-none-match"] == '"v1"'


async def test_no_answer_is_kept_when_the_user_wants_none_kept(
    opened: Opened, quick: None, fake_sources: Any, tmp_path: Path
) -> None:
    for _ in range(2):
        await opened("crossref", cache_days=0.0).by_id("doi", KNOWN["doi"])
    assert len(fake_sources.log) == 2
    assert not (tmp_path / "cache").exists()


async def test_a_rate_that_crossref_states_slows_the_requests(
    opened: Opened, quick: None, fake_sources: Any
) -> None:
    fake_sources.limits = {"x-rate-limit-limit": "10", "x-rate-limit-interval": "1s"}
    source = opened("crossref")
    await source.by_id("doi", KNOWN["doi"])
    await asyncio.gather(*(source.by_id("doi", f"10.1000/{n}") for n in range(5)))
    times = [one.at for one in fake_sources.of("crossref")][1:]
    assert times[-1] - times[0] >= 4 * 0.1 - 0.05
