"""Diffs that `patch` understands."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.features.citing.write import unified_diff

LINES = st.text(alphabet="ab\r", max_size=3)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end, st.lists(LINES, max_size=8), st.sampled_from("\n")
) | st.just("a\nb")


def test_a_new_file_and_a_missing_last_line_end_are_marked() -> None:
    diff = unified_diff("", "a", "x.bib", new=True)
    assert diff.startswith("--- /dev/null\n+++ b/x.bib\n")
    assert diff.endswith("+a\n\\ No newline at end of file\n")


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS)
def test_patch_applies_every_diff(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str
) -> None:
    if before == after or not before:
        return
    folder = tmp_path_factory.mktemp("patch")
    file = folder / "x.tex"
    file.write_bytes(before.encode())
    diff = unified_diff(before, after, "x.tex")
    subprocess.run(["patch", "--binary", "-s", "-p1"], cwd=folder, input=diff.encode(), check=True)
    got = Path(file).read_bytes() if file.exists() else b""
    assert got == after.encode()
