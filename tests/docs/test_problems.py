"""Each problem that a user may see is explained in docs/problems.md, and nothing else is."""

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "problems.md"


def documented() -> list[str]:
    cells = re.findall(r"^\| (`[^|]+`) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [code for cell in cells for code in re.findall(r"`([^`]+)`", cell)]


def test_every_code_in_the_source_can_be_read_by_this_test(problem_codes: Any) -> None:
    assert not problem_codes.unreadable, "give these problems a literal code"
    assert len(problem_codes.places) > 10


def test_every_code_is_kebab_case(problem_codes: Any) -> None:
    for code, places in problem_codes.places.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code), (code, places)


def test_every_code_has_a_row_in_the_page(problem_codes: Any) -> None:
    rows = set(documented())
    missing = {code: places[0] for code, places in problem_codes.places.items() if code not in rows}
    assert not missing, f"add a row to docs/problems.md for: {missing}"


def test_every_row_of_the_page_is_a_code_of_the_source_once(
    problem_codes: Any,
) -> None:
    rows = documented()
    assert len(rows) == len(set(rows))
    assert not set(rows) - set(problem_codes.places), "no code of the source"
