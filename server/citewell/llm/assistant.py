"""The connection to the language model, and its tasks (pick, rank, verify, reformulate), with every
answer checked.

Nothing here raises because of a model or its server: a failure is a `Problem` in the answer, which
is otherwise the one without the model.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from citewell.llm import texts
from citewell.llm.account import Account
from citewell.llm.failures import failed, missing_package, no_answer
from citewell.llm.providers import ModelEndpoint, endpoint_of, key_of
from citewell.llm.stopping import stoppable
from citewell.llm.texts import (
    PASSAGE_CHARACTERS,
    candidate_of,
    clean,
    fitting,
    passage_of,
    remark,
    tokens_of,
)
from citewell.llm.versions import current, load_program
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.model.llm import Budget, Picked, Supported, Usage
from citewell.options.online import LlmOptions

if TYPE_CHECKING:
    from citewell.llm.programs import Program

# The connection to the language model: loads programs, limits requests, and counts usage.

FRAME_TOKENS = 500
"""Tokens that the adapter adds around instructions and fields."""


class ModelConnection:
    """A connection. Thread-safe. DSPy is imported at the first question, or by `load`."""

    def __init__(
        self,
        options: LlmOptions,
        endpoint: ModelEndpoint,
        account: Account,
        open_lm: Callable[[], Any] | None = None,
    ) -> None:
        """`open_lm` replaces the connection (for tests and comparisons)."""
        self.options = options
        self.endpoint = endpoint
        self.account = account
        self._open_lm = open_lm
        self._lm: Any = None
        self._lock = threading.Lock()
        self._programs: dict[tuple[str, str], Program] = {}

    @classmethod
    def open(cls, options: LlmOptions) -> Self | None:
        """The configured model; None if none is configured. Sends no request. Raises
        `CitewellError` for ambiguous settings, and without DSPy."""
        endpoint = endpoint_of(options)
        if endpoint is None:
            return None
        if (problem := missing_package()) is not None:
            raise CitewellError(problem)
        account = Account(options.daily_tokens, options.daily_cost, local=endpoint.local)
        return cls(options, endpoint, account)

    @property
    def name(self) -> str:
        """ "ollama qwen3:8b"."""
        return self.endpoint.shown

    def budget(self) -> Budget:
        """Today's usage, and its limits."""
        return self.account.budget()

    @property
    def lm(self) -> Any:
        """The `dspy.LM`; every request through it is counted and limited. Raises `CitewellError`
        when it cannot be opened, as without a key."""
        with self._lock:
            if self._lm is None:
                if self._open_lm is not None:
                    self._lm = self._open_lm()
                else:
                    from citewell.llm.engines import open_lm

                    self._lm = open_lm(self.endpoint, self.options, self.account)
            return self._lm

    @contextmanager
    def context(self) -> Iterator[None]:
        """DSPy with this model, without caching of requests. For the current thread only."""
        import dspy

        adapter = dspy.JSONAdapter(use_native_function_calling=False)
        with dspy.context(lm=self.lm, adapter=adapter, disable_history=True):
            yield

    def load(self) -> None:
        """Import DSPy and connect to the model now; failures are reported on the first request."""
        try:
            self.lm  # noqa: B018
        except CitewellError:
            return

    def close(self) -> None:
        """Close connections."""
        engine = getattr(self._lm, "engine", None)
        if engine is not None and not isinstance(engine, str):
            engine.close()

    # -- for the tasks --------------------------------------------------------------------------

    def program(self, name: str, place: str) -> tuple[str, Program | None, Problem | None]:
        """ "pick@builtin" for a passage, and the module; or the problem."""
        folder = None if self.options.programs is None else Path(self.options.programs)
        try:
            # Detects early that requests are impossible, for example without a key.
            self.lm  # noqa: B018
            version = self.options.version or current(name, folder).version_for(place)
            with self._lock:
                known = self._programs.get((name, version))
                if known is None:
                    known = self._programs[name, version] = load_program(name, version, folder)
        except CitewellError as error:
            return name, None, error.problem
        except Exception as error:
            return name, None, failed(self.name, error)
        return f"{name}@{version}", known, None

    def lines(self, module: Program, passage: str, works: Sequence[Work]) -> list[str]:
        """The candidates, as many as fit into a request."""
        lines = [candidate_of(work, self.options.abstract_characters) for work in works]
        predict = module.predict
        frame = tokens_of(predict.signature.instructions)
        frame += sum(tokens_of(str(value)) for demo in predict.demos for value in demo.values())
        answer = self.options.answer_tokens + self.endpoint.reasoning_tokens
        room = self.options.request_tokens - answer - FRAME_TOKENS - frame
        return lines[: fitting(lines, room - tokens_of(passage))]

    def ask(self, module: Program, cancel: Cancel | None, /, **fields: Any) -> ModelAnswer:
        from citewell.llm.engines import receipt

        prediction, raw, problem = None, "", None
        with receipt() as spent, stoppable(cancel):
            try:
                with self.context():
                    prediction = module(**fields)
            except Exception as error:  # DSPy, LiteLLM and servers raise arbitrary exceptions
                problem = failed(self.name, error, has_key=key_of(self.endpoint) is not None)
                raw = str(getattr(error, "lm_response", "") or "")
        if cancel is not None:
            cancel.check()
        usage = Usage()
        for one in spent:
            usage = usage.plus(one)
        return ModelAnswer(prediction, raw, problem, usage)


class ModelAnswer:
    """The result of a request."""

    def __init__(self, prediction: Any, raw: str, problem: Problem | None, usage: Usage) -> None:
        self._prediction = prediction
        self.raw = raw
        """The raw answer, if it lacks the requested form."""
        self.problem = problem
        self.usage = usage

    def field(self, name: str) -> Any:
        """A field of the answer; empty if it is missing."""
        return getattr(self._prediction, name, "") if self._prediction is not None else ""


QUERIES = 3
_ORDER = re.compile(r'"?order"?\s*[:=]\s*[\["]([^\]}]*)')
_LIST = re.compile(r"\[([^\]]*)\]")


class ModelOrder(msgspec.Struct, frozen=True):
    """An order of candidates."""

    order: tuple[int, ...] = ()
    """Positions from 0, each once; empty when the model gave no order."""
    program: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class Rewritten(msgspec.Struct, frozen=True):
    """Alternative queries for a passage."""

    queries: tuple[str, ...] = ()
    program: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class LanguageModel(ModelConnection):
    """The language model. Thread-safe. DSPy is imported at the first question, or by `load`."""

    def pick(self, query: Query, works: Sequence[Work], cancel: Cancel | None = None) -> Picked:
        """Pick one of the works for the place of a query, or none.

        The answer is the id of one of `works` or nothing, whatever the model says; if it fails, the
        first work is returned with a `problem`. Raises only `Cancelled`.
        """
        first = works[0].id if works else ""
        program, module, problem = self.program("pick", query.sentence or query.text)
        if not works:
            return Picked(program=program, model=self.name, problem=problem)
        if module is None:
            return Picked(work=first, program=program, model=self.name, problem=problem)
        passage = passage_of(query)
        lines = self.lines(module, passage, works[: self.options.pick_depth])
        found = self.ask(module, cancel, passage=passage, candidates=lines)
        number = texts.choice(found.field("choice"), len(lines))
        if number is None and found.raw:
            number = texts.repaired_choice(found.raw, len(lines))
        if number is None:
            return Picked(
                work=first,
                program=program,
                model=self.name,
                problem=found.problem or no_answer(self.name, "the number of a candidate"),
                usage=found.usage,
            )
        return Picked(
            work=works[number - 1].id if number else "",
            by="model",
            reason=remark(found.field("reason"), works[: len(lines)]),
            of=len(lines),
            program=program,
            model=self.name,
            usage=found.usage,
        )

    def rank(self, query: Query, works: Sequence[Work], cancel: Cancel | None = None) -> ModelOrder:
        """Rank all works in one request. Works missing from the answer keep their old order. Raises
        only `Cancelled`."""
        program, module, problem = self.program("rank", query.sentence or query.text)
        if module is None:
            return ModelOrder(program=program, problem=problem)
        passage = passage_of(query)
        lines = self.lines(module, passage, works)
        found = self.ask(module, cancel, passage=passage, candidates=lines)
        answer = found.field("order")
        if found.raw and not answer:
            listed = _ORDER.search(found.raw) or _LIST.search(found.raw)
            answer = listed[1] if listed is not None else ""
        numbers = texts.order(answer, len(lines))
        if not numbers:
            why = found.problem or no_answer(self.name, "an order of the candidates")
            return ModelOrder(program=program, problem=why, usage=found.usage)
        order = tuple(number - 1 for number in texts.completed(numbers, len(works)))
        return ModelOrder(order, program, None, found.usage)

    def verify(self, sentence: str, work: Work, cancel: Cancel | None = None) -> Supported:
        """Whether the title and abstract of a work support a sentence. "yes" and "no" require a
        quotation from the record; else the answer is "unclear". Raises `Cancelled` alone."""
        program, module, problem = self.program("verify", sentence)
        if module is None or not work.abstract:
            problem = problem or Problem(
                "llm-no-abstract", "The record has no abstract to compare with the sentence."
            )
            return Supported(program=program, model=self.name, problem=problem)
        paper = candidate_of(work, max(self.options.abstract_characters, 1500))
        sentence = clean(sentence, PASSAGE_CHARACTERS)
        found = self.ask(module, cancel, sentence=sentence, paper=paper)
        verdict = str(found.field("supports")).strip().lower()
        if verdict not in ("yes", "no", "unclear"):
            problem = found.problem or no_answer(self.name, "yes, no or unclear")
            return Supported(program=program, model=self.name, problem=problem, usage=found.usage)
        words = texts.quotation(found.field("words"), (work.abstract, work.title))
        return Supported(
            verdict=verdict if words else "unclear",  # type: ignore[arg-type]
            words=words,
            program=program,
            model=self.name,
            usage=found.usage,
        )

    def rewrite(self, query: Query, cancel: Cancel | None = None) -> Rewritten:
        """Alternative queries for the place of a query; none if the model fails. Raises only
        `Cancelled`."""
        program, module, problem = self.program("reformulate", query.sentence or query.text)
        if module is None:
            return Rewritten(program=program, problem=problem)
        found = self.ask(module, cancel, passage=passage_of(query))
        queries = texts.queries(found.field("queries"), QUERIES)
        if not queries:
            why = found.problem or no_answer(self.name, "search queries")
            return Rewritten(program=program, problem=why, usage=found.usage)
        return Rewritten(tuple(queries), program, None, found.usage)
