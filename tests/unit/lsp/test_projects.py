"""When the author's documents ask for papers."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from citewell.lsp.documents.projects import Projects


async def _known() -> None:
    return None


@pytest.mark.parametrize(
    ("name", "wanted"), [("main.tex", True), ("README.md", False), ("refs.bib", False)]
)
async def test_a_latex_document_asks_for_papers_before_it_is_read(
    tmp_path: Path, name: str, wanted: bool
) -> None:
    """What a document holds is known only once it was read, but in LaTeX an author cites."""
    document = SimpleNamespace(language_id=None, version=1, source="", index=None)
    editor: Any = SimpleNamespace(
        configured=_known,
        open_document=lambda uri: document,
        flags=SimpleNamespace(progress=False),
    )
    buffers: Any = SimpleNamespace(
        path_of=lambda uri: tmp_path / name,
        forget=lambda path: None,
        epoch=0,
        reading_of=lambda document, path: None,
        opened=dict,
    )
    wanting: list[str] = []
    is_free = threading.Event()
    with ThreadPoolExecutor(1) as background:
        projects = Projects(editor, buffers, background, lambda: wanting.append(name))
        busy = asyncio.ensure_future(projects.read(is_free.wait))
        projects.opened("file:///" + name)
        for _ in range(20):
            await asyncio.sleep(0)
        try:
            assert wanting == [name] * wanted
        finally:
            projects.close()
            is_free.set()
            with contextlib.suppress(asyncio.CancelledError):
                await busy
