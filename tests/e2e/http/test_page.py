"""Every example of docs/http.md, run as it stands there; its answer is what the page shows."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "http.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sh\n(.*?)```\n\n```json\n(.*?)```", PAGE, flags=re.DOTALL)
PYTHON, JAVASCRIPT = (
    re.findall(rf"```{name}\n(.*?)```", PAGE, flags=re.DOTALL) for name in ("python", "js")
)
MORE = "..."


def differs(shown: Any, given: Any, at: str = "$") -> str:
    """Where an answer is not what is shown; `...` stands for anything, and for more."""
    if shown == MORE:
        return ""
    if isinstance(shown, dict) and isinstance(given, dict):
        for name, value in shown.items():
            if name != MORE:
                if name not in given:
                    return f"{at}.{name} is not there"
                if found := differs(value, given[name], f"{at}.{name}"):
                    return found
        extra = set() if MORE in shown else set(given) - set(shown)
        return f"{at} has {extra}, too" if extra else ""
    if isinstance(shown, list) and isinstance(given, list):
        messages = shown[:-1] if shown[-1:] == [MORE] else shown
        if len(given) < len(messages) or (
            len(messages) == len(shown) and len(given) > len(messages)
        ):
            return f"{at} has {len(given)} items"
        parts = enumerate(zip(messages, given, strict=False))
        found = (differs(one, other, f"{at}[{n}]") for n, (one, other) in parts)
        return next(filter(None, found), "")
    return "" if shown == given else f"{at} is {given!r}, not {shown!r}"


def test_an_answer_that_differs_is_seen() -> None:
    assert not differs({"a": [1, MORE], MORE: MORE}, {"a": [1, 2], "b": 3})
    for shown, given in (
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": 2}),
        ({"a": MORE}, {"b": 1}),
        ([1], [1, 2]),
        ([1, 2, MORE], [1]),
    ):
        assert differs(shown, given), (shown, given)


@pytest.mark.parametrize(
    ("command", "shown"), EXAMPLES, ids=[command.split("\n")[0][:60] for command, _ in EXAMPLES]
)
def test_an_example_answers_what_the_page_shows(
    env: dict[str, str], url: str, command: str, shown: str
) -> None:
    if not (shutil.which("sh") and shutil.which("curl")):
        pytest.skip("needs a shell and curl")
    run = subprocess.run(
        ["sh", "-c", command], env=env | {"CITEWELL": url},
        capture_output=True, check=True, timeout=300,
    )  # fmt: skip
    assert not differs(json.loads(shown), json.loads(run.stdout))


def output_of(command: list[str], env: dict[str, str], url: str) -> str:
    run = subprocess.run(
        command, env=env | {"CITEWELL": url}, capture_output=True, check=True, timeout=300
    )
    return run.stdout.decode("utf-8")


def test_the_page_has_a_program_in_each_language() -> None:
    assert (len(PYTHON), len(JAVASCRIPT)) == (1, 2)


@pytest.mark.parametrize("program", PYTHON)
def test_the_python_program_prints_an_entry(env: dict[str, str], url: str, program: str) -> None:
    assert output_of([sys.executable, "-c", program], env, url).startswith("@inproceedings{")


def test_the_javascript_programs_read_progress_and_fill_their_text(
    env: dict[str, str], url: str
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node.js")
    following, filling = (
        output_of([node, "--input-type=module", "-e", program], env, url).strip()
        for program in JAVASCRIPT
    )
    *progress, last = following.splitlines()
    assert progress and all(json.loads(line)["total"] == 200 for line in progress)
    assert last == "answer checked"
    assert filling.endswith("As 𝛼 shows, [@vaswani2017attention].")
