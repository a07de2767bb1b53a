"""The front end's side of the worker process: an `Engine` that survives the death of its engine.

Every call is numbered; a reader thread settles futures as replies arrive, a writer thread keeps a
full pipe from blocking the caller. When the child dies the calls in flight fail with
`engine-restarted`, and the next call starts another child.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.engine.contract import EngineStatus, Tier
from citewell.engine.exchange import Exchange
from citewell.engine.methods import RemoteMethods
from citewell.engine.supervisor import Supervisor
from citewell.model import Query, SearchResult
from citewell.model.cancel import Cancel
from citewell.options import Options
from citewell.sources.cache_counts import Listener


class WorkerEngine(RemoteMethods):
    """`Engine` backed by a child process, also usable from an event loop. Thread-safe. A problem of
    the process is reported in the result, except that looking up records raises it."""

    def __init__(self, options: Options, *, command: Sequence[str] | None = None) -> None:
        """Start nothing yet. `command` replaces the worker's command line (for tests)."""
        self._supervisor = Supervisor(options, command)
        super().__init__(Exchange(self._supervisor))

    async def find_async(
        self, query: Query, k: int = 20, *, tier: Tier = "fast", seconds: float | None = None
    ) -> SearchResult:
        """`find` without blocking the event loop, for at most `seconds`; cancelling the task also
        cancels the search in the child."""
        find = WorkerEngine.find
        return await find.call_async(self.caller, query, k, tier=tier, cancel=Cancel(seconds))

    def close(self) -> None:
        """End the child. Later requests fail with `engine-closed`."""
        self._supervisor.close()

    def start(self) -> None:
        """Start the child now, in the background, so that the first request finds it warm."""
        self._supervisor.start()

    def watch_source_cache(self, listener: Listener) -> None:
        """Call `listener` with the source and the outcome of each request to a source, where the
        settings ask for metrics; before the answer of the call that waited for it."""
        self._supervisor.on_look_up = listener

    def stop(self) -> None:
        """End the child at once; what is in flight fails with `engine-restarted`."""
        self._supervisor.stop()

    def configure(self, options: Options) -> bool:
        """Answer with these options from now on; True when that starts another child."""
        return self._supervisor.configure(options)

    @property
    def begun(self) -> bool:
        """True once the child was wanted, whether it lives or not."""
        return self._supervisor.begun

    def status_at_rest(self) -> EngineStatus:
        """What is known without a child."""
        from citewell.engine.at_rest import status_at_rest

        return status_at_rest(self._supervisor.options)

    @property
    def pid(self) -> int:
        """Process id of the child; 0 when there is none."""
        child = self._supervisor.running()
        return child.pid if child is not None else 0
