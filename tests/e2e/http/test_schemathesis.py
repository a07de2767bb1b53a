"""Schemathesis finds nothing: what the OpenAPI document allows is answered, the rest refused."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = Path(__file__).with_name("schemathesis.toml")
SLOW = "POST /v1/fill"
"""Texts of a million characters in each of its cases: it is only fuzzed."""


@pytest.mark.parametrize(
    ("phase", "skipped"), [("fuzzing", ()), ("coverage", ("--exclude-name", SLOW))]
)
def test_no_request_is_answered_otherwise_than_the_document_says(
    url: str, tmp_path: Path, phase: str, skipped: tuple[str, ...]
) -> None:
    if importlib.util.find_spec("schemathesis") is None:
        pytest.skip("needs schemathesis")
    run = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG),
         "run", f"{url}/openapi.json", "--phases", phase, "--max-examples", "8",
         "--seed", "1", "--workers", "1", "--no-shrink", "--continue-on-failure", *skipped],
        cwd=tmp_path, capture_output=True, text=True, timeout=1400, check=False,
    )  # fmt: skip
    # Bodies of a failure may be megabytes long.
    output = "\n".join(line[:300] for line in run.stdout.splitlines())
    assert run.returncode == 0, output + run.stderr[-2000:]
    assert "passed" in output and "Tested:" in output
