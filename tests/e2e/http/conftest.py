"""The server as a program starts it: a process, and the libraries that it is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TOKEN = "a-token"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the extra there is nothing to test here."""
    import importlib.util

    return True if importlib.util.find_spec("starlette") is None else None


@pytest.fixture(scope="session")
def url(env: dict[str, str], serving: Any) -> Iterator[str]:
    """A server without a token, on the library of the fixtures."""
    with serving(env) as (address, _):
        yield address
