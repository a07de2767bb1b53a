"""Keeping one worker process alive: it starts at the first need, a dead one is replaced, and one
that dies again and again is given longer and longer rests.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from citewell.engine.child import Child
from citewell.model import CitewellError, Problem
from citewell.options import Options
from citewell.sources.cache_counts import Listener, Outcome

logger = logging.getLogger(__name__)

FREE_DEATHS = 3
"""Number of children that may die in a row before the start of the next one is delayed."""
MAX_DELAY = 60.0

CLOSED = Problem("engine-closed", "The search engine is closed.", "Restart the language server.")


class Supervisor:
    """Of the worker process of one engine. Safe across threads."""

    def __init__(self, options: Options, command: Sequence[str] | None = None) -> None:
        """Start nothing yet. `command` replaces the worker's command line (for tests)."""
        self._options = options
        self._command = tuple(command) if command else None
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._deaths = 0
        self._not_before = 0.0
        self._closed = False
        self._last_words = ""
        self._begun = False
        self.on_look_up: Listener | None = None
        """Called for each request to a source that any of the children counts."""

    @property
    def options(self) -> Options:
        """What the present child, or the next one, answers with."""
        return self._options

    @property
    def begun(self) -> bool:
        """True once a child was wanted, whether it lives or not."""
        return self._begun

    def running(self) -> Child | None:
        """The child, if there is one that lives."""
        child = self._child
        return child if child is not None and child.alive else None

    def ensure(self) -> Child:
        """The child, or another one. Raises `CitewellError` when it must not start, or not yet."""
        self._begun = True
        with self._lock:
            if self._closed:
                raise CitewellError(CLOSED)
            if self._child is not None and self._child.alive:
                return self._child
            crashed = self._child is not None
            if self._child is not None:
                self._record_death(self._child)
                _end(self._child)
                self._child = None
            if (wait := self._not_before - time.monotonic()) > 0:
                raise CitewellError(self._down(wait))
            try:
                # A file with a wrong byte may be what it died of.
                self._child = Child(
                    self._options, self._command, verify=crashed, on_look_up=self._look_up
                )
            except OSError as error:
                self._deaths += 1
                self._last_words = str(error)
                self._delay()
                raise CitewellError(self._down(self._not_before - time.monotonic())) from error
            self._watch(self._child)
            return self._child

    def start(self) -> None:
        """Start the child now, in the background, so that the first request finds it warm."""
        self._begun = True

        def quietly() -> None:
            try:
                self.ensure()
            except CitewellError as error:
                # One that was closed before it started is no fault.
                if error.problem is not CLOSED:
                    logger.warning("%s", error)

        threading.Thread(target=quietly, name="citewell-spawn", daemon=True).start()

    def configure(self, options: Options) -> bool:
        """Answer with these options from now on; True when that starts another child."""
        with self._lock:
            if options == self._options:
                return False
            self._options = options
            self._deaths, self._not_before = 0, 0.0
            child, self._child = self._child, None
        if child is not None:
            threading.Thread(target=child.retire, daemon=True).start()
            self.start()
        return child is not None

    def stop(self) -> None:
        """End the child at once, whatever it does; what is in flight fails with `engine-restarted`,
        and the next request starts another child."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            _end(child)

    def close(self) -> None:
        """End the child. Later requests fail with `engine-closed`."""
        with self._lock:
            self._closed = True
            child, self._child = self._child, None
        if child is not None:
            child.close()

    def _look_up(self, source: str, outcome: Outcome) -> None:
        if self.on_look_up is not None:
            self.on_look_up(source, outcome)

    def _watch(self, child: Child) -> None:
        """End the child, from a thread of its own, once nothing was asked of it for the time that
        the settings name."""
        seconds = 60 * self._options.retrieval.idle_minutes
        # Records of sources that were offered are known to the process that asked for them.
        if not seconds or self._options.sources.allow:
            return

        def until_idle() -> None:
            while not child.wait_for_end(max(seconds - child.silent_for, seconds / 100)):
                with self._lock:
                    is_idle = self._child is child and child.refuse_if_idle(seconds)
                    if is_idle:
                        self._child = None
                if is_idle:
                    logger.info("The engine process %d ends: it is idle", child.pid)
                    child.close()
                    return

        threading.Thread(target=until_idle, name="citewell-idle", daemon=True).start()

    def _record_death(self, child: Child) -> None:
        """Count the death of a child that never answered; forgive the others."""
        self._deaths = 1 if child.answered else self._deaths + 1
        self._last_words = child.last_words
        logger.warning("The engine process %d ended (%s)", child.pid, child.last_words or "no word")
        self._delay()

    def _delay(self) -> None:
        if self._deaths >= FREE_DEATHS:
            seconds = min(MAX_DELAY, 2.0 ** (self._deaths - FREE_DEATHS + 1))
            self._not_before = time.monotonic() + seconds

    def _down(self, wait: float) -> Problem:
        words = f" Last output: {self._last_words}" if self._last_words else ""
        return Problem(
            "engine-down",
            f"The search engine stopped {self._deaths} times in a row.{words}",
            f"Run `citewell doctor`. Next attempt in {max(1, round(wait))} s.",
        )


def _end(child: Child) -> None:
    """Kill a child, and wait elsewhere until the system has let go of it."""
    child.kill()
    threading.Thread(target=child.close, daemon=True).start()
