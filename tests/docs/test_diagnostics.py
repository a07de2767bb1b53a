"""Each diagnostic has a section in docs/diagnostics.md, and nothing else has."""

import re
from pathlib import Path
from typing import Any

from citewell.features.lint import CODES, RULES
from citewell.features.lint_bibs import ANY_SYNTAX, SYNTAX

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "diagnostics.md").read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    parts = re.split(r"^### (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_code_has_one_section_and_every_section_a_code() -> None:
    headings = re.findall(r"^### (.+)$", PAGE, flags=re.MULTILINE)
    assert sorted(headings) == sorted(CODES)


def test_a_section_begins_with_the_level_of_its_code() -> None:
    levels = {rule.code: rule.level for rule in RULES if rule.code != ANY_SYNTAX} | SYNTAX
    for code, text in sections().items():
        said = re.match(r"\s*\*(\w+)", text)
        assert said, code
        assert said[1].lower() == levels[code].value, code


def test_every_fault_of_syntax_that_is_found_has_a_level(problem_codes: Any) -> None:
    scanned = {
        code
        for code, places in problem_codes.places.items()
        if any("bib_scan" in place for place in places)
    }
    assert scanned
    assert scanned == set(SYNTAX)
