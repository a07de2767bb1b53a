"""A real Emacs with eglot and the settings of the page: complete at a placeholder, accept, save."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "editors.md"

PAPER = """\\documentclass{article}
\\begin{document}
See \\cite<graph attention networks> for more.
\\bibliography{refs}
\\end{document}
"""
BIB = "@book{zuse1969,\n  title = {Rechnender Raum},\n  year = {1969},\n}\n"

DRIVER = """
(setq debug-on-error t make-backup-files nil create-lockfiles nil
      eglot-autoshutdown nil eglot-confirm-server-initiated-edits nil
      eglot-sync-connect 30 eglot-connect-timeout 60)
(require 'jsonrpc)
(setq jsonrpc-default-request-timeout 60)
{settings}
(defun wait-until (what test)
  (let ((limit (+ (float-time) 60)))
    (while (not (funcall test))
      (when (> (float-time) limit)
        (error "never: %s\\n%s" what (buffer-string)))
      (accept-process-output nil 0.05))))
(find-file "main.tex")
(run-hooks 'post-command-hook) ; eglot-ensure waits for the end of a command
(wait-until "a server" #'eglot-current-server)
(message "server: %s" (plist-get (eglot--server-info (eglot-current-server)) :name))
(goto-char (point-min))
(search-forward "networks>")
(let ((line (thing-at-point 'line)))
  (completion-at-point) ; nothing can be added to the words: the list is shown
  (unless (equal line (thing-at-point 'line)) (error "changed: %s" (thing-at-point 'line))))
(with-selected-window (get-buffer-window "*Completions*")
  (goto-char (point-min))
  (next-completion 1)
  (message "first: %s" (buffer-substring-no-properties (point) (line-end-position)))
  (choose-completion))
(wait-until "an entry" (lambda ()
  (with-temp-buffer
    (insert-file-contents "refs.bib")
    (search-forward "velickovic2018graph" nil t))))
(save-some-buffers t)
(eglot-shutdown (eglot-current-server))
"""


def settings() -> str:
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(r"## Emacs\n.*?```elisp\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def emacs() -> str:
    """Emacs with eglot, which Emacs 29 brings and Debian adds to Emacs 28."""
    program = shutil.which("emacs")
    if program is not None:
        version = subprocess.run(
            [program, "--batch", "--eval", "(require 'eglot)"],
            capture_output=True,
            check=False,
            timeout=120,
        )
        if version.returncode == 0:
            return program
    pytest.skip("Emacs with eglot is not installed (Debian 12: apt install emacs-nox elpa-eglot)")


def test_a_placeholder_becomes_a_citation_in_emacs(
    emacs: str, library_folder: Path, tmp_path: Path
) -> None:
    programs, paper = tmp_path / "bin", tmp_path / "paper"
    programs.mkdir()
    paper.mkdir()
    program = programs / "citewell"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m citewell "$@"\n')
    program.chmod(0o755)
    (paper / "main.tex").write_text(PAPER)
    (paper / "refs.bib").write_text(BIB)
    (paper / "citewell.toml").touch()
    driver = tmp_path / "driver.el"
    driver.write_text(DRIVER.replace("{settings}", settings()), encoding="utf-8")
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CITEWELL_LIBRARY_PATH": str(library_folder),
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [emacs, "--batch", "-l", str(driver)],
        cwd=paper,
        env=environment,
        input="y\n",  # eglot asks before it edits a file that is not open
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert "server: citewell" in done.stderr
    assert "first: velickovic2018graph" in done.stderr
    assert (paper / "main.tex").read_text() == PAPER.replace(
        "\\cite<graph attention networks>", "\\cite{velickovic2018graph}"
    )
    bib = (paper / "refs.bib").read_text(encoding="utf-8")
    assert bib.startswith(BIB)
    assert bib.count("@inproceedings{velickovic2018graph,") == 1


def test_the_settings_for_emacs_are_read_whole(emacs: str) -> None:
    done = subprocess.run(
        [emacs, "--batch", "--eval", f"(progn {settings()})"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
