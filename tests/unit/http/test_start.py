"""What the command needs, and what it costs those who do not use it."""

import importlib.util
import subprocess
import sys
from typing import Any

import pytest

from citewell.http import serve
from citewell.model import CitewellError
from citewell.options import Options


@pytest.mark.parametrize("name", ["starlette", "uvicorn"])
def test_without_the_extra_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    known: Any = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda wanted: None if wanted == name else known(wanted)
    )
    with pytest.raises(CitewellError, match=r"pip install .*\[http\]'") as error:
        serve(Options())
    assert error.value.problem.code == "http-missing" and name in error.value.problem.message


def test_nothing_of_it_is_loaded_before_it_serves() -> None:
    code = (
        "import sys, citewell.cli.serve, citewell.http, citewell.serving.guard, "
        "citewell.serving.run; print([m for m in ('starlette', 'uvicorn', 'anyio', 'mcp') "
        "if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_server_loads_nothing_of_the_agents() -> None:
    code = (
        "import sys, citewell.http.server; print([m for m in ('mcp', 'pydantic', 'pygls', 'dspy') "
        "if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
