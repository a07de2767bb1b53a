"""The commands that open the page in the user's browser."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

STARTER = Path(__file__).resolve().parents[3] / "corpus_tools" / "starter"
TOKEN = "a-token-of-the-page"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell script as browser")


@pytest.fixture
def opened(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """The environment of a browser that writes its address to a file, and that file."""
    place = tmp_path / "address"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\nprintf %s "$1" >"{place}.part"\nmv "{place}.part" "{place}"\n')
    script.chmod(0o755)
    return {"BROWSER": f"{script} %s"}, place


def address_in(place: Path) -> str:
    while not place.exists():  # the time limit of the test ends it
        time.sleep(0.05)
    return place.read_text()


@pytest.mark.parametrize("token", ["", TOKEN])
def test_serve_opens_the_page_without_the_token(
    env: dict[str, str], serving: Any, opened: tuple[dict[str, str], Path], token: str
) -> None:
    browser, place = opened
    with serving(env | browser, "--open", token=token) as (url, _):
        assert address_in(place) == f"{url}/"
        assert "<title>Citewell</title>" in httpx2.get(f"{url}/").text


def test_the_demo_opens_the_page_over_the_starter(
    env: dict[str, str], opened: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    browser, place = opened
    command = [sys.executable, "-m", "citewell", "demo", "--page"]
    process = subprocess.Popen(
        command, env=env | browser | {"PYTHONPATH": str(STARTER)}, cwd=tmp_path,
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        url = address_in(place)
        found = httpx2.post(
            f"{url}v1/search", json={"query": "graph attention"}, timeout=300
        ).json()
        assert found["papers"]
    finally:
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=180)
    assert process.returncode == 0
    assert json.loads(out.splitlines()[-1])["url"] + "/" == url
    assert not (tmp_path / "citewell-demo").exists()
