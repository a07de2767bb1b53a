"""The thread that reads papers, as the server ends."""

from __future__ import annotations

from typing import Any

from citewell.lsp.documents.projects import ReaderThread


def test_a_job_that_comes_once_the_server_ends_is_left_out() -> None:
    editor: Any = object()
    reader = ReaderThread(editor)
    done: list[int] = []
    reader.submit(done.append, 1)
    reader.submit(done.append, 2)
    reader.close()
    assert reader.is_closed
    reader.submit(done.append, 3)
    assert 3 not in done
