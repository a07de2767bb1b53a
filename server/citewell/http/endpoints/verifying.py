"""Does this paper's abstract say what this sentence says?"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from citewell.features.checking.support import CAUTION
from citewell.features.citing.named_works import work_named
from citewell.features.text.model_choice import what_it_says
from citewell.http.contract import LONG_SECONDS, Endpoint, Service, public_problems
from citewell.http.wire import SUFFIXES, Id, Markup, Paper, paper_of
from citewell.model import Problem
from citewell.model.cancel import Cancel
from citewell.usecases.find import passage_queries, suffix_of


class VerifyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sentence and the paper that it cites."""

    sentence: Annotated[
        str, Meta(min_length=1, max_length=5_000, description="LaTeX, Markdown or plain text.")
    ]
    id: Id
    markup: Markup = "auto"


class VerifyAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`answered`: the model answered yes, no or unclear. `not_checked`: it was not asked or did not
    answer; `problems` has the reason."""

    status: Literal["answered", "not_checked"]
    paper: Paper
    note: str
    verdict: Annotated[
        Literal["yes", "no", "unclear"] | None,
        Meta(description="Whether the abstract supports the sentence; none if not requested."),
    ] = None
    words: Annotated[
        str, Meta(description="The supporting words of the title or abstract, verbatim.")
    ] = ""
    says: Annotated[str, Meta(description="The same in one line, with the model's name.")] = ""
    model: str = ""
    program: str = ""
    problems: tuple[Problem, ...] = ()


def verify(service: Service, request: VerifyRequest, cancel: Cancel) -> VerifyAnswer:
    """Ask the language model that the user named whether a paper's abstract supports a sentence:
    yes, no or unclear, with the words of the abstract that say so. `no` and `unclear` are no
    evidence against a citation: an opinion of a summary, to be shown with its words."""
    work = work_named(service.engine, request.id)
    suffix = SUFFIXES.get(request.markup) or suffix_of(request.sentence)
    queries = passage_queries(request.sentence, suffix, service.options)
    sentence = queries[0].sentence if queries else ""
    paper = paper_of(work, abstract=True)
    if not sentence:
        return VerifyAnswer(
            status="not_checked",
            paper=paper,
            note=CAUTION,
            problems=public_problems((_NO_SENTENCE,)),
        )
    found = service.engine.verify(sentence, work, cancel=cancel)
    if found.problem is not None:
        return VerifyAnswer(
            status="not_checked",
            paper=paper,
            note=CAUTION,
            model=found.model,
            problems=public_problems((found.problem,)),
        )
    return VerifyAnswer(
        status="answered",
        paper=paper,
        note=CAUTION,
        verdict=found.verdict,
        words=found.words,
        says=what_it_says(found),
        model=found.model,
        program=found.program,
    )


_NO_SENTENCE = Problem("request-invalid", "The text contains no sentence.", "Give one sentence.")

VERIFY = Endpoint(
    name="verify",
    method="POST",
    path="/v1/verify",
    summary="Does this paper support this sentence?",
    request=VerifyRequest,
    response=VerifyAnswer,
    answer=verify,
    queue="model",
    seconds=LONG_SECONDS,
)
