"""`citewell library explain`: every record behind a paper."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ONE = (
    '{"id": "a1", "title": "Learning to sit still", "authors": ["Ana García", "Wei Li"], '
    '"year": 2019, "venue": "ACL", "doi": "10.5555/sit.1", "source": "first"}\n'
)
OTHER = (
    '{"id": "b7", "title": "Learning to Sit Still", "authors": ["A. García", "Wei Li"], '
    '"year": 2020, "venue": "ACL", "doi": "10.5555/SIT.1", "source": "second"}\n'
)


def test_the_records_of_a_merged_paper_and_where_they_disagree(tmp_path: Path) -> None:
    environment = {n: v for n, v in os.environ.items() if not n.startswith("CITEWELL")} | {
        "CITEWELL_LIBRARY_PATH": str(tmp_path / "libraries"),
        "CITEWELL_LIBRARY_NAME": "mine",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "citewell", "library", *arguments], cwd=tmp_path,
            env=environment, capture_output=True, encoding="utf-8", timeout=300, check=False,
        )  # fmt: skip

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
