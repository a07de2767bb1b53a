"""`citewell library explain`: every record behind a paper."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.conftest import citewell_in

ONE = (
    '{"id": "a1", "title": "Learning to sit still", "authors": ["Ana García", "Wei Li"], '
    '"year": 2019, "venue": "ACL", "doi": "10.5555/sit.1", "source": "first"}\n'
)
OTHER = (
    '{"id": "b7", "title": "Learning to Sit Still", "authors": ["A. García", "Wei Li"], '
    '"year": 2020, "venue": "ACL", "doi": "10.5555/SIT.1", "source": "second"}\n'
)


def test_the_records_of_a_merged_paper_and_where_they_disagree(
    new_env: dict[str, str], tmp_path: Path
) -> None:
    run = citewell_in(tmp_path, new_env, "library")
    (tmp_path / "one.jsonl").write_text(ONE, encoding="utf-8")
    (tmp_path / "other.jsonl").write_text(OTHER, encoding="utf-8")
    assert run("add", "one.jsonl", "other.jsonl").returncode == 0
    for name in ("10.5555/sit.1", "first:a1", "second:b7", "Learning to sit still"):
        done = run("explain", name, "--json")
        assert done.returncode == 0, (name, done.stderr)
        (found,) = json.loads(done.stdout)
        assert {record["source"] for record in found["records"]} == {"first", "second"}, name
        assert len(found["added_from"]) == 2
        years = {record["differs"].get("year") for record in found["records"]}
        assert years in ({None, "2020"}, {None, "2019"}), name
    done = run("explain", "10.5555/sit.1")
    assert "2 records:" in done.stdout and "      year: 20" in done.stdout
    done = run("explain", "10.5555/none")
    assert done.returncode == 1 and "no such paper" in done.stderr
