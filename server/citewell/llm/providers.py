"""The supported providers: their addresses and keys. Nothing is imported or contacted here."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from citewell.model import CitewellError, Problem
from citewell.options.online import LlmOptions
from citewell.sources.web.keys import Key, find_key

logger = logging.getLogger(__name__)

REASONING_TOKENS = 2_000
_REASONS = re.compile(r"(?:^|/)(?:o\d|gpt-[5-9])(?![^/]*-chat)[^/]*$", re.IGNORECASE)
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Provider(msgspec.Struct, frozen=True):
    """One kind of provider."""

    name: str
    title: str
    route: str = ""
    """Prefix of the model's name in LiteLLM; empty: the name includes it."""
    base: str = ""
    """The default address, if there is one."""
    keys: tuple[str, ...] = ()
    """Environment variables for the key."""
    paid: bool = False
    """Charges for tokens."""


PROVIDERS = {
    one.name: one
    for one in (
        Provider("ollama", "Ollama", "ollama_chat", "http://127.0.0.1:11434/v1"),
        Provider("llamacpp", "llama.cpp server", "hosted_vllm", "http://127.0.0.1:8080/v1"),
        Provider("vllm", "vLLM server", "hosted_vllm", "http://127.0.0.1:8000/v1"),
        Provider("transformers", "a model in this process", "transformers"),
        Provider(
            "openai", "OpenAI", "openai", "https://api.openai.com/v1", ("OPENAI_API_KEY",), True
        ),
        Provider(
            "anthropic",
            "Anthropic",
            "anthropic",
            "https://api.anthropic.com/v1",
            ("ANTHROPIC_API_KEY",),
            True,
        ),
        Provider("litellm", "a provider of LiteLLM", paid=True),
    )
}


class ModelEndpoint(msgspec.Struct, frozen=True):
    """The configured provider, which receives the text."""

    provider: Provider
    model: str
    url: str
    """Empty for a model in the process, and for an address known to LiteLLM."""
    local: bool
    """Whether no data leaves this machine."""

    @property
    def host(self) -> str:
        """The recipient of the text: a host, or a description."""
        if self.url:
            return urlsplit(self.url).hostname or ""
        return "this process" if self.local else self.model.partition("/")[0]

    @property
    def routed(self) -> str:
        """The model's name in LiteLLM."""
        route = self.provider.route
        return f"{route}/{self.model}" if route else self.model

    @property
    def reasoning_tokens(self) -> int:
        """Maximum number of reasoning tokens before the answer, in addition to `llm.answer_tokens`.

        It is 0 except for OpenAI's reasoning models, which count both together and take other
        parameters: an answer is empty if reasoning used up its room.
        """
        openai = self.provider.name in ("openai", "litellm")
        return REASONING_TOKENS if openai and _REASONS.search(self.model) else 0

    @property
    def shown(self) -> str:
        """ "ollama qwen3:8b"."""
        return f"{self.provider.name} {self.model}"


def endpoint_of(options: LlmOptions) -> ModelEndpoint | None:
    """The configured provider; None if none is configured. Raises `CitewellError` for ambiguous
    settings: a text is sent only to a host named by the user."""
    if options.provider == "none":
        return None
    provider = PROVIDERS[options.provider]
    if not options.model:
        raise CitewellError(
            Problem(
                "llm-no-model",
                f"`llm.provider` is {provider.name}, but `llm.model` is empty.",
                "Set it to the provider's name for the model.",
            )
        )
    if provider.name == "transformers":
        return ModelEndpoint(provider, options.model, "", True)
    if provider.name == "litellm" and "/" not in options.model:
        raise CitewellError(
            Problem(
                "llm-no-model",
                f"`llm.model` {options.model!r} does not name a provider.",
                'Write "PROVIDER/MODEL", such as "groq/llama-3.3-70b".',
            )
        )
    url = options.base_url or provider.base
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if host in LOOPBACK:
        return ModelEndpoint(provider, options.model, url, True)
    if options.base_url and host != options.host.strip("[]").lower():
        raise CitewellError(
            Problem(
                "llm-host",
                f"`llm.base_url` points to {host}, not to this machine; nothing is sent.",
                f'If {host} may see your manuscript, set `llm.host = "{host}"`.',
            )
        )
    if options.base_url and parts.scheme != "https":
        logger.info("The text goes to %s unencrypted", host)
    return ModelEndpoint(provider, options.model, url, False)


def key_of(endpoint: ModelEndpoint, environ: Mapping[str, str] | None = None) -> Key | None:
    """The provider's key, only from the environment or the system's keyring."""
    name, variables = endpoint.provider.name, endpoint.provider.keys
    if name == "litellm":
        name = endpoint.model.partition("/")[0]
        variables = (f"{name.upper().replace('-', '_')}_API_KEY",)
    return find_key(("CITEWELL_LLM_KEY", *variables), f"llm-{name}", environ)


def needs_key(endpoint: ModelEndpoint) -> bool:
    """Whether a provider requires a key."""
    return endpoint.provider.paid and not endpoint.local


def no_key(endpoint: ModelEndpoint) -> Problem:
    """The problem that a provider's key is missing."""
    names = endpoint.provider.keys or ("CITEWELL_LLM_KEY",)
    return Problem(
        "llm-no-key",
        f"No API key for {endpoint.shown}; nothing was sent.",
        f"Set {names[0]}, or run `keyring set citewell llm-{endpoint.provider.name}`.",
    )
