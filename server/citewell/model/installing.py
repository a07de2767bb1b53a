"""Commands that install an extra into this environment, ready to paste."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

PUBLISHED = False
"""True once the package index has Citewell. Until then, messages name the clone or wheel of this
installation instead."""
CLONE = "/path/to/clone"
STARTER = "citewell-starter"
FOLDER = "corpus_tools/starter"
"""The folder of the starter's distribution in a clone."""


def install_command(extra: str) -> str:
    """The command that adds an extra to the Python that runs now, as `python -m pip install ...`.
    An environment made by uv has no pip: there the command is uv's."""
    python = shlex.quote(Path(sys.executable or "python").as_posix())
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} {_requirement(extra)}"


def starter_command() -> str:
    """The command that adds the starter library to the Python that runs now."""
    python = shlex.quote(Path(sys.executable or "python").as_posix())
    pip = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{pip} {STARTER if PUBLISHED else shlex.quote(_starter_source())}"


def _starter_source() -> str:
    """The starter's distribution in the clone, or the wheel beside Citewell's own."""
    source = Path(_source()[0])
    if not source.is_file():
        return f"{source.as_posix()}/{FOLDER}"
    wheels = sorted(source.parent.glob(f"{STARTER.replace('-', '_')}-*.whl"))
    return wheels[-1].as_posix() if wheels else f"{CLONE}/{FOLDER}"


def _requirement(extra: str) -> str:
    if PUBLISHED:
        return f"'citewell[{extra}]'"
    source, editable = _source()
    return f"{'-e ' if editable else ''}'{source}[{extra}]'"


def _source() -> tuple[str, bool]:
    """The folder or wheel that Citewell was installed from (PEP 610), and whether it is an editable
    install."""
    # Few processes need these imports, which load most of the standard library's e-mail package.
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.request import url2pathname

    try:
        text = distribution("citewell").read_text("direct_url.json")
        found = json.loads(text or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return CLONE, False
    parts = urlsplit(str(found.get("url", "")))
    path = Path(url2pathname(parts.path)) if parts.scheme == "file" else None
    if path is None or not path.exists():
        return CLONE, False
    return path.as_posix(), bool(found.get("dir_info", {}).get("editable"))
