"""Whoever sees the manuscript was named by the user; nobody else is asked."""

import pytest

from citewell.llm.providers import endpoint_of, key_of, needs_key
from citewell.model import CitewellError
from citewell.options import Options
from citewell.options.online import LlmOptions
from citewell.options.values import settings


def test_nobody_is_named_by_default() -> None:
    assert endpoint_of(Options().llm) is None


@pytest.mark.parametrize(
    ("options", "url", "local"),
    [
        (LlmOptions(provider="ollama", model="qwen3:8b"), "http://127.0.0.1:11434/v1", True),
        (LlmOptions(provider="vllm", model="m"), "http://127.0.0.1:8000/v1", True),
        (LlmOptions(provider="llamacpp", model="m", base_url="http://[::1]:9/v1"),
         "http://[::1]:9/v1", True),
        (LlmOptions(provider="transformers", model="a/b"), "", True),
        (LlmOptions(provider="openai", model="gpt"), "https://api.openai.com/v1", False),
        (LlmOptions(provider="vllm", model="m", base_url="https://gpu.lab.example/v1",
                    host="gpu.lab.example"), "https://gpu.lab.example/v1", False),
    ],
)  # fmt: skip
def test_an_endpoint_is_what_the_settings_name(options: LlmOptions, url: str, local: bool) -> None:
    endpoint = endpoint_of(options)
    assert endpoint is not None
    assert (endpoint.url, endpoint.local) == (url, local)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (LlmOptions(provider="vllm", model="m", base_url="http://10.0.0.5:8000/v1"), "llm-host"),
        (LlmOptions(provider="vllm", model="m", base_url="https://a.example/v1", host="b.example"),
         "llm-host"),
        (LlmOptions(provider="openai", model="m", base_url="https://evil.example/v1"), "llm-host"),
        (LlmOptions(provider="ollama", model="m", base_url="http://127.0.0.1.evil.example/v1"),
         "llm-host"),
        (LlmOptions(provider="ollama"), "llm-no-model"),
        (LlmOptions(provider="litellm", model="gpt-4o"), "llm-no-model"),
    ],
)  # fmt: skip
def test_settings_that_do_not_name_a_host_name_nobody(options: LlmOptions, code: str) -> None:
    with pytest.raises(CitewellError) as caught:
        endpoint_of(options)
    assert caught.value.problem.code == code


def test_a_key_comes_from_the_environment_and_does_not_show_itself() -> None:
    endpoint = endpoint_of(LlmOptions(provider="anthropic", model="claude"))
    assert endpoint is not None and needs_key(endpoint)
    assert key_of(endpoint, {}) is None
    key = key_of(endpoint, {"ANTHROPIC_API_KEY": "sk-secret", "OPENAI_API_KEY": "other"})
    assert key is not None and key.value == "sk-secret"
    assert "secret" not in repr(key)


def test_a_provider_of_litellm_has_the_key_of_its_own_name() -> None:
    endpoint = endpoint_of(LlmOptions(provider="litellm", model="together-ai/some-model"))
    assert endpoint is not None and endpoint.host == "together-ai"
    key = key_of(endpoint, {"TOGETHER_AI_API_KEY": "k"})
    assert key is not None and key.origin == "TOGETHER_AI_API_KEY"


def test_no_setting_of_the_model_is_taken_from_a_workspace_file() -> None:
    """Such a file travels with other people's manuscripts, and could send them elsewhere."""
    assert all(one.trusted_only for one in settings() if one.name.startswith("llm."))
