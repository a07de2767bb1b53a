"""A Hugging Face transformers model in this process, as a DSPy engine. Imports torch.

The user names a folder or a Hugging Face name. A name is first looked up among earlier downloads,
and downloaded only if it is missing there and the hub is not switched off. Weights are read as
safetensors, never as pickles, and no code of a model is run.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from citewell.llm.stopping import LOOK_SECONDS, stopped
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancelled
from citewell.model.installing import install_command
from citewell.options.folders import import_torch, load_cached_first

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
