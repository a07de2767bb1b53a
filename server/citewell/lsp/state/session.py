"""What one connection works on: documents and projects, checks, the engine, shown lists.

Papers are searched in the worker process. All tables here belong to the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citewell.engine.process_memory import share_one_heap
from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.documents.edit_applier import EditApplier
from citewell.lsp.documents.projects import CHECKS, Projects, preload
from citewell.lsp.protocol.editor import Editor, Refresher
from citewell.lsp.protocol.progress import LibraryProgress, Obstacles
from citewell.lsp.state.checking import ReferenceChecks
from citewell.lsp.state.memory import Cards, EditQueue, PickerHistory, RerankPrefetch, ShownLists
from citewell.lsp.state.zotero import Zotero
from citewell.options import Options


class EditorSession:
    """The state behind the handlers."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self.background = editor.protocol.request_priority.background("citewell-background")
        """The thread for work that no request waits for."""
        self.buffers = Buffers(editor)
        """The author's files as the editor holds them."""
        self.engine = WorkerEngine(Options())
        """The search engine. Its process starts at the first use, with the settings of `start`."""
        self.projects = Projects(editor, self.buffers, self.background, self.wake)
        """The open documents and their projects, in their present state."""
        self.checks = ReferenceChecks(editor, self.buffers, self.engine, self.background)
        """What is known of references."""
        self.applier = EditApplier(editor, self.buffers, self.projects)
        """Edits of the author's files, through the editor."""
        self.obstacles = Obstacles(editor, self.buffers.allow)
        self.lists = ShownLists()
        """Completion lists that the client may ask about."""
        self.cards = Cards(editor.show_problems)
        """References as they are shown, and records of the library."""
        self.zotero = Zotero(editor.show_problems)
        """The entries of the Zotero that runs on this machine, where the author wants them."""
        self.opening = LibraryProgress(editor)
        self.refresher = Refresher(editor)
        self.buffers.watchers.append(self.refresher.changed)
        self.prefetch = RerankPrefetch()
        """The longer search for the placeholder that is being typed."""
        self.picker_history = PickerHistory()
        """What the picker has shown."""
        self.edits = EditQueue(editor, self.buffers, self.engine)
        """Edits of the author's files, one at a time."""
        self._is_closed = False
        """An editor may end the session while its settings are still asked for."""

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """The settings are known: load the scanners, in the background. The worker starts when a
        document is opened, or written, that cites or wants to (`wake`)."""
        if self._is_closed:
            return
        share_one_heap()
        self._editor.settings_are_known()
        self.engine.configure(self.buffers.workspace_options())
        self.projects.start()
        self.background.submit(preload, CHECKS)
        self.zotero.configure(self.buffers.workspace_options().zotero)

    def close(self) -> None:
        """End the worker and the threads."""
        self._is_closed = True
        self.prefetch.stop()
        self.opening.stop()
        self.zotero.close()
        self.refresher.close()
        self.engine.close()
        self.projects.close()
        self.background.shutdown(wait=False, cancel_futures=True)

    def reconfigure(self) -> None:
        """The settings changed: scan and search with the new ones."""
        if self._is_closed:
            return
        self.prefetch.stop()
        self.buffers.changed()
        self._editor.forget_shown()
        self.projects.forget()
        self.cards.forget_records()
        options = self.buffers.workspace_options()
        if self.engine.configure(options):
            self.opening.watch(self.engine, options.library.name)
        if self._editor.is_configured:
            self.zotero.configure(options.zotero)

    def wake(self) -> None:
        """Papers will be asked for: start the worker, so that the first request finds it warm."""
        if not self.engine.begun and not self._is_closed:
            self.engine.start()
            self.opening.watch(self.engine, self.buffers.workspace_options().library.name)

    # -- documents ----------------------------------------------------------------------------

    def opened(self, uri: str) -> None:
        """A document was opened: scan it before it is asked about."""
        self.buffers.changed(uri)
        self.projects.opened(uri)

    def changed(self, uri: str) -> None:
        """A document was edited, as its version shows; other documents may depend on a .bib."""
        self.buffers.changed(uri, others=uri.lower().endswith(".bib"))

    def closed(self, uri: str) -> None:
        """A document was closed: the disk counts again."""
        self.buffers.changed(uri)
        self.projects.closed(uri)

    def touched(self, paths: Sequence[Path]) -> None:
        """Files changed on disk."""
        if paths:
            self.buffers.changed()
