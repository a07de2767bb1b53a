"""Problems for failures of a language model."""

from __future__ import annotations

from importlib.util import find_spec

import msgspec

from citewell.llm.stopping import MAX_ANSWER
from citewell.model import CitewellError, Problem
from citewell.model.installing import install_command

_CONTINUES = "Citewell continues without it."
_FAILED = Problem(
    "llm-failed", "failed", f"{_CONTINUES} `citewell llm --ask` shows whether it can be reached."
)
_REFUSED_KEY = Problem("llm-refused", "refused the key", "Check the key.")
_NO_KEY = Problem(
    "llm-refused",
    "asks for a key, and no key was found",
    "Set CITEWELL_LLM_KEY, or store the key in the keyring.",
)
_FAILURES = (
    (
        {"AdapterParseError"},
        Problem("llm-answer", "did not answer in the expected format", _CONTINUES),
    ),
    (
        {"LMTimeoutError"},
        Problem(
            "llm-late",
            "did not answer in time",
            f"{_CONTINUES} Raise `llm.timeout_ms`, or choose a faster model.",
        ),
    ),
    ({"LMAuthError", "LMNotConfiguredError"}, _REFUSED_KEY),
    (
        {"LMRateLimitError", "LMBillingError"},
        Problem("llm-refused", "accepts no more requests now", "Wait, or check your account."),
    ),
    (
        {"ContextWindowExceededError"},
        Problem(
            "llm-too-long",
            "cannot take a request this long",
            "Lower `llm.request_tokens` to the model's limit.",
        ),
    ),
    (
        {"LMTransportError", "LMServerError"},
        Problem(
            "llm-down",
            "cannot be reached",
            f"Start its server, and check `llm.base_url`. {_CONTINUES}",
        ),
    ),
)
"""By the name of the exception's class or a base class; the message completes "The model ..."."""


def missing_package() -> Problem | None:
    """The problem that the extra `llm` is not installed, if it is not."""
    if find_spec("dspy") is not None:
        return None
    return Problem(
        "llm-missing", "Language models need the package dspy.", f"Run `{install_command('llm')}`."
    )


def failed(name: str, error: BaseException, *, has_key: bool = True) -> Problem:
    """The problem for an exception; it contains neither prompt, answer nor key. `has_key`: a key
    was sent."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CitewellError):
            return cause.problem
        cause = cause.__cause__ or cause.__context__
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status", None)
    problem = next((one for names, one in _FAILURES if kinds & names), _FAILED)
    if problem is _REFUSED_KEY and not has_key:
        problem = _NO_KEY
    what = [type(error).__name__] if problem is _FAILED else []
    what += [f"HTTP {status}"] if status else []
    details = f" ({', '.join(what)})" if what else ""
    message = f"The language model {name} {problem.message}{details}."
    return msgspec.structs.replace(problem, message=message)


def oversized(name: str) -> Problem:
    """The problem that an answer was too large, or compressed without request."""
    return Problem(
        "llm-answer",
        f"The language model {name} sent more than {MAX_ANSWER >> 20} MB, or a "
        "compressed answer, and was cut off.",
        f"{_CONTINUES} Check `llm.base_url`: this is not the answer of a language model.",
    )


def no_answer(name: str, wanted: str) -> Problem:
    """The problem that the answer lacks what was requested."""
    return Problem(
        "llm-answer", f"The language model {name} did not answer with {wanted}.", _CONTINUES
    )
