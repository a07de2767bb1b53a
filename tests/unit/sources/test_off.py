"""Nothing is sent while no source is allowed: asserted at the socket of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GUARD = """
import sys

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname"):
        sys.stderr.write(f"NETWORK {event} {arguments}\\n")
        sys.stderr.flush()

sys.addaudithook(watch)
from citewell.cli import main
sys.argv = ["citewell", *sys.argv[1:]]
main()
"""
BIB = """
@article{kettle, title = {On the Patience of Kettles}, author = {Ada Example},
  year = 2020, journal = {Kettles}, doi = {10.1371/notarealdoi}}
"""


def run(folder: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """A citewell command that reports every connection that it tries."""
    environment = {name: text for name, text in os.environ.items() if "CITEWELL" not in name}
    environment |= {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "CACHE", "DATA")}
    environment |= {"CITEWELL_CONFIG": str(folder / "config.toml"), **extra}
    (folder / "config.toml").touch()
    return subprocess.run(
        [sys.executable, "-c", GUARD, *arguments],
        capture_output=True, text=True, encoding="utf-8", env=environment, cwd=folder, timeout=120,
        check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "refs.bib").write_text(BIB, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "refs.bib", "--online"),
        ("check", "refs.bib"),
        ("find", "patience of kettles", "--online"),
        ("find", "patience of kettles"),
        ("doctor", "--online"),
        ("sources",),
    ],
    ids=" ".join,
)
def test_no_connection_is_tried_while_no_source_is_allowed(
    arguments: tuple[str, ...], folder: Path
) -> None:
    done = run(folder, *arguments)
    assert "NETWORK" not in done.stderr
    assert "Traceback" not in done.stderr
    if "--online" in arguments and "doctor" not in arguments:
        assert done.returncode == 2
        assert "sources-off" in done.stderr


def test_the_guard_sees_the_connection_of_a_source_that_is_allowed(folder: Path) -> None:
    """Else the test above could not fail. Nothing listens on port 9 of this machine."""
    done = run(
        folder, "check", "refs.bib", "--online",
        CITEWELL_SOURCES_ALLOW="crossref", CITEWELL_SOURCES_BASE_URL="http://127.0.0.1:9",
    )  # fmt: skip
    assert "NETWORK socket.connect" in done.stderr
    assert "1 not checked" in done.stdout


def test_a_file_beside_the_paper_cannot_allow_a_source(folder: Path) -> None:
    (folder / "citewell.toml").write_text('[sources]\nallow = ["all"]\n', encoding="utf-8")
    done = run(folder, "check", "refs.bib", "--online")
    assert done.returncode == 2
    assert "settings-untrusted" in done.stderr
    assert "NETWORK" not in done.stderr


def test_allowed_sources_are_not_asked_without_the_word_online(folder: Path) -> None:
    for arguments in (("check", "refs.bib"), ("find", "patience of kettles"), ("doctor",)):
        done = run(folder, *arguments, CITEWELL_SOURCES_ALLOW="all")
        assert "NETWORK" not in done.stderr, arguments


def test_a_search_loads_no_http_library_while_no_source_is_allowed() -> None:
    code = (
        "import sys; from citewell.engine.local import LocalEngine; "
        "from citewell.lsp.server import create_server; "
        "from citewell.options import Options; from citewell.model import Query; "
        "create_server(); LocalEngine.open(Options()).find(Query(text='kettles')); "
        "found = {'httpx2', 'hishel', 'tenacity', 'tomlkit', 'defusedxml', "
        "'citewell.sources.web.client'} & set(sys.modules); sys.exit(str(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
