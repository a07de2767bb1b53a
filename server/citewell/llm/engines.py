"""Engines that send DSPy's requests to a provider, metered and limited. Imports DSPy.

DSPy's own engine implements the protocols of OpenAI (also used by Ollama, llama.cpp and vLLM) and
Anthropic; LiteLLM implements the others. Every request of every program and optimizer passes
through `Meter`, so that all usage is counted.
"""

from __future__ import annotations

import contextvars
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from citewell.llm.account import Account
from citewell.llm.failures import oversized
from citewell.llm.providers import LOOPBACK, ModelEndpoint, key_of, needs_key, no_key
from citewell.llm.stopping import LOOK_SECONDS, AnswerTooLong, OutOfTime, Stoppable, stopped
from citewell.llm.texts import tokens_of
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancelled
from citewell.model.installing import install_command
from citewell.model.llm import Usage
from citewell.options.folders import import_torch, load_cached_first
from citewell.options.online import LlmOptions

# A Hugging Face transformers model in this process, as a DSPy engine. Imports torch.

MAX_NEW_TOKENS = 300


class TransformersEngine:
    """Answers one request at a time, since memory holds no second one."""

    def __init__(self, name: str) -> None:
        """Load the model. Raises `CitewellError` "llm-missing" if that fails."""
        self._name = name
        self._lock = threading.Lock()
        try:
            torch = import_torch()
            import transformers
        except ImportError as error:
            raise CitewellError(
                Problem(
                    "llm-missing",
                    f"A model in the process needs the package {error.name}.",
                    f"Run `{install_command('neural')}`, or choose another provider.",
                )
            ) from error
        self._torch = torch
        path = Path(name).expanduser()
        place = str(path) if path.is_dir() else name

        def load(local: bool) -> tuple[Any, Any]:
            given: dict[str, Any] = {"local_files_only": local, "trust_remote_code": False}
            tokenizer = transformers.AutoTokenizer.from_pretrained(place, **given)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                place, use_safetensors=True, **given
            )
            return tokenizer, model

        try:
            self._tokenizer, self._model = load_cached_first(place, load)
        except Exception as error:  # hub, network, file and format errors share no base class
            words = str(error).strip().splitlines()[0][:200] if str(error).strip() else ""
            raise CitewellError(
                Problem(
                    "llm-missing",
                    f"The language model {name!r} cannot be loaded ({type(error).__name__}: "
                    f"{words}).",
                    "Give the folder of a downloaded model, or check the name and the network.",
                )
            ) from error
        self._model.train(False)

    def complete(self, request: Any) -> Any:
        """Generate the likeliest continuation, token by token, until cancelled. Raises `Cancelled`
        if cancelled before it begins."""
        from dspy.lm15 import Message, Response, TextPart, Usage

        messages = _messages(request)
        most = request.config.max_tokens or MAX_NEW_TOKENS
        while not self._lock.acquire(timeout=LOOK_SECONDS):
            if stopped():
                raise Cancelled
        try:
            prompt_length, made = self._generated(messages, most)
        finally:
            self._lock.release()
        text = self._tokenizer.decode(made, skip_special_tokens=True)
        answered = int(made.shape[0])
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant([TextPart(text)]),
            finish_reason="length" if answered >= most else "stop",
            usage=Usage(
                input_tokens=prompt_length,
                output_tokens=answered,
                total_tokens=prompt_length + answered,
            ),
        )

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _generated(self, messages: list[dict[str, str]], most: int) -> tuple[int, Any]:
        """The number of tokens in the question, and the tokens of the answer."""
        from transformers import StoppingCriteriaList

        torch = self._torch

        def is_cancelled(tokens: Any, scores: Any, **more: Any) -> Any:
            return torch.full((tokens.shape[0],), stopped(), dtype=torch.bool)

        with torch.inference_mode():
            inputs = self._encode(messages)
            prompt_length = int(inputs["input_ids"].shape[1])
            made = self._model.generate(
                **inputs,
                max_new_tokens=most,
                do_sample=False,
                pad_token_id=self._tokenizer.pad_token_id or self._tokenizer.eos_token_id,
                stopping_criteria=StoppingCriteriaList([is_cancelled]),
            )
        return prompt_length, made[0, prompt_length:]

    def _encode(self, messages: list[dict[str, str]]) -> Any:
        if self._tokenizer.chat_template:
            text = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
            return self._tokenizer(text, return_tensors="pt", add_special_tokens=False)
        text = "\n\n".join(message["content"] for message in messages)
        return self._tokenizer(f"{text}\n\n", return_tensors="pt")


def _messages(request: Any) -> list[dict[str, str]]:
    system = request.system
    text = system if isinstance(system, str) else "".join(part.text for part in system or ())
    found = [{"role": "system", "content": text}] if text else []
    return found + [{"role": m.role, "content": m.text or ""} for m in request.messages]


_ROUTES = {"hosted_vllm": "vllm", "ollama_chat": "ollama", "openai": "openai-chat"}
"""DSPy's name of a protocol for LiteLLM's prefix, where the two differ."""
_PRICED = {"openai": "openai-chat", "anthropic": "anthropic"}
_OPTIONAL = ("reasoning", "temperature", "response_format")
"""Optional fields of a request's config, omitted for a server that rejects them."""
EFFORT = "low"
"""The lowest reasoning effort that all of these models accept."""
_NO_PROXY = ("NO_PROXY", "no_proxy")
_receipt: contextvars.ContextVar[list[Usage] | None] = contextvars.ContextVar(
    "citewell_llm_receipt", default=None
)


def prepare() -> None:
    """Configure DSPy, which would cache answers on disk, and LiteLLM."""
    for name in _NO_PROXY:
        # Requests to this machine must not pass through a proxy.
        listed = [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]
        if "*" not in listed:
            os.environ[name] = ",".join(dict.fromkeys((*listed, *LOOPBACK)))
    import dspy

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    # Their warnings would write answers to the log.
    for logger in ("dspy", "LiteLLM", "litellm"):
        logging.getLogger(logger).setLevel(logging.ERROR)


class Prices:
    """US dollars per token; None where unknown."""

    def __init__(self, question: float | None, answer: float | None) -> None:
        self.question = question
        self.answer = answer

    def cost(self, questions: int, answers: int) -> float | None:
        """The price of these tokens."""
        if self.question is None or self.answer is None:
            return None
        return questions * self.question + answers * self.answer


def prices_of(endpoint: ModelEndpoint, options: LlmOptions) -> Prices:
    """Prices from the settings, else from the list in DSPy or LiteLLM; 0 for a local model."""
    if options.input_price or options.output_price:
        return Prices(options.input_price / 1e6, options.output_price / 1e6)
    if endpoint.local or not endpoint.provider.paid:
        return Prices(0.0, 0.0)
    try:
        if endpoint.provider.name == "litellm":
            import litellm

            info = litellm.model_cost.get(endpoint.model, {})
        else:
            from dspy.clients.model_metadata import model_info

            info = model_info(_PRICED[endpoint.provider.name], endpoint.model)
        return Prices(info.get("input_cost_per_token"), info.get("output_cost_per_token"))
    except Exception:  # a list of prices is no reason to fail
        return Prices(None, None)


class Meter:
    """A DSPy engine that wraps another one: checks the budget first, and records the usage.

    Repeats a request without the optional field that a server rejects: temperature, reasoning
    effort or response schema, which the prompt describes as well.
    """

    supports_response_schema = True
    supports_function_calling = False
    supports_reasoning = False
    supported_params = frozenset({"response_format", "temperature", "max_tokens"})

    def __init__(
        self,
        open_inner: Callable[[], Any],
        account: Account,
        prices: Prices,
        *,
        model: str,
        most_tokens: int,
        answer_tokens: int,
        schema: bool = True,
        reasoning_tokens: int = 0,
    ) -> None:
        """`open_inner` is called at the first request, because it may load a model.
        `reasoning_tokens` is the number of tokens reserved for reasoning before the answer."""
        self._open_inner = open_inner
        self._inner: Any = None
        self._account = account
        self._prices = prices
        self._model = model
        self._most = most_tokens
        self._answer = answer_tokens
        self._left_out = set() if schema else {"response_format"}
        self._reasoning = reasoning_tokens

    def complete(self, request: Any) -> Any:
        """The answer to a request. Raises `Cancelled`, or `CitewellError` if it may not be sent."""
        from dspy import lm15

        if stopped():
            raise Cancelled
        prompt = tokens_of(_text_of(request))
        answer = request.config.max_tokens or self._answer
        if self._reasoning:
            answer += self._reasoning
            request = _for_reasoning(request, answer)
        if prompt + answer > self._most:
            raise CitewellError(
                Problem(
                    "llm-too-long",
                    f"A request of about {prompt + answer:,} tokens exceeds `llm.request_tokens` "
                    f"({self._most:,}); it was not sent.",
                    "Raise `llm.request_tokens`, or lower `llm.pick_depth` or "
                    "`llm.abstract_characters`.",
                )
            )
        self._account.allow(prompt + answer, self._prices.cost(prompt, answer) or 0.0)
        if self._inner is None:
            self._inner = self._open_inner()
        request = _without(request, self._left_out)
        began = time.perf_counter()
        try:
            response = self._answered(request)
        except (Cancelled, OutOfTime, AnswerTooLong) as error:
            # The usage is unknown; count the maximum.
            self._count(prompt, answer, time.perf_counter() - began)
            if isinstance(error, OutOfTime):
                raise lm15.TimeoutError("The request timed out.") from error
            if isinstance(error, AnswerTooLong):
                raise CitewellError(oversized(self._model)) from error
            raise
        used = response.usage
        self._count(
            prompt if used.input_tokens is None else int(used.input_tokens),
            tokens_of(response.message.text or "")
            if used.output_tokens is None
            else int(used.output_tokens),
            time.perf_counter() - began,
        )
        return response

    def _answered(self, request: Any) -> Any:
        """The answer to the request without the optional fields that the server rejects, which are
        not sent again."""
        from dspy import lm15

        left_out: set[str] = set()
        while True:
            try:
                response = self._inner.complete(_without(request, left_out))
            except (lm15.InvalidRequestError, lm15.UnsupportedFeatureError) as error:
                more = _refused(error, _without(request, left_out))
                if isinstance(error, lm15.ContextLengthError) or not more:
                    raise
                left_out.add(more)
            else:
                self._left_out |= left_out
                return response

    def stream(self, request: Any) -> Any:
        """Not supported."""
        raise NotImplementedError("answers are not streamed")

    def close(self) -> None:
        """Close connections."""
        if self._inner is not None:
            self._inner.close()

    def _count(self, questions: int, answers: int, seconds: float) -> None:
        cost = self._prices.cost(questions, answers)
        spent = Usage(1, questions, answers, cost or 0.0, int(cost is None), seconds)
        self._account.add(self._model, spent)
        usages = _receipt.get()
        if usages is not None:
            usages.append(spent)


@contextmanager
def receipt() -> Iterator[list[Usage]]:
    """Collect the usage of the requests that this thread sends inside the `with` block."""
    usages: list[Usage] = []
    token = _receipt.set(usages)
    try:
        yield usages
    finally:
        _receipt.reset(token)


def open_lm(endpoint: ModelEndpoint, options: LlmOptions, account: Account) -> Any:
    """The metered `dspy.LM` of an endpoint. Sends no request. Raises `CitewellError` when there is
    no key for a provider that needs one."""
    prepare()
    import dspy

    if endpoint.provider.name == "litellm":
        # The import takes seconds, which would delay the first request.
        with suppress(ImportError):
            import litellm  # noqa: F401
    key = key_of(endpoint)
    if key is None and needs_key(endpoint):
        raise CitewellError(no_key(endpoint))
    value = key.value if key is not None else None
    meter = Meter(
        _opener(endpoint, options, value),
        account,
        prices_of(endpoint, options),
        model=endpoint.shown,
        most_tokens=options.request_tokens,
        answer_tokens=options.answer_tokens,
        schema=endpoint.provider.name != "transformers",
        reasoning_tokens=endpoint.reasoning_tokens,
    )
    return dspy.LM(
        endpoint.routed,
        cache=False,
        num_retries=0,
        # DSPy rejects both for reasoning models; the meter sets the values that they accept.
        temperature=None if endpoint.reasoning_tokens else 0.0,
        max_tokens=None if endpoint.reasoning_tokens else options.answer_tokens,
        engine=meter,
    )


def _opener(endpoint: ModelEndpoint, options: LlmOptions, key: str | None) -> Callable[[], Any]:
    seconds = options.timeout_ms / 1e3

    def in_process() -> Any:

        return TransformersEngine(endpoint.model)

    # A failed connection costs nothing, so its timeout is separate. The client's read timeout is
    # longer than that of `Stoppable`, so that a request that times out is counted.
    connect, read = min(seconds / 2, 10.0), seconds + 60.0

    def over_litellm() -> Any:
        import httpx
        import litellm
        from dspy.clients.engines import AsyncLiteLLMEngine

        litellm.drop_params = True
        # aiohttp logs a warning when a process exits without closing its sessions.
        litellm.disable_aiohttp_transport = True
        timeout = httpx.Timeout(read, connect=connect)
        given: dict[str, Any] = {"api_key": key, "timeout": timeout}
        # The limit applies to the bytes on the wire (`bounded`).
        given["extra_headers"] = {"accept-encoding": "identity"}
        if endpoint.url:
            given["api_base"] = endpoint.url
        return Stoppable(lambda: AsyncLiteLLMEngine(**given), seconds)

    def native() -> Any:
        from dspy.clients.engines import AsyncLM15Engine
        from dspy.lm15 import RouterConfig, Timeouts

        route = endpoint.provider.route
        name = _ROUTES.get(route, route)
        config = RouterConfig(
            env={},  # only the address and the key that are given below
            api_keys={name: key} if key else None,
            base_urls={name: endpoint.url},
            timeouts=Timeouts(connect=connect, read=read),
        )
        return Stoppable(lambda: AsyncLM15Engine(config), seconds)

    return {"transformers": in_process, "litellm": over_litellm}.get(endpoint.provider.name, native)


def _without(request: Any, names: Collection[str]) -> Any:
    """A copy of the request without these fields of its config."""
    return replace(request, config=replace(request.config, **dict.fromkeys(names)))


def _refused(error: Exception, request: Any) -> str:
    """The optional field that a server has probably rejected: one that its message names, else the
    least widely supported one. "" when none is left."""
    held = [name for name in _OPTIONAL if getattr(request.config, name) is not None]
    words = str(error).lower()
    named = (name for name in held if name in words)
    return next(named, "response_format" if "response_format" in held else "")


def _for_reasoning(request: Any, most: int) -> Any:
    """The request for a reasoning model: no temperature, low effort, and `most` tokens for
    reasoning and answer together."""
    from dspy.lm15 import Reasoning

    config = replace(
        request.config, temperature=None, max_tokens=most, reasoning=Reasoning(effort=EFFORT)
    )
    return replace(request, config=config)


def _text_of(request: Any) -> str:
    system = request.system
    parts = [system if isinstance(system, str) else "".join(p.text for p in system or ())]
    parts += [message.text or "" for message in request.messages]
    return "\n".join(parts)
