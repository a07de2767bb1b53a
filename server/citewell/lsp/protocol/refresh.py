"""Asks the editor to refresh what it shows: what is shown in one file depends on others.

A new entry changes the hints of every paper that cites it; a new citation changes the count above
the entry. By itself, an editor refreshes only the file that was edited.
"""

from __future__ import annotations

import asyncio

from citewell.lsp.protocol.editor import Editor

CHANGED = "citewell/referencesChanged"
"""Notification to a client that shows a list of references; it requests the list again."""
QUIET_SECONDS = 0.4
"""Seconds without a change before the editor is asked to refresh."""


class Refresher:
    """One request of each kind after a burst of changes. For the event loop."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None

    def changed(self, uri: str) -> None:
        """A document was edited, or something else changed. An editor with a single open document
        refreshes that one by itself."""
        if not uri or len(self._editor.documents.text_documents) > 1:
            self.soon()

    def soon(self) -> None:
        """Ask for a refresh once nothing has changed for `QUIET_SECONDS`."""
        flags = self._editor.flags
        able = (flags.refresh_hints, flags.refresh_tokens, flags.refresh_lenses)
        if not (any(able) or flags.lists_references):
            return
        if self._timer is not None:
            self._timer.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(QUIET_SECONDS, self._ask)

    def close(self) -> None:
        """Ask no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _ask(self) -> None:
        self._timer = None
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(self._ask_all())
        else:
            # The editor has not answered yet: ask once more when it has.
            self._asking.add_done_callback(lambda _: self.soon())

    async def _ask_all(self) -> None:
        if self._editor.flags.lists_references:
            self._editor.notify(CHANGED, {})
        await self._editor.refresh_shown()
