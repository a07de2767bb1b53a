"""Processes of one user ask a source at one pace together, and heed what it asked of any of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.sources.adapters.crossref import Crossref

pytest.importorskip("httpx2", reason="the extra `online` is not installed")

SEARCHES = 8
CLIENT = """
import json, sys
from citewell.engine.online import Online
from citewell.options.merge import load
from citewell.sources.contract import Failed

online = Online(load().options)
print("ready", flush=True)
for line in sys.stdin:
    futures = [online.search(text, 2) for text in json.loads(line)]
    answers = [answer for future in futures for answer in future.result()]
    failures = [(one.reason, one.message) for one in answers if isinstance(one, Failed)]
    print(json.dumps(failures), flush=True)
online.close()
"""

Start = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def start(fake_sources: Any, tmp_path: Path) -> Iterator[Start]:
    """Starts a process that searches Crossref for the texts of each line on its standard input."""
    (tmp_path / "config.toml").touch()
    env = os.environ | {
        "CITEWELL_CONFIG": str(tmp_path / "config.toml"),
        "CITEWELL_CACHE": str(tmp_path / "cache"),
        "CITEWELL_SOURCES_ALLOW": "crossref",
        "CITEWELL_SOURCES_BASE_URL": fake_sources.url,
    }
    processes: list[subprocess.Popen[str]] = []

    def started() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", CLIENT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=env,
        )  # fmt: skip
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield started
    for process in processes:
        process.communicate(timeout=60)


def ask(process: subprocess.Popen[str], *texts: str) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(texts) + "\n")
    process.stdin.flush()


def failures(process: subprocess.Popen[str]) -> list[list[str]]:
    """Reason and message of each search that failed, once all have ended."""
    assert process.stdout is not None
    found: list[list[str]] = json.loads(process.stdout.readline())
    return found


def test_two_processes_keep_the_pace_together(start: Start, fake_sources: Any) -> None:
    pair = [start(), start()]
    for number, process in enumerate(pair):
        ask(process, *(f"teacups {number} {n}" for n in range(SEARCHES)))
    assert [failures(process) for process in pair] == [[], []]
    times = sorted(one.at for one in fake_sources.of("crossref"))
    assert len(times) == 2 * SEARCHES
    # A busy machine may delay the receipt of any one of them, so that short gaps prove nothing.
    late = 0.25
    interval = 1 / Crossref.policy.per_second
    assert times[-1] - times[0] >= interval * (len(times) - 1) - late
