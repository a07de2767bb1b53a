"""The language model at work: picks, ranks, verifies, reformulates; whatever it says is checked.

Nothing here raises for what a model or its server does: a failure is a `Problem` in the answer, and
the answer is what it would be without the model.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from citewell.llm import answers
from citewell.llm.account import Account
from citewell.llm.failures import failed, missing_package, no_answer
from citewell.llm.providers import Endpoint, endpoint_of
from citewell.llm.remarks import remark
from citewell.llm.stopping import stoppable
from citewell.llm.texts import (
    PASSAGE_CHARACTERS,
    candidate_of,
    clean,
    fitting,
    passage_of,
    tokens_of,
)
from citewell.llm.versions import current, load_program
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.model.llm import Budget, Picked, Supported, Usage
from citewell.options.online import LlmOptions

if TYPE_CHECKING:
    from citewell.llm.programs import Program

FRAME_TOKENS = 500
"""What the adapter writes around instructions and fields."""
QUERIES = 3
_ORDER = re.compile(r'"?order"?\s*[:=]\s*[\["]([^\]}]*)')
_LIST = re.compile(r"\[([^\]]*)\]")
_GRADES = {"yes": 2, "partly": 1, "no": 0}


class Ranked(msgspec.Struct, frozen=True):
    """An order of candidates."""

    order: tuple[int, ...] = ()
    """Positions from 0, every one once; empty when the model gave no order."""
    program: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class Rewritten(msgspec.Struct, frozen=True):
    """Other queries for a passage."""

    queries: tuple[str, ...] = ()
    program: str = ""
    problem: Problem | None = None
    usage: Usage = Usage()


class LanguageModel:
    """Safe to call from several threads. DSPy is imported at the first question, or by `load`."""

    def __init__(
        self,
        options: LlmOptions,
        endpoint: Endpoint,
        account: Account,
        open_lm: Callable[[], Any] | None = None,
    ) -> None:
        """`open_lm` replaces the way to the model (for tests and comparisons)."""
        self.options = options
        self.endpoint = endpoint
        self.account = account
        self._open_lm = open_lm
        self._lm: Any = None
        self._lock = threading.Lock()
        self._programs: dict[tuple[str, str], Program] = {}

    @classmethod
    def open(cls, options: LlmOptions) -> LanguageModel | None:
        """The configured model; None if none is configured. Sends no request.

        Raises `CitewellError` for ambiguous settings, and without DSPy.
        """
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
        """What was spent today, and what may be."""
        return self.account.budget()

    @property
    def lm(self) -> Any:
        """The `dspy.LM`; every request through it is counted and limited.

        Raises `CitewellError` when it cannot be opened, as without a key.
        """
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
        """DSPy with this model, without memory of what is asked. For the current thread alone."""
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

    # -- the questions ------------------------------------------------------------------------

    def pick(self, query: Query, works: Sequence[Work], cancel: Cancel | None = None) -> Picked:
        """One of the works for the place of a query, or none of them.

        The answer is the id of one of `works` or nothing, whatever the model says; when it fails,
        the first work stands, marked by its `problem`. Raises `Cancelled` alone.
        """
        first = works[0].id if works else ""
        program, module, problem = self._program("pick", query.sentence or query.text)
        if not works:
            return Picked(program=program, model=self.name, problem=problem)
        if module is None:
            return Picked(work=first, program=program, model=self.name, problem=problem)
        passage = passage_of(query)
        lines = self._lines(module, passage, works[: self.options.pick_depth])
        found = self._ask(module, cancel, passage=passage, candidates=lines)
        number = answers.choice(found.field("choice"), len(lines))
        if number is None and found.raw:
            number = answers.repaired_choice(found.raw, len(lines))
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

    def rank(self, query: Query, works: Sequence[Work], cancel: Cancel | None = None) -> Ranked:
        """All works in one order, by one request. What the answer lacks keeps its old order.
        Raises `Cancelled` alone."""
        program, module, problem = self._program("rank", query.sentence or query.text)
        if module is None:
            return Ranked(program=program, problem=problem)
        passage = passage_of(query)
        lines = self._lines(module, passage, works)
        found = self._ask(module, cancel, passage=passage, candidates=lines)
        answer = found.field("order")
        if found.raw and not answer:
            listed = _ORDER.search(found.raw) or _LIST.search(found.raw)
            answer = listed[1] if listed is not None else ""
        numbers = answers.order(answer, len(lines))
        if not numbers:
            why = found.problem or no_answer(self.name, "an order of the candidates")
            return Ranked(program=program, problem=why, usage=found.usage)
        order = tuple(number - 1 for number in answers.completed(numbers, len(works)))
        return Ranked(order, program, None, found.usage)

    def judge(self, query: Query, works: Sequence[Work], cancel: Cancel) -> Ranked:
        """All works in one order, by one request each: those that fit first, then those that fit
        in part; equals keep their old order. Raises `Cancelled`."""
        program, module, problem = self._program("judge", query.sentence or query.text)
        if module is None:
            return Ranked(program=program, problem=problem)
        passage = passage_of(query)
        grades: list[float] = []
        usage = Usage()
        for work in works:
            cancel.check()
            paper = candidate_of(work, self.options.abstract_characters)
            found = self._ask(module, cancel, passage=passage, paper=paper)
            usage = usage.plus(found.usage)
            grade = _GRADES.get(str(found.field("fits")).strip().lower())
            problem = problem or found.problem
            if found.problem is not None and found.problem.code != "llm-answer":
                # The next paper would fare no better.
                return Ranked(program=program, problem=found.problem, usage=usage)
            grades.append(0.5 if grade is None else grade)
        if all(grade == 0.5 for grade in grades):
            why = problem or no_answer(self.name, "yes, partly or no")
            return Ranked(program=program, problem=why, usage=usage)
        order = sorted(range(len(works)), key=lambda place: -grades[place])
        return Ranked(tuple(order), program, None, usage)

    def verify(self, sentence: str, work: Work, cancel: Cancel | None = None) -> Supported:
        """Whether the title and abstract of a work support a sentence.

        "yes" and "no" stand only with words that the record has; else the answer is "unclear".
        Raises `Cancelled` alone.
        """
        program, module, problem = self._program("verify", sentence)
        if module is None or not work.abstract:
            problem = problem or Problem(
                "llm-no-abstract",
                "The record has no abstract to compare with the sentence.",
            )
            return Supported(program=program, model=self.name, problem=problem)
        paper = candidate_of(work, max(self.options.abstract_characters, 1500))
        sentence = clean(sentence, PASSAGE_CHARACTERS)
        found = self._ask(module, cancel, sentence=sentence, paper=paper)
        verdict = str(found.field("supports")).strip().lower()
        if verdict not in ("yes", "no", "unclear"):
            problem = found.problem or no_answer(self.name, "yes, no or unclear")
            return Supported(program=program, model=self.name, problem=problem, usage=found.usage)
        words = answers.quotation(found.field("words"), (work.abstract, work.title))
        return Supported(
            verdict=verdict if words else "unclear",  # type: ignore[arg-type]
            words=words,
            program=program,
            model=self.name,
            usage=found.usage,
        )

    def rewrite(self, query: Query, cancel: Cancel | None = None) -> Rewritten:
        """Other queries for the place of a query; none when the model fails. Raises `Cancelled`
        alone."""
        program, module, problem = self._program("reformulate", query.sentence or query.text)
        if module is None:
            return Rewritten(program=program, problem=problem)
        found = self._ask(module, cancel, passage=passage_of(query))
        queries = answers.queries(found.field("queries"), QUERIES)
        if not queries:
            why = found.problem or no_answer(self.name, "search queries")
            return Rewritten(program=program, problem=why, usage=found.usage)
        return Rewritten(tuple(queries), program, None, found.usage)

    # -- inside ---------------------------------------------------------------------------------

    def _program(self, name: str, place: str) -> tuple[str, Program | None, Problem | None]:
        """ "pick@builtin" for a passage, and the module; or why there is none."""
        folder = None if self.options.programs is None else Path(self.options.programs)
        try:
            # What cannot be asked is found out here: without a key there is no question.
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

    def _lines(self, module: Program, passage: str, works: Sequence[Work]) -> list[str]:
        """As many candidates as a request has room for."""
        lines = [candidate_of(work, self.options.abstract_characters) for work in works]
        predict = module.predict
        frame = tokens_of(predict.signature.instructions)
        frame += sum(tokens_of(str(value)) for demo in predict.demos for value in demo.values())
        answer = self.options.answer_tokens + self.endpoint.reasoning_tokens
        room = self.options.request_tokens - answer - FRAME_TOKENS - frame
        return lines[: fitting(lines, room - tokens_of(passage))]

    def _ask(self, module: Program, cancel: Cancel | None, /, **fields: Any) -> _Answer:
        from citewell.llm.engines import receipt

        prediction, raw, problem = None, "", None
        with receipt() as spent, stoppable(cancel):
            try:
                with self.context():
                    prediction = module(**fields)
            except Exception as error:  # DSPy, LiteLLM and servers raise whatever they like
                problem = failed(self.name, error)
                raw = str(getattr(error, "lm_response", "") or "")
        if cancel is not None:
            cancel.check()
        usage = Usage()
        for one in spent:
            usage = usage.plus(one)
        return _Answer(prediction, raw, problem, usage)


class _Answer:
    """What came of a question."""

    def __init__(self, prediction: Any, raw: str, problem: Problem | None, usage: Usage) -> None:
        self._prediction = prediction
        self.raw = raw
        """The answer as it was written, when it was not of the form asked for."""
        self.problem = problem
        self.usage = usage

    def field(self, name: str) -> Any:
        """A field of the answer; empty without one."""
        return getattr(self._prediction, name, "") if self._prediction is not None else ""
