"""Foreign texts on a real terminal: what would steer it is written out, and nothing else changes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals there")

EVIL = "\x1b]0;owned\x07\x1b[8mhidden\x1b[0m\x9b2J\u202etfel"
OURS = re.compile(rb"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[[0-9]*[AKG]|\r")
"""Colours, the cursor of a progress bar, and what a terminal makes of a line end."""
FORBIDDEN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae")

BIB = (
    f"@article{{ghost{EVIL},\n  title = {{Ghosts {EVIL} of Attention}},\n"
    f"  author = {{Gho{EVIL}st, A}},\n  journal = {{Spirits {EVIL}}},\n  year = {{2011}}\n}}\n"
    "@inproceedings{late,\n  title = {Semi-Supervised Classification with Graph Convolutional "
    "Networks},\n  author = {Kipf, Thomas N. and Welling, Max},\n  booktitle = {ICLR},\n"
    "  year = {2012}\n}\n"
)
PAPER = (
    "\\documentclass{article}\n\\begin{document}\n"
    f"We {EVIL} attend \\cite<graph attention networks>. {EVIL}\n"
    "\\bibliography{refs}\n\\end{document}\n"
)


def on_a_terminal(arguments: list[str], folder: Path, env: dict[str, str]) -> bytes:
    """What a program writes to the terminal that it runs on."""
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "citewell", *arguments],
        cwd=folder,
        env=env | {"TERM": "xterm-256color", "COLUMNS": "100"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # the other side closed
        while chunk := os.read(ours, 65536):
            written += chunk
    os.close(ours)
    process.wait(60)
    return written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    (tmp_path / f"odd{EVIL.replace('/', '')}.bib").write_text(BIB, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["check", "refs.bib", "--all"], "\\x1b[8mhidden"),
        (["check", "paper.tex"], ""),
        (["check", f"odd{EVIL}.bib"], "\\x1b[8mhidden"),
        (["check", f"missing{EVIL}.bib"], "\\x1b[8mhidden"),
        (["check", "refs.bib", "--format", "sarif", "--all"], "hidden"),
        (["fill", "paper.tex", "--dry-run", "--threshold", "0"], "\\x1b[8mhidden"),
        (["find", f"ghosts {EVIL}"], ""),
    ],
)
def test_no_foreign_text_steers_the_terminal(folder, env, arguments, shown):
    written = on_a_terminal(arguments, folder, env)
    assert FORBIDDEN.findall(OURS.sub(b"", written)) == []
    assert b"\x1b[8m" not in written
    # A colour may begin between the letters.
    assert shown in re.sub(r"\x1b\[[0-9;]*m", "", written.decode("utf-8")).replace("\r\n", "")


def test_fixes_are_shown_and_written_without_a_question(folder, env):
    bib = folder / "refs.bib"
    before = bib.read_bytes()
    # Nobody presses a key: a question would never end.
    shown = re.sub(
        rb"\x1b\[[0-9;]*m", b"", on_a_terminal(["check", "--fix", "refs.bib"], folder, env)
    )
    assert re.search(rb"^-  year = \{2012\}", shown, re.MULTILINE)
    assert re.search(rb"^\+  year = \{2017\}", shown, re.MULTILINE)
    assert b"1 entry can be corrected; --write applies the diff." in shown
    assert FORBIDDEN.findall(OURS.sub(b"", shown)) == []
    assert bib.read_bytes() == before
    screen = on_a_terminal(["check", "--fix", "--write", "refs.bib"], folder, env)
    assert b"1 entry corrected." in screen
    assert b"+  year" not in screen
    assert FORBIDDEN.findall(OURS.sub(b"", screen)) == []
    assert bib.read_bytes() == before.replace(b"year = {2012}", b"year = {2017}")


def test_what_another_program_reads_is_left_as_it_is(folder, env):
    def piped(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "citewell", *arguments]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)

    diff = piped("fill", "paper.tex", "--dry-run", "--threshold", "0")
    assert f"We {EVIL} attend".encode() in diff.stdout
    checked = json.loads(piped("check", "refs.bib", "--format", "json").stdout)
    assert "hidden" in json.dumps(checked)
