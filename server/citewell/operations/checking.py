"""Checks whether references exist and are correct."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from citewell.documents.bib.reader import check_edits, parse_bib
from citewell.documents.project.files import scan_document
from citewell.documents.textfile import apply_edits
from citewell.features.actions.verification import plan_text_fixes
from citewell.features.checking import page, report
from citewell.features.checking.check import Claims, claims_in_files, references_in, tally
from citewell.features.checking.report import label
from citewell.features.checking.support import CAUTION
from citewell.features.citing.known_works import work_named
from citewell.features.text.evidence import what_it_says
from citewell.model import CitewellError, Problem
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim, FieldFinding, Verdict
from citewell.model.system.child_process import temporary_folder
from citewell.model.words import words_of
from citewell.operations.filling import MAX_FILES, Name, Text
from citewell.operations.operation import LONG_SECONDS, Service, operation, public_problems
from citewell.operations.papers import MAX_FILE, SUFFIXES, Id, Markup, Paper, paper_of
from citewell.options import Options
from citewell.usecases.check import CheckTask, changes_for, plan_changes
from citewell.usecases.find import passage_queries, suffix_of

# Further forms of a check: the corrected or changed .bib with its diff, SARIF and HTML; and
# references from a PDF.

CheckForm = Literal["fixes", "sarif", "html"]


def claims_of_pdf_file(content: str, name: str, options: Options) -> Claims:
    """The references of a PDF in Base64, and the reasons why some could not be read. The file is in
    a temporary folder while it is read."""
    with temporary_folder() as folder:
        path = folder / "paper.pdf"
        path.write_bytes(base64.b64decode(content))
        found = claims_in_files([path], options.documents, pdf=options.pdf)
    claims = tuple(msgspec.structs.replace(claim, path=name) for claim in found.claims)
    return Claims(claims, found.problems)


def forms_of(
    service: Service, request: CheckRequest, checks: Sequence[Check], cancel: Cancel
) -> dict[str, Any]:
    """The requested forms, by field of the answer: `diff` and `fixed` if the .bib can be corrected,
    `sarif` and `html`."""
    name = request.name
    named = [_named(check, name) for check in checks]
    found: dict[str, Any] = {}
    if "fixes" in request.forms:

        def recheck(claims: Sequence[Claim]) -> Sequence[Check]:
            return CheckTask(service.engine, claims).run(cancel=cancel).checks

        plan = plan_text_fixes(request.text, name, named, recheck)
        found["diff"] = "".join(plan.diffs)
        found["fixed"] = "".join(apply_edits(request.text, edit.edits) for edit in plan.edits)
    if "sarif" in request.forms:
        found["sarif"] = report.to_sarif(named)
    if "html" in request.forms:
        found["html"] = page.to_html(named, f"References of {name}")
    return found


def changed_texts(service: Service, request: CheckRequest, cancel: Cancel) -> dict[str, Any]:
    """The results of the changes for the .bib and the papers that cite it: the changed `texts` and
    their `diff`; empty without changes. Raises `CitewellError`."""
    if not request.changes:
        return {}
    engine, options = service.engine, service.options
    documents = {
        Path(paper): scan_document(paper, text, options.documents)
        for paper, text in request.papers.items()
        if paper != request.name
    }
    text = request.papers.get(request.name, request.text)
    plan = plan_changes(
        request.changes,
        [parse_bib(text, request.name)],
        check=lambda claims: (
            CheckTask(engine, claims, online=request.online).run(cancel=cancel).checks
        ),
        work_named=lambda work: work_named(engine, work, options.bib.key_pattern),
        citing=lambda bib, key: documents,
    )
    check_edits(plan.edits, plan.texts)
    new = {edit.path: apply_edits(plan.texts[edit.path], edit.edits) for edit in plan.edits}
    return {"texts": new, "diff": "".join(plan.diffs)}


def _named(check: Check, name: str) -> Check:
    """The check with the name of the file that the client sent."""
    claim = msgspec.structs.replace(check.claim, path=name)
    return msgspec.structs.replace(check, claim=claim)


MAX_ENTRIES = 2_000
MAX_PDF = 12_000_000
"""Bytes in Base64: less than the limit of a request."""
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
        Meta(description="Ask the allowed sources for what the library lacks."),
    ] = False
    changes: Annotated[
        dict[str, str],
        Meta(
            max_length=MAX_ENTRIES,
            description="What becomes of entries of the BibTeX in `text`, by key: `mark` as "
            "checked, `remove` with its citations, `record` for the record that the check found, "
            "or the id of the paper that was meant. All are made or none.",
        ),
    ] = {}
    papers: Annotated[
        dict[Name, Text],
        Meta(
            max_length=MAX_FILES,
            description="Papers by name that cite the entries; the citations of removed ones "
            "become open placeholders.",
        ),
    ] = {}


class CheckedReference(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reference, and what was found out about it. `not-found` says that no record was found,
    which proves nothing; `fabricated`, that there is evidence against it; `not-in-venue`, that its
    proceedings are known whole and lack it; `unchecked`, that nothing could be looked up, or that
    the evidence does not suffice."""

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
    key: Annotated[str, Meta(description="Key of its entry, if it is one of BibTeX.")] = ""
    title: Annotated[str, Meta(description="The title that the reference gives.")] = ""
    authors: Annotated[
        tuple[str, ...], Meta(description="Surnames of the authors that it gives.")
    ] = ()
    marked: Annotated[
        str, Meta(description="Day and record of the mark as checked that answers the findings.")
    ] = ""
    words: Annotated[str, Meta(description="The outcome in words.")] = ""
    changes: Annotated[
        tuple[str, ...], Meta(description="Which of `changes` can be made of its entry.")
    ] = ()


CheckStatus = Literal["checked", "not_checked", "no_references"]


class CheckAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The references in the order in which they were sent."""

    status: CheckStatus
    counts: Annotated[dict[str, int], Meta(description="Number of references per verdict.")]
    references: tuple[CheckedReference, ...]
    unread: Annotated[
        tuple[int, ...], Meta(description="Indexes in `entries` without a readable reference.")
    ] = ()
    diff: Annotated[str, Meta(description="What `fixed` changes in `text`.")] = ""
    fixed: Annotated[str, Meta(description="The text with the corrections that are safe.")] = ""
    sarif: dict[str, Any] | None = None
    html: str = ""
    texts: Annotated[
        dict[str, str], Meta(description="What `changes` make of `text` (`name`) and `papers`.")
    ] = {}
    problems: tuple[Problem, ...] = ()


_GIVEN = {"text": {"minLength": 1}, "entries": {"minItems": 1}, "pdf": {"minLength": 1}}
_ONE_OF_THEM = {
    "not": {
        "anyOf": [
            {"required": [*pair], "properties": {name: _GIVEN[name] for name in pair}}
            for pair in combinations(_GIVEN, 2)
        ]
    }
}


@operation(
    "Do references exist, and are they correct?",
    queue=lambda request: "online" if request.online else "check",
    seconds=LONG_SECONDS,
    schema_keywords=_ONE_OF_THEM,
)
def check(service: Service, request: CheckRequest, cancel: Cancel) -> CheckAnswer:
    """Look each reference up in the library: is it a known work, and do title, authors, year, venue
    and identifiers agree with its record? Nothing is sent anywhere unless `online` is true."""
    if sum(map(bool, (request.text, request.entries, request.pdf))) > 1:
        raise CitewellError(
            Problem(
                "request-invalid", "Give either `text`, `entries` or `pdf`.", "Send one of them."
            )
        )
    if request.changes and "fixes" in request.forms:
        raise CitewellError(
            Problem("request-invalid", "`changes` and `fixes` exclude each other.", "Send one.")
        )
    changed = changed_texts(service, request, cancel)
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
    return CheckAnswer(
        **outcome_of(checks),
        references=tuple(_reference(n, one) for n, one in zip(numbers, checks, strict=True)),
        unread=tuple(unread),
        problems=public_problems((*problems, *found.problems)),
        **forms_of(service, request, checks, cancel),
        **changed,
    )


def outcome_of(checks: Sequence[Check]) -> dict[str, Any]:
    """The `status` of a check and the `counts` of its verdicts."""
    unchecked = bool(checks) and all(one.verdict is Verdict.UNCHECKED for one in checks)
    return {
        "status": "not_checked" if unchecked else "checked" if checks else "no_references",
        "counts": {verdict.value: count for verdict, count in tally(checks).items() if count},
    }


def _claims(
    request: CheckRequest,
) -> tuple[list[Claim], list[int], list[int], tuple[Problem, ...]]:
    """The claims, their numbers, the indices of entries without a reference, and syntax errors in
    the text."""
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


def _reference(n: int, check: Check) -> CheckedReference:
    return CheckedReference(
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
        key=check.claim.key if check.claim.spans else "",
        title=check.claim.title,
        authors=tuple(author.family for author in check.claim.authors),
        marked=check.mark.shown if check.mark is not None else "",
        words=words_of(check).label,
        changes=changes_for(check) if check.claim.spans else (),
    )


# Support of a sentence by a paper's abstract.


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


@operation("Does this paper support this sentence?", queue="model", seconds=LONG_SECONDS)
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
