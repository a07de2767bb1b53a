"""A request that nobody waits for ends, whoever carries it."""

import threading
from typing import Any

import pytest

from citewell.llm.assistant import LanguageModel
from citewell.model import Query, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.options.online import LlmOptions

pytest.importorskip("dspy")

HOW = [("vllm", "m"), ("anthropic", "claude-sonnet-4-5"), ("litellm", "openai/some-model")]


@pytest.fixture
def request_arrived() -> threading.Event:
    return threading.Event()


@pytest.fixture
def server(chat: Any, request_arrived: threading.Event) -> Any:
    """Takes ten minutes for an answer, and notices who goes away; quick while it warms up."""

    def script(request: dict[str, Any]) -> Any:
        if server.warming:
            return chat.Reply('{"choice": "1", "reason": "r"}')
        request_arrived.set()
        return chat.Reply("{}", seconds=600)

    server = chat.ChatServer(script)
    server.warming = False
    yield server
    server.close()


def opened(server: Any, monkeypatch: pytest.MonkeyPatch, kind: tuple[str, str], limit: int) -> Any:
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    provider: Any = kind[0]
    options = LlmOptions(provider=provider, model=kind[1], base_url=server.url, timeout_ms=limit)
    model = LanguageModel.open(options)
    assert model is not None
    return model


@pytest.mark.parametrize("kind", HOW, ids=lambda kind: kind[0])
def test_a_cancelled_request_closes_its_connection(
    server: Any, request_arrived: threading.Event, works: list[Work], query: Query,
    monkeypatch: pytest.MonkeyPatch, kind: tuple[str, str],
) -> None:  # fmt: skip
    model = opened(server, monkeypatch, kind, 600_000)
    cancel = Cancel()
    threading.Thread(target=lambda: request_arrived.wait(60) and cancel.set(), daemon=True).start()
    with pytest.raises(Cancelled):
        model.pick(query, works, cancel)
    assert server.left.acquire(timeout=60)
    assert model.account.session.requests == 1
    assert model.account.session.output_tokens == model.options.answer_tokens
    with pytest.raises(Cancelled):
        model.rank(query, works, cancel)
    assert len(server.requests) == 1, "a cancelled question was put"


@pytest.mark.parametrize("kind", HOW, ids=lambda kind: kind[0])
def test_a_request_ends_with_its_time_also_where_nobody_else_counts_it(
    server: Any, request_arrived: threading.Event, works: list[Work], query: Query,
    monkeypatch: pytest.MonkeyPatch, kind: tuple[str, str],
) -> None:  # fmt: skip
    server.warming = True
    # All is imported, however long it takes.
    assert opened(server, monkeypatch, kind, 600_000).pick(query, works).by == "model"
    server.warming = False
    for limit in (3000, 10_000, 60_000):
        picked = opened(server, monkeypatch, kind, limit).pick(query, works)
        if (
            request_arrived.is_set()
        ):  # on a busy machine the time may be over before the request is sent
            break
    assert picked.problem is not None and picked.problem.code == "llm-late"
    assert server.left.acquire(timeout=60)
    assert picked.usage.requests == 1
    assert picked.usage.output_tokens == LlmOptions().answer_tokens


def test_a_model_that_is_closed_ends_what_still_runs(
    server: Any, request_arrived: threading.Event, works: list[Work], query: Query,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    model = opened(server, monkeypatch, HOW[0], 600_000)
    threading.Thread(target=lambda: request_arrived.wait(60) and model.close(), daemon=True).start()
    picked = model.pick(query, works)
    assert picked.by == "ranker" and picked.problem is not None
    assert server.left.acquire(timeout=60)


def test_what_was_refused_a_connection_has_cost_nothing(
    server: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(server, monkeypatch, HOW[0], 20_000)
    server.close()
    picked = model.pick(query, works)
    assert picked.problem is not None and picked.problem.code == "llm-down"
    assert picked.usage.requests == 0
