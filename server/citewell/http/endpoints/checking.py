"""Are references real, and right?"""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from citewell.features.checking.check import references_in, tally
from citewell.features.checking.report import label
from citewell.http.contract import LONG_SECONDS, Endpoint, Service, public_problems
from citewell.http.endpoints.check_forms import CheckForm, claims_of_pdf_file, forms_of
from citewell.http.wire import MAX_FILE, Paper, paper_of
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, FieldFinding, Verdict
from citewell.usecases.check import CheckTask

MAX_ENTRIES = 2_000
MAX_PDF = 12_000_000
"""Bytes in Base64: less than a request may have."""
_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
_NAME = r"^[^/\\\x00-\x1f\x7f]+$"


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text with references, references one by one, or a PDF: one of them."""

    text: Annotated[
        str,
        Meta(max_length=MAX_FILE, description="BibTeX, a `thebibliography`, or a plain-text list."),
    ] = ""
    entries: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=20_000)], ...],
        Meta(max_length=MAX_ENTRIES, description="References as separate items, each as BibTeX "
                                                 "or plain text."),
    ] = ()  # fmt: skip
    pdf: Annotated[
        str,
        Meta(
            max_length=MAX_PDF,
            pattern=_BASE64,
            description="A PDF in Base64, of which the reference list is checked.",
        ),
    ] = ""
    name: Annotated[
        str,
        Meta(max_length=200, pattern=_NAME, description="Name of the file, for the forms."),
    ] = "references.bib"
    forms: Annotated[
        tuple[CheckForm, ...],
        Meta(
            max_length=3,
            description="`fixes`: the corrected BibTeX of `text` (`fixed`) and its `diff`; "
            "`sarif`: a SARIF 2.1.0 log; `html`: a page.",
        ),
    ] = ()
    online: Annotated[
        bool,
        Meta(description="Also query the allowed sources about what the library lacks."),
    ] = False


class Reference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reference, and what was found out about it. `not-found` says that no record was found,
    which proves nothing; `fabricated`, that there is evidence against it; `unchecked`, that nothing
    could be looked up."""

    n: Annotated[int, Meta(ge=1, description="Its index in `entries`, or in the text.")]
    reference: Annotated[str, Meta(description="Its key, else its title or its first words.")]
    verdict: Verdict
    confidence: float
    findings: tuple[FieldFinding, ...] = ()
    evidence: tuple[str, ...] = ()
    record: Annotated[Paper | None, Meta(description="The most likely paper, from its record.")] = (
        None
    )
    sources: Annotated[tuple[str, ...], Meta(description="Where the check searched.")] = ()
    line: Annotated[int | None, Meta(description="Line where it begins, from 1.")] = None
    page: Annotated[int | None, Meta(description="Page of the PDF, from 1.")] = None


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The references in the order in which they were sent."""

    status: Literal["checked", "not_checked", "no_references"]
    counts: Annotated[dict[str, int], Meta(description="Number of references per verdict.")]
    references: tuple[Reference, ...]
    unread: Annotated[
        tuple[int, ...], Meta(description="Indexes in `entries` without a readable reference.")
    ] = ()
    diff: Annotated[str, Meta(description="What `fixed` changes in `text`.")] = ""
    fixed: Annotated[str, Meta(description="The text with the corrections that are safe.")] = ""
    sarif: dict[str, Any] | None = None
    html: str = ""
    problems: tuple[Problem, ...] = ()


def check(service: Service, request: CheckRequest, cancel: Cancel) -> CheckAnswer:
    """Look each reference up in the library: is it a known work, and do title, authors, year, venue
    and identifiers agree with its record? Nothing is sent anywhere unless `online` is true."""
    if sum(map(bool, (request.text, request.entries, request.pdf))) > 1:
        raise CitewellError(
            Problem(
                "request-invalid", "Give either `text`, `entries` or `pdf`.", "Send one of them."
            )
        )
    problems: tuple[Problem, ...] = ()
    unread: list[int] = []
    if request.pdf:
        read = claims_of_pdf_file(request.pdf, request.name, service.options)
        claims, problems = list(read.claims), read.problems
        numbers = list(range(1, len(claims) + 1))
    else:
        claims, numbers, unread, problems = _claims(request)
    task = CheckTask(service.engine, claims, online=request.online)
    found = task.run(service.progress, cancel)
    checks = found.checks
    unchecked = bool(checks) and all(one.verdict is Verdict.UNCHECKED for one in checks)
    return CheckAnswer(
        status="not_checked" if unchecked else "checked" if checks else "no_references",
        counts={verdict.value: count for verdict, count in tally(checks).items() if count},
        references=tuple(_reference(n, one) for n, one in zip(numbers, checks, strict=True)),
        unread=tuple(unread),
        problems=public_problems((*problems, *found.problems)),
        **forms_of(
            request.forms,
            checks,
            request.text,
            request.name,
            engine=service.engine,
            cancel=cancel,
        ),
    )


def _claims(
    request: CheckRequest,
) -> tuple[list[Claim], list[int], list[int], tuple[Problem, ...]]:
    """The claims, their numbers, the indexes of entries without a reference, and errors of syntax
    in the text."""
    if request.text:
        read = references_in(request.text)
        return list(read.claims), list(range(1, len(read.claims) + 1)), [], read.problems
    claims: list[Claim] = []
    numbers: list[int] = []
    unread: list[int] = []
    for n, entry in enumerate(request.entries, 1):
        found = references_in(entry).claims
        claims += found
        numbers += [n] * len(found)
        if not found:
            unread.append(n)
    return claims, numbers, unread, ()


def _reference(n: int, check: Check) -> Reference:
    return Reference(
        n=n,
        reference=label(check),
        verdict=check.verdict,
        confidence=round(check.confidence, 3),
        findings=check.findings,
        evidence=check.evidence,
        record=None if check.work is None else paper_of(check.work),
        sources=check.sources,
        line=check.claim.line,
        page=check.claim.page,
    )


_GIVEN = {"text": {"minLength": 1}, "entries": {"minItems": 1}, "pdf": {"minLength": 1}}
_ONE_OF_THEM = {
    "not": {
        "anyOf": [
            {"required": [*pair], "properties": {name: _GIVEN[name] for name in pair}}
            for pair in combinations(_GIVEN, 2)
        ]
    }
}

CHECK = Endpoint(
    name="check",
    method="POST",
    path="/v1/check",
    summary="Do references exist, and are they correct?",
    request=CheckRequest,
    response=CheckAnswer,
    answer=check,
    queue=lambda request: "online" if request.online else "check",
    seconds=LONG_SECONDS,
    schema_keywords=_ONE_OF_THEM,
)
