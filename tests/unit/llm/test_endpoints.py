"""Each provider is asked in its own protocol, with its own key, and its tokens are counted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.llm.account import Account
from citewell.llm.assistant import LanguageModel
from citewell.llm.engines import Meter, Prices, prices_of
from citewell.llm.providers import endpoint_of
from citewell.model import Query, Work
from citewell.model.llm import Usage
from citewell.options.online import LlmOptions

pytest.importorskip("dspy")


@pytest.fixture
def server(chat: Any) -> Iterator[Any]:
    server = chat.ChatServer(lambda request: chat.Reply('{"choice": "2", "reason": "r"}'))
    yield server
    server.close()


@pytest.mark.parametrize(
    ("provider", "model", "path", "key"),
    [
        ("ollama", "qwen3:8b", "/v1/chat/completions", "Bearer k"),
        ("llamacpp", "m", "/v1/chat/completions", "Bearer k"),
        ("vllm", "org/m", "/v1/chat/completions", "Bearer k"),
        ("openai", "gpt-4o-mini", "/v1/chat/completions", "Bearer k"),
        ("anthropic", "claude-sonnet-4-5", "/v1/messages", "k"),
        ("litellm", "openai/some-model", "/v1/chat/completions", "Bearer k"),
    ],
)
def test_a_provider_is_asked_in_its_own_protocol(
    server: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch,
    provider: str, model: str, path: str, key: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    options = LlmOptions(provider=provider, model=model, base_url=server.url)  # type: ignore[arg-type]
    model_client = LanguageModel.open(options)
    assert model_client is not None
    picked = model_client.pick(query, works)
    assert picked.problem is None
    assert (picked.work, picked.by) == ("t:2", "model")
    assert server.paths == [path]
    assert server.keys == [key]
    (request,) = server.requests
    assert request["model"] == model.removeprefix("openai/")
    assert (picked.usage.input_tokens, picked.usage.output_tokens) == (100, 10)
    assert model_client.budget().used.requests == 1


def test_the_answer_is_bound_to_the_numbers_by_a_schema(
    server: Any, works: list[Work], query: Query
) -> None:
    options = LlmOptions(provider="vllm", model="m", base_url=server.url)
    model = LanguageModel.open(options)
    assert model is not None
    model.pick(query, works)
    schema = server.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["choice"]["enum"] == ["1", "2", "3", "4", "none"]
    assert server.requests[0]["temperature"] == 0


def test_a_server_that_knows_no_schema_is_asked_without(
    server: Any, chat: Any, works: list[Work], query: Query
) -> None:
    def script(request: dict[str, Any]) -> Any:
        if "response_format" in request:
            return chat.Reply(status=400, body=b'{"error": {"message": "no response_format"}}')
        return chat.Reply('{"choice": "3", "reason": "r"}')

    server.script = script
    model = LanguageModel.open(LlmOptions(provider="vllm", model="m", base_url=server.url))
    assert model is not None
    assert model.pick(query, works).work == "t:3"
    assert model.pick(query, works).work == "t:3"
    assert len(server.requests) == 3, "it is not asked with a schema again"


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "gpt"), ("anthropic", "claude"), ("litellm", "groq/llama")]
)
def test_without_a_key_nothing_is_sent(
    works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch, provider: str, model: str
) -> None:
    for name in ("CITEWELL_LLM_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    model_client = LanguageModel.open(LlmOptions(provider=provider, model=model))  # type: ignore[arg-type]
    assert model_client is not None
    picked = model_client.pick(query, works)
    assert picked.problem is not None and picked.problem.code == "llm-no-key"
    assert picked.work == works[0].id


@pytest.mark.parametrize(
    ("key", "words"), [("", "asks for a key, and no key was found"), ("k", "refused the key")]
)
def test_a_refusal_tells_a_wrong_key_from_none(
    server: Any, chat: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch,
    key: str, words: str,
) -> None:  # fmt: skip
    for name in ("CITEWELL_LLM_KEY", "OPENAI_API_KEY", "VLLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    if key:
        monkeypatch.setenv("CITEWELL_LLM_KEY", key)
    server.script = lambda request: chat.Reply(status=401, body=b"{}")
    model = LanguageModel.open(LlmOptions(provider="vllm", model="m", base_url=server.url))
    assert model is not None
    problem = model.pick(query, works).problem
    assert problem is not None and problem.code == "llm-refused"
    assert words in problem.message


def test_prices_are_those_of_the_settings_else_of_the_list_else_unknown() -> None:
    def cost(**given: Any) -> float | None:
        options = LlmOptions(**given)
        endpoint = endpoint_of(options)
        assert endpoint is not None
        return prices_of(endpoint, options).cost(1_000_000, 1_000_000)

    assert cost(provider="ollama", model="m") == 0
    assert cost(provider="openai", model="m", input_price=1, output_price=2) == pytest.approx(3)
    assert cost(provider="openai", model="no-such-model-at-all") is None
    assert (cost(provider="openai", model="gpt-4o-mini") or 0) > 0.1
    assert (cost(provider="anthropic", model="claude-sonnet-4-5") or 0) > 1


def test_a_model_on_this_machine_costs_nothing_whoever_serves_it(
    server: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    options = LlmOptions(provider="litellm", model="openai/no-such-model", base_url=server.url)
    model = LanguageModel.open(options)
    assert model is not None
    used = model.pick(query, works).usage
    assert used.seconds > 0
    assert replace(used, seconds=0.0) == Usage(1, 100, 10, 0.0, 0)


def test_a_request_at_an_unknown_price_is_counted_as_unpriced(tmp_path: Path) -> None:
    from dspy.lm15 import Message, Request, Response, TextPart
    from dspy.lm15 import Usage as Tokens

    class Inner:
        def complete(self, request: Any) -> Any:
            answer = Message.assistant([TextPart("yes")])
            tokens = Tokens(input_tokens=7, output_tokens=3, total_tokens=10)
            return Response(id=None, model="m", message=answer, finish_reason="stop", usage=tokens)

    account = Account(path=tmp_path / "usage.sqlite")
    meter = Meter(Inner, account, Prices(None, None), model="m", most_tokens=500, answer_tokens=20)
    meter.complete(Request(model="m", messages=(Message.user("Well?"),)))
    assert account.used() == Usage(1, 7, 3, 0.0, 1)


REASONING = ["gpt-5", "gpt-5-mini", "gpt-5.1", "gpt-5-2025-08-07", "o1", "o3-mini", "o4-mini"]


@pytest.mark.parametrize("model", REASONING)
@pytest.mark.parametrize("provider", ["openai", "litellm"])
def test_models_that_reason_are_asked_with_the_parameters_that_they_take(
    server: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch, provider: str,
    model: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    name = f"openai/{model}" if provider == "litellm" else model
    options = LlmOptions(provider=provider, model=name, base_url=server.url)  # type: ignore[arg-type]
    model_client = LanguageModel.open(options)
    assert model_client is not None
    picked = model_client.pick(query, works)
    assert picked.problem is None and picked.by == "model"
    (request,) = server.requests
    assert request["model"] == model
    assert "temperature" not in request and "max_tokens" not in request
    assert request["reasoning_effort"] == "low"
    assert request["max_completion_tokens"] > options.answer_tokens, "reasoning counts as answer"
    assert "response_format" in request


@pytest.mark.parametrize("name", ["reasoning_effort", "temperature"])
def test_a_parameter_that_a_server_refuses_by_name_is_left_out_from_then_on(
    server: Any, chat: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")

    def script(request: dict[str, Any]) -> Any:
        if name in request:
            words = f"Unsupported value: '{name}' does not support {request[name]} with this model."
            error = {"message": words, "type": "invalid_request_error", "param": name}
            return chat.Reply(status=400, body=json.dumps({"error": error}).encode())
        return chat.Reply('{"choice": "3", "reason": "r"}')

    server.script = script
    model = "gpt-5-pro" if name == "reasoning_effort" else "a-later-model"
    model_client = LanguageModel.open(
        LlmOptions(provider="openai", model=model, base_url=server.url)
    )
    assert model_client is not None
    assert [model_client.pick(query, works).work for _ in range(2)] == ["t:3", "t:3"]
    assert len(server.requests) == 3, "it is sent once"
    assert "response_format" in server.requests[-1], "the rest is sent as before"


def test_candidates_leave_room_for_what_a_model_writes_for_itself(
    server: Any, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    works = [Work(id=f"w:{n}", title=f"Title {n}", abstract="word " * 800) for n in range(50)]
    options = LlmOptions(
        provider="openai", model="gpt-5", base_url=server.url, pick_depth=50,
        abstract_characters=4000,
    )  # fmt: skip
    model_client = LanguageModel.open(options)
    assert model_client is not None
    picked = model_client.pick(query, works)
    assert picked.problem is None and 1 <= picked.of < 50


def test_a_model_on_this_machine_is_not_held_to_the_tokens_of_a_day(
    server: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_model(provider: str, **more: Any) -> Any:
        options = LlmOptions(provider=provider, model="m", daily_tokens=10_000, **more)  # type: ignore[arg-type]
        model = LanguageModel.open(options)
        assert model is not None
        return model

    local = open_model("vllm", base_url=server.url)
    local.account.add(local.name, Usage(1, 900_000, 100_000))
    assert local.pick(query, works).problem is None
    assert local.budget().daily_tokens == 0, "there is no limit to tell of"
    assert local.budget().used.input_tokens > 900_000, "it is counted all the same"
    # Nor is it held against a model that costs money.
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    far = open_model("openai")
    far.account.allow(9_000)
    assert far.budget().used.input_tokens == 0
    far.account.add(far.name, Usage(1, 9_990, 0))
    picked = far.pick(query, works)
    assert picked.problem is not None and picked.problem.code == "llm-budget"
    assert len(server.requests) == 1


@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-4.1", "gpt-5-chat-latest"])
def test_models_that_do_not_reason_are_asked_at_temperature_zero(
    server: Any, works: list[Work], query: Query, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("CITEWELL_LLM_KEY", "k")
    options = LlmOptions(provider="openai", model=model, base_url=server.url)
    model_client = LanguageModel.open(options)
    assert model_client is not None and model_client.pick(query, works).by == "model"
    (request,) = server.requests
    assert (request["temperature"], "reasoning_effort" in request) == (0, False)
    assert request["max_completion_tokens"] == options.answer_tokens
