"""A check as files: the corrected .bib with its diff, SARIF and HTML; and references of a PDF."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from citewell.documents.textfile import apply_edits
from citewell.engine.contract import Engine
from citewell.features.actions.check_fix import plan_text_fixes
from citewell.features.checking import page, report
from citewell.features.checking.check import Claims, claims_in_files
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim
from citewell.options import Options
from citewell.usecases.check import CheckTask

CheckForm = Literal["fixes", "sarif", "html"]


def claims_of_pdf_file(content: str, name: str, options: Options) -> Claims:
    """The references of a PDF in Base64, and why some could not be read. The file lies in a
    temporary folder while it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "paper.pdf"
        path.write_bytes(base64.b64decode(content))
        found = claims_in_files([path], options.documents, pdf=options.pdf)
    claims = tuple(msgspec.structs.replace(claim, path=name) for claim in found.claims)
    return Claims(claims, found.problems)


def forms_of(
    forms: Sequence[CheckForm],
    checks: Sequence[Check],
    text: str,
    name: str,
    *,
    engine: Engine,
    cancel: Cancel,
) -> dict[str, Any]:
    """The forms that are asked for, by field of the answer: `diff` and `fixed` where something of
    the .bib can be corrected, `sarif` and `html`."""
    named = [_named(check, name) for check in checks]
    found: dict[str, Any] = {}
    if "fixes" in forms:

        def recheck(claims: Sequence[Claim]) -> Sequence[Check]:
            return CheckTask(engine, claims).run(cancel=cancel).checks

        plan = plan_text_fixes(text, name, named, recheck)
        found["diff"] = "".join(plan.diffs)
        found["fixed"] = "".join(apply_edits(text, edit.edits) for edit in plan.edits)
    if "sarif" in forms:
        found["sarif"] = report.to_sarif(named)
    if "html" in forms:
        found["html"] = page.to_html(named, f"References of {name}")
    return found


def _named(check: Check, name: str) -> Check:
    """The check with the name of the file that was sent."""
    claim = msgspec.structs.replace(check.claim, path=name)
    return msgspec.structs.replace(check, claim=claim)
