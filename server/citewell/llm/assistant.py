"""The tasks of the language model (pick, rank, verify, reformulate), with every answer checked.

Nothing here raises because of a model or its server: a failure is a `Problem` in the answer, which
is otherwise the one without the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from citewell.llm import texts
from citewell.llm.connection import ModelConnection
from citewell.llm.failures import no_answer
from citewell.llm.texts import PASSAGE_CHARACTERS, candidate_of, clean, passage_of, remark
from citewell.model import Problem, Query, Work
from citewell.model.cancel import Cancel
from citewell.model.llm import Picked, Supported, Usage

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
