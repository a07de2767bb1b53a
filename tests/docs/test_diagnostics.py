"""Each diagnostic has a section in docs/diagnostics.md, and nothing else has."""

import re
from pathlib import Path
from typing import Any

from citewell.features.checking import check
from citewell.features.checking.lint import ANY_SYNTAX, RULES, SYNTAX
from citewell.lsp.state.reports import CODES
from citewell.model.document import Level
from citewell.verification.finding import MEANINGS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "diagnostics.md").read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    parts = re.split(r"^### (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_code_has_one_section_and_every_section_a_code() -> None:
    headings = re.findall(r"^### (.+)$", PAGE, flags=re.MULTILINE)
    assert sorted(headings) == sorted(CODES)


def test_a_section_begins_with_the_level_of_its_code() -> None:
    levels = {rule.code: rule.level for rule in RULES if rule.code != ANY_SYNTAX} | SYNTAX
    levels |= dict.fromkeys(check.FINDINGS, Level.WARNING)
    levels |= dict.fromkeys(check.NOTES, Level.HINT)
    levels |= {check.NOT_FOUND: Level.HINT, check.FABRICATED: Level.ERROR}
    for code, text in sections().items():
        if code == check.UNCHECKED:
            continue
        severity = re.match(r"\s*\*(\w+)", text)
        assert severity, code
        assert severity[1].lower() == levels[code].value, code


def test_every_fault_of_syntax_that_is_found_has_a_level(problem_codes: Any) -> None:
    scanned = {
        code
        for code, places in problem_codes.places.items()
        if any(name in place for place in places for name in ("bib/scan", "bib/entry_ends"))
    }
    assert scanned
    assert scanned == set(SYNTAX)


def test_every_finding_of_the_check_has_its_meaning_in_its_section() -> None:
    for code, meaning in MEANINGS.items():
        shown = meaning.removesuffix(".").removesuffix(" (note)").replace("a note", "a hint")
        assert _plain(shown) in _plain(sections()[code]), code


def _plain(text: str) -> str:
    """The words without line breaks and marks of code and quotation."""
    return " ".join(re.sub(r"[`\"“”]", "", text).split())
