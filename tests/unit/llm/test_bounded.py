"""No answer takes more memory than one may, however long a server goes on sending."""

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from citewell.llm.assistant import LanguageModel
from citewell.llm.stopping import MAX_ANSWER
from citewell.model import Query, Work
from citewell.options.online import LlmOptions

pytest.importorskip("dspy")

HOW = [
    ("ollama", "m"), ("llamacpp", "m"), ("vllm", "m"), ("openai", "gpt-4o-mini"),
    ("openai", "gpt-5-mini"), ("anthropic", "claude-sonnet-4-5"), ("litellm", "openai/some-model"),
    ("litellm", "groq/llama-3.3-70b"), ("litellm", "anthropic/claude-sonnet-4-5"),
]  # fmt: skip
IN_FLIGHT = 32 * 1024 * 1024
"""What the system's buffers may have taken beside what was read."""


@pytest.fixture
def server(chat: Any) -> Iterator[Any]:
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "reason": "r"}'))
    yield server
    server.close()


def opened(
    server: Any, monkeypatch: pytest.MonkeyPatch, provider: str, model: str
) -> LanguageModel:
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    options = LlmOptions(
        provider=provider,  # type: ignore[arg-type]
        model=model,
        base_url=server.url,
        timeout_ms=600_000,
    )
    found = LanguageModel.open(options)
    assert found is not None
    return found


def is_cut_off(server: Any, model: LanguageModel, works: list[Work], query: Query) -> None:
    picked = model.pick(query, works)
    assert (picked.work, picked.by) == (works[0].id, "ranker")
    assert picked.problem is not None and picked.problem.code == "llm-answer"
    assert "cut off" in picked.problem.message
    assert server.left.acquire(timeout=60), "the connection stays open"
    assert server.sent < MAX_ANSWER + IN_FLIGHT
    assert picked.usage.requests == 1
    assert picked.usage.output_tokens >= model.options.answer_tokens


@pytest.mark.parametrize("how", HOW, ids=" ".join)
def test_an_endless_answer_is_cut_off_whoever_carries_it(
    server: Any, chat: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch,
    how: tuple[str, str],
) -> None:  # fmt: skip
    server.script = lambda request: chat.Reply(endless=b"a")
    is_cut_off(server, opened(server, monkeypatch, *how), works, query)


@pytest.mark.parametrize("how", [HOW[2], HOW[-3], HOW[-1]], ids=" ".join)
def test_an_answer_that_is_compressed_unasked_is_not_unpacked(
    server: Any, chat: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch,
    how: tuple[str, str],
) -> None:  # fmt: skip
    bomb = gzip.compress(bytes(10_000_000))
    server.script = lambda request: chat.Reply(body=bomb, headers={"Content-Encoding": "gzip"})
    picked = opened(server, monkeypatch, *how).pick(query, works)
    assert picked.problem is not None and picked.problem.code == "llm-answer"
    assert "compressed" in picked.problem.message


def test_many_answers_over_one_connection_are_each_bounded_alone(
    server: Any, chat: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier answer brought is not held against a later one."""
    text = '{"choice": "2", "reason": "%s"}' % ("r" * (MAX_ANSWER // 2))
    server.script = lambda request: chat.Reply(text)
    model = opened(server, monkeypatch, "vllm", "m")
    for _ in range(4):
        assert model.pick(query, works).by == "model"
    server.script = lambda request: chat.Reply(endless=b"a")
    is_cut_off(server, model, works, query)
    server.script = lambda request: chat.Reply(text)
    assert model.pick(query, works).by == "model", "the next one is asked as before"
