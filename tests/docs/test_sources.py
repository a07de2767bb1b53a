"""The page about sources says of each what its module says."""

from pathlib import Path

from citewell.sources.registry import (
    ALWAYS,
    NEVER,
    SOURCES,
    consent_question,
    host_of,
    source_named,
    suggested,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")


def test_each_source_has_a_row_with_its_host_and_exactly_what_it_is_sent() -> None:
    for name in SOURCES:
        kind = source_named(name)
        rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        assert len(rows) == 1, name
        for fact in (host_of(name), kind.gives, kind.sends, *kind.policy.key_variables):
            assert fact in rows[0], (name, fact)


def test_each_row_states_the_pace_that_is_kept() -> None:
    for name in SOURCES:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        pace = row.split("|")[5].strip().split(" ")[0]
        stated = 1 / 3 if pace == "1/3" else float(pace)
        assert abs(stated - source_named(name).policy.per_second) < 0.01, name


def test_the_question_names_every_host_and_what_is_never_sent() -> None:
    text = consent_question(tuple(SOURCES))
    for name in SOURCES:
        assert host_of(name) in text
    assert NEVER in text and ALWAYS in text
    for name in suggested():
        assert name in SOURCES
